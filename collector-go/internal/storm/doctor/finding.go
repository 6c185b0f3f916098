package doctor

import (
	"fmt"
	"strings"
)

// Status is the result of a check.
type Status string

// A check fails only because of an observation. If something could not be examined the status is Unknown, and if data
// cannot have arrived yet it is Waiting.
const (
	OK      Status = "OK"
	Fail    Status = "FAIL"
	Waiting Status = "waiting"
	Unknown Status = "unknown"
)

// Finding is the outcome of one check.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	// Says is what was observed, with numbers.
	Says string `json:"says"`
	// Fix is what to do about a failure.
	Fix string `json:"fix,omitempty"`
}

// Report has all findings, in the order of the checks. Scripts read its JSON form. Therefore the names of checks and
// statuses are part of the command's interface.
type Report struct {
	Well     bool      `json:"well"` // no check failed
	Findings []Finding `json:"findings"`
}

// Examine runs all checks, in the order in which a sample passes the things that they check. A check that depends on a
// failed one is skipped, and its finding says so. Examine has no clock and no I/O: the same facts give the same
// report.
func Examine(f Facts) Report {
	checks := []struct {
		name string
		make func(Facts) Finding
	}{
		{"jar", jar}, {"settings", settings}, {"registration", registration}, {"v2 tick", tick},
		{"retain limit", retain}, {"interval", interval},
		{"files", files}, {"address", addresses}, {"tls", security}, {"permission", permission},
		{"submitted", submitted}, {"logs", logs}, {"skew", skew}, {"first batch", firstBatch}, {"restarts", afterFirstBatch(restarts)},
	}
	r := Report{Well: true}
	add := func(name string, found Finding) {
		found.Check = name
		r.Well = r.Well && found.Status != Fail
		r.Findings = append(r.Findings, found)
	}
	for _, c := range checks {
		add(c.name, c.make(f))
	}
	for _, k := range Kinds {
		add(string(k.Kind), afterFirstBatch(func(f Facts) Finding { return seen(f, k.Kind) })(f))
	}
	add("names", afterFirstBatch(names)(f))
	return r
}

// Waits reports whether waiting may change the result. This is true if something has the status Waiting or the
// topology has not reported, and no other check failed.
func (r Report) Waits() bool {
	waits := false
	for _, f := range r.Findings {
		switch {
		case f.Status == Fail && f.Check != "first batch":
			return false
		case f.Status == Fail || f.Status == Waiting:
			waits = true
		}
	}
	return waits
}

// Failed returns the number of failed checks.
func (r Report) Failed() (n int) {
	for _, f := range r.Findings {
		if f.Status == Fail {
			n++
		}
	}
	return n
}

// Text formats the report, failures first, because the first failure usually causes the others. Checks that were not
// made are grouped by reason, one line each.
func (r Report) Text() string {
	var b strings.Builder
	for _, status := range []Status{Fail, Waiting, OK} {
		for _, found := range r.Findings {
			if found.Status != status {
				continue
			}
			fmt.Fprintf(&b, "%-7s  %-12s  %s\n", found.Status, found.Check, found.Says)
			if found.Fix != "" {
				fmt.Fprintf(&b, "%23sfix: %s\n", "", found.Fix)
			}
		}
	}
	var reasons []string
	checks := map[string][]string{}
	for _, found := range r.Findings {
		if found.Status == Unknown {
			if checks[found.Says] == nil {
				reasons = append(reasons, found.Says)
			}
			checks[found.Says] = append(checks[found.Says], found.Check)
		}
	}
	for _, reason := range reasons {
		fmt.Fprintf(&b, "%-7s  %s: %s\n", Unknown, strings.Join(checks[reason], ", "), reason)
	}
	return b.String()
}

func waiting(says string) Finding   { return Finding{Status: Waiting, Says: says} }
func ok(says string) Finding        { return Finding{Status: OK, Says: says} }
func unknown(says string) Finding   { return Finding{Status: Unknown, Says: says} }
func notChecked(do string) Finding  { return unknown("not checked: " + do) }
func fail(says, fix string) Finding { return Finding{Status: Fail, Says: says, Fix: fix} }
