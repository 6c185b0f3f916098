package optimize

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

// Resource is a setting of the best configuration and its cost.
type Resource struct {
	Setting string `json:"setting"`
	As      string `json:"as"`
	Value   string `json:"value"`
	// Cost is the cost of the value in the unit of the space's costs. It is unknown if a formula gives the whole cost.
	Cost tuning.Figure `json:"cost"`
}

// Requirement estimates a setting for twice the load. It assumes that the required value is proportional to the load,
// without a fixed part. The bounds are therefore twice the bounds that the trials show for the load itself. For a
// setting with easier: less, read "at most" for "at least" and "half" for "twice".
type Requirement struct {
	Setting string `json:"setting"`
	As      string `json:"as"`
	Value   string `json:"value"`
	// Failed is the next harder value that is ruled out, with all other settings unchanged. It is "" if none is.
	Failed string `json:"failed"`
	// Beyond is not enough for twice the load, and Enough is enough. Beyond is unknown if no value is ruled out.
	Beyond tuning.Figure `json:"beyond"`
	Enough tuning.Figure `json:"enough"`
	// Tried is the easiest value of the space.
	Tried string `json:"tried_to"`
	// Covered says whether the space has a value that is enough.
	Covered bool `json:"covered"`
}

// resources returns the settings of the best configuration with their costs.
func (k *knowledge) resources() []Resource {
	all := []Resource{}
	if k.best == nil {
		return all
	}
	space := k.grid.space
	for i, level := range k.grid.points[k.best.at] {
		r := Resource{space.Settings[i].Name, space.Settings[i].As, space.Settings[i].Values[level].Text,
			tuning.Unknown}
		if space.Cost == nil {
			r.Cost = tuning.Figure(space.Settings[i].Costs[level])
		}
		all = append(all, r)
	}
	return all
}

// requirements returns what twice the load would need of each ordered setting of the best configuration.
func (k *knowledge) requirements() []Requirement {
	all := []Requirement{}
	if k.best == nil {
		return all
	}
	best := k.grid.points[k.best.at]
	for i, s := range k.grid.space.Settings {
		if s.Easier == Neither || s.Values[best[i]].Number <= 0 {
			continue
		}
		times, harder, easiest := tuning.Figure(2), -1, len(s.Values)-1
		if s.Easier == Less {
			times, harder, easiest = 0.5, 1, 0
		}
		n := Requirement{Setting: s.Name, As: s.As, Value: s.Values[best[i]].Text, Beyond: tuning.Unknown,
			Enough: times * tuning.Figure(s.Values[best[i]].Number), Tried: s.Values[easiest].Text}
		for level := best[i] + harder; level >= 0 && level < len(s.Values); level += harder {
			if at := k.best.at + (level-best[i])*k.grid.stride[i]; k.ruledOut[at] > 0 {
				n.Failed, n.Beyond = s.Values[level].Text, times*tuning.Figure(s.Values[level].Number)
				break
			}
		}
		last := tuning.Figure(s.Values[easiest].Number)
		n.Covered = s.Easier == More && last >= n.Enough || s.Easier == Less && last <= n.Enough
		all = append(all, n)
	}
	return all
}
