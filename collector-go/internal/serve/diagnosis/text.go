package diagnosis

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Text returns the answer as text for a person, with times in UTC.
func (a *Answer) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s since %s", a.Alert.Name, a.Alert.State, clock(a.Alert.Began))
	if ended := a.Alert.Ended; ended != nil {
		out.Reset()
		fmt.Fprintf(&out, "%s ended %s, began %s", a.Alert.Name, clock(*ended), clock(a.Alert.Began))
	}
	if last := a.Alert.LastBad; last != nil {
		fmt.Fprintf(&out, ", kept for the value measured at %s", clock(*last))
	}
	if a.Alert.Topology != "" {
		fmt.Fprintf(&out, ", topology %s", a.Alert.Topology)
	}
	out.WriteString("\n")
	for _, line := range []struct{ name, text string }{{"", a.Alert.Summary}, {"Cause: ", a.Cause.sentence()},
		{"Limit: ", a.Limit}, {"Runbook: ", a.Alert.Runbook}} {
		if line.text != "" {
			fmt.Fprintf(&out, "  %s%s\n", line.name, line.text)
		}
	}
	fmt.Fprintf(&out, "\nWhat changed, earliest first (compared with the time since %s)\n", clock(a.From))
	a.writeChanges(&out)
	fmt.Fprintf(&out, "\nEvents from %s to %s\n", clock(a.Since), clock(a.At))
	a.writeAnnotations(&out)
	if len(a.Missing) > 0 {
		fmt.Fprintf(&out, "\nNo data for: %s\n", strings.Join(a.Missing, "; "))
	}
	for _, note := range a.Notes {
		fmt.Fprintf(&out, "\nNote: %s\n", note)
	}
	return written.ReplaceAllStringFunc(out.String(), func(found string) string {
		at, err := time.Parse(time.RFC3339, found)
		if err != nil {
			return found
		}
		return at.Format("15:04 UTC")
	})
}

// written matches a time as minute formats it.
var written = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:00Z`)

func (a *Answer) writeAnnotations(out *strings.Builder) {
	if len(a.Annotations) == 0 {
		out.WriteString("  none: no changed settings, no restarts, no experiment steps\n")
	}
	for _, e := range a.Annotations {
		fmt.Fprintf(out, "  %s before  %s\n", ago(e.Before), e.Title)
		if e.Text != "" {
			fmt.Fprintf(out, "      %s\n", strings.ReplaceAll(e.Text, "\n", "\n      "))
		}
	}
}

func (a *Answer) writeChanges(out *strings.Builder) {
	if len(a.Changes) == 0 {
		out.WriteString("  no metric changed its level\n")
		return
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "  Metric\tBefore\tAfter\tChange\tTime before the alert")
	var advice []string
	for _, c := range a.Changes {
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\n", c.title(), value(c.Before, c.Unit), value(c.After, c.Unit),
			part(c.Before, c.After), ago(c.Lead))
		if c.Advice != "" && !slices.Contains(advice, c.Advice) {
			advice = append(advice, c.Advice)
		}
	}
	_ = table.Flush()
	if len(advice) > 0 {
		out.WriteString("\nPossible actions\n")
	}
	for _, line := range advice {
		fmt.Fprintf(out, "  - %s\n", line)
	}
}

func (c Change) title() string {
	var of []string
	for _, name := range []string{"component", "class"} {
		if v := c.Labels[name]; v != "" {
			of = append(of, v)
		}
	}
	if len(of) == 0 {
		return c.Name
	}
	return c.Name + ": " + strings.Join(of, ", ")
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// ago formats a time before the alert, in whole seconds.
func ago(seconds float64) string { return span(time.Duration(seconds) * time.Second) }

// span formats a duration with its two largest units, as the page does: 430 ms, 4 min, 1 h 5 min.
func span(d time.Duration) string {
	hours, minutes, seconds := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case hours > 0:
		return strings.TrimSuffix(fmt.Sprintf("%d h %d min", hours, minutes), " 0 min")
	case minutes > 0:
		return strings.TrimSuffix(fmt.Sprintf("%d min %d s", minutes, seconds), " 0 s")
	case d > 0 && d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return number(d.Seconds()) + " s"
}

// value formats a value with its unit, as the page does.
func value(v float64, unit string) string {
	switch {
	case unit == "ratio":
		return number(100*v) + "%"
	case unit == "s" && math.Abs(v) < 1:
		return number(1000*v) + " ms"
	}
	return number(v) + " " + unit
}

// number formats a value with three significant digits, or with all digits before the decimal point if there are more.
func number(v float64) string {
	digits := 3
	if size := math.Abs(v); size >= 1000 {
		digits = int(math.Floor(math.Log10(size))) + 1
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

func part(before, after float64) string {
	switch {
	case before == 0:
		return "new"
	case after/before >= 2 && before > 0:
		return fmt.Sprintf("x %.1f", after/before)
	}
	return fmt.Sprintf("%+.0f%%", 100*(after-before)/math.Abs(before))
}
