package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
)

// figures are what a measurement gives, by name; units end the names.
type figures map[string]float64

// measurement measures one server in a directory of its own.
type measurement func(ctx context.Context, dir string) (figures, error)

// subject is who is measured in a scenario.
type subject struct {
	name    string
	measure measurement
}

// scenario is what is done to each of its subjects.
type scenario struct {
	name, what string
	goals      []int
	scale      string
	subjects   []subject
	// once is set where a round takes minutes of the clock, or counts bytes, which hardly differ between rounds.
	once bool
}

// scenarios are all, in the order in which they are measured.
func (s *session) scenarios() []scenario {
	all := []scenario{
		s.traffic(goal.Traffic, false),
		s.traffic(goal.TrafficPaced, true),
		s.ownSlice(),
		s.aggregated(goal.TenToOne, 10*time.Second, 3),
		s.aggregated(goal.SixtyToOne, time.Minute, 6),
		s.sustained(goal.Sustained1s, time.Second, time.Minute, 5*time.Minute),
		s.sustained(goal.Sustained10s, 10*time.Second, 10*time.Second, 5*time.Minute),
		s.smallMessages(),
		s.paced(),
		s.day(goal.Day, "a day of 500 workers, TSBS rows", false),
		s.day(goal.DayRecorded, "half a day of 500 workers, recorded heap and CPU", true),
		s.memory(goal.Memory, 200_000),
		s.memory(goal.MemoryMillion, 1_000_000),
		s.start(),
		s.plugin(),
	}
	return append(all, s.growth()...)
}

// choose are the scenarios that were named, by themselves or by a goal; all where none was.
func choose(all []scenario, wanted []string) (chosen []scenario, err error) {
	if len(wanted) == 0 {
		return all, nil
	}
	found := map[string]bool{}
	for _, sc := range all {
		names := []string{sc.name}
		for _, g := range sc.goals {
			names = append(names, strconv.Itoa(g))
		}
		is := false
		for _, w := range wanted {
			if slices.Contains(names, w) {
				is, found[w] = true, true
			}
		}
		if is {
			chosen = append(chosen, sc)
		}
	}
	for _, w := range wanted {
		if !found[w] {
			return nil, fmt.Errorf("there is no scenario %q, and no goal: --list has them", w)
		}
	}
	return chosen, nil
}

// besideBase are scenarios whose subjects are the two builds. The plugin is in neither.
func (s *session) besideBase(chosen []scenario) (both []scenario, err error) {
	other := *s
	other.program = s.base
	for _, sc := range chosen {
		if sc.name == goal.Plugin {
			continue
		}
		base, err := choose(other.scenarios(), []string{sc.name})
		if err != nil {
			return nil, err
		}
		sc.subjects = []subject{{goal.Base, base[0].subjects[0].measure}, sc.subjects[0]}
		both = append(both, sc)
	}
	return both, nil
}

// print prints the scenarios.
func (s *session) print() error {
	for _, sc := range s.scenarios() {
		var who []string
		for _, sub := range sc.subjects {
			who = append(who, sub.name)
		}
		fmt.Printf("%-20s goals %v: %s (%s); %v\n", sc.name, sc.goals, sc.what, sc.scale, who)
	}
	return nil
}
