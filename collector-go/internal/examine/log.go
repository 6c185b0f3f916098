package examine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/plugin"
)

// mostLine is how much of a line of a log is looked at, bytes.
const mostLine = 4 << 10

// Log reads a log of a worker, or of a submission, for what the plugin says and for classes of it that are missed. What goes wrong is in its
// Err.
func Log(path string) doctor.Log {
	l := doctor.Log{Path: path}
	f, err := os.Open(path)
	if err != nil {
		l.Err = err
		return l
	}
	defer f.Close()
	reader := bufio.NewReaderSize(f, mostLine)
	for {
		line, isPrefix, err := reader.ReadLine()
		if errors.Is(err, io.EOF) {
			return l
		}
		if err != nil {
			l.Err = fmt.Errorf("%s: %w", path, err)
			return l
		}
		note(&l, string(line))
		for isPrefix && err == nil {
			_, isPrefix, err = reader.ReadLine()
		}
	}
}

// note takes a line. A worker that starts, and a collector that is reached again, take back what was before.
func note(l *doctor.Log, line string) {
	_, message, ours := strings.Cut(line, plugin.LogMark)
	switch {
	case ours && (strings.HasPrefix(message, "Metrics reach the collector") || strings.HasPrefix(message, "Metrics go to")):
		l.Problem, l.NoClass = "", ""
	case ours && (strings.Contains(line, "WARN") || strings.Contains(line, "ERROR")):
		l.Problem = plugin.LogMark + message
	case !ours && strings.Contains(line, "io.github.bulletmetrics") && missesClass(line):
		l.NoClass = strings.TrimSpace(line)
	}
	if ours {
		l.Ours++
	}
}

// missesClass reports whether a line is of a class that could not be loaded: Java's own words, those of Storm's metrics consumer bolt, and
// those of a topology that leaves a consumer out.
func missesClass(line string) bool {
	for _, words := range []string{"ClassNotFoundException", "NoClassDefFoundError", "Could not instantiate a class", "is left out"} {
		if strings.Contains(line, words) {
			return true
		}
	}
	return false
}
