package rulesengine

import (
	"context"
	"log/slog"
)

// quiet drops log records below warnings. The libraries log their starts and stops, which are of no use to an
// operator.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }

// quieted returns a logger for a library. If logger is nil, it discards everything.
func quieted(logger *slog.Logger) *slog.Logger {
	if logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(quiet{logger.Handler()})
}
