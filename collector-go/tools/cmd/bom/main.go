// Command bom writes bills of materials, and looks up what is known against what they list. `make sbom` and `make
// check-vulnerabilities` use it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
	"github.com/bullet-metrics/bullet-metrics/collector-go/tools/advisory"
	"github.com/bullet-metrics/bullet-metrics/collector-go/tools/bom"
)

const lookUpTimeout = 20 * time.Second

const usage = `bom program --out FILE --version VERSION PROGRAM [PURL ...]   the bill of a Go program, which carries what PURL names as well
bom check FILE ...                                             whether these are bills, and of how many parts
bom known [--database URL] [--mode required] [--list | --accepted FILE] FILE ...
                                                               what is known against what these bills list`

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bom:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet("bom "+args[0], flag.ContinueOnError)
	switch args[0] {
	case "program":
		path := flags.String("out", "", "where the bill is written")
		version := flags.String("version", "", "the program's")
		if err := flags.Parse(args[1:]); err != nil || flags.NArg() == 0 {
			return errors.Join(err, errors.New(usage))
		}
		b, err := bom.Program(flags.Arg(0), *version, flags.Args()[1:])
		if err != nil {
			return err
		}
		return b.Write(*path)
	case "check":
		return check(args[1:], out)
	case "known":
		var l lookUp
		flags.StringVar(&l.database, "database", "https://api.osv.dev", "what answers OSV's batch queries")
		flags.StringVar(&l.mode, "mode", "if-reachable", "required: a database that cannot be reached is a failure")
		flags.StringVar(&l.accepted, "accepted", "", "what is accepted, a line each: identifier, last day, reason")
		flags.BoolVar(&l.list, "list", false, "list what is known, which is no failure")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return l.run(ctx, flags.Args(), time.Now(), out)
	}
	return errors.New(usage)
}

func check(paths []string, out io.Writer) error {
	for _, path := range paths {
		b, err := bom.Read(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s %s, %d parts\n", path, b.Metadata.Component.Name, b.Metadata.Component.Version,
			len(b.Components))
	}
	return nil
}

// lookUp is what is looked up where.
type lookUp struct {
	database, mode, accepted string
	list                     bool
}

func (l lookUp) run(ctx context.Context, paths []string, now time.Time, out io.Writer) error {
	purls, err := parts(paths)
	if err != nil {
		return err
	}
	accepted, err := l.readAccepted()
	if err != nil {
		return err
	}
	client := httpclient.Plain(httpclient.Options{Timeout: lookUpTimeout})
	known, err := advisory.Database{URL: l.database, Client: client}.Known(ctx, purls)
	if err != nil {
		err = fmt.Errorf("NOT CHECKED for known vulnerabilities of the jars' libraries: %s: %w", l.database, err)
		if l.mode == "required" {
			return err
		}
		fmt.Fprintf(out, "\n*** %v\n\n", err)
		return nil
	}
	found := 0
	for _, purl := range purls {
		for _, id := range known[purl] {
			if accepted.At(id, now) {
				fmt.Fprintf(out, "%s: %s (accepted)\n", purl, id)
				continue
			}
			found++
			fmt.Fprintf(out, "%s: %s, https://osv.dev/vulnerability/%s\n", purl, id, id)
		}
	}
	fmt.Fprintf(out, "%d libraries of jars, %d known vulnerabilities, by %s\n", len(purls), found, l.database)
	if found > 0 && !l.list {
		return fmt.Errorf("%d known vulnerabilities: take a later version of the library, or write into %s why it changes nothing",
			found, l.accepted)
	}
	return nil
}

func (l lookUp) readAccepted() (advisory.Accepted, error) {
	if l.accepted == "" {
		return advisory.Accepted{}, nil
	}
	text, err := os.ReadFile(l.accepted)
	if err != nil {
		return nil, err
	}
	accepted, err := advisory.ParseAccepted(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.accepted, err)
	}
	return accepted, nil
}

// parts are the package URLs of what bills list, each once, in order.
func parts(paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, errors.New("name a bill of materials")
	}
	var purls []string
	for _, path := range paths {
		b, err := bom.Read(path)
		if err != nil {
			return nil, err
		}
		for _, c := range b.Components {
			purls = append(purls, c.Package())
		}
	}
	slices.Sort(purls)
	return slices.Compact(purls), nil
}
