package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

const (
	outputText = "text"
	outputJSON = "json"
)

// outputForm is --output of a command that prints its result for people or as JSON.
type outputForm struct{ form string }

func (o *outputForm) addFlag(flags *pflag.FlagSet) {
	flags.StringVar(&o.form, "output", outputText, "output format: text or json")
}

func (o *outputForm) check() error {
	if o.form != outputText && o.form != outputJSON {
		return usageError{fmt.Errorf("--output %q: use %s or %s", o.form, outputText, outputJSON)}
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
