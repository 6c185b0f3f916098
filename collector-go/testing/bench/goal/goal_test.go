package goal

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/answer"
)

func TestALimitHoldsByItsTextAlone(t *testing.T) {
	for _, c := range []struct {
		text       string
		ours, peer float64
		met        bool
	}{
		{">= 5 x peer", 10, 2, true},
		{">= 5 x peer", 9.9, 2, false},
		{"<= 0.25 x peer", 1, 4, true},
		{"<= 0.25 x peer", 1.01, 4, false},
		{">= 1000000", 1e6, math.NaN(), true},
		{"<= 0.0074", 0.0075, 0, false},
		{"<= 0.0074", 0, 0, true},
		{"<= 1 x peer", math.NaN(), 4, false},
		{">= 5 x peer", 10, math.NaN(), false},
	} {
		l, err := ParseLimit(c.text)
		require.NoError(t, err)
		assert.Equal(t, c.text, l.String())
		assert.Equal(t, c.met, l.Met(c.ours, c.peer), "%s: %v beside %v", c.text, c.ours, c.peer)
	}
	for _, wrong := range []string{"", "5", "> 5", ">= five", ">= 5 x ours"} {
		_, err := ParseLimit(wrong)
		assert.Error(t, err, "%q", wrong)
	}
}

func TestAMedianIsOfWhatWasMeasured(t *testing.T) {
	assert.True(t, math.IsNaN(Median(nil)))
	assert.Equal(t, 3.0, Median([]float64{5, 1, 3}))
	assert.Equal(t, 2.0, Median([]float64{3, 1}))
	all := Pieces{
		{Scenario: "a", Subject: Ours, Round: 1, Values: map[string]float64{"v": 7}, Seconds: 1},
		{Scenario: "a", Subject: Ours, Round: 2, Error: "it broke"},
		{Scenario: "a", Subject: Ours, Round: 3, Values: map[string]float64{"v": 9}, Seconds: 3},
		{Scenario: "b", Subject: Ours, Round: 1, Error: "it broke"},
	}
	f := all.Figure("a", Ours, "v")
	assert.Equal(t, Figure{Value: 8, Least: 7, Most: 9, Rounds: 2, Subject: Ours, Seconds: 2}, f)
	assert.Equal(t, "b: it broke", all.Figure("b", Ours, "v").Why)
	assert.Equal(t, "c was not measured", all.Figure("c", Ours, "v").Why)
	assert.Equal(t, "a gives no w", all.Figure("a", Ours, "w").Why)
}

// The best of the peers is the one that is hardest to match, and one that has no figure is named.
func TestThePeerIsTheBestOne(t *testing.T) {
	ours, missing := Figure{Value: 10, Subject: Ours, Rounds: 1},
		Figure{Value: math.NaN(), Subject: "c", Why: "was not built"}
	a, b := Figure{Value: 2, Subject: "a"}, Figure{Value: 3, Subject: "b"}
	p := judge("w", "u", TimesPeer(4), ours, []Figure{a, missing, b})
	assert.Equal(t, "b", p.PeerName)
	assert.False(t, p.Met)
	assert.Equal(t, []string{"c: was not built"}, p.Missing)
	p = judge("w", "u", OfPeer(4), ours, []Figure{b, a})
	assert.Equal(t, "a", p.PeerName)
	assert.Equal(t, 5.0, *p.Ratio)
	p = judge("w", "u", TimesPeer(4), ours, []Figure{missing})
	assert.Nil(t, p.Peer)
	assert.False(t, p.Met)
}

// measured is every value of every scenario, with the same figure for all.
func measured(figure float64) (all Pieces) {
	values := map[string]float64{Cost: figure}
	for _, name := range []string{"samples_per_cpu_second", "rows_per_s", "cores", "disk_bytes_per_sample",
		"data_bytes_per_sample", "ack_p99_ms", "bytes_per_series", "peak_rss_mib", "empty_rss_mib",
		"written_gb_per_day", "ready_s", "cpu_us_per_tick", "caller_cpu_us_per_call", "hook_ns_per_record"} {
		values[name] = figure
	}
	for _, q := range answer.Questions("", 0) {
		values["query_"+q.Name+"_cpu_ms"], values["query_"+q.Name+"_ms"] = figure, figure
	}
	scenarios := []string{Traffic, TrafficPaced, OwnSlice, TenToOne, SixtyToOne, Sustained1s, Sustained10s,
		SmallMessages, Paced, Day, DayRecorded, Memory, MemoryMillion, Start, Plugin}
	for _, g := range Growth {
		for _, size := range g.Sizes {
			scenarios = append(scenarios, GrowthScenario(g.Name, size))
		}
	}
	for _, scenario := range scenarios {
		for _, subject := range []string{Ours, "victoria", "questdb", "influxdb", Floor} {
			all = all.Put(Piece{Scenario: scenario, Subject: subject, Round: 1, Scale: "some", Values: values})
		}
	}
	return all
}

// All ten are judged whatever was measured, and each verdict follows from the goal's text, ours and the peer's figure.
func TestEveryGoalIsJudgedByItsFigures(t *testing.T) {
	for _, all := range []Pieces{nil, measured(1), measured(1e9)} {
		goals := Judge(all)
		require.Len(t, goals, 10)
		for i, g := range goals {
			assert.Equal(t, i+1, g.ID)
			met := true
			for _, p := range g.Parts {
				if all != nil {
					assert.Empty(t, p.Missing, "%d: %s", g.ID, p.What)
					require.NotNil(t, p.Ours)
				}
				assertFollows(t, p.Goal, p.Ours, p.Peer, p.Met)
				met = met && p.Met
			}
			assert.Equal(t, met, g.Met, "goal %d is met where all of its parts are", g.ID)
			assertFollows(t, g.Goal, g.Ours, g.Peer, g.Met)
		}
	}
	for _, g := range Judge(nil) {
		assert.False(t, g.Met, "nothing was measured")
		assert.NotEmpty(t, g.Missing)
	}
	assert.True(t, Judge(measured(1e9))[2].Met, "a thousand million rows a second")
}

func assertFollows(t *testing.T, text string, ours, peer *float64, met bool) {
	t.Helper()
	l, err := ParseLimit(text)
	require.NoError(t, err)
	number := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	assert.Equal(t, l.Met(number(ours), number(peer)), met, "%s: %v beside %v", text, number(ours), number(peer))
}

func TestGrowthIsTheMostExpensiveOverTheFirst(t *testing.T) {
	var all Pieces
	for i, size := range Growth[0].Sizes {
		all = all.Put(Piece{Scenario: GrowthScenario("series", size), Subject: Ours, Round: 1,
			Values: map[string]float64{Cost: []float64{100, 90, 230, 150}[i]}})
	}
	part := Judge(all)[8].Parts[2]
	assert.InDelta(t, 2.3, *part.Ours, 1e-9)
	assert.False(t, part.Met)
}

// A run goes on where it was, unless it is another run.
func TestARunGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out", "bench.json")
	_, there, err := Read(path)
	require.NoError(t, err)
	assert.False(t, there)
	f := &File{Settings: Settings{Rounds: 3}, Versions: map[string]string{"a": "1"}, Machine: Machine{Cores: 2}}
	f.Add(Piece{Scenario: OwnSlice, Subject: Ours, Round: 1, Seconds: 3,
		Values: map[string]float64{"samples_per_cpu_second": 1}})
	f.Add(Piece{Scenario: OwnSlice, Subject: "victoria", Round: 1, Seconds: 2, Error: "it broke"})
	require.NoError(t, f.Write(path))
	earlier, there, err := Read(path)
	require.NoError(t, err)
	require.True(t, there)
	assert.Equal(t, 5.0, earlier.BusySeconds)
	assert.True(t, earlier.Pieces.Measured(Key{OwnSlice, Ours, 1}))
	assert.False(t, earlier.Pieces.Measured(Key{OwnSlice, Ours, 2}))
	assert.False(t, earlier.Pieces.Measured(Key{OwnSlice, "victoria", 1}), "what failed is tried again")
	assert.Empty(t, f.GoesOn(earlier))
	for _, change := range []func(*File){
		func(f *File) { f.Settings.Quick = true },
		func(f *File) { f.Versions = map[string]string{"a": "2"} },
		func(f *File) { f.Machine.Cores = 4 },
	} {
		other := *f
		change(&other)
		assert.NotEmpty(t, other.GoesOn(earlier))
	}
	earlier.Add(Piece{Scenario: OwnSlice, Subject: "victoria", Round: 1, Seconds: 4,
		Values: map[string]float64{"samples_per_cpu_second": 2}})
	assert.Len(t, earlier.Pieces, 2, "in the place of the one that failed")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, _, err = Read(path)
	assert.ErrorContains(t, err, "begin again")
}

// bench.json names each goal's figures as the issue has them.
func TestTheFileNamesWhatIsJudged(t *testing.T) {
	f := &File{}
	f.Add(measured(1)[0])
	text, err := json.Marshal(f)
	require.NoError(t, err)
	var read struct{ Goals []map[string]any }
	require.NoError(t, json.Unmarshal(text, &read))
	require.Len(t, read.Goals, 10)
	for _, key := range []string{"id", "what", "goal", "ours", "peer", "ratio", "met", "scale", "seconds"} {
		assert.Contains(t, read.Goals[0], key)
	}
}

func TestTableAndPage(t *testing.T) {
	f := &File{Settings: Settings{Quick: true, Scale: 1, Rounds: 1}, Versions: map[string]string{"A": "v1"},
		Durability: map[string]string{"A": "syncs"}, Raised: []string{"a limit"}}
	for _, p := range measured(1234567) {
		f.Add(p)
	}
	f.Add(Piece{Scenario: OwnSlice, Subject: "questdb", Round: 1, Error: "questdb.jar was not built"})
	var out bytes.Buffer
	require.NoError(t, f.Table(&out))
	for _, want := range []string{"1,230,000 samples/CPU-s", ">= 1,000,000", "<= 0.012",
		"goal 1 is without questdb: own-slice: questdb.jar was not built", "of 10 goals met"} {
		assert.Contains(t, out.String(), want)
	}
	page, err := f.IntoPage([]byte("before\n" + beginMark + "\nold\n" + endMark + "\nafter\n"))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(page), "before\n"+beginMark+"\nMeasured "))
	assert.True(t, strings.HasSuffix(string(page), endMark+"\nafter\n"))
	assert.NotContains(t, string(page), "old")
	again, err := f.IntoPage(page)
	require.NoError(t, err)
	assert.Equal(t, string(page), string(again))
	_, err = f.IntoPage([]byte("no marks"))
	assert.ErrorIs(t, err, ErrNoMarks)
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for want, n := range map[string]float64{"0": 0, "0.0256": 0.02561, "2.50": 2.5, "12.3": 12.34, "123": 123.4,
		"1,230": 1234, "-1,230": -1234, "12,300,000": 12_345_678} {
		assert.Equal(t, want, Number(&n))
	}
	assert.Equal(t, "-", Number(nil))
}
