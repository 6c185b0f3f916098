package examine

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
)

// faultPlace is how an error of the YAML library begins.
var faultPlace = regexp.MustCompile(`^\[(\d+):\d+\] (.*)`)

// place is a file with a line, in the form that editors and compilers use; the file alone where the line is not known.
func place(path string, line int) string {
	if line == 0 {
		return path
	}
	return fmt.Sprintf("%s:%d", path, line)
}

// Settings reads a file of settings, Bullet's or Storm's, as plain YAML. What goes wrong is in its Err, with the line
// where it is no YAML, so that the finding can name it. Names stay as they are written: a dot in a name is no level.
func Settings(path string) *doctor.Settings {
	s := &doctor.Settings{Path: path}
	text, err := textfile.Read(path, textfile.Most)
	if err == nil {
		if err = yamlfile.Decode(text, &s.Values); err != nil {
			first := yamlfile.FirstLine(err)
			if found := faultPlace.FindStringSubmatch(first); found != nil {
				s.Line, _ = strconv.Atoi(found[1])
				first = found[2]
			}
			err = fmt.Errorf("%s is no YAML of settings: %s", place(path, s.Line), first)
		}
	}
	s.Err = err
	return s
}
