package report

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// VolumeReport is R/s and MiB/s, averaged over measured time: of the whole test, and of each configuration, in the rows' order.
type VolumeReport struct {
	rundir.DataVolume
	Configurations []rundir.DataVolume `json:"configurations"`
}

func (r *RunReport) volumeReport(run *rundir.Run) VolumeReport {
	v := VolumeReport{DataVolume: run.Volume(), Configurations: []rundir.DataVolume{}}
	for _, row := range r.Rows {
		var steps []rundir.Step
		for _, t := range run.Trials {
			if t.Configuration == row.Configuration {
				steps = append(steps, t.Steps...)
			}
		}
		v.Configurations = append(v.Configurations, rundir.AverageVolume(steps))
	}
	return v
}

// withVolumes puts the data volume beside each configuration's verdict, and below them that of the whole test where it is another.
func (r *RunReport) withVolumes(t table) table {
	t.Heads, t.Numeric = append(slices.Clone(t.Heads), "Records/s", "MiB/s"), append(slices.Clone(t.Numeric), true, true)
	var rows [][]string
	for i, row := range t.Rows {
		rows = append(rows, append(slices.Clone(row), volumeCells(r.Volume.Configurations[i])...))
	}
	if len(rows) > 1 && r.Volume.RecordsPerSecond.Known() {
		whole := slices.Repeat([]string{""}, len(t.Heads)-2)
		whole[0] = "whole test"
		rows = append(rows, append(whole, volumeCells(r.Volume.DataVolume)...))
	}
	t.Rows = rows
	return t
}

func volumeCells(v rundir.DataVolume) []string {
	if !v.RecordsPerSecond.Known() {
		return []string{"–", "–"}
	}
	return []string{tuning.Digits(v.RecordsPerSecond), tuning.Digits(v.MiBPerSecond)}
}
