package embedded

import (
	"context"
	"fmt"
	"log/slog"
)

// room refuses work on a disk that is nearly full.
func (s *Store) room() error {
	free, size, err := diskSpace(s.dir)
	if err != nil {
		return fmt.Errorf("embedded store: look for room in %s: %w", s.dir, err)
	}
	return enough(free, size, s.options.MinFreeBytes, s.dir)
}

func enough(free, size, wanted uint64, dir string) error {
	if least := min(wanted, size/20); free < least {
		return fmt.Errorf("%w: %d MiB are free at %s and %d MiB must be; free space or lower the retention", ErrNoSpace, free>>20, dir, least>>20)
	}
	return nil
}

// tsdbLogger lets tsdb's errors through and keeps the rest for debugging: it tells of every block, and warns of the overlaps
// that out-of-order slices always make.
func tsdbLogger(log *slog.Logger) *slog.Logger { return slog.New(quiet{log.Handler()}) }

type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return q.Handler.Enabled(ctx, hushed(level))
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = hushed(r.Level)
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }

func hushed(level slog.Level) slog.Level {
	if level < slog.LevelError {
		return slog.LevelDebug
	}
	return level
}
