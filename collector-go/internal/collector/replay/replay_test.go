package replay

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

// played returns what captures become in the journal, with one line per entry. "tick a..b" stands for several ticks.
func played(t *testing.T, earlier map[string][]Run, captures map[string]string) (string, Outcome) {
	j, err := journal.Open(t.TempDir(), journal.DefaultOptions())
	require.NoError(t, err)
	clock := &Clock{}
	o := ingest.DefaultOptions()
	o.Now = clock.Now
	server, err := ingest.New(j, o)
	require.NoError(t, err)
	p := New(server, j, clock, slog.New(slog.NewTextHandler(t.Output(), nil)))
	p.Earlier = earlier
	var files []*File
	for _, name := range []string{"a.jsonl", "b.jsonl", "c.jsonl"} {
		if text, there := captures[name]; there {
			files = append(files, NewFile("some/"+name, strings.NewReader(text)))
		}
	}
	outcome, err := p.Play(t.Context(), files...)
	require.NoError(t, err)
	require.NoError(t, j.Close())
	return journalText(t, j), outcome
}

func journalText(t *testing.T, j *journal.Journal) string {
	reader, err := j.Reader(0)
	require.NoError(t, err)
	defer reader.Close()
	var lines []string
	producers := map[journal.ProducerID]string{}
	series := map[journal.SeriesID]string{}
	layouts := map[journal.LayoutID][]journal.SeriesID{}
	var first, last int64
	ticks := func() {
		if first != 0 {
			lines = append(lines, fmt.Sprintf("tick %d..%d", first/1000, last/1000))
		}
		first = 0
	}
	for {
		_, entry, err := reader.Next(t.Context())
		if errors.Is(err, journal.ErrClosed) {
			ticks()
			return strings.Join(lines, "\n")
		}
		require.NoError(t, err)
		tick, isTick := entry.(*journal.Tick)
		if isTick && first != 0 && tick.TimeMs == last+1000 {
			last = tick.TimeMs
			continue
		}
		switch e := entry.(type) {
		case *journal.ProducerDefined:
			producers[e.ID] = fmt.Sprintf("%s (%s)", e.Topology, e.TopologyID)
			continue
		case *journal.SeriesDefined:
			series[e.ID] = e.Series.Name + strings.ReplaceAll("/"+e.Series.Key, metric.KeySeparator, "/")
			continue
		case *journal.LayoutDefined:
			layouts[e.ID] = slices.Clone(e.Series)
			continue
		}
		ticks()
		switch e := entry.(type) {
		case *journal.Started:
			lines = append(lines, fmt.Sprintf("started %d", e.TimeMs))
		case *journal.Tick:
			first, last = e.TimeMs, e.TimeMs
		case *journal.Connected:
			lines = append(lines, fmt.Sprintf("%s connected %d", producers[e.Producer], e.TimeMs))
		case *journal.Disconnected:
			lines = append(lines, fmt.Sprintf("%s disconnected %d", producers[e.Producer], e.TimeMs))
		case *journal.Batch:
			text := fmt.Sprintf("%s %d:", producers[e.Producer], e.ReceivedMs)
			for i, id := range e.IDs {
				text += fmt.Sprintf(" %s=%v@%d", series[id], e.Values[i], e.TimesMs[i]/1000)
			}
			for i := range e.Blocks {
				of := &e.Blocks[i]
				for column, value := range of.Floats(nil) { // of one row, without gaps
					text += fmt.Sprintf(" %s=%v@%d", series[layouts[of.Layout][column]], value, of.TimeMs(0)/1000)
				}
			}
			for _, d := range e.Notes.GetDrops() {
				text += fmt.Sprintf(" dropped %d", d.GetTotalSamples())
			}
			lines = append(lines, text)
		}
	}
}

func at(nowMs, ts int64, value string) string {
	return fmt.Sprintf(`{"now":%d,"ts":%d,"interval":10,"host":"h","port":1,"component":"c","task":1,"name":"n","value":%s}`+"\n",
		nowMs, ts, value)
}

func prepare(id string) string {
	return fmt.Sprintf(`{"event":"prepare","stormId":%q,"workerPort":1,"task":9}`+"\n", id)
}

func TestCapturesBecomeAJournal(t *testing.T) {
	const run, other = "bullet-1-1000", "bullet-2-2000"
	tests := []struct {
		name     string
		earlier  map[string][]Run
		captures map[string]string
		want     string
	}{
		{name: "a second is a batch, and the clock is the capture's",
			captures: map[string]string{"a.jsonl": prepare(run) + at(100_100, 100, "1") +
				at(100_900, 100, `{"k":2,"s":"x"}`) + at(103_200, 103, `"y"`)},
			want: `started 100900
bullet (bullet-1-1000) connected 100900
bullet (bullet-1-1000) 100900: n/=1@100 n/k=2@100 dropped 1
tick 101..103
bullet (bullet-1-1000) 103200: dropped 2
bullet (bullet-1-1000) disconnected 103200`},
		{name: "two captures in the order of their clocks; one run of a topology at a time",
			captures: map[string]string{
				"a.jsonl": prepare(run) + at(100_000, 100, "1") + at(104_000, 104, "3"),
				"b.jsonl": prepare(other) + at(102_000, 102, "2") + at(106_000, 106, "4")},
			want: `started 100000
bullet (bullet-1-1000) connected 100000
bullet (bullet-1-1000) 100000: n/=1@100
tick 101..102
b.jsonl (bullet-2-2000) connected 102000
b.jsonl (bullet-2-2000) 102000: n/=2@102
tick 103..104
bullet (bullet-1-1000) 104000: n/=3@104
bullet (bullet-1-1000) disconnected 104000
tick 105..106
b.jsonl (bullet-2-2000) 106000: n/=4@106
b.jsonl (bullet-2-2000) disconnected 106000`},
		{name: "runs that follow each other are one topology, in one capture too",
			captures: map[string]string{
				"a.jsonl": prepare(run) + at(100_000, 100, "1"),
				"b.jsonl": prepare(other) + at(101_000, 101, "2") + prepare("bullet-3-3000") + at(101_500, 101, "3")},
			want: `started 100000
bullet (bullet-1-1000) connected 100000
bullet (bullet-1-1000) 100000: n/=1@100
bullet (bullet-1-1000) disconnected 100000
tick 101..101
bullet (bullet-2-2000) connected 101000
bullet (bullet-2-2000) 101000: n/=2@101
bullet (bullet-2-2000) disconnected 101500
bullet (bullet-3-3000) connected 101500
bullet (bullet-3-3000) 101500: n/=3@101
bullet (bullet-3-3000) disconnected 101500`},
		{name: "a run that the collector has samples of from later on keeps its name",
			earlier: map[string][]Run{"bullet": {{ID: other, LastMs: 100_000}},
				"b.jsonl": {{ID: "", LastMs: 500_000}}},
			captures: map[string]string{"a.jsonl": prepare(run) + at(100_000, 100, "1"),
				"b.jsonl": at(100_500, 100, "2"), "c.jsonl": prepare(run) + at(102_000, 102, "3")},
			want: `started 100000
a.jsonl (bullet-1-1000) connected 100000
a.jsonl (bullet-1-1000) 100000: n/=1@100
a.jsonl (bullet-1-1000) disconnected 100000
b.jsonl () connected 100500
b.jsonl () 100500: n/=2@100
b.jsonl () disconnected 100500
tick 101..102
bullet (bullet-1-1000) connected 102000
bullet (bullet-1-1000) 102000: n/=3@102
bullet (bullet-1-1000) disconnected 102000`},
		{name: "of a long silence two hours pass; a clock that goes back is followed; without one the events' time is it",
			captures: map[string]string{"a.jsonl": at(100_000, 100, "1") + at(100_000_000, 100_000, "2") +
				at(99_999_000, 99_999, "3") + at(0, 100_002, "4")},
			want: `started 100000
a.jsonl () connected 100000
a.jsonl () 100000: n/=1@100
tick 92801..100000
a.jsonl () 100000000: n/=2@100000
a.jsonl () 99999000: n/=3@99999
tick 100000..100002
a.jsonl () 100002000: n/=4@100002
a.jsonl () disconnected 100002000`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, _ := played(t, test.earlier, test.captures)
			assert.Equal(t, test.want, got)
		})
	}
}

// What a task reports at one time becomes one block, however often it reports. A series that occurs twice at one time
// is sent as columns.
func TestATickIsABlock(t *testing.T) {
	l := &sender.Layouts{Max: maxLayouts}
	of := func(task int32) metric.Raw { return metric.Raw{Component: "c", Task: task} }
	filled := func(b *batch, ids ...uint32) *pb.Batch {
		out := &pb.Batch{Samples: &pb.SampleColumns{}}
		fill(l, out, b, ids)
		return out
	}
	b := &batch{series: []metric.Raw{of(1), of(2), of(1), of(2), of(3)}, timesMs: []int64{5, 5, 5, 5, 5},
		values: []float64{1, 2, 3, 4, 5}}
	out := filled(b, 1, 2, 3, 4, 5)
	require.Len(t, out.GetBlocks(), 2)
	require.Len(t, out.GetLayouts(), 2)
	assert.Equal(t, []uint32{1, 3}, out.GetLayouts()[0].GetSeriesIds())
	assert.Equal(t, []float64{5}, out.GetSamples().GetValues())
	assert.Empty(t, filled(b, 3, 4, 1, 2, 5).GetLayouts(), "the same series in another order")
	twice := filled(b, 1, 2, 1, 4, 5)
	assert.Len(t, twice.GetBlocks(), 1)
	assert.Equal(t, []float64{1, 3, 5}, twice.GetSamples().GetValues())
}

// Malformed lines are reported, and the first ones are named.
func TestOutcome(t *testing.T) {
	_, outcome := played(t, nil,
		map[string]string{"a.jsonl": strings.Repeat("x\n", 20) + at(100_000, 100, `{"a":NaN,"b":2,"c":"x"}`) +
			at(100_000, 900, "1")})
	assert.Equal(t, uint64(3), outcome.Points)
	assert.Equal(t, map[string]uint64{"not_a_number": 1, "future": 1}, outcome.Refused)
	assert.Equal(t, uint64(1), outcome.Unsupported)
	assert.Equal(t, 20, outcome.Unread)
	require.Len(t, outcome.Malformed, maxMalformed)
	assert.ErrorContains(t, outcome.Malformed[9], "some/a.jsonl:10: ")
	assert.Equal(t, map[string]bool{"a.jsonl": true}, outcome.Topologies)
}
