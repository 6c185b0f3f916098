package rundir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Values are what a run is, as named values that can be compared with another's (tuning.DiffSettings): the settings that all trials
// share, what the grid varies, the load, and what is known of versions and machine. bulletSettings are the Bullet YAML's entries.
func Values(plan Plan, bulletSettings []Entry, manifest Manifest) map[string]string {
	values := map[string]string{}
	for _, e := range bulletSettings {
		values[e.Key] = e.Value
	}
	for _, e := range plan.shared() {
		values[e.Key] = e.Value
	}
	for axis, labels := range plan.labels() {
		values["grid."+axis] = strings.Join(labels, ", ")
	}
	plan.addLoad(values)
	manifest.add(values)
	for key, value := range values {
		if value == "" {
			delete(values, key)
		}
	}
	return values
}

// Values are what the run was.
func (r *Run) Values() map[string]string {
	return Values(r.Plan, r.Manifest.BulletSettings, r.Manifest)
}

// shared are the settings that all trials have with the same value.
func (p Plan) shared() (all []Entry) {
	if len(p.Trials) == 0 {
		return nil
	}
	for _, e := range p.Trials[0].Settings {
		if !slices.ContainsFunc(p.Trials, func(t PlannedTrial) bool { return !slices.Contains(t.Settings, e) }) {
			all = append(all, e)
		}
	}
	return all
}

// labels are the places on each axis of the grid, in their order.
func (p Plan) labels() map[string][]string {
	labels := map[string][]string{}
	for _, t := range p.Trials {
		for _, c := range t.Point {
			if !slices.Contains(labels[c.Axis], c.Label) {
				labels[c.Axis] = append(labels[c.Axis], c.Label)
			}
		}
	}
	return labels
}

// addLoad adds what is asked of the topology.
func (p Plan) addLoad(values map[string]string) {
	l := p.Load
	values["load.class"], values["load.submit"] = l.Class, l.Submit
	values["load.query"] = fmt.Sprintf("%d records or %s, %s matching records/s", l.QueryLimit, time.Duration(l.QueryDurationMs)*time.Millisecond, short(float64(l.MatchingPerSecond)))
	if l.BQL != "" {
		values["load.query"] = l.BQL
	}
	values["load.queries"] = strconv.Itoa(l.Queries)
	values["data.records_per_second"] = "calibrated"
	if l.NoSource() {
		values["data.records_per_second"] = "what the topology reads"
	} else if l.RecordsPerSecond.Known() {
		values["data.records_per_second"] = short(float64(l.RecordsPerSecond))
	} else if l.TargetIdle.Known() {
		values["data.records_per_second"] = fmt.Sprintf("calibrated to leave %s%% of the host idle", short(100*float64(l.TargetIdle)))
	}
	steps := map[Axis]string{Queries: "load.queries", QueriesPerSecond: "load.queries_per_second", RecordsPerSecond: "data.records_per_second"}[p.Axis]
	values[steps] = strings.Join(p.stepValues(), ", ")
	values["steps.search"] = string(p.Search)
	values["steps.warm_up"], values["steps.sustain"] = (time.Duration(p.WarmUpMs) * time.Millisecond).String(), (time.Duration(p.SustainMs) * time.Millisecond).String()
	for _, g := range p.Goals {
		values["goals."+string(g.Figure)+"."+string(g.Statistic)] = g.String()
	}
}

// stepValues are the places of the steps, over all trials.
func (p Plan) stepValues() (all []string) {
	for _, t := range p.Trials {
		for _, s := range t.Steps {
			if text := short(s.Value); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

func short(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (m Manifest) add(values map[string]string) {
	v := m.Versions
	for name, text := range map[string]string{"bullet_metrics": v.BulletMetrics, "bullet": v.Bullet, "storm": v.Storm, "kafka": v.Kafka, "java": v.WorkerJava, "plugin": v.Plugin} {
		values["versions."+name] = text
	}
	values["machine.cpu_model"], values["machine.network"] = m.Machine.CPUModel, m.Machine.Network
	if m.Machine.Cores > 0 {
		values["machine.cores"] = strconv.Itoa(m.Machine.Cores)
	}
	if m.Machine.MemoryBytes > 0 {
		values["machine.memory"] = fmt.Sprintf("%.1f GiB", float64(m.Machine.MemoryBytes)/(1<<30))
	}
}
