package examine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// mostLine is how much of a line of a log is looked at, bytes: an entry of topology.metrics.consumer.register with its
// argument has a few thousand.
const mostLine = 64 << 10

// Log reads a log of a worker, or of a submission, for what the plugin logs and for classes of it that are missed. It
// reads line by line in constant memory, since a log may be large, and cuts lines at mostLine. What goes wrong is in
// its Err; what was read before stays.
func Log(path string) doctor.Log {
	l := doctor.Log{Path: path}
	f, err := textfile.Open(path)
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

// note takes a line. The start of a worker clears what was noted, because a worker that starts has none of the trouble
// of the one before it, and both write to one file.
func note(l *doctor.Log, line string) {
	before, text, ours := strings.Cut(line, plugininfo.LogMark)
	switch {
	case ours:
		l.Ours++
		noteOurs(l, before, text)
	case strings.Contains(line, "Launching worker for "): // Storm's, of every release
		l.Trouble, l.NoClass = nil, ""
	case strings.Contains(line, "io.github.bulletmetrics") && missesClass(line):
		l.NoClass = strings.TrimSpace(line)
	}
}

// noteOurs takes a message of the plugin, and what its logger wrote before it. A message that states that a trouble is
// over removes it, so that only what lasts is left. A warning that this release does not know is kept too.
func noteOurs(l *doctor.Log, before, text string) {
	message := plugininfo.Read(text)
	if message != nil {
		l.Trouble = slices.DeleteFunc(l.Trouble, func(t doctor.Trouble) bool { return message.Ends(t.Message) })
		if message.HasBegun() {
			l.NoClass = ""
		}
		if message.Fix == "" {
			return
		}
	} else if !strings.Contains(before, "WARN") && !strings.Contains(before, "ERROR") {
		return
	}
	l.Trouble = slices.DeleteFunc(l.Trouble, func(t doctor.Trouble) bool { return t.Message == message })
	l.Trouble = append(l.Trouble, doctor.Trouble{Message: message, Line: plugininfo.LogMark + text})
}

// missesClass reports whether a line is of a class that could not be loaded: Java's own words, those of Storm's metrics
// consumer bolt, and those of a topology that leaves a consumer out. Only lines that also name a class of the plugin
// are asked about.
func missesClass(line string) bool {
	for _, words := range []string{"ClassNotFoundException", "NoClassDefFoundError", "Could not instantiate a class",
		"is left out"} {
		if strings.Contains(line, words) {
			return true
		}
	}
	return false
}
