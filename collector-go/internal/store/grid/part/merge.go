package part

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"

// MaxRunPlaces bounds the runs that Merge and Join make.
const MaxRunPlaces = 8192

// Merge adds all series of the sources, oldest source first, to w. Where two have a slice of one kind at one time, the older source's
// stays. Damage in a source ends it with a *run.DamageError: merging must not turn damage into silence.
func Merge(w *Writer, sources []*Part) error { panic("not built") }

// Join makes one list of a series' runs of several sources, oldest first, each as run.Reader returns them: where two have a slice of one
// kind at one time the older's stays, and runs on one grid are joined up to MaxRunPlaces. It changes nothing in what it is given, and
// what it returns may share it.
func Join(lists ...[]run.Run) []run.Run { panic("not built") }
