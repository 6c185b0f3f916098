package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// shownValue is how much of a value a message repeats, bytes: enough for most paths.
const shownValue = 240

// mostBytes of a value are more than a path may have; the longest query has as many in a file.
const mostBytes = 64 << 10

// flagFault says which flag is unknown, with the one that was probably meant, or which flag cannot have which value. It
// does not use the words of the parser's own errors for values.
func flagFault(command *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var known []string
		command.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, f.Name)
			}
		})
		if meant := yamlfile.Meant(unknown.GetSpecifiedName(), known...); meant != "" {
			return usageError{fmt.Errorf("%w; did you mean --%s?", err, meant)}
		}
	}
	if !errors.As(err, &invalid) {
		return usageError{fmt.Errorf("%w; see %s --help", err, command.CommandPath())}
	}
	wanted := map[string]string{"bool": "use true or false", "duration": "use a duration, for example 30s or 5m",
		"int": "use a whole number", "intSlice": "use whole numbers separated by commas",
		"uint64": "use a whole number, at least 0", "float64": "use a number, for example 0.5",
		"float64Slice": "use numbers separated by commas"}[invalid.GetFlag().Value.Type()]
	flag := "--" + invalid.GetFlag().Name
	cause := invalid.Unwrap()
	if number := new(strconv.NumError); wanted != "" && (errors.As(cause, &number) || isGo(cause)) {
		return usageError{fmt.Errorf("%s %s: %s", flag, abridged(invalid.GetValue()), wanted)}
	}
	value := invalid.GetValue()
	said := cause.Error()
	if len(value) > shownValue {
		said = strings.ReplaceAll(said, strconv.Quote(value), abridged(value))
		said = strings.ReplaceAll(said, value, value[:shownValue]+"...")
	}
	return usageError{fmt.Errorf("%s %s: %s", flag, abridged(value), said)}
}

// isGo reports whether an error is in words of Go's own parsers.
func isGo(err error) bool {
	return strings.HasPrefix(err.Error(), "time: ") || strings.HasPrefix(err.Error(), "strconv.")
}

func abridged(value string) string {
	if len(value) > shownValue {
		return fmt.Sprintf("%q... (%d bytes)", value[:shownValue], len(value))
	}
	return strconv.Quote(value)
}

// checkFlags refuses values that no flag of ours has a meaning for, whatever it is called: a text that is empty, a
// number or a time below zero, and what is no number.
func checkFlags(command *cobra.Command, _ []string) (err error) {
	takeOldNames(command)
	if err := takeEnvironment(command); err != nil {
		return err
	}
	command.Flags().Visit(func(f *pflag.Flag) {
		name := f.Name
		if now := f.Annotations[nowCalled]; now != nil {
			name = now[0]
		}
		for _, value := range valuesOf(f) {
			if err != nil {
				return
			}
			if problem := inputProblem(command, name, value); problem != "" {
				err = usageError{fmt.Errorf("--%s %s: %s", f.Name, abridged(value), problem)}
			} else if problem := flagProblem(f.Value.Type(), value); problem != "" {
				err = usageError{fmt.Errorf("--%s %s: %s", f.Name, abridged(value), problem)}
			} else if problem := addressProblem(name, value); problem != nil {
				err = usageError{fmt.Errorf("--%s %w", f.Name, problem)}
			} else if !manyLines[name] && f.Value.Type() != "bool" && strings.ContainsFunc(value, unicode.IsControl) {
				err = usageError{fmt.Errorf("--%s %s: the value contains a control character", f.Name, abridged(value))}
			} else if use := f.Annotations[hint]; use != nil && !slices.Contains(f.Annotations[oneOfValues], value) {
				err = usageError{fmt.Errorf("--%s %s: %s", f.Name, abridged(value), use[0])}
			}
		}
	})
	if err == nil && command.Flags().Changed("tls-cert") != command.Flags().Changed("tls-key") {
		err = usageError{errors.New("--tls-cert and --tls-key belong together: set both or neither")}
	}
	return err
}

// inputs are flags that name something to read: a file, or a file or a directory.
var inputs = map[string]string{"simulate": "file", "config": "file", "tls-ca": "file", "tls-cert": "file",
	"tls-key": "file", "token-file": "file", "input": "", "from": "", "resume": ""}

// inputProblem looks whether what a flag names is there. Grafana's files are on another machine.
func inputProblem(command *cobra.Command, name, path string) string {
	kind, is := inputs[name]
	if !is || command.Parent() != nil && command.Parent().Name() == "grafana" {
		return ""
	}
	about, err := os.Stat(path)
	switch {
	case err != nil:
		return "no such file or directory, or it cannot be read"
	case kind == "file" && about.IsDir():
		return "is a directory; a file is required"
	}
	return ""
}

// manyLines are flags whose value is a text in another language, which may have several lines.
var manyLines = map[string]bool{"query": true, "set": true, "setting": true}

// addressProblem judges the addresses that flags of these names take. "none" is none, where a flag admits that.
func addressProblem(name, value string) error {
	url := address.Form{Example: "http://127.0.0.1:9320", Query: true, HostPort: true}
	switch {
	case strings.HasSuffix(name, "-listen"):
		return address.HostPort(value).Listen("127.0.0.1:9320")
	case name == "nimbus":
		return address.HostPort(value).Server("nimbus:6627")
	case name == "grpc":
		return address.HostPort(value).Server("127.0.0.1:4320")
	case (name == "collector" || name == "url" || name == "source") && value != "none":
		_, err := address.URL(value).Parse(url)
		return err
	}
	return nil
}

// valuesOf are a flag's values as texts.
func valuesOf(f *pflag.Flag) []string {
	switch v := f.Value.(type) {
	case textfile.FlagValue:
		return strings.Split(v.String(), ",")
	case pflag.SliceValue:
		values := v.GetSlice()
		if len(values) == 0 {
			return []string{""}
		}
		if f.Value.Type() == "float64Slice" {
			for i, value := range values { // pflag writes six decimals
				values[i] = strings.TrimSuffix(strings.TrimRight(value, "0"), ".")
			}
		}
		return values
	default:
		return []string{v.String()}
	}
}

func flagProblem(kind, value string) string {
	if len(value) > mostBytes {
		return fmt.Sprintf("longer than %d bytes", mostBytes)
	}
	switch kind {
	case "string", "stringArray", "stringSlice":
		switch {
		case strings.TrimSpace(strings.Trim(value, "\ufeff")) == "":
			return "the value is empty; set a value, or omit the flag"
		case strings.ContainsRune(value, 0):
			return "the value contains a zero byte"
		}
	case "duration":
		if d, err := time.ParseDuration(value); err == nil && d < 0 {
			return "must not be negative"
		}
	case "int", "intSlice", "float64", "float64Slice":
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
			return "not a finite number; use for example 0.5"
		case n < 0:
			return "must not be negative"
		}
	}
	return ""
}

// collectorFlags are the flags of commands that query a running collector over HTTP.
type collectorFlags struct {
	collector string
	access    client.Access
}

func (a *collectorFlags) addFlags(flags *pflag.FlagSet, address, usage string) {
	flags.StringVar(&a.collector, "collector", address, usage)
	flags.Var(textfile.PathFlag(&a.access.CA, ""), "tls-ca",
		"PEM file with the CA of the collector's certificate (default the system CAs)")
	flags.Var(textfile.PathFlag(&a.access.Cert, ""), "tls-cert",
		"PEM file with this client's certificate, if the collector requires one")
	flags.Var(textfile.PathFlag(&a.access.Key, ""), "tls-key", "PEM file with the private key of --tls-cert")
	flags.Var(textfile.PathFlag(&a.access.TokenFile, ""), "token-file", "file with a token that has the scope read")
}

// advised adds what to do if no collector answers; or is what else may help. A refusal says that itself.
func advised(err error, or string) error {
	var refused *client.Refusal
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return fmt.Errorf("%w; check that a collector runs at the address of --collector%s", err, or)
}

// client returns a client of the collector.
func (a *collectorFlags) client() (*client.Client, error) {
	asked, err := client.New(a.collector, a.access)
	if err != nil {
		return nil, usageError{err}
	}
	return asked, nil
}

// dataDirFlag is --data-dir of a command that reads the data directory of a collector. The first argument may name it
// instead.
type dataDirFlag struct{ path string }

func (d *dataDirFlag) addFlag(flags *pflag.FlagSet) {
	flags.Var(textfile.PathFlag(&d.path, ""), "data-dir", "data directory of a collector, if no argument names it")
}

// oneDataDir takes the directory from the only argument, or from the flag.
func (d *dataDirFlag) oneDataDir(cmd *cobra.Command, args []string) (string, error) {
	switch {
	case len(args) == 1 && isTyped(cmd.Flags(), "data-dir"):
		return "", usageError{fmt.Errorf("%s: two data directories, %q and --data-dir %q; name one",
			cmd.CommandPath(), args[0], d.path)}
	case len(args) == 1:
		return args[0], nil
	case d.path == "":
		return "", usageError{fmt.Errorf("%s takes one argument (data directory), or --data-dir; see %[1]s --help",
			cmd.CommandPath())}
	}
	return d.path, nil
}

// dataDirArgument accepts a data directory as the only argument.
func dataDirArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil // the flag names it
	}
	return oneArgument("data directory")(cmd, args)
}
