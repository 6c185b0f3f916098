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
}

// scenarios are all, in the order in which they are measured.
func (s *session) scenarios() []scenario {
	all := []scenario{
		s.ownSlice(goal.OwnSlice, "TSBS rows, each sample its own slice", false),
		s.ownSlice(goal.OwnSliceRecorded, "recorded heap and CPU, each sample its own slice", true),
		s.sixtyToOne(),
		s.sustained(goal.Sustained1s, time.Second, time.Minute, 5*time.Minute),
		s.sustained(goal.Sustained10s, 10*time.Second, 10*time.Second, 5*time.Minute),
		s.smallMessages(),
		s.paced(),
		s.stages(),
		s.day(goal.Day, "a day of 500 workers, TSBS rows", false),
		s.day(goal.DayRecorded, "a day of 500 workers, recorded heap and CPU", true),
		s.memory(),
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
