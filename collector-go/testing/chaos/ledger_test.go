package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The ledger sees what a collector would do wrong: each case changes what a collector that is right answers.
func TestTheLedgerSeesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		change        func(p *Producer, series int, all []wantPoint) []wantPoint
		lost, doubled int64
	}{
		"nothing": {change: func(_ *Producer, _ int, all []wantPoint) []wantPoint { return all }},
		"a sample that is nowhere": {lost: 1, change: func(p *Producer, series int, all []wantPoint) []wantPoint {
			for i := range all[5:] {
				all[5+i].value -= p.value(6, series)
			}
			return append(all[:5:5], all[6:]...)
		}},
		"a slice that does not answer": {lost: 1, change: func(_ *Producer, _ int, all []wantPoint) []wantPoint {
			return append(all[:5:5], all[6:]...)
		}},
		"a sample that counts twice": {doubled: 1, change: func(p *Producer, series int, all []wantPoint) []wantPoint {
			for i := range all[5:] {
				all[5+i].value += p.value(6, series)
			}
			return all
		}},
		"an empty slice": {lost: 1, change: func(p *Producer, series int, all []wantPoint) []wantPoint {
			for i := range all[5:] {
				all[5+i].value -= p.value(6, series)
			}
			return all
		}},
		"the last": {lost: 1, change: func(_ *Producer, _ int, all []wantPoint) []wantPoint {
			return all[:len(all)-1]
		}},
		"one behind the last": {doubled: 1, change: func(_ *Producer, _ int, all []wantPoint) []wantPoint {
			return append(all, wantPoint{all[len(all)-1].ms + 1000, all[len(all)-1].value})
		}},
		"one of no time that was sent": {doubled: 1, change: func(_ *Producer, _ int, all []wantPoint) []wantPoint {
			return append(all[:3:3], append([]wantPoint{{all[2].ms + 500, all[2].value}}, all[3:]...)...)
		}},
		"a total that falls": {lost: 1, change: func(_ *Producer, _ int, all []wantPoint) []wantPoint {
			first := all[4].value
			for i := range all[5:] {
				all[5+i].value -= first
			}
			return all
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProducer(t.Context(), "", ProducerOptions{Series: 2, Batches: 20}.completed(0), 7)
			p.acknowledged = 21
			answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer(t, w, r, p, c.change)
			}))
			defer answers.Close()
			var o Outcome
			require.NoError(t, p.verify(context.Background(), strings.TrimPrefix(answers.URL, "http://"), &o))
			require.Equal(t, Outcome{Acknowledged: 40, Lost: c.lost, Doubled: c.doubled}, o)
		})
	}
}

type wantPoint struct {
	ms    int64
	value float64
}

// answer is what a collector that has all answers to a range selector, changed in the second series.
func answer(t *testing.T, w http.ResponseWriter, r *http.Request, p *Producer,
	change func(*Producer, int, []wantPoint) []wantPoint) {
	query := r.URL.Query().Get("query")
	length, err := strconv.ParseInt(strings.TrimSuffix(query[strings.LastIndexByte(query, '[')+1:], "ms]"), 10, 64)
	require.NoError(t, err)
	seconds, err := strconv.ParseFloat(r.URL.Query().Get("time"), 64)
	require.NoError(t, err)
	to := int64(seconds * 1000)
	var result []any
	for series := range p.options.Series {
		var all []wantPoint
		total := 0.0
		for batch := uint64(1); batch <= 20; batch++ {
			total += p.value(batch, series)
			all = append(all, wantPoint{p.at(batch).UnixMilli(), total})
		}
		if series == 1 {
			all = change(p, series, all)
		}
		var values []any
		for _, point := range all {
			if point.ms > to-length && point.ms <= to {
				values = append(values, []any{float64(point.ms) / 1000, fmt.Sprint(point.value)})
			}
		}
		result = append(result, map[string]any{"metric": map[string]string{"task": strconv.Itoa(series + 1)},
			"values": values})
	}
	require.NoError(t, json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"result": result}}))
}

func TestAccountsThatDoNotBalance(t *testing.T) {
	accounts := figures{{"bullet_metrics_ingest_received_samples_total", "", 10},
		{"bullet_metrics_ingest_journaled_samples_total", "", 10},
		{"bullet_metrics_feed_samples", `fate="read"}`, 10}, {"bullet_metrics_feed_samples", `fate="in_slices"}`, 10}}
	require.Empty(t, accounts.unbalanced())
	for i := range accounts {
		accounts[i].value++
		require.Len(t, accounts.unbalanced(), 1, "%v", accounts[i])
		accounts[i].value--
	}
	require.Len(t, append(accounts, figure{"bullet_metrics_feed_samples", `fate="late"}`, 1},
		figure{"bullet_metrics_feed_samples", `fate="read"}`, 1}).unbalanced(), 1)
}
