package archtest

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// betterNames are words of identifiers for which the field has a term, and the term. A word may be several parts of an
// identifier: "put down" is in putDown and in ReleaseOf.
var betterNames = map[string]string{
	"cohort": "group", "muster": "group", "in step": "grouped", "track": "series state or register", "falls apart": "ungroup",
	"put down": "release", "carried by": "owner", "move in": "import", "move out": "export", "carriage": "state transfer",
	"handover": "transfer", "withdraw": "retract", "dormant": "inactive", "regrid": "realign", "sheet": "column block",
	"booking": "account", "endure": "retry", "hurry": "request", "step over": "skip", "house": "fixture or archtest",
	"wave": "placement change", "whereabouts": "placement", "rival": "candidate", "contest": "duplicates",
	"campaign": "runner", "rundir": "run store", "runlist": "run index", "recordtrace": "trace", "journey": "trace",
	"study": "search", "belief": "data quality", "succession": "timeline", "loris": "slow client", "pulse": "heartbeat",
	"due by": "scheduled", "supply": "source rate", "asleep": "inactive", "rouse": "activate", "alight": "release",
	"lane": "slot or member", "carried": "transferred", "alike": "uniform or same", "books": "accounts",
	"give up": "drop or abandon",
}

// betterNamesIn are words for which one folder's field has a term, and which are plain English elsewhere.
var betterNamesIn = map[string]map[string]string{
	"internal/collector":        {"behind": "lag or after", "wake": "activate or notify", "sleep": "deactivate"},
	"internal/collector/slicer": {"room": "topology state", "calm": "healthy", "whole": "complete", "carry": "transfer"},
	"internal/collector/feed":   {"carry": "export"},
	"internal/collector/ingest": {"room": "capacity", "whole": "complete"},
	"internal/collector/journal": {"head": "segment header", "mark": "control record", "taken": "last sequence",
		"kept": "retained", "patience": "backoff"},
	"internal/collector/registry": {"difference": "diff"},
	"internal/lib/quota":          {"place": "slot", "places": "slots"},
	"internal/lab/load":           {"held": "closed model", "due": "scheduled", "underway": "in flight", "under way": "in flight"},
	"internal/lab/report":         {"judged": "verdicts", "side": "operand"},
	"internal/lab/tuning":         {"need": "requirement", "demand": "load"},
	"internal/serve/httpapi":      {"whole": "complete"},
	"testing/chaos":               {"row": "scenario"},
}

var part = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// oldWord is the first word of names that is in an identifier, or "".
func oldWord(names map[string]string, identifier string) string {
	parts := " " + strings.ToLower(strings.Join(part.FindAllString(identifier, -1), " ")) + " "
	for _, word := range slices.Sorted(maps.Keys(names)) {
		if strings.Contains(parts, " "+word+" ") {
			return word
		}
	}
	return ""
}

// namesOf returns the words that are refused in a file.
func namesOf(file string) map[string]string {
	names := maps.Clone(betterNames)
	for folder, words := range betterNamesIn {
		if strings.Contains(filepath.ToSlash(file), "/"+folder+"/") {
			maps.Copy(names, words)
		}
	}
	return names
}

func TestAnOldWordIsFound(t *testing.T) {
	for identifier, want := range map[string]string{"PutDownOf": "put down", "inStep": "in step", "cohorts": "",
		"newMuster": "muster", "handOver": "", "worksheet": "", "Arrival": ""} {
		assert.Equal(t, want, oldWord(betterNames, identifier), identifier)
	}
	assert.Equal(t, "room", oldWord(namesOf("a/internal/collector/slicer/x.go"), "makeRoom"))
	assert.Empty(t, oldWord(namesOf("a/internal/collector/store/x.go"), "makeRoom"))
}

func TestIdentifiersAreTheFields(t *testing.T) {
	javaOrScript := regexp.MustCompile(`"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|(?s:/\*.*?\*/)|[A-Za-z_]\w*`)
	check := func(file, identifier string) {
		names := namesOf(file)
		if word := oldWord(names, identifier); word != "" {
			assert.Fail(t, "the field has a term for this", "%s: %s: not %s but %s", file, identifier, word, names[word])
		}
	}
	seen := eachSource(t, []string{".go", ".java", ".js", ".mjs"}, func(file, source string) {
		if filepath.Ext(file) == ".go" {
			for _, name := range documented(t, file, source) {
				check(file+": doc comment", name)
			}
		} else {
			for _, found := range javaOrScript.FindAllString(source, -1) {
				if !strings.ContainsAny(found[:1], `"'/`) {
					check(file, found)
				}
			}
			return
		}
		var s scanner.Scanner
		files := token.NewFileSet()
		s.Init(files.AddFile(file, files.Base(), len(source)), []byte(source), nil, 0)
		for {
			_, kind, text := s.Scan()
			if kind == token.EOF {
				return
			}
			if kind == token.IDENT {
				check(file, text)
			}
		}
	})
	assert.Greater(t, seen[".go"], 500)
	assert.Greater(t, seen[".java"], 200)
}

// documented returns the first word of each declaration's doc comment, which is the name that the comment is about.
func documented(t *testing.T, file, source string) (names []string) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments|parser.SkipObjectResolution)
	if !assert.NoError(t, err) {
		return nil
	}
	for _, declared := range tree.Decls {
		var doc *ast.CommentGroup
		switch d := declared.(type) {
		case *ast.FuncDecl:
			doc = d.Doc
		case *ast.GenDecl:
			doc = d.Doc
		}
		if words := strings.Fields(doc.Text()); len(words) > 0 {
			names = append(names, words[0])
		}
	}
	return names
}
