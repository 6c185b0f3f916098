package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/rulestest"
)

// What is promised of clocks and backlogs, and where it is tried:
//
//	a day in one go, four streams an hour apart       TestADayInOneGo
//	two hours behind answers, and its skew is shown   TestClocksThatAreWrong
//	three hours ahead is refused, by name and alone   TestClocksThatAreWrong
//	... and is an alert, from its first burst on      TestAClockAheadIsAnAlert; dashboards/prometheus/tests/BulletMetricsRefusing.test.yaml
//	what is acknowledged answers, or is counted late, feed's TestWhateverHappens (whatever disk, process and machine do) and
//	left out or expired by name                       TestTheAccountingBalancesAndIsServed

// plugin is one metrics consumer: a stream that carries some workers, a tick of each a batch.
type plugin struct {
	r        *running
	stream   pb.IngestService_ExportClient
	epoch    []byte
	workers  []string
	sequence uint64
	window   chan struct{}
	answered chan struct{} // closed when the collector has ended the stream
	read     chan struct{} // closed when it has acknowledged something

	off time.Duration // by how much its clock is ahead

	mu           sync.Mutex
	acknowledged uint64
	clocks       pb.Clocks
	rejected     map[pb.RejectionReason]uint64
}

const gaugesOfAWorker = 5

// plug opens a stream of a topology that carries these workers, whose clocks may be off. It returns when its series are
// acknowledged.
func (r *running) plug(topology string, number byte, workers []string, off ...time.Duration) *plugin {
	return r.plugEvery(10*time.Second, topology, number, workers, off...)
}

// plugEvery is plug for workers that report once an interval.
func (r *running) plugEvery(interval time.Duration, topology string, number byte, workers []string,
	off ...time.Duration) *plugin {
	connection, err := grpc.NewClient(r.col.grpcListener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = connection.Close() })
	p := &plugin{r: r, workers: workers, off: append(off, 0)[0], answered: make(chan struct{}),
		read: make(chan struct{}), rejected: map[pb.RejectionReason]uint64{},
		epoch: append([]byte(fmt.Sprintf("%-15.15s", topology)), number)}
	p.stream, err = pb.NewIngestServiceClient(connection).Export(r.t.Context())
	require.NoError(r.t, err)
	require.NoError(r.t,
		p.stream.Send(&pb.ExportRequest{
			Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: topology, TopologyId: topology + "-1",
				Host: workers[0], Port: 6700 + uint32(number)}}}))
	opened, err := p.stream.Recv()
	require.NoError(r.t, err)
	p.window = make(chan struct{}, opened.GetOpened().GetWindow())
	require.True(r.t, opened.GetOpened().GetTakesBlocks())
	go p.receive()
	b := &pb.Batch{Layouts: []*pb.Layout{{Id: 1}}}
	for w, worker := range workers {
		for g := range gaugesOfAWorker {
			id := uint32(w*gaugesOfAWorker+g) + 1
			b.Series = append(b.Series, &pb.SeriesDefinition{Id: id, Host: worker, Port: 6700, Component: "__system",
				Task: -1, Name: fmt.Sprintf("gauge.%d", g),
				IntervalMs: uint32(interval.Milliseconds()), Temporality: pb.Temporality_TEMPORALITY_GAUGE,
				Shape: pb.Shape_SHAPE_NUMBER})
			b.Layouts[0].SeriesIds = append(b.Layouts[0].SeriesIds, id)
		}
	}
	p.send(b)
	<-p.read
	return p
}

func (p *plugin) receive() {
	defer close(p.answered)
	for {
		answer, err := p.stream.Recv()
		if err != nil {
			return
		}
		p.mu.Lock()
		if sent := answer.GetAcknowledgement().GetSentTimeMs(); sent > 0 {
			if p.clocks.AcknowledgedTimeMs == 0 {
				close(p.read)
			}
			p.clocks.AcknowledgedTimeMs, p.clocks.AcknowledgementSentTimeMs = p.clock(), sent
		}
		for ; p.acknowledged < answer.GetAcknowledgement().GetSequence(); p.acknowledged++ {
			<-p.window
		}
		for _, rejection := range answer.GetAcknowledgement().GetRejections() {
			p.rejected[rejection.GetReason()] += rejection.GetSamples()
		}
		p.mu.Unlock()
	}
}

// clock is the time by the worker's own, ms.
func (p *plugin) clock() int64 { return time.Now().Add(p.off).UnixMilli() }

func (p *plugin) send(b *pb.Batch) {
	p.window <- struct{}{}
	p.sequence++
	b.Epoch, b.Sequence, b.OldestHeldSequence = p.epoch, p.sequence,
		max(1, p.sequence-min(p.sequence, uint64(cap(p.window))))
	require.NoError(p.r.t, p.stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}}))
}

// tick sends one value of every gauge of every worker: the same for all, so that a query can say what should answer.
func (p *plugin) tick(at time.Time, value float64) {
	values := make([]byte, 0, 8*len(p.workers)*gaugesOfAWorker)
	for range len(p.workers) * gaugesOfAWorker {
		values = appendDouble(values, value)
	}
	p.mu.Lock()
	clocks := &pb.Clocks{AcknowledgedTimeMs: p.clocks.GetAcknowledgedTimeMs(),
		AcknowledgementSentTimeMs: p.clocks.GetAcknowledgementSentTimeMs()}
	p.mu.Unlock()
	p.send(&pb.Batch{SendTimeMs: p.clock(), Clocks: clocks,
		Blocks: []*pb.Block{{LayoutId: 1, FirstTimeMs: at.UnixMilli(), Count: 1,
			Codec: pb.ValueCodec_VALUE_CODEC_DOUBLES, Values: values}}})
}

// end waits until everything is acknowledged, and returns what was rejected.
func (p *plugin) end() map[pb.RejectionReason]uint64 {
	require.NoError(p.r.t, p.stream.CloseSend())
	<-p.answered
	require.Equal(p.r.t, p.sequence, p.acknowledged, "everything is acknowledged, if only as refused")
	return p.rejected
}

// number is the value of an expression that gives one series, at a time; 0 where it gives none.
func (r *running) number(expression string, at time.Time) float64 {
	address := fmt.Sprintf("http://%s/api/v1/query?%s", r.col.httpListener.Addr(),
		url.Values{"query": {expression}, "time": {strconv.FormatInt(at.Unix(), 10)}}.Encode())
	response, err := http.Get(address)
	require.NoError(r.t, err)
	defer response.Body.Close()
	var answer struct {
		Data  struct{ Result []struct{ Value [2]any } }
		Error string
	}
	require.NoError(r.t, json.NewDecoder(response.Body).Decode(&answer))
	require.Empty(r.t, answer.Error)
	if len(answer.Data.Result) == 0 {
		return 0
	}
	require.Len(r.t, answer.Data.Result, 1, expression)
	v, err := strconv.ParseFloat(answer.Data.Result[0].Value[1].(string), 64)
	require.NoError(r.t, err)
	return v
}

// accounts are what became of the samples that the embedded store's feed read, by fate.
func (r *running) accounts() map[string]uint64 {
	b := r.col.feed.Accounting()
	fates := map[string]uint64{"in_slices": b.InSlices, "open": b.Open, "expired": b.Expired, "read": b.Read}
	for reason, n := range b.Refused {
		fates["refused "+reason] = n
	}
	for reason, n := range b.LeftOut {
		fates["left out "+reason] = n
	}
	return fates
}

func workersNamed(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", prefix, i))
	}
	return names
}

// Nearly a day of 500 workers that comes in one go, over four streams that drift until they are an hour apart: whatever
// was acknowledged answers, nothing is late.
func TestADayInOneGo(t *testing.T) {
	t.Parallel()
	r := startCollector(t, settings(t.TempDir()))
	const step, streams, workers = 30 * time.Second, 4, 500 / 4
	steps := int(23 * time.Hour / step)
	first := time.Now().Add(-23*time.Hour - 10*time.Minute).Truncate(time.Minute)
	var plugins []*plugin
	for i := range streams {
		plugins = append(plugins, r.plug("backlog", byte(i), workersNamed(fmt.Sprintf("host%d", i), workers)))
	}
	const apart = int(time.Hour / step)
	sent := [streams]int{}
	for now := range steps + apart { // stream i falls behind the first, until it is i thirds of an hour behind
		for i, p := range plugins {
			behind := min(now, steps) * apart / steps * i / (streams - 1)
			for until := min(now-behind, steps-1); sent[i] <= until; sent[i]++ {
				p.tick(first.Add(time.Duration(sent[i])*step), float64(sent[i]))
			}
		}
	}
	require.Equal(t, [streams]int{steps, steps, steps, steps}, sent)
	for _, p := range plugins {
		require.Empty(t, p.end())
	}
	// The last slices stay open: nothing moves their workers' time on. All others answer.
	last := first.Add(time.Duration(steps-4) * step)
	want := float64(streams * workers * gaugesOfAWorker * (steps - 3))
	count := func() float64 {
		sum := 0.0
		for g := range gaugesOfAWorker {
			sum += r.number(fmt.Sprintf(`sum(count_over_time(storm_gauge_%d{topology="backlog"}[24h]))`, g), last)
		}
		return sum
	}
	require.Eventually(t, func() bool { return count() == want }, time.Minute, 200*time.Millisecond,
		"acknowledged and not answered: %v of %v, accounts %v", count, want, r.accounts)
	accounts := r.accounts()
	assert.Zero(t, accounts["refused late"])
	assert.Equal(t, uint64(streams*workers*gaugesOfAWorker*steps), accounts["in_slices"]+accounts["open"], "%v", accounts)
}

// A topology whose clock is two hours behind beside one on time: both answer in full, and the skew is there to see. One
// three hours ahead is refused at the door, by name, and harms nobody.
func TestClocksThatAreWrong(t *testing.T) {
	t.Parallel()
	c := settings(t.TempDir())
	r := startCollector(t, c)
	const steps = 60
	now := time.Now().Truncate(10 * time.Second)
	good := r.plug("good", 1, workersNamed("g", 2))
	behind := r.plug("behind", 2, workersNamed("b", 2), -2*time.Hour)
	ahead := r.plug("ahead", 3, workersNamed("a", 2), 3*time.Hour)
	for i := range steps {
		at := now.Add(time.Duration(i-steps) * 10 * time.Second)
		good.tick(at, 1)
		behind.tick(at.Add(-2*time.Hour), 1)
		ahead.tick(at.Add(3*time.Hour), 1)
	}
	require.Empty(t, good.end())
	require.Empty(t, behind.end())
	samples := uint64(steps * 2 * gaugesOfAWorker)
	require.Equal(t, map[pb.RejectionReason]uint64{pb.RejectionReason_REJECTION_REASON_FUTURE: samples}, ahead.end())

	answered := func(topology string, end time.Time) (n float64) {
		for g := range gaugesOfAWorker {
			n += r.number(fmt.Sprintf(`sum(count_over_time(storm_gauge_%d{topology=%q}[1h]))`, g, topology), end)
		}
		return n
	}
	for topology, end := range map[string]time.Time{"good": now.Add(-40 * time.Second),
		"behind": now.Add(-2*time.Hour - 40*time.Second)} {
		require.Eventually(t, func() bool { return answered(topology, end) == 2*gaugesOfAWorker*(steps-3) },
			time.Minute, 100*time.Millisecond, "%s: %v answer, accounts %v", topology, answered, r.accounts)
	}
	assert.Zero(t, answered("ahead", now.Add(3*time.Hour)))
	assert.Contains(t, string(
		get(t, r, fmt.Sprintf("/api/v1/collection/behind?start=%d&end=%d", now.Add(-150*time.Minute).Unix(),
			now.Add(-2*time.Hour-time.Minute).Unix()))), `"worker":"b-0:6700"`)
	for name, of := range map[string]string{"on the host of a sender": "b-0", "elsewhere": "b-1"} {
		skew := func(what string) float64 {
			return r.number(fmt.Sprintf(`bullet_metrics_collection_skew_%sseconds{topology="behind",worker="%s:6700"}`,
				what, of), now.Add(-2*time.Hour-time.Minute))
		}
		if of == "b-0" {
			assert.InDelta(t, -7200, skew(""), 5, "%s: whatever the samples' age, which is up to ten minutes", name)
			assert.InDelta(t, -7200, skew("least_"), 5, name)
			assert.InDelta(t, -7200, skew("most_"), 5, name)
			continue
		}
		assert.Zero(t, skew(""), "%s: old samples or an old clock, nobody knows", name)
		assert.InDelta(t, -7200, skew("least_"), 700, name)
	}
	assert.InDelta(t, 0, r.number(`bullet_metrics_collection_skew_seconds{topology="good",worker="g-0:6700"}`,
		now.Add(-time.Minute)), 0.1)
	accounts := r.accounts()
	assert.Equal(t, 2*samples, accounts["in_slices"]+accounts["open"], "%v", accounts)
	require.Contains(t, string(get(t, r, "/metrics")),
		fmt.Sprintf(`bullet_metrics_ingest_rejected_samples_total{reason="future"} %d`, samples))
}

func appendDouble(to []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(to, math.Float64bits(v))
}

// get is what a path of the collector's HTTP answers.
func get(t *testing.T, r *running, path string) []byte {
	t.Helper()
	response, err := http.Get("http://" + r.col.httpListener.Addr().String() + path)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return body
}

// The first samples that are ever refused of a topology, in one burst, are an alert that an Alertmanager hears of, by
// the rules that come with the program, twenty times as fast; of the topology beside it nobody hears.
func TestAClockAheadIsAnAlert(t *testing.T) {
	t.Parallel()
	type posted struct{ Labels map[string]string }
	heard := make(chan posted, 1000)
	manager := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		var alerts []posted
		if assert.NoError(t, json.NewDecoder(request.Body).Decode(&alerts)) {
			for _, a := range alerts {
				heard <- a
			}
		}
	}))
	t.Cleanup(manager.Close)
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	require.NoError(t, os.WriteFile(rules, rulestest.Scaled(time.Second, time.Second, 1.0/20), 0o600))
	c := settings(filepath.Join(dir, "data"))
	c.Rules.BuiltIn, c.Rules.Interval, c.Rules.Files, c.Alertmanager.URLs = false, time.Second, []string{rules},
		[]string{manager.URL}
	r := startCollector(t, c)

	now := time.Now().Truncate(10 * time.Second)
	good, ahead := r.plug("good", 1, workersNamed("g", 2)), r.plug("ahead", 2, workersNamed("a", 2))
	good.tick(now, 1)
	ahead.tick(now.Add(3*time.Hour), 1)
	require.Empty(t, good.end())
	require.NotEmpty(t, ahead.end())
	deadline := time.After(2 * time.Minute)
	for {
		select {
		case a := <-heard:
			require.NotEqual(t, "good", a.Labels["topology"])
			if a.Labels["alertname"] == "BulletMetricsRefusing" {
				require.Equal(t, map[string]string{"alertname": "BulletMetricsRefusing", "severity": "warning",
					"topology": "ahead", "reason": "future"}, a.Labels)
				return
			}
		case <-deadline:
			require.FailNow(t, "no alert was posted")
		}
	}
}

type clockAlert struct {
	Labels, Annotations map[string]string
	State               string
}

// clockAlerts are the alerts of skew in a state.
func (r *running) clockAlerts(state string) (all []clockAlert) {
	var answer struct{ Data struct{ Alerts []clockAlert } }
	require.NoError(r.t, json.Unmarshal(get(r.t, r, "/api/v1/alerts"), &answer))
	for _, a := range answer.Data.Alerts {
		if a.Labels["alertname"] == "BulletClockSkew" && a.State == state {
			all = append(all, a)
		}
	}
	return all
}

// A topology whose clocks are minutes or hours off is named at once: by one critical alert, by the doctor and in the
// list of topologies, each with what is blind meanwhile; and what was collected of it is found. The rules are those
// that come with the program, twenty times as fast; of the topology beside it nobody hears.
func TestATopologyWhoseClocksAreOffIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	require.NoError(t, os.WriteFile(rules, rulestest.Scaled(time.Second, time.Second, 1.0/20), 0o600))
	c := settings(filepath.Join(dir, "data"))
	c.Rules.BuiltIn, c.Rules.Interval, c.Rules.Files = false, time.Second, []string{rules}
	r := startCollector(t, c)

	off := map[string]time.Duration{"good": 0, "behind-2m": -2 * time.Minute, "behind-10m": -10 * time.Minute,
		"behind-2h": -2 * time.Hour, "ahead-5m": 5 * time.Minute}
	now := time.Now().Truncate(10 * time.Second)
	for name, by := range off {
		p := r.plug(name, byte(len(name)), []string{name + "-host", name + "-other"}, by)
		for i := range 30 {
			p.tick(now.Add(time.Duration(i-30)*10*time.Second+by), 1)
		}
	}
	firing := func() []clockAlert { return r.clockAlerts("firing") }
	require.Eventually(t, func() bool { return len(firing()) == len(off)-1 }, time.Minute, 100*time.Millisecond,
		"one alert for each topology that is off: %v", firing)
	for _, a := range firing() {
		by := off[a.Labels["topology"]]
		require.NotZero(t, by, "%v", a)
		assert.Equal(t, "critical", a.Labels["severity"])
		if by < 0 {
			assert.Contains(t, a.Annotations["summary"], "behind the collector's: other alerts about "+
				a.Labels["topology"]+" may not fire")
		} else {
			assert.Contains(t, a.Annotations["description"], "other alerts about "+a.Labels["topology"]+
				" are late by ")
		}
		assert.Contains(t, a.Annotations["description"], "Correct the clock of: "+a.Labels["topology"]+"-host:")
	}
	for name, by := range off {
		r.requireSkew(name, by != 0, map[bool]string{true: "cannot see", false: "are delayed"}[by < 0])
		if by > 0 {
			continue // its slices are still to come
		}
		var answer struct{ Data collection.Collection }
		require.Eventually(t, func() bool {
			answer.Data = collection.Collection{}
			require.NoError(t, json.Unmarshal(get(t, r, "/api/v1/collection/"+name), &answer))
			return answer.Data.Samples > 0
		}, time.Minute, 100*time.Millisecond, name)
		assert.Len(t, answer.Data.Workers, 2, name)
	}
}

// A clock that is set back while its worker runs is named at once, by an alert and by the doctor, though it may be
// right since: no sender on its host bounds it. The rules are those that come with the program, twenty times as fast;
// of the topology beside it nobody hears.
func TestAClockSetBackIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	require.NoError(t, os.WriteFile(rules, rulestest.Scaled(time.Second, time.Second, 1.0/20), 0o600))
	c := settings(filepath.Join(dir, "data"))
	c.Rules.BuiltIn, c.Rules.Interval, c.Rules.Files = false, time.Second, []string{rules}
	r := startCollector(t, c)

	steps := map[string]time.Duration{"none": 0, "back-3s": 3 * time.Second, "back-20s": 20 * time.Second,
		"back-300s": 300 * time.Second, "back-1h": time.Hour}
	// No sample is from the future: the newest is two seconds after now.
	now := time.Now().Truncate(time.Second).Add(-2 * time.Second)
	for name, step := range steps {
		p := r.plugEvery(time.Second, name, byte(len(name)), []string{name + "-host", name + "-other"})
		for i := range 60 {
			p.tick(now.Add(time.Duration(i-60)*time.Second), 1)
		}
		for i := range 3 {
			p.tick(now.Add(time.Duration(i)*time.Second-step), 1)
		}
	}
	require.Eventually(t, func() bool { return len(r.clockAlerts("firing")) == len(steps)-1 }, time.Minute,
		100*time.Millisecond, "one alert for each topology of which a clock was set back: %v", r.clockAlerts)
	for _, a := range r.clockAlerts("firing") {
		name := a.Labels["topology"]
		step := steps[name]
		require.NotZero(t, step, "%v", a)
		assert.Equal(t, map[bool]string{true: "critical", false: "warning"}[step > time.Minute], a.Labels["severity"])
		assert.Equal(t, "set_back", a.Labels["cause"])
		assert.Contains(t, a.Annotations["summary"], "A worker's clock in "+name+" was set back by at least ")
		assert.Contains(t, a.Annotations["description"], "slew (not step) the clock of: "+name+"-host:")
	}
	for name, step := range steps {
		r.requireSkew(name, step != 0, fmt.Sprintf("was set back by at least %s in the last", step-time.Second))
	}
}

// requireSkew holds what doctor says of a topology's clocks.
func (r *running) requireSkew(topology string, off bool, says string) {
	r.t.Helper()
	findings, _ := r.examine(topology) // the error is that there are findings
	found, known := findings["skew"]
	require.True(r.t, known, "%s: %v", topology, findings)
	if !off {
		assert.Equal(r.t, doctor.OK, found.Status, "%+v", found)
		return
	}
	assert.Equal(r.t, doctor.Fail, found.Status, "%s: %+v", topology, found)
	assert.Contains(r.t, found.Says, says)
}
