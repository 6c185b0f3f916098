package part

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"
)

// WriterOptions are a writer's; the zero value has the defaults.
type WriterOptions struct {
	// PageBytes is when a page ends: at the first column that reaches it. 0 is DefaultPageBytes.
	PageBytes int
}

// DefaultPageBytes is small enough that reading one series reads little beside it, and large enough that a page's 32 bytes of directory
// are nothing.
const DefaultPageBytes = 16 << 10

// Writer writes a part, series by series. It is not safe for concurrent use. After an error only Abandon is of use.
type Writer struct{}

// Create begins a part in a file that must not exist.
func Create(fs disk.FS, name string, o WriterOptions) (*Writer, error) { panic("not built") }

// Add writes a series. Series come in the order of labels.Compare, each once. Runs ascend by FirstMs and are as run.Reader returns them:
// no two slices of one kind at one time. A series without a slice is left out. Nothing of what is handed over is kept.
func (w *Writer) Add(l labels.Labels, runs []run.Run) error { panic("not built") }

// Finish writes index and footer, syncs and closes the file. The caller publishes it: renames it and syncs the directory.
func (w *Writer) Finish() (Info, error) { panic("not built") }

// Abandon closes and removes the file. It may be called after Finish failed, and after Abandon.
func (w *Writer) Abandon() error { panic("not built") }
