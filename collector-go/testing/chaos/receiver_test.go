package chaos

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"
)

// written is what a collector that is right writes of a producer's series, from a batch to a batch.
func written(p *Producer, series int, from, to uint64) prompb.TimeSeries {
	s := prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: storedName},
		{Name: "component", Value: component}, {Name: "task", Value: []string{"1", "2"}[series]},
		{Name: "topology", Value: p.options.Topology}, {Name: "worker", Value: p.options.Host + ":6700"}}}
	total := 0.0
	for batch := uint64(1); batch <= to; batch++ {
		if total += p.value(batch, series); batch >= from {
			s.Samples = append(s.Samples, prompb.Sample{Timestamp: p.at(batch).UnixMilli(), Value: total})
		}
	}
	return s
}

// The receiver sees what a collector would do wrong.
func TestTheReceiverSeesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		writes        func(p *Producer) []prompb.TimeSeries
		lost, doubled int64
	}{
		"nothing": {writes: func(p *Producer) []prompb.TimeSeries {
			return []prompb.TimeSeries{written(p, 0, 1, 20), written(p, 1, 1, 20)}
		}},
		"a repeated request": {writes: func(p *Producer) []prompb.TimeSeries {
			return []prompb.TimeSeries{written(p, 0, 1, 20), written(p, 1, 1, 20), written(p, 1, 1, 20)}
		}},
		"a slice is missing": {writes: func(p *Producer) []prompb.TimeSeries {
			return []prompb.TimeSeries{written(p, 0, 1, 20), written(p, 1, 1, 9), written(p, 1, 11, 20)}
		}, lost: 1},
		"the last is missing": {writes: func(p *Producer) []prompb.TimeSeries {
			return []prompb.TimeSeries{written(p, 0, 1, 20), written(p, 1, 1, 19)}
		}, lost: 1},
		"one too many": {writes: func(p *Producer) []prompb.TimeSeries {
			return []prompb.TimeSeries{written(p, 0, 1, 21), written(p, 1, 1, 20)}
		}, doubled: 1},
		"a value counts twice": {writes: func(p *Producer) []prompb.TimeSeries {
			s := written(p, 0, 1, 20)
			s.Samples[19].Value += p.value(20, 0)
			return []prompb.TimeSeries{s, written(p, 1, 1, 20)}
		}, doubled: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewReceiver()
			require.NoError(t, err)
			defer r.Close()
			ledger := NewLedger(7)
			p := newProducer(t.Context(), "", ProducerOptions{Series: 2, Batches: 20}.completed(0), 7)
			p.acknowledged = 21
			ledger.producers = []*Producer{p}
			request := prompb.WriteRequest{Timeseries: c.writes(p)}
			text, err := request.Marshal()
			require.NoError(t, err)
			for down, status := range map[bool]int{true: http.StatusServiceUnavailable, false: http.StatusNoContent} {
				r.SetDown(down)
				response, err := http.Post(r.URL(), "", bytes.NewReader(snappy.Encode(nil, text)))
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				require.Equal(t, status, response.StatusCode)
			}
			lost, doubled := r.Verify(ledger)
			require.Equal(t, []int64{c.lost, c.doubled}, []int64{lost, doubled})
		})
	}
}
