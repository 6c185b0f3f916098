package report

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"

// Document exports document, so that external tests can check the text.
func (r *RunReport) Document() *document.Document { return r.document() }
