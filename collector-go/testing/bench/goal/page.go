package goal

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Marks around the part of a page that follows from bench.json.
const (
	beginMark = "<!-- make bench-docs writes from here -->"
	endMark   = "<!-- to here -->"
)

// ErrNoMarks is of a page that has no place for the figures.
var ErrNoMarks = errors.New("the page lacks the lines " + beginMark + " and " + endMark)

// IntoPage puts the figures into a page, in the place of earlier ones.
func (f *File) IntoPage(page []byte) ([]byte, error) {
	before, rest, begins := bytes.Cut(page, []byte(beginMark))
	_, after, ends := bytes.Cut(rest, []byte(endMark))
	if !begins || !ends {
		return nil, ErrNoMarks
	}
	return slices.Concat(before, []byte(beginMark+"\n"+f.Markdown()), []byte(endMark), after), nil
}

// Markdown is the figures for a page.
func (f *File) Markdown() string {
	var to strings.Builder
	f.head(&to)
	to.WriteString("\n| | what | goal | ours | peer | floor | ratio | met | scale |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, g := range f.Goals {
		fmt.Fprintf(&to, "| **%d** | **%s** | | | | | | **%s** | |\n", g.ID, g.What, yes(g.Met))
		for _, p := range g.Parts {
			peer := Number(p.Peer)
			if p.PeerName != "" {
				peer += " (" + p.PeerName + ")"
			}
			fmt.Fprintf(&to, "| | %s | %s | %s %s | %s | %s | %s | %s | %s |\n", p.What, limitText(p.Goal),
				Number(p.Ours), p.Unit, peer, Number(p.Floor), Number(p.Ratio), yes(p.Met), p.Scale)
		}
	}
	for _, g := range f.Goals {
		for _, m := range g.Missing {
			fmt.Fprintf(&to, "\nGoal %d is without %s.\n", g.ID, m)
		}
	}
	to.WriteString("\n![CPU per sample as series, senders and history grow](benchmarks/growth.svg)\n\n" +
		"Durability by default:\n\n- ours answers after an fsync\n")
	for _, name := range slices.Sorted(maps.Keys(f.Durability)) {
		fmt.Fprintf(&to, "- %s %s\n", name, f.Durability[name])
	}
	to.WriteString("\nSettings that differ from the defaults:\n\n")
	for _, r := range f.Raised {
		to.WriteString(settings(r))
	}
	return to.String()
}

// settings is an item of a list. Several settings of one server become a list below its name.
func settings(of string) string {
	name, list, _ := strings.Cut(of, ": ")
	each := strings.Split(list, "; ")
	if len(each) == 1 {
		return "- " + of + "\n"
	}
	return "- " + name + ":\n    - " + strings.Join(each, "\n    - ") + "\n"
}

// pageColumns is the length of a line of prose in a page.
const pageColumns = 120

// wrapped breaks a text at its spaces into lines of a page.
func wrapped(text string) string {
	var lines strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column > 0 && column+1+len(word) > pageColumns:
			lines.WriteByte('\n')
			column = 0
		case column > 0:
			lines.WriteByte(' ')
			column++
		}
		lines.WriteString(word)
		column += len(word)
	}
	return lines.String()
}

// head states where and when.
func (f *File) head(to *strings.Builder) {
	kind := "in full"
	if f.Settings.Quick {
		kind = "with BENCH_QUICK=1"
	}
	if f.Settings.Scale != 1 {
		kind += fmt.Sprintf(", at a scale of %g", f.Settings.Scale)
	}
	least, most := f.loads()
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(f.Versions)) {
		versions = append(versions, name+" "+f.Versions[name])
	}
	to.WriteString(wrapped(fmt.Sprintf(
		"Measured %s, %s: %s, %d cores, %d GiB, Linux %s; load average %.0f to %.0f; medians of %d rounds. Versions: %s.",
		f.Ended.Format("2006-01-02"), kind,
		f.Machine.CPUModel, f.Machine.Cores, f.Machine.MemoryBytes>>30, f.Machine.Kernel, least, most,
		f.Settings.Rounds, strings.Join(versions, ", "))) + "\n")
}

func (f *File) loads() (least, most float64) {
	for i, p := range f.Pieces {
		if i == 0 || p.Load < least {
			least = p.Load
		}
		most = max(most, p.Load)
	}
	return least, most
}
