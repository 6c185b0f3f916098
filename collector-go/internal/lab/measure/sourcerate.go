package measure

// emittedPerSecond returns the records/s that the source emitted between two looks. The source's figures are as old as
// its tasks' last reports, so it divides by the time between the reports and not between the looks.
func emittedPerSecond(before, after look) float64 {
	between := after.at.Sub(before.at)
	if reported := between - after.source.Age() + before.source.Age(); reported > 0 {
		between = reported
	}
	return float64(after.source.Emitted-before.source.Emitted) / between.Seconds()
}
