package main

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"

// Exit codes, as docs/operating.md lists them. Scripts depend on them: a new meaning needs a new number.
const (
	exitDone        = 0
	exitFailed      = 1                   // the error is on stderr
	exitUsage       = 2                   // the command line or the configuration must be changed
	exitMissed      = runstore.ExitMissed // a goal or threshold was missed; k6 uses the same code
	exitInterrupted = 130                 // the code that shells expect after SIGINT
)

// missed is the error of a command that did its work, with the result that a goal or a threshold was missed.
type missed string

func (m missed) Error() string { return string(m) }

// ExitCode returns the code of a missed goal.
func (missed) ExitCode() int { return exitMissed }
