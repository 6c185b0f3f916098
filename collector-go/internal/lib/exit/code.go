// Package exit is the program's exit codes, as docs/operating.md lists them.
package exit

// The codes.
const (
	Done        = 0
	Failed      = 1   // the error is on stderr
	Usage       = 2   // the command line cannot be meant
	Missed      = 99  // a goal or threshold was missed; k6's code for the same
	Interrupted = 130 // what shells expect of a program that SIGINT ended
)
