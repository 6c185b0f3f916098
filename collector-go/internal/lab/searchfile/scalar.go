package searchfile

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// The text forms that these files share with the experiment file.
type (
	Duration = yamlfile.Duration
	Ratio    = yamlfile.Ratio
)

// Formula is an optimize.Formula as a file has it. It is parsed while the file is read, so that a syntax error has its
// line; the names in it are checked later, when the settings are known.
type Formula struct{ *optimize.Formula }

// Set reads a formula; an error states what of it is not understood.
func (f *Formula) Set(text string) (err error) {
	f.Formula, err = optimize.ParseFormula(text)
	return err
}

// number is Number of a text that may also be a word. A value of a setting may be either, so a word is no error here.
func number(text string) (float64, bool) {
	v, err := yamlfile.Number(text)
	return v, err == nil
}
