package examine

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
)

// faultPlace matches the beginning of an error of the YAML library.
var faultPlace = regexp.MustCompile(`^\[(\d+):\d+\] (.*)`)

// place returns path:line, the form that editors and compilers use. It returns only the path if the line is unknown
// (0).
func place(path string, line int) string {
	if line == 0 {
		return path
	}
	return fmt.Sprintf("%s:%d", path, line)
}

// Settings reads a settings file of Bullet or Storm as plain YAML. An error is stored in Err, with the line of a YAML
// error. Names are not split at dots.
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
			err = fmt.Errorf("%s: invalid YAML: %s", place(path, s.Line), first)
		}
	}
	s.Err = err
	return s
}
