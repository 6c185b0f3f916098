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

// mostLine is the maximum length of a log line in bytes; the rest is ignored. An entry of
// topology.metrics.consumer.register with its argument has a few thousand bytes.
const mostLine = 64 << 10

// Log searches a log of a worker or a submission for messages of the plugin and for missing classes of it. A log may
// be large, so that Log reads it line by line in constant memory. An error is stored in Err, and results before the
// error are kept.
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

// note processes a line. The start of a worker discards earlier results: the new process has none of the problems of
// the old one, and both write to the same file.
func note(l *doctor.Log, line string) {
	before, text, ours := strings.Cut(line, plugininfo.LogMark)
	switch {
	case ours:
		l.Messages++
		noteOurs(l, before, text)
	case strings.Contains(line, "Launching worker for "): // logged by every release of Storm
		l.Problems, l.MissingClass = nil, ""
	case strings.Contains(line, "io.github.bulletmetrics") && missesClass(line):
		l.MissingClass = strings.TrimSpace(line)
	}
}

// noteOurs processes a message of the plugin; before is the part of the line before it. A message that reports the end
// of a problem removes that problem, so that only lasting problems remain. Warnings that this release does not know
// are kept too.
func noteOurs(l *doctor.Log, before, text string) {
	message := plugininfo.Read(text)
	if message != nil {
		l.Problems = slices.DeleteFunc(l.Problems, func(t doctor.Problem) bool { return message.Ends(t.Message) })
		if message.ProvesLoaded() {
			l.MissingClass = ""
		}
		if message.Fix == "" {
			return
		}
	} else if !strings.Contains(before, "WARN") && !strings.Contains(before, "ERROR") {
		return
	}
	l.Problems = slices.DeleteFunc(l.Problems, func(t doctor.Problem) bool { return t.Message == message })
	l.Problems = append(l.Problems, doctor.Problem{Message: message, Line: plugininfo.LogMark + text})
}

// missesClass reports whether a line is about a class that could not be loaded. It knows the messages of Java, of
// Storm's metrics consumer bolt, and of a topology that omits a consumer. The caller checks that the line names a
// class of the plugin.
func missesClass(line string) bool {
	return slices.ContainsFunc([]string{"ClassNotFoundException", "NoClassDefFoundError",
		"Could not instantiate a class", "is left out"}, func(words string) bool { return strings.Contains(line, words) })
}
