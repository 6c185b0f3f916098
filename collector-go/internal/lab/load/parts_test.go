package load

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParsePart(t *testing.T) {
	p, err := ParsePart("2/5")
	require.NoError(t, err)
	assert.Equal(t, Part{2, 5}, p)
	assert.Equal(t, "2/5", p.String())
	assert.True(t, Part{}.Whole())
	for _, text := range []string{"", "2", "0/5", "6/5", "1/1001", "-1/2", "a/b", "1/2/3"} {
		_, err := ParsePart(text)
		assert.ErrorContains(t, err, "for example 2/5", text)
	}
}

func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of, n := rapid.IntRange(1, 50).Draw(t, "of"), rapid.IntRange(0, 500).Draw(t, "n")
		all := 0
		for number := 1; number <= of; number++ {
			p, mine := Part{number, of}, 0
			for k := range n {
				if p.has(k) {
					require.Equal(t, k, p.query(mine))
					mine++
				}
			}
			require.Equal(t, mine, p.Share(n))
			all += mine
		}
		require.Equal(t, n, all)
	})
}

// Three clients with equal clocks together submit what one client would: each query once, at its time, with its probe.
func TestPartsOfAnOpenLoopAreOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := DefaultOpenOptions(20, 3*time.Second)
		options.Start = time.Now().Add(time.Second)
		var seen ledger
		var clients sync.WaitGroup
		for number := 1; number <= 3; number++ {
			options.Part = Part{number, 3}
			loop, err := NewOpenLoop(quick(), &counter{turn: make(chan struct{}, 1)}, options, seen.add)
			require.NoError(t, err)
			clients.Go(func() {
				loop.Run(t.Context())
				assert.Equal(t, 20, loop.Counts().Scheduled)
			})
		}
		clients.Wait()
		require.Len(t, seen.outcomes, 60)
		at := map[int]Outcome{}
		for _, o := range seen.outcomes {
			at[o.Slot] = o
		}
		for k := range 60 {
			assert.InDelta(t, options.Start.Add(time.Duration(k)*50*time.Millisecond).UnixMilli(), at[k].IntendedMs, 1)
			assert.Equal(t, probeValue("", k%options.Probes), at[k].Probe)
			assert.Less(t, at[k].LateUs, int64(1000), "query %d", k)
		}
	})
}

func TestPartsOfClosedQueriesHaveTheirOwnSlots(t *testing.T) {
	asked := newGate()
	for number := 1; number <= 3; number++ {
		options := DefaultClosedOptions()
		options.Part = Part{number, 3}
		h := NewClosedLoop(quick(), asked, options, func(Outcome) {})
		t.Cleanup(h.Close)
		h.Hold(7)
	}
	probes := map[string]bool{}
	for _, query := range asked.await(t, 7) {
		probes[query] = true
	}
	assert.Len(t, probes, 7)
	assert.Empty(t, asked.started)
}

// played returns a random run with outcomes of all ends.
func played(r *rand.Rand, n int) (all []Outcome) {
	ends := []End{Returned, Returned, Returned, Failed, TimedOut, Unfinished, CutOff, NotSubmitted}
	for k := range n {
		o := Outcome{Class: Raw, Slot: k, Probe: "p", IntendedMs: 1_000_000 + int64(k)*7, End: ends[r.IntN(len(ends))],
			Expected: r.IntN(3), Missing: r.IntN(2), Records: r.IntN(5)}
		o.SubmittedMs = o.IntendedMs + r.Int64N(20)
		o.FinishedMs = o.SubmittedMs + 1000 + r.Int64N(3000)
		o.LatencyUs, o.LateUs = 1+(o.FinishedMs-o.IntendedMs)*1000, r.Int64N(20_000)
		if o.End == Failed {
			o.Error = fmt.Sprint("status ", 500+r.IntN(3))
		}
		all = append(all, o)
	}
	return all
}

// written returns the file of a part as its client writes it.
func written(p Part, all []Outcome) []byte {
	var file bytes.Buffer
	w := NewOutcomesWriter(&file, &Run{Part: p, Target: "gateway", Class: Raw, Query: "q", Rate: 100,
		StartMs: 1_000_000, DurationMs: 10_000})
	for _, o := range all {
		if p.has(o.Slot) {
			w.Add(o)
		}
	}
	w.End(time.UnixMilli(1_020_000))
	return file.Bytes()
}

// However a run is divided into parts, the merged result equals the whole run.
func TestMergedPartsAreTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		all := played(r, rapid.IntRange(0, 300).Draw(t, "queries"))
		whole := NewTally()
		for _, o := range all {
			whole.Add(o)
		}
		of := rapid.IntRange(1, 7).Draw(t, "parts")
		var parts []*PartRun
		for number := 1; number <= of; number++ {
			p, err := ReadPart(bytes.NewReader(written(Part{number, of}, all)))
			require.NoError(t, err)
			parts = append(parts, p)
		}
		r.Shuffle(of, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		require.NoError(t, CheckParts(parts))
		m := MergeParts(parts)
		require.Equal(t, fmt.Sprint(whole.Result()), fmt.Sprint(m.Tally.Result()), "NaN of nothing included")
		end := m.Moments[len(m.Moments)-1]
		result := whole.Result()
		require.Equal(t, Counts{Scheduled: len(all), Submitted: result.Submitted(), Ends: result.Ends,
			MostInFlight: m.PeakInFlight}, end.Counts)
		require.Equal(t, mostAtOnce(all), m.PeakInFlight)
		for i, moment := range m.Moments[:len(m.Moments)-1] {
			require.Equal(t, int64(1_000_000+1000*(i+1)), moment.TimeMs)
		}
	})
}

// mostAtOnce counts for every ms. A query is in flight from its submission until its end.
func mostAtOnce(all []Outcome) (most int) {
	change := map[int64]int{}
	last := int64(0)
	for _, o := range all {
		if o.End != NotSubmitted {
			change[o.SubmittedMs]++
			change[o.FinishedMs+1]-- // a query that ends in a ms may overlap with one that begins in it
		}
		last = max(last, o.FinishedMs+1)
	}
	now := 0
	for ms := int64(1_000_000); ms <= last; ms++ {
		now += change[ms]
		most = max(most, now)
	}
	return most
}

func TestAPartThatIsNone(t *testing.T) {
	whole := string(written(Part{1, 2}, played(rand.New(rand.NewPCG(1, 0)), 4)))
	lines := strings.SplitAfter(whole, "\n")
	for says, text := range map[string]string{
		"the file is empty":                           "",
		"incomplete after line 3":                     strings.Join(lines[:3], ""),
		"line 5 follows the end of the part":          whole + lines[1],
		"line 1: not an outcomes file of load --part": lines[1],
		"line 2: not JSON: unexpected end of JSON":    lines[0] + `{"slot":0,`,
		"line 2: query 1 does not belong to part 1/2": lines[0] + `{"slot":1,"end":"returned"}`,
		"line 1: invalid part 3/2":                    strings.Replace(whole, `"number":1`, `"number":3`, 1),
		"the part has 2 queries, but 1 lines":         lines[0] + lines[1] + lines[3],
		"a part lasts at most a year":                 strings.Replace(whole, `"time_ms":1020000`, `"time_ms":99999999999999`, 1),
		"line 2 is longer than the maximum of 1 MiB":  lines[0] + strings.Repeat("x", mostLine+1),
		"outside of the part (1970-01-01T00:16:40Z to 1970-01-01T00:16:41Z": strings.Replace(whole,
			`"time_ms":1020000`, `"time_ms":1001000`, 1),
	} {
		_, err := ReadPart(strings.NewReader(text))
		assert.ErrorContains(t, err, says)
	}
}

func TestPartsThatAreNotOneRun(t *testing.T) {
	part := func(number, of int) *PartRun {
		return &PartRun{Run: Run{Part: Part{number, of}, Target: "gateway", Rate: 100, StartMs: 1, DurationMs: 60_000}}
	}
	slower := part(2, 2)
	slower.Rate = 50
	later := part(2, 2)
	later.StartMs = 1000
	for says, parts := range map[string][]*PartRun{
		"part 2/2 is missing":            {part(1, 2)},
		"part 1/2 appears twice":         {part(1, 2), part(1, 2)},
		"the rate is 100 and 50":         {part(1, 2), slower},
		"the number of parts is 2 and 3": {part(1, 2), part(2, 3)},
		"the start is 1970-01-01T00:00:00.001Z and 1970-01-01T00:00:01Z": {part(1, 2), later},
	} {
		assert.ErrorContains(t, CheckParts(parts), says)
	}
	assert.NoError(t, CheckParts([]*PartRun{part(2, 2), part(1, 2)}))
}

// Whatever a file contains, its error names a line, or the part can be merged.
func FuzzPart(f *testing.F) {
	whole := written(Part{1, 2}, played(rand.New(rand.NewPCG(1, 0)), 4))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"run":{"part":{"number":1,"of":1}}}` + "\n" + `{"end":{"time_ms":5,"queries":0}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ReadPart(bytes.NewReader(text))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		if CheckParts([]*PartRun{p}) == nil {
			_ = MergeParts([]*PartRun{p}).Tally.Result()
		}
	})
}
