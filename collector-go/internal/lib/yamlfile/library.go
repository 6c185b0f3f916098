package yamlfile

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Patterns of the messages of the libraries that read rules and http_config files.
var (
	libraryLine    = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	libraryUnknown = regexp.MustCompile(`^field (.*) not found in type .*$`)
	libraryKind    = regexp.MustCompile(`(?s)^cannot unmarshal !!([a-z]+).* into (\S+)$`)
)

// LibraryFaults returns the faults of a file in one of Prometheus' formats, in plain words and each with file and
// line. It does not repeat values, which may be secrets.
func LibraryFaults(path string, err error) error {
	var faults []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line == "yaml: unmarshal errors:" {
			continue
		}
		fault := fmt.Errorf("%s: %s", path, strings.TrimPrefix(line, "0:0: "))
		if found := libraryLine.FindStringSubmatch(line); found != nil {
			fault = fmt.Errorf("%s:%s: %s", path, found[1], plain(found[2]))
		}
		if !slices.ContainsFunc(faults, func(f error) bool { return f.Error() == fault.Error() }) {
			faults = append(faults, fault)
		}
	}
	return errors.Join(faults...)
}

func plain(fault string) string {
	if unknown := libraryUnknown.FindStringSubmatch(fault); unknown != nil {
		return fmt.Sprintf("unknown field %q", unknown[1])
	}
	kinds := libraryKind.FindStringSubmatch(fault)
	if kinds == nil {
		return fault
	}
	found := map[string]string{"str": "a text", "int": "a number", "float": "a number", "bool": "true or false",
		"seq": "a list", "map": "a mapping", "null": "nothing"}[kinds[1]]
	found = cmp.Or(found, "a value of another kind")
	wanted := "a mapping"
	switch {
	case strings.HasPrefix(kinds[2], "[]"):
		wanted = "a list"
	case kinds[2] == "string":
		wanted = "a text"
	case kinds[2] == "bool":
		wanted = "true or false"
	case strings.HasPrefix(kinds[2], "int"), strings.HasPrefix(kinds[2], "uint"), strings.HasPrefix(kinds[2], "float"):
		wanted = "a number"
	}
	return fmt.Sprintf("found %s, expected %s", found, wanted)
}
