package report

import "slices"

// Tables are the run's.
func (r *RunReport) Tables() Tables {
	t := r.Judged.tables
	for _, c := range slices.Concat(r.Judged.Concurrency, r.Judged.Costs) {
		t.Concurrency = append(t.Concurrency, c.table())
	}
	t.QueryGoals, t.Notes = r.queryGoals(), append([]string{}, r.Judged.notes...)
	if !r.Finished {
		t.Notes = append(t.Notes, "the run has not ended: its table is as far as it came")
	}
	return t
}
