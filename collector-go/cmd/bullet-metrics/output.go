package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

const (
	outputText = "text"
	outputJSON = "json"
)

// outputForm is --output of a command, which prints its result for people or as JSON.
type outputForm struct{ form string }

func (o *outputForm) addFlag(flags *pflag.FlagSet) {
	o.addForms(flags, "output format: text or json", outputText, outputJSON)
}

// addForms adds the flag with forms and a usage of its own. checkFlags refuses other values.
func (o *outputForm) addForms(flags *pflag.FlagSet, usage string, forms ...string) {
	addOutput(flags, &o.form, usage, forms)
	flags.Lookup("output").Annotations[hint] = []string{"use " + strings.Join(forms, " or ")}
}

// hint is the annotation of a flag that takes no other values than oneOfValues, with the end of the error message.
const hint = "hint"

// addOutput adds the flag --output of any command. The first form is the default.
func addOutput(flags *pflag.FlagSet, form *string, usage string, forms []string) {
	flags.StringVarP(form, "output", "o", forms[0], usage)
	f := flags.Lookup("output")
	f.Annotations = withAnnotation(f.Annotations, oneOfValues, forms...)
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
