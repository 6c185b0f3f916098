package main

import (
	"math"
	"os"
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
)

// growthFile shows goal 9.
const growthFile = "growth.svg"

// drawGrowth draws what a sample costs as work grows; nothing where nothing of it was measured.
func (s *session) drawGrowth(all goal.Pieces, path string) error {
	plot := chart.Plot{Name: "growth", Title: "CPU per sample as work grows", YLabel: "CPU per sample, ns",
		XNames: []string{"least", "x 10", "x 100", "x 1,000"}}
	for i, g := range goal.Growth {
		line := chart.Points{Name: g.What, Colour: chart.Series(i), Joined: true}
		for place, size := range g.Sizes {
			if f := all.Figure(goal.GrowthScenario(g.Name, size), goal.Ours, goal.Cost); !math.IsNaN(f.Value) {
				line.X, line.Y = append(line.X, float64(place+1)), append(line.Y, f.Value)
			}
		}
		if len(line.X) > 0 {
			plot.Points = append(plot.Points, line)
		}
	}
	if len(plot.Points) == 0 {
		return nil
	}
	svg, err := plot.Figure().SVG()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, svg, 0o644)
}
