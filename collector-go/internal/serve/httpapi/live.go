package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/live"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

const (
	// liveEvery is the least time between two events of a stream of live samples. The workers of a topology send at
	// different times, and an event can have the samples of many.
	liveEvery = 250 * time.Millisecond
	// liveQuiet is the most time between two events. An empty event tells the client that the collector works, and what
	// its clock is.
	liveQuiet = time.Second
	// liveStall is how long a client may not read.
	liveStall = 20 * time.Second
	// maxLiveStreams leaves room for other requests. One client can use only a share of them.
	maxLiveStreams = 100
)

// live streams the newest samples of a topology's workers as server-sent events. docs/operating.md describes them.
func (a *api) live(w http.ResponseWriter, r *http.Request) {
	asked := parseForm(r)
	topology := asked.FormValue("topology")
	refuse := func(typ string, err error) { a.write(w, asked, answer{err: &apiError{typ, err}}) }
	switch err := asked.refused(); {
	case err != nil:
		refuse(errorBadData, err)
		return
	case topology == "":
		refuse(errorBadData, errors.New("missing parameter \"topology\""))
		return
	}
	if _, known := a.options.Registry.Topology(topology, ""); !known {
		refuse(errorNotFound, fmt.Errorf("topology %q does not report to this collector; /api/v1/topologies lists the known topologies",
			topology))
		return
	}
	release, err := a.streams.Take(query.ClientOf(r.Context()))
	if err != nil {
		refuse(errorTooMany, fmt.Errorf("too many streams of live samples: %w; close other pages of the collector", err))
		return
	}
	defer release()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would collect events
	seen, _ := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64)
	a.sendLive(w, r, topology, seen)
}

// sendLive sends events until the client is gone, the server stops, or the stream lasted long enough.
func (a *api) sendLive(w http.ResponseWriter, r *http.Request, topology string, seen uint64) {
	out := http.NewResponseController(w)
	over := time.After(a.options.RequestTimeout * 4 / 5)
	// A client that is no longer permitted is refused when it opens the next stream.
	var changed <-chan struct{}
	if a.options.Guard != nil {
		changed = a.options.Guard.Changed()
	}
	for sent := (time.Time{}); ; {
		news, newest, more := a.options.Live.Since(topology, seen)
		if len(news) > 0 || time.Since(sent) >= liveQuiet { // the news may be of other topologies
			if a.sendNews(w, out, newest, news) != nil {
				return // the client is gone
			}
			seen, sent = newest, time.Now()
		}
		pause := time.After(liveEvery)
		select {
		case <-more:
			<-pause
		case <-time.After(time.Until(sent.Add(liveQuiet))):
		case <-over:
			return
		case <-changed:
			return
		case <-a.options.stopping:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// sendNews sends one event.
func (a *api) sendNews(w io.Writer, out *http.ResponseController, number uint64, news []live.Worker) error {
	nowMs, readMs := a.options.Live.NowMs()
	data, err := json.Marshal(liveEventOf(nowMs, readMs, news))
	if err != nil {
		return err
	}
	_ = out.SetWriteDeadline(time.Now().Add(liveStall)) // it fails for a writer that has none, as in a test
	if _, err := fmt.Fprintf(w, "retry: 1000\nid: %d\nevent: samples\ndata: %s\n\n", number, data); err != nil {
		return err
	}
	return out.Flush()
}

// liveEvent is the data of an event. docs/operating.md describes it.
type liveEvent struct {
	NowMs   int64        `json:"now_ms"`
	ReadMs  int64        `json:"read_ms"`
	Workers []liveWorker `json:"workers"`
}

// liveWorker has the new samples of a worker, by column.
type liveWorker struct {
	Worker    string   `json:"worker"`
	HeardMs   int64    `json:"heard_ms"`
	EveryMs   int64    `json:"every_ms"`
	TimesMs   []int64  `json:"times_ms"`
	Cores     []orNull `json:"cpu_cores"`
	HeapBytes []orNull `json:"heap_bytes"`
	GCShare   []orNull `json:"gc_share"`
}

// orNull is a number, with four digits after the point. NaN and infinite numbers are null.
type orNull float64

func (v orNull) MarshalJSON() ([]byte, error) {
	rounded := math.Round(float64(v)*1e4) / 1e4
	if math.IsNaN(rounded) || math.IsInf(rounded, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, rounded, 'f', -1, 64), nil
}

func liveEventOf(nowMs, readMs int64, news []live.Worker) liveEvent {
	event := liveEvent{nowMs, readMs, make([]liveWorker, len(news))}
	for i, n := range news {
		w := liveWorker{Worker: n.Name, HeardMs: n.HeardMs, EveryMs: n.EveryMs}
		for _, s := range n.Samples {
			w.TimesMs = append(w.TimesMs, s.TimeMs)
			w.Cores = append(w.Cores, orNull(s.Cores))
			w.HeapBytes = append(w.HeapBytes, orNull(s.HeapBytes))
			w.GCShare = append(w.GCShare, orNull(s.GCShare))
		}
		event.Workers[i] = w
	}
	return event
}
