package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gateway answers each query with a record, at once or when it is released.
type gateway struct {
	url     string
	asked   chan struct{}
	release chan struct{} // closed if no query should wait
}

func startGateway(t *testing.T) *gateway {
	g := &gateway{asked: make(chan struct{}, 10_000), release: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		g.asked <- struct{}{}
		select {
		case <-g.release:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, `{"records":[{"a":1}],"meta":{}}`)
	}))
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func (g *gateway) await(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		select {
		case <-g.asked:
		case <-time.After(time.Minute):
			t.Fatalf("only %d of %d queries came", i, n)
		}
	}
}

func (g *gateway) options(connect Connect, names ...string) Options {
	return Options{Hosts: names, Connect: connect, Target: load.Target{Gateway: g.url}, Connections: 100,
		Class: load.Raw, Query: load.Parameters{Text: "SELECT * FROM STREAM(1000, TIME)", Duration: time.Second, NoSource: true}}
}

// here runs a client in this process.
func here(ctx context.Context) Connect {
	return scripted(func(orders io.Reader, answers io.Writer) error { return Serve(ctx, orders, answers) })
}

// ledger keeps outcomes and failures.
type ledger struct {
	mu       sync.Mutex
	outcomes []load.Outcome
	failed   chan error
}

func newLedger() *ledger { return &ledger{failed: make(chan error, 10)} }

func (l *ledger) observe(o load.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes = append(l.outcomes, o)
}

func (l *ledger) fail(err error) { l.failed <- err }

// slots returns the slots of the outcomes, ascending.
func (l *ledger) slots() (all []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.outcomes {
		all = append(all, o.Slot)
	}
	slices.Sort(all)
	return all
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// Three clients together submit what was planned: every query once, each at its time, however the parts are divided.
func TestThePartsAreTheWhole(t *testing.T) {
	g, l := startGateway(t), newLedger()
	close(g.release)
	h, err := Start(t.Context(), g.options(here(t.Context()), "a", "b", "c"))
	require.NoError(t, err)
	asker := h.Asker(l.observe, l.fail)
	defer asker.Close()
	options := load.DefaultOpenOptions(200, 500*time.Millisecond)
	options.Start = time.Now().Add(asker.Lead())
	done, err := asker.Open(options)
	require.NoError(t, err)
	<-done
	assert.Equal(t, upTo(100), l.slots())
	perHost := map[string]int{}
	for _, o := range l.outcomes {
		perHost[o.Host]++
		assert.Equal(t, load.Returned, o.End, o.Error)
		assert.InDelta(t, options.Start.Add(time.Duration(o.Slot)*5*time.Millisecond).UnixMilli(), o.IntendedMs, 2)
	}
	assert.Equal(t, map[string]int{"a": 34, "b": 33, "c": 33}, perHost)
	n, err := asker.InFlightBefore(t.Context(), time.Now())
	require.NoError(t, err)
	assert.Zero(t, n)
	asker.Close()
	asker.Close()
	assert.Empty(t, l.failed, "an end that was ordered is none")
}

// Queries of the closed model are counted on all hosts, and those that the end cuts off are reported too.
func TestClosedQueriesEndWithTheRun(t *testing.T) {
	g, l := startGateway(t), newLedger()
	h, err := Start(t.Context(), g.options(here(t.Context()), "a", "b"))
	require.NoError(t, err)
	asker := h.Asker(l.observe, l.fail)
	asker.Hold(7, time.Now(), 0)
	g.await(t, 7)
	n, err := asker.InFlightBefore(t.Context(), time.Now().Add(time.Second))
	require.NoError(t, err)
	assert.Equal(t, 7, n)
	n, err = asker.InFlightBefore(t.Context(), time.Now().Add(-time.Minute))
	require.NoError(t, err)
	assert.Zero(t, n, "none is as old")
	require.Eventually(t, func() bool { return asker.InFlight() == 7 }, time.Minute, 10*time.Millisecond)
	for i, usage := range asker.Usage() {
		assert.Equal(t, h.all[i].name, usage.Host)
		assert.Positive(t, usage.Cores)
		assert.Positive(t, usage.CPU)
		assert.WithinDuration(t, time.Now(), usage.At, time.Minute)
	}
	asker.Close()
	assert.Equal(t, upTo(7), l.slots())
	for _, o := range l.outcomes {
		assert.Equal(t, load.CutOff, o.End)
	}
}

// If a client's clock is off by a tolerable amount, its outcomes are converted to our clock.
func TestTimesAreByOurClock(t *testing.T) {
	g, l := startGateway(t), newLedger()
	close(g.release)
	h, err := Start(t.Context(), g.options(ahead(t, 300*time.Millisecond), "a"))
	require.NoError(t, err)
	assert.InDelta(t, 300, h.all[0].ahead.Milliseconds(), 100)
	asker := h.Asker(l.observe, l.fail)
	defer asker.Close()
	options := load.DefaultOpenOptions(10, time.Second)
	options.Start = time.Now().Add(asker.Lead())
	done, err := asker.Open(options)
	require.NoError(t, err)
	<-done
	require.Len(t, l.outcomes, 10)
	slices.SortFunc(l.outcomes, func(a, b load.Outcome) int { return a.Slot - b.Slot })
	assert.Equal(t, options.Start.UnixMilli(), l.outcomes[0].IntendedMs, "the client got it by its own clock")
}

// If a clock is further off, completeness could not be judged, so nothing is started.
func TestAClockThatIsFarOffIsRefused(t *testing.T) {
	g := startGateway(t)
	for off, want := range map[time.Duration]string{time.Minute: "ahead of", -time.Minute: "behind"} {
		_, err := Start(t.Context(), g.options(ahead(t, off), "near"))
		require.ErrorContains(t, err, "load host near: its clock is")
		require.ErrorContains(t, err, want+" this host's")
		require.ErrorContains(t, err, "synchronize both with NTP")
	}
}

// ahead returns a client whose clock is off, for all times that it reads and writes.
func ahead(t *testing.T, off time.Duration) Connect {
	return func(host string) (*Connection, error) {
		c, err := here(t.Context())(host)
		if err != nil {
			return nil, err
		}
		orders, to := io.Pipe()
		from, answers := io.Pipe()
		inner := c.Orders
		go func() {
			defer inner.Close()
			_ = eachLine(orders, func(o order) error {
				switch {
				case o.Hold != nil:
					o.Hold.FromMs -= off.Milliseconds()
				case o.Open != nil:
					o.Open.StartMs -= off.Milliseconds()
				case o.Count != nil:
					o.Count.BeforeMs -= off.Milliseconds()
				}
				return writeLine(inner, o)
			})
		}()
		inside := c.Answers
		go func() {
			defer answers.Close()
			_ = eachLine(inside, func(a answer) error {
				switch {
				case a.Clock != nil:
					a.Clock.TimeUs += off.Microseconds()
				case a.State != nil:
					a.State.TimeMs += off.Milliseconds()
				case a.Outcome != nil:
					a.Outcome.IntendedMs += off.Milliseconds()
					a.Outcome.SubmittedMs += off.Milliseconds()
					a.Outcome.FinishedMs += off.Milliseconds()
				}
				return writeLine(answers, a)
			})
		}()
		kill := c.Kill
		return &Connection{Orders: to, Answers: from, Wait: c.Wait,
			Kill: func() { kill(); from.Close(); to.Close() }}, nil
	}
}

func writeLine(to io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = to.Write(append(line, '\n'))
	}
	return err
}

// scripted returns a client whose answers come from a function.
func scripted(serve func(orders io.Reader, answers io.Writer) error) Connect {
	return func(string) (*Connection, error) {
		orders, to := io.Pipe()
		answers, from := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			err := serve(orders, from)
			from.Close()
			orders.Close()
			ended <- err
		}()
		return &Connection{Orders: to, Answers: answers, Wait: func() error { return <-ended },
			Kill: func() { answers.Close(); to.Close() }}, nil
	}
}

// Any problem of a client is reported with its host, and ends the start of all.
func TestAClientThatCannotBegin(t *testing.T) {
	g := startGateway(t)
	says := func(lines string, end error) Connect {
		return scripted(func(orders io.Reader, answers io.Writer) error {
			_, _ = io.ReadFull(orders, make([]byte, 10))
			_, _ = io.WriteString(answers, lines)
			return end
		})
	}
	for name, c := range map[string]struct {
		connect Connect
		want    string
	}{
		"no such program":   {ByCommand([]string{"/no/such/ssh", "{host}"}), "/no/such/ssh far: "},
		"a failing command": {ByCommand([]string{"sh", "-c", "echo no route to {host} >&2; exit 255"}), "exit status 255; it wrote:\nno route to far"},
		"a greeting":        {says("Welcome to far!\n", nil), `the line "Welcome to far!" is not an order or answer`},
		"another version":   {says(`{"ready":{"protocol":2}}`+"\n", nil), "protocol version 2, but this program has 1: install the same"},
		"an error":          {says(`{"error":"begin: no way"}`+"\n", nil), "the client has ended: begin: no way"},
		"silence":           {says("", nil), "the client ended without an order"},
		"half a line":       {says(`{"ready":{"proto`, errors.New("signal: killed")), "the client has ended: signal: killed"},
		"an answer to come": {says(`{"anwser":{}}`+"\n", nil), "unknown answer"},
	} {
		t.Run(name, func(t *testing.T) {
			connect := func(host string) (*Connection, error) {
				if host == "far" {
					return c.connect(host)
				}
				return here(t.Context())(host)
			}
			_, err := Start(t.Context(), g.options(connect, "near", "far"))
			require.ErrorContains(t, err, "load host far: ")
			assert.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "near")
		})
	}
}

// A client that ends without all of its outcomes has failed.
func TestAClientThatLosesOutcomes(t *testing.T) {
	h := newHost("a", nil)
	h.report, h.fail = func(load.Outcome) {}, func(error) {}
	answers := `{"outcome":{"end":"returned"}}` + "\n" + `{"end":{"outcomes":2}}` + "\n"
	h.connection = &Connection{Answers: strings.NewReader(answers), Wait: func() error { return nil }, Kill: func() {}}
	h.closing = true
	h.read()
	require.EqualError(t, h.err,
		"load host a: the client has ended: only 1 outcomes of its queries arrived")
}

// An invalid order ends a client with an answer that names the field.
func TestOrdersThatMakeNoSense(t *testing.T) {
	begin := `{"begin":{"protocol":1,"part":{"number":1,"of":1},"target":{"gateway":"g:1"},"connections":1,"class":"raw","duration_ms":1000,"limit":1}}` + "\n"
	for name, c := range map[string]struct{ orders, want string }{
		"no begin":         {`{"hold":{"queries":1}}` + "\n", "the first order must be begin"},
		"two":              {begin + begin, "begin: already begun"},
		"another version":  {strings.Replace(begin, `"protocol":1`, `"protocol":2`, 1), "protocol version 2"},
		"no part":          {strings.Replace(begin, `"number":1`, `"number":2`, 1), "invalid part 2 of 1"},
		"no target":        {strings.Replace(begin, `"gateway":"g:1"`, "", 1), "missing address of a gateway or DRPC server"},
		"no class":         {strings.Replace(begin, `"raw"`, `"row"`, 1), `unknown query class "row"`},
		"too many queries": {begin + `{"hold":{"queries":1001}}` + "\n", "hold: the number of queries must be between 0 and 1000"},
		"no rate":          {begin + `{"open":{"id":1}}` + "\n", "open: the rate must be greater than 0"},
		"unknown":          {begin + `{"holt":{"queries":1}}` + "\n", "unknown order"},
		"no JSON":          {begin + "hold 5\n", `the line "hold 5" is not an order or answer`},
	} {
		t.Run(name, func(t *testing.T) {
			var answers strings.Builder
			err := Serve(t.Context(), strings.NewReader(c.orders), &answers)
			require.ErrorContains(t, err, c.want)
			lines := strings.Split(strings.TrimSpace(answers.String()), "\n")
			var last answer
			require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
			assert.Contains(t, last.Error, c.want)
		})
	}
}

// The lines match docs/formats/load-client.md.
func TestTheLinesAreAsThePageHasThem(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{order{Begin: &beginOrder{Protocol: protocol, Part: load.Part{Number: 2, Of: 3},
			Target: load.Target{Gateway: "gateway.example:9901"}, Connections: 100, Class: load.Raw, Limit: 10,
			DurationMs: 30_000, MatchingPerSecond: 0.4}},
			`{"begin":{"protocol":1,"part":{"number":2,"of":3},"target":{"gateway":"gateway.example:9901"},"connections":100,"class":"raw","limit":10,"duration_ms":30000,"matching_per_second":0.4}}`},
		{order{Clock: &numbered{1}}, `{"clock":{"id":1}}`},
		{order{Hold: &holdOrder{100, 1700000000000, 30_000}},
			`{"hold":{"queries":100,"from_ms":1700000000000,"spread_ms":30000}}`},
		{order{Open: &openOrder{2, 5000, 1700000000000, 60_000, 225_001, 10, 15_000}},
			`{"open":{"id":2,"rate_per_second":5000,"start_ms":1700000000000,"duration_ms":60000,"most_in_flight":225001,"probes":10,"grace_ms":15000}}`},
		{order{Count: &countOrder{3, 1700000060000}}, `{"count":{"id":3,"before_ms":1700000060000}}`},
		{order{End: &struct{}{}}, `{"end":{}}`},
		{answer{Ready: &readyAnswer{1, 4}}, `{"ready":{"protocol":1,"cores":4}}`},
		{answer{Clock: &clockAnswer{1, 1700000000000000}}, `{"clock":{"id":1,"time_us":1700000000000000}}`},
		{answer{Opened: &numbered{2}}, `{"opened":{"id":2}}`},
		{answer{Count: &countAnswer{3, 12}}, `{"count":{"id":3,"under_way":12}}`},
		{answer{State: &stateAnswer{1700000001000, 350_000, 33}},
			`{"state":{"time_ms":1700000001000,"cpu_us":350000,"in_flight":33}}`},
		{answer{End: &endAnswer{1666}}, `{"end":{"outcomes":1666}}`},
		{answer{Error: "begin: invalid part 2 of 1"}, `{"error":"begin: invalid part 2 of 1"}`},
	} {
		line, err := json.Marshal(c.value)
		require.NoError(t, err)
		assert.Equal(t, c.want, string(line))
		assert.Contains(t, page(t), c.want+"\n", "docs/formats/load-client.md shows it")
	}
}

var errLine = fmt.Errorf("taken")

// Lines above the limit, and lines after an error, are not read.
func TestLinesAreBounded(t *testing.T) {
	long := `{"error":"` + strings.Repeat("x", mostLine) + `"}` + "\n"
	require.ErrorContains(t, eachLine(strings.NewReader(long), func(answer) error { return nil }), "too long")
	n := 0
	err := eachLine(strings.NewReader("{}\n{}\n"), func(answer) error { n++; return errLine })
	require.ErrorIs(t, err, errLine)
	assert.Equal(t, 1, n)
}

// A client that hangs is killed after the allowed silence. A client that reports only rarely is not silent.
func TestASilentClientIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		killed := make(chan struct{})
		c := &Connection{Kill: sync.OnceFunc(func() { close(killed) })}
		each, l := newHost("far", c), newLedger()
		h := &Hosts{all: []*host{each}}
		h.ending, h.end = context.WithCancel(t.Context())
		h.Asker(l.observe, l.fail)
		began := time.Now()
		go h.watch(each)
		for range 5 {
			time.Sleep((silence - 2) * time.Second) // synctest time
			require.NoError(t, each.take(answer{State: &stateAnswer{}}))
		}
		require.EqualError(t, <-l.failed, "load host far: no message from the client for 30 s")
		<-killed
		assert.InDelta(t, (5*(silence-2) + silence), time.Since(began).Seconds(), 2)
		h.end()
		synctest.Wait()
	})
}
