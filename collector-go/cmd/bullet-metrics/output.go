package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"golang.org/x/term"
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

// terminal writes lines that stay, and on a terminal one line that changes.
type terminal struct {
	mu sync.Mutex
	// name is what each line begins with.
	name  string
	out   io.Writer
	live  bool
	width int
	shown bool
}

func newTerminal(name string, out *os.File) *terminal {
	t := &terminal{name: name, out: out, live: term.IsTerminal(int(out.Fd()))}
	if width, _, err := term.GetSize(int(out.Fd())); err == nil {
		t.width = width
	}
	return t
}

// clear removes the line that changes. It is called under the lock.
func (t *terminal) clear() {
	if t.shown {
		fmt.Fprint(t.out, "\r\x1b[K")
		t.shown = false
	}
}

// Say writes a line that stays.
func (t *terminal) Say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	fmt.Fprintf(t.out, t.name+": "+format+"\n", args...)
}

// Show replaces the line that changes; where there is no terminal it writes nothing.
func (t *terminal) Show(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.live || t.width < 20 {
		return
	}
	line := []rune(t.name + ": " + fmt.Sprintf(format, args...))
	t.clear()
	fmt.Fprint(t.out, string(line[:min(len(line), t.width-1)]))
	t.shown = true
}

// Write takes whole lines of a log.
func (t *terminal) Write(line []byte) (int, error) {
	t.Say("%s", strings.TrimRight(string(line), "\n"))
	return len(line), nil
}
