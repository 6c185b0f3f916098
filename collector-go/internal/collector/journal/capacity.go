package journal

// FreeSeries returns how many more series can be defined before Options.MaxSeries are in use.
func (j *Journal) FreeSeries() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return max(j.o.MaxSeries-j.state.dict.known, 0)
}

// ForgetIdle forgets the series of a topology, and their layouts, that were idle for more than two hours. It returns
// the number of these series. "" stands for all topologies. It visits the whole dictionary, so call it only at a limit.
func (j *Journal) ForgetIdle(topology string) (series int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return 0
	}
	d := j.state.dict
	latest := j.crowdHour()
	f := d.idle(before{series: latest}, j.nowHour())
	if topology != "" {
		f = d.ofTopologyOnly(f, topology)
	}
	j.retireIDs(f)
	return len(f.Series)
}

// ofTopologyOnly returns the idle series and layouts of one topology. Producers are left out, because they do not count
// for a topology's limit.
func (d *dictionary) ofTopologyOnly(f *Forgotten, topology string) *Forgotten {
	part := &Forgotten{}
	for _, id := range f.Series {
		if d.series.get(uint32(id)).Series.Topology == topology {
			part.Series = append(part.Series, id)
		}
	}
	for _, id := range f.Layouts {
		if d.layouts.get(uint32(id)).topology == topology {
			part.Layouts = append(part.Layouts, id)
		}
	}
	return part
}
