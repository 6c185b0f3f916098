package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

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
