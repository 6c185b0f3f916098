package searchfile

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// Text forms that these files share with the experiment file.
type (
	Duration = yamlfile.Duration
	Ratio    = yamlfile.Ratio
)

// Formula is an optimize.Formula as a field of a file. It is parsed while the file is read, so that a syntax error has
// its line. Its names are checked later, when the settings are known.
type Formula struct{ *optimize.Formula }

// Set parses a formula. Its error says which part is not understood.
func (f *Formula) Set(text string) (err error) {
	f.Formula, err = optimize.ParseFormula(text)
	return err
}

// number returns the number in a text, or false for a word. A value of a setting may be a word, so that is not an error
// here.
func number(text string) (float64, bool) {
	v, err := yamlfile.Number(text)
	return v, err == nil
}
