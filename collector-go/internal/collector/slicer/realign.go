package slicer

// realign moves each series whose slice width differs between the snapshot and the present options to the series state
// of its new width. Its open samples move too, or count as late if their new slice is already closed. Without this a
// changed width would apply only to series that are new.
func (s *Slicer) realign() {
	for _, src := range s.sources {
		for _, t := range src.states {
			for _, in := range t.inputs {
				if in == nil || in.out.owner != in {
					continue
				}
				if width := s.options.width(in.rule.Series.Name(), in.rule.IntervalMs); width != t.widthMs {
					s.move(in, width)
				}
			}
		}
	}
}

// move gives a series a place in the series state of another width, with its open samples. Another width is another
// series for the stores, so the output gets new refs (own).
func (s *Slicer) move(in *input, widthMs int64) {
	old := in.state
	interval := intervalIn(widthMs, in.rule.IntervalMs)
	samples, readings := s.takeOut(old, in.slot)
	old.leave(in)
	s.own(in.out, in, widthMs, interval)
	s.seriesState(old.source, widthMs, interval, old.packMs).enter(in)
	for _, x := range samples {
		if b := s.replace(in, x.timeMs); b != nil {
			x.slot = in.slot
			s.put(in.state, b, x)
		}
	}
	for _, x := range readings {
		if b := s.replace(in, x.timeMs); b != nil {
			x.slot = in.slot
			in.state.newestMs = max(in.state.newestMs, x.timeMs)
			b.histograms = append(b.histograms, x)
		}
	}
}

// replace returns the bucket for a sample that was open before. Unlike place, it skips the checks that the sample
// passed when it arrived. A sample whose new slice is closed counts as late, so that the accounting still balances.
func (s *Slicer) replace(in *input, timeMs int64) *bucket {
	end := in.state.endOf(timeMs)
	if end <= in.state.closedTo || end <= in.out.lastEnd {
		s.opened(in.state, -1)
		s.late(in, 1)
		return nil
	}
	return s.bucket(in.state, end)
}
