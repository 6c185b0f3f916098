package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const noticesFile = "THIRD-PARTY-NOTICES.txt"

// notice is the text of a licence or a notice, and of what is in a release it is.
type notice struct {
	text string
	of   []string
}

// legal are the names of files that a licence may ask to be passed on.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// noticesOf collects what goes with the licences of all that is in the program, its page and the plugin's jar. What has
// none is a fault.
func noticesOf(tree string) ([]notice, error) {
	c := collected{}
	for _, arch := range architectures {
		if err := c.linked(filepath.Join(tree, "collector-go"), arch); err != nil {
			return nil, err
		}
	}
	page := filepath.Join(tree, "collector-go", "internal", "serve", "webui", "static", "vendor")
	jar := filepath.Join(tree, "plugin-java", "src", "main", "resources", "META-INF", "licenses")
	for path, of := range map[string]string{
		filepath.Join(page, "uplot", "LICENSE"):         "uPlot, in the page",
		filepath.Join(page, "editor", "LICENSES"):       "the page's editor",
		filepath.Join(jar, "THIRD-PARTY.txt"):           "the plugin's jar",
		filepath.Join(jar, "Apache-2.0.txt"):            "the plugin's jar",
		filepath.Join(jar, "BSD-3-Clause-protobuf.txt"): "the plugin's jar",
	} {
		if err := c.add(path, of); err != nil {
			return nil, err
		}
	}
	return c.sorted(), nil
}

// collected are texts, and of what each is.
type collected map[string][]string

// add takes a file's text.
func (c collected) add(path, of string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	key := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
	if !slices.Contains(c[key], of) {
		c[key] = append(c[key], of)
	}
	return nil
}

// linked takes the texts of each package that the program of an architecture is linked of: those beside it, and in the
// directories above it up to its module's.
func (c collected) linked(dir, arch string) error {
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,Module", "./cmd/bullet-metrics")
	list.Dir, list.Env, list.Stderr = dir, append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0"),
		os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	type module struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Version, Dir string }
	}
	covered := map[string]bool{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir string
			Standard        bool
			Module          *module
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		of, root := p.Module.Path+" "+p.Module.Version, p.Module.Dir
		if replaced := p.Module.Replace; replaced != nil {
			of, root = replaced.Path+" "+replaced.Version, replaced.Dir
		}
		found := covered[of]
		for at := p.Dir; ; at = filepath.Dir(at) {
			n, err := c.addLegal(at, of)
			if err != nil {
				return err
			}
			found = found || n > 0
			if at == root || len(at) <= len(root) {
				break
			}
		}
		covered[of] = found
	}
	for of, found := range covered {
		if !found {
			return fmt.Errorf("%s has no licence in its module", of)
		}
	}
	return c.goItself()
}

// addLegal takes the texts that lie in a directory, and returns how many there are.
func (c collected) addLegal(dir, of string) (n int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && legal.MatchString(e.Name()) && !strings.HasSuffix(e.Name(), ".go") {
			n++
			if err := c.add(filepath.Join(dir, e.Name()), of); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// goItself takes the licence of Go's standard library and runtime.
func (c collected) goItself() error {
	out, err := exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return c.add(filepath.Join(root, "LICENSE"), "Go's standard library "+version)
}

// sorted are the notices by what they are of.
func (c collected) sorted() []notice {
	var all []notice
	for text, of := range c {
		slices.Sort(of)
		all = append(all, notice{text, of})
	}
	slices.SortFunc(all, func(a, b notice) int {
		if byPart := slices.Compare(a.of, b.of); byPart != 0 {
			return byPart
		}
		return strings.Compare(a.text, b.text)
	})
	return all
}

// printed is the file of all notices.
func printed(all []notice) string {
	var b strings.Builder
	b.WriteString("Bullet Metrics is under the Apache License 2.0. Its program, page and plugin contain the following, under these licences.\n")
	for _, n := range all {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 100), strings.Join(n.of, "\n"), n.text)
	}
	return b.String()
}
