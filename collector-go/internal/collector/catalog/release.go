package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// release is a release of Storm as one number, so that releases can be compared: 2.8.4 is 2_008_004.
type release int

const (
	oldest release = 0
	newest release = 1 << 30
)

// releaseOf reads a release as in Storm's VersionInfo, such as "2.8.4" or "2.3.0-SNAPSHOT". It returns false for other
// texts.
func releaseOf(text string) (release, bool) {
	numbers := [3]release{}
	for i, part := range strings.SplitN(strings.TrimSpace(text), ".", 4) {
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		n, err := strconv.Atoi(digits)
		switch {
		case i < 2 && (err != nil || n > 999):
			return 0, false
		case i < 3 && err == nil:
			numbers[i] = release(min(n, 999))
		}
	}
	return numbers[0]*1_000_000 + numbers[1]*1000 + numbers[2], strings.Contains(text, ".")
}

// releases is a range of releases of Storm, including both ends.
type releases struct{ from, to release }

var (
	anyRelease = releases{oldest, newest}
	// until22 are the releases in which executors report maps, and count since the last report. Later releases report
	// numbers, and count since the process started.
	until22 = releases{oldest, 2_002_999}
)

// meets reports whether the two ranges overlap.
func (r releases) meets(other releases) bool { return r.from <= other.to && other.from <= r.to }

// releasesOf reads the versions of a row: "2.3 on", "1.0 to 2.2", "2.0 and 2.1", "1.x" or "2.2". Text after a comma is
// a remark. Versions of a program other than Storm do not restrict the row.
func releasesOf(versions string) releases {
	text, _, _ := strings.Cut(versions, ",")
	if from, found := strings.CutSuffix(text, " on"); found {
		if r, is := releaseOf(from); is {
			return releases{r, newest}
		}
		return anyRelease
	}
	if major, found := strings.CutSuffix(text, ".x"); found {
		if n, err := strconv.Atoi(major); err == nil {
			return releases{release(n) * 1_000_000, release(n)*1_000_000 + 999_999}
		}
	}
	first, last := text, text
	for _, word := range []string{" to ", " and "} {
		if a, b, found := strings.Cut(text, word); found {
			first, last = a, b
		}
	}
	from, isFrom := releaseOf(first)
	to, isTo := releaseOf(last)
	if !isFrom || !isTo {
		return anyRelease
	}
	return releases{from, to/1000*1000 + 999}
}

// Facts are what a sender states about a topology. They take precedence over guesses, which are based on the names that
// the topology reports. Older plugins state no facts.
type Facts struct {
	// Storm is the release of Storm, or "" if it is not stated.
	Storm string
	// Components are all components of the topology, or nil if they are not stated. The value is true for a spout.
	Components map[string]bool
}

// known is what the catalog knows about a topology, either stated or guessed.
type known struct {
	storm string // as stated
	// old reports that maps arrived that no Storm from 2.3 on reports. It narrows down a release that is not stated.
	old bool
	// listed reports that the components are stated.
	listed bool
	spouts map[string]bool
	// components are the stated ones whose names contain a colon, or else all that were seen.
	components map[string]bool
	// streams are the streams with a colon in their names that a component emitted, as "component\x00stream".
	streams map[string]bool
	// colons are the components that acknowledged or failed tuples with a colon in the name. several reports that a
	// name contains more than one colon, so that it is ambiguous where its source ends.
	colons  map[string]bool
	several bool
	// rereads is how often the topology's names were read again because of a guess.
	rereads int
}

// Bounds of what is guessed about a topology.
const (
	maxGuessed = 4096
	maxRereads = 16
)

func newKnown() known {
	return known{spouts: map[string]bool{}, components: map[string]bool{}, streams: map[string]bool{},
		colons: map[string]bool{}}
}

// releases returns the releases that the topology's Storm may have.
func (k *known) releases() releases {
	if r, stated := releaseOf(k.storm); stated {
		return releases{r, r}
	}
	if k.old {
		return until22
	}
	return anyRelease
}

// tell applies stated facts, and reports whether any of them is new.
func (k *known) tell(f Facts) bool {
	changed := false
	if f.Storm != "" && f.Storm != k.storm {
		k.storm, changed = f.Storm, true
	}
	if len(f.Components) == 0 {
		return changed
	}
	spouts, components := map[string]bool{}, map[string]bool{}
	for name, spout := range f.Components {
		if spout {
			spouts[name] = true
		}
		if strings.Contains(name, ":") {
			components[name] = true
		}
	}
	if k.listed && fmt.Sprint(k.spouts, k.components) == fmt.Sprint(spouts, components) {
		return changed
	}
	k.listed, k.spouts, k.components = true, spouts, components
	return true
}

// Rule returns the rule by which a series would be sliced, whatever its verdict is. It reports false for an unknown id.
func (s *State) Rule(id uint32) (metric.Rule, bool) {
	e := s.entries.get(id)
	if e == nil {
		return metric.Rule{}, false
	}
	return s.rule(id, e), true
}

// rule returns the rule by which a series is sliced. It depends on what is known about its topology.
func (s *State) rule(id uint32, e *entry) metric.Rule {
	rule := s.template(e).ruleFor(e.raw, s.labels(id, e))
	s.giveWay(e, &rule)
	return rule
}
