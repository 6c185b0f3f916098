package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/peer"
)

// path is that of bench.json.
func (s *session) path() string { return filepath.Join(s.out, "bench.json") }

// begin is a run's file before anything was measured.
func (s *session) begin() (*goal.File, error) {
	machine, err := describeMachine()
	if err != nil {
		return nil, err
	}
	f := &goal.File{Machine: machine, Versions: s.versions(), Settings: goal.Settings{Quick: s.quick, Scale: s.scale,
		Rounds: s.rounds, Seed: s.seed}, Raised: raised,
		Durability: map[string]string{}, Begun: time.Now().UTC()}
	for _, k := range peer.Kinds {
		f.Durability[k.Title] = k.Durability
	}
	f.Goals = goal.Judge(nil)
	return f, nil
}

// open is the file of a run that goes on, or of a new one. Where pieces are measured again, a run that is complete goes
// on too.
func (s *session) open(again bool) (*goal.File, error) {
	f, err := s.begin()
	if err != nil {
		return nil, err
	}
	earlier, there, err := goal.Read(s.path())
	if err != nil || !there {
		return f, err
	}
	why := f.GoesOn(earlier)
	if why == "" && earlier.Complete && !again {
		why = "it is complete"
	}
	if why == "" {
		fmt.Printf("going on with %s: %d pieces are there\n", s.path(), len(earlier.Pieces))
		earlier.Raised, earlier.Durability = f.Raised, f.Durability
		return earlier, nil
	}
	kept := s.path() + "." + earlier.Begun.Format("20060102-150405")
	fmt.Printf("beginning again, since %s: what was measured is kept as %s\n", why, kept)
	return f, os.Rename(s.path(), kept)
}

// measure measures what is missing, or scenarios again.
func (s *session) measure(ctx context.Context, chosen []scenario, again bool) error {
	f, err := s.open(again)
	if err != nil {
		return err
	}
	for _, sc := range chosen {
		rounds := s.rounds
		if sc.once {
			rounds = 1
		}
		for round := 1; round <= rounds; round++ {
			for _, sub := range inTurn(sc.subjects, round) {
				key := goal.Key{Scenario: sc.name, Subject: sub.name, Round: round}
				if f.Pieces.Measured(key) && !again {
					continue
				}
				p, err := s.piece(ctx, sc, sub, key)
				if err != nil {
					return err
				}
				f.Add(p)
				f.Ended = time.Now().UTC()
				if err := f.Write(s.path()); err != nil {
					return err
				}
			}
		}
	}
	f.Complete = f.Complete || !again
	fmt.Println()
	if s.base != "" {
		return errors.Join(f.Write(s.path()), goal.PrintDifferences(os.Stdout, f.Pieces.Differences()))
	}
	f.Goals = goal.Judge(f.Pieces)
	if err := errors.Join(f.Write(s.path()), s.drawGrowth(f.Pieces, filepath.Join(s.out, growthFile))); err != nil {
		return err
	}
	return f.Table(os.Stdout)
}

// inTurn alternates who comes first.
func inTurn(all []subject, round int) []subject {
	if round%2 == 1 {
		return all
	}
	turned := slices.Clone(all)
	slices.Reverse(turned)
	return turned
}

// longestPiece ends a measurement that hangs.
const longestPiece = 20 * time.Minute

// piece makes one measurement. One that fails is a piece too, whose goal is not met; an interrupt is an error.
func (s *session) piece(ctx context.Context, sc scenario, sub subject, key goal.Key) (goal.Piece, error) {
	p := goal.Piece{Scenario: sc.name, Subject: sub.name, Round: key.Round, Scale: sc.scale, At: time.Now().UTC()}
	dir := filepath.Join(s.dir, sc.name+"-"+sub.name)
	if err := os.RemoveAll(dir); err != nil {
		return p, err
	}
	fmt.Printf("%s  %s, %s, round %d (%s)\n", p.At.Format("15:04:05"), sc.name, sub.name, key.Round, sc.scale)
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, longestPiece)
	defer cancel()
	values, err := sub.measure(limited, dir)
	endAll()
	if ctx.Err() != nil {
		return p, errors.New("interrupted; the same command goes on here")
	}
	p.Seconds, p.Load = time.Since(begun).Seconds(), loadAverage()
	if err != nil {
		p.Error = err.Error()
		fmt.Printf("          failed after %.0f s: %v\n", p.Seconds, err)
		return p, nil
	}
	p.Values = values
	fmt.Printf("          %.0f s: %s\n", p.Seconds, brief(values))
	return p, os.RemoveAll(dir)
}

// brief is all figures in a line.
func brief(values figures) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		parts = append(parts, name+" "+goal.Number(&v))
	}
	return strings.Join(parts, ", ")
}

func (s *session) last() (*goal.File, error) {
	f, there, err := goal.Read(s.path())
	if err == nil && !there {
		err = fmt.Errorf("%s is not there: measure first", s.path())
	}
	if err == nil {
		f.Goals = goal.Judge(f.Pieces)
	}
	return f, err
}

func (s *session) printTable() error {
	f, err := s.last()
	if err != nil {
		return err
	}
	return f.Table(os.Stdout)
}

// writeDocs writes the figures into the page about them.
func (s *session) writeDocs() error {
	f, err := s.last()
	if err != nil {
		return err
	}
	page := filepath.Join(s.repository, "docs", "benchmarks.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if text, err = f.IntoPage(text); err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	if err := os.WriteFile(page, text, 0o644); err != nil {
		return err
	}
	return s.drawGrowth(f.Pieces, filepath.Join(s.repository, "docs", "benchmarks", growthFile))
}
