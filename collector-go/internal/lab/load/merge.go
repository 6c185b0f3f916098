package load

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// MergeFiles reads the outcome files of all clients of one run, in any order, and merges them. Percentiles are
// computed over the latencies of all queries, because the mean of the clients' percentiles would be wrong. An error
// names the file, or the missing part.
func MergeFiles(files []string) (*Report, error) {
	byRun := map[*PartRun]string{}
	var parts []*PartRun
	for _, file := range files {
		p, err := readPartFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		parts, byRun[p] = append(parts, p), file
	}
	slices.SortStableFunc(parts, func(a, b *PartRun) int { return a.Part.Number - b.Part.Number })
	if err := CheckParts(parts); err != nil {
		return nil, err
	}
	merged := MergeParts(parts)
	var urls, limits []string
	for _, p := range parts {
		if !slices.Contains(urls, p.URL) {
			urls = append(urls, p.URL)
		}
		figures, limit := p.figures(byRun[p])
		merged.Parts, limits = append(merged.Parts, figures), append(limits, limit...)
	}
	merged.URL, merged.ClientLimit = strings.Join(urls, ", "), strings.Join(limits, "; ")
	return merged, nil
}

func readPartFile(file string) (*PartRun, error) {
	from, err := textfile.Open(file)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return ReadPart(from)
}

// figures returns the figures of one part, and the reasons why its client could not keep up.
func (p *PartRun) figures(file string) (figures PartFigures, limits []string) {
	alone := NewTally()
	for _, o := range p.Outcomes {
		alone.Add(o)
	}
	t := alone.Result()
	scheduled := t.Submitted() + t.NotSubmitted
	if scheduled+1 < p.Scheduled() { // rounding of the client's clock may change the count by one
		limits = append(limits, fmt.Sprintf("the client of part %s ended early: %d of its %d queries were scheduled", p.Part,
			scheduled, p.Scheduled()))
	}
	if limit := ClientLimit("the client of part "+p.Part.String(), t.Lateness.P99, p.Processors); limit != "" {
		limits = append(limits, limit)
	}
	return PartFigures{Part: p.Part.String(), File: file, Scheduled: scheduled, Submitted: t.Submitted(),
		Lateness: t.Lateness.InMilliseconds(), Processors: p.Processors}, limits
}
