package tuning

import (
	"fmt"
	"strings"
)

// clientRule checks the load client, or each of them if there are several hosts.
func clientRule(e Evidence) LimiterFinding {
	c := e.Client
	if len(c.Hosts) > 0 {
		return c.hostsRule()
	}
	if !c.LatenessP99Ms.Known() && !(c.CPUCores / c.CPULimitCores).Known() {
		return finding(LimitedByClient, NotKnown, nil, "the state of the load client is unknown")
	}
	one := ClientHost{LatenessP99Ms: c.LatenessP99Ms, CPUCores: c.CPUCores, CPULimitCores: c.CPULimitCores}
	return finding(LimitedByClient, stateOf(one.limits(c)), one.numbers(""), "the load client%s", one.says())
}

// hostsRule judges the load client of each host. The finding names those at their limit; if there are none, it names
// the latest one.
func (c ClientEvidence) hostsRule() LimiterFinding {
	var numbers []Number
	var limits, unknown []string
	latest := c.Hosts[0]
	for _, h := range c.Hosts {
		numbers = append(numbers, h.numbers(h.Host+": ")...)
		says := fmt.Sprintf("the load client on %s%s", h.Host, h.says())
		switch {
		case h.limits(c):
			limits = append(limits, says)
		case !h.LatenessP99Ms.Known() && !(h.CPUCores / h.CPULimitCores).Known():
			unknown = append(unknown, h.Host)
		}
		if !(latest.LatenessP99Ms >= h.LatenessP99Ms) {
			latest = h
		}
	}
	switch {
	case len(limits) > 0:
		return finding(LimitedByClient, Reached, numbers, "%s", strings.Join(limits, "; "))
	case len(unknown) > 0:
		return finding(LimitedByClient, NotKnown, numbers, "the state of the load client is unknown on %s",
			strings.Join(unknown, ", "))
	}
	return finding(LimitedByClient, NotReached, numbers, "the busiest of the load clients on %d hosts, the one on %s,%s",
		len(c.Hosts), latest.Host, latest.says())
}

// HostsAtLimit returns the hosts whose load clients could not keep up with their share of the load.
func (c ClientEvidence) HostsAtLimit() (names []string) {
	for _, h := range c.Hosts {
		if h.limits(c) {
			names = append(names, h.Host)
		}
	}
	return names
}

// limits reports whether a client could not keep up with its share of the load.
func (h ClientHost) limits(c ClientEvidence) bool {
	mostLate := Greater(latenessBoundMs, heldLatenessBound*c.HeldMs)
	return h.LatenessP99Ms > mostLate || h.CPUCores/h.CPULimitCores >= clientBound
}

func (h ClientHost) numbers(of string) []Number {
	return []Number{{of + "lateness, p99", h.LatenessP99Ms, "ms"}, {of + "CPU", h.CPUCores, "cores"},
		{of + "CPU limit", h.CPULimitCores, "cores"}}
}

// says describes the client's figures. The text follows the client's name.
func (h ClientHost) says() string {
	var parts []string
	if h.LatenessP99Ms.Known() {
		parts = append(parts, fmt.Sprintf(" submitted its queries up to %s ms late (p99)", Digits(h.LatenessP99Ms)))
	}
	if share := h.CPUCores / h.CPULimitCores; share.Known() {
		parts = append(parts, fmt.Sprintf(" used %s of its %s cores", shareText(share), Digits(h.CPULimitCores)))
	}
	return strings.Join(parts, " and")
}
