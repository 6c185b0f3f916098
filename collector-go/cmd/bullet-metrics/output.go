package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

const (
	outputText = "text"
	outputJSON = "json"
)

// outputForm is --output of a command, which prints its result for people or as JSON.
type outputForm struct {
	form  string
	forms []string // which the flag takes; the first is the default
}

func (o *outputForm) addFlag(flags *pflag.FlagSet) {
	o.addForms(flags, "output format: text or json", outputText, outputJSON)
}

// addForms adds the flag with forms and a usage of its own.
func (o *outputForm) addForms(flags *pflag.FlagSet, usage string, forms ...string) {
	o.forms = forms
	addOutput(flags, &o.form, usage, forms)
}

// addOutput adds the flag --output of any command. The first form is the default.
func addOutput(flags *pflag.FlagSet, form *string, usage string, forms []string) {
	flags.StringVarP(form, "output", "o", forms[0], usage)
	f := flags.Lookup("output")
	f.Annotations = withAnnotation(f.Annotations, oneOfValues, forms...)
}

func (o *outputForm) check() error {
	if !slices.Contains(o.forms, o.form) {
		return usageError{fmt.Errorf("--output %q: use %s", o.form, strings.Join(o.forms, " or "))}
	}
	return nil
}

// write prints a result, whose text is for people.
func (o *outputForm) write(out io.Writer, result any, text string) error {
	if o.form == outputJSON {
		return printJSON(out, result)
	}
	_, err := io.WriteString(out, text)
	return err
}

// writeLine is write with JSON on a single line.
func (o *outputForm) writeLine(out io.Writer, result any, text string) error {
	if o.form != outputJSON {
		return o.write(out, result, text)
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(result)
}

// printJSON prints a result as JSON.
func printJSON(out io.Writer, result any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(result)
}
