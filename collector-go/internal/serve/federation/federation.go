// Package federation shares what one collector knows with other collectors that use the same query engine. Annotations
// are written to the engine as series, and read from there again (Writer, Reader). Topologies of other collectors are
// read from the series that describe them.
//
// The engine is the only thing that these collectors have in common, so nothing else needs to be configured between
// them (decision 17 in docs/decisions). The package must not know how an engine is asked or written to; both are ports.
// What it reads from others never changes what its own collector stores. Start with Reader.
package federation

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
)

// The two series of an annotation. Their labels are topology, kind, title and text, MaxTextBytes of each; no id is one.
// A sample's value is when the annotation began, or ended, in seconds since the Unix epoch, and its time is that moment
// too, as far as receivers take it: never ahead of when it was written, nor more than oldest before it.
const (
	Start = "bullet_annotation_shared_start_seconds"
	End   = "bullet_annotation_shared_end_seconds"
)

// The bounds of what is shared.
const (
	// MaxTextBytes is how much of each text a label holds, in bytes of UTF-8.
	MaxTextBytes = 200
	// MaxSeries is how many different annotations of a topology are shared within an hour of the clock.
	MaxSeries = 100
	// Reach is how old an annotation may be that is shared, and how far before and behind a range others are looked
	// for: one that began in the range may have been set later, and one that ended in it may have begun before.
	Reach = 24 * time.Hour

	// A receiver whose newest sample is of now takes what is half a block of it old, an hour, even where it takes
	// nothing out of order.
	oldest = 30 * time.Minute
)

// identity is what an annotation is known by to other collectors.
type identity struct{ topology, kind, title string }

func identityOf(a *registry.Annotation) identity {
	return identity{clip(a.Topology), clip(a.Kind()), clip(a.Title)}
}

const cut = "..."

// clip cuts a text at a rune.
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
