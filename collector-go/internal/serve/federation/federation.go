// Package federation shares data between collectors that use the same query engine. Annotations are written to the
// engine as series, and read from it again (Writer, Reader). Topologies of other collectors are read from the series
// that describe them.
//
// The engine is the only thing that these collectors have in common, so that nothing else needs to be configured
// (decision 17 in docs/decisions). The package must not know how an engine is queried or written to; both are ports.
// What it reads from others never changes what its own collector stores. Start with Reader.
package federation

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
)

// The two series of an annotation. Their labels are topology, kind, title and text, each cut to MaxTextBytes. There is
// no label for the id. A sample's value is the time when the annotation began or ended, in seconds since the Unix
// epoch. Its timestamp is the same time, moved into the range that receivers accept: not after the time of writing,
// and at most oldest before it.
const (
	Start = "bullet_annotation_shared_start_seconds"
	End   = "bullet_annotation_shared_end_seconds"
)

// The limits of what is shared.
const (
	// MaxTextBytes is the maximum length of a text in a label, in bytes of UTF-8.
	MaxTextBytes = 200
	// MaxSeries is the maximum number of different annotations that are shared per topology and hour of the clock.
	MaxSeries = 100
	// Reach is the maximum age of an annotation that is shared. It is also the margin around a time range in which
	// annotations are searched. One that began in the range may have been set later, and one that ended in it may have
	// begun before.
	Reach = 24 * time.Hour

	// Even a receiver that accepts no out-of-order samples takes samples up to half a block (one hour) older than its
	// newest one.
	oldest = 30 * time.Minute
)

// identity identifies an annotation to other collectors.
type identity struct{ topology, kind, title string }

func identityOf(a *registry.Annotation) identity {
	return identity{clip(a.Topology), clip(a.Kind()), clip(a.Title)}
}

const cut = "..."

// clip shortens a text to MaxTextBytes without splitting a rune.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "")
	if len(text) <= MaxTextBytes {
		return text
	}
	end := MaxTextBytes - len(cut)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cut
}
