package report

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"

// Document is the report as people read it, for tests of its text.
func (r *RunReport) Document() *document.Document { return r.document() }
