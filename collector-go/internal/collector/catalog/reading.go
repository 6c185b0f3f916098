package catalog

import (
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// systemComponent is Storm's own component of a worker (org.apache.storm.Constants.SYSTEM_COMPONENT_ID). Only this
// component reports the metrics of a worker. A metric of the same name from another component is a user's own.
const systemComponent = "__system"

// reading is what is known about a sender when a name is read. The same text can mean different things. A name from
// Storm's own component is a worker's, and Storm 2.3 changed the meaning of several names. A reading is part of the
// template's key.
type reading struct {
	storm  releases
	system bool // the sender is Storm's own component
	// source is the index, from 0, of the colon at which "source:stream" is split. noSource means that the text is a
	// stream of a spout.
	source int
}

const noSource = -1

// sourced are the names that are followed by a source and a stream, or, if a spout reports them, by a stream alone.
var sourced = []struct {
	name   string
	spouts bool // spouts report it too
}{
	{"__ack-count", true}, {"__fail-count", true}, {"__execute-count", false}, {"__execute-latency", false},
	{"__process-latency", false},
}

// after returns the text that follows one of Storm's names. The release and the consumer's expandMapType decide about
// the form: "NAME-TEXT", a map's key, or "NAME.TEXT".
func after(raw *metric.Raw, name string) (text string, found bool) {
	rest, found := strings.CutPrefix(raw.Name, name)
	switch {
	case !found || rest == "" && raw.Key == "":
		return "", false
	case rest == "":
		return raw.Key, true
	}
	text, found = cutSeparator(rest)
	return strings.TrimSuffix(text, ".m1_rate"), found
}

// source returns the index of the colon at which a name splits into source and stream. Names of components and streams
// may contain colons too, so the text alone is ambiguous. The known components of the topology decide.
func (k *known) source(raw *metric.Raw) int {
	if !strings.HasPrefix(raw.Name, "__") || !strings.Contains(raw.Name, ":") && !strings.Contains(raw.Key, ":") {
		return 0
	}
	for _, s := range sourced {
		if text, found := after(raw, s.name); found {
			return k.parts(raw.Component, text, s.spouts)
		}
	}
	return 0
}

func (k *known) parts(component, text string, spouts bool) int {
	if spouts && (k.spouts[component] || !k.listed && k.streams[component+metric.KeySeparator+text]) {
		return noSource
	}
	found, colon := noSource, 0
	for at := range len(text) {
		if text[at] != ':' {
			continue
		}
		if k.components[text[:at]] {
			found = colon // the longest prefix that is a component's name
		}
		colon++
	}
	switch {
	case found != noSource:
		return found
	case k.listed || colon < 2:
		return 0
	}
	return colon - 1
}

// guess learns about the topology from a series, unless a sender states the facts. It reports whether earlier names of
// the topology must be read again. The number of such repetitions is bounded (maxRereads), because each one costs a
// pass over all series of the topology.
func (k *known) guess(raw *metric.Raw) (again bool) {
	if k.listed {
		return false
	}
	note := func(set map[string]bool, what string) bool {
		if set[what] || len(set) >= maxGuessed {
			return false
		}
		set[what] = true
		return true
	}
	again = note(k.components, raw.Component) && k.several
	if !strings.HasPrefix(raw.Name, "__") {
		return again && k.mayReread()
	}
	_, completes := after(raw, "__complete-latency")
	if (completes || strings.HasPrefix(raw.Name, "__skipped-")) && note(k.spouts, raw.Component) &&
		k.colons[raw.Component] {
		again = true
	}
	if text, found := after(raw, "__emit-count"); found && strings.Contains(text, ":") &&
		note(k.streams, raw.Component+metric.KeySeparator+text) && k.colons[raw.Component] {
		again = true
	}
	for _, s := range sourced {
		if text, found := after(raw, s.name); found {
			if s.spouts && strings.Contains(text, ":") {
				note(k.colons, raw.Component)
			}
			k.several = k.several || strings.Count(text, ":") > 1
		}
	}
	return again && k.mayReread()
}

func (k *known) mayReread() bool {
	k.rereads++
	return k.rereads <= maxRereads
}

// cutSeparator removes the separator between a map's name and its key, which exists if the consumer is registered with
// expandMapType. The separator is metricNameSeparator, "." by default. At most one underscore counts as a separator,
// because the names of Storm's own streams begin with two.
func cutSeparator(text string) (rest string, found bool) {
	if rest, found = strings.CutPrefix(text, "_"); found {
		return rest, rest != ""
	}
	rest = strings.TrimLeft(text, separators)
	return rest, rest != "" && len(rest) < len(text)
}

const separators = ".-:/|;,#~+=@ >"
