package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// interrupted is the end of a run that somebody stopped.
type interrupted struct{}

func (interrupted) Error() string { return "interrupted" }

func (interrupted) ExitCode() int { return exitInterrupted }

// sameSignal is how long after the first signal another one counts as the same: make and timeout pass on what the
// terminal has sent already.
const sameSignal = time.Second

// onSignals ends ctx at the first signal and closes hasten at the second. The signals stay ours to the end: the
// children are in groups of their own, and only we can end them.
func onSignals(parent context.Context, say *terminal) (ctx context.Context, hasten <-chan struct{}) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	signals, requestCheckpoint := make(chan os.Signal, 2), make(chan struct{})
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone must not end us before the children
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		first := time.Now()
		say.Say("stopping all processes (press Ctrl-C again to kill them)")
		cancel(interrupted{})
		for <-signals; time.Since(first) < sameSignal; <-signals {
		}
		say.Say("killing all processes")
		close(requestCheckpoint)
	}()
	if parent.Err() != nil {
		cancel(interrupted{})
	}
	return ctx, requestCheckpoint
}

// withoutTime leaves out of a log line what somebody at a terminal knows.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
		return slog.Attr{}
	}
	return a
}
