// Package load generates the query load of an experiment. It submits queries of every class to a Bullet topology, at a
// constant rate or with a constant number in flight. It checks each answer for completeness.
//
// There are two load models, as in queueing theory. In the closed model (ClosedLoop) a number of slots each hold one
// query and submit the next when it returns, so a slow topology receives fewer queries. In the open model (OpenLoop)
// queries start on a schedule, whether or not earlier ones have returned. Both measure latency from the scheduled
// start and not from the submission; otherwise a stalled client would hide the worst latencies (coordinated omission).
//
// Completeness can be checked because the record source emits probes: records with known values at a known rate, one
// probe for each slot. A query selects one probe, so the client knows how many records its answer must contain.
//
// The package owns Bullet's HTTP interface as clients see it, the control of the record source, and the checks. It
// must know nothing of Storm, of the collector (except CollectorActivity) or of verdicts. Start reading at Query in
// query.go and desk in ask.go, then ClosedLoop and OpenLoop; Asker joins them for a session.
package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Limits, in bytes, for the answers of a gateway.
const (
	maxAnswerBytes = 16 << 20
	maxErrorBytes  = 512
)

// controlTimeout bounds requests that are answered at once.
const controlTimeout = 5 * time.Second

// Gateway is a client of one query gateway. It is safe for concurrent use.
type Gateway struct {
	base    string
	invalid error // a fault of the address, which every exchange returns
	http    *http.Client
}

// Address returns the accepted form of the address of a query gateway or a DRPC server.
func Address(example string) address.Form { return address.Form{Example: example, HostPort: true} }

// gatewayExample is the address of a gateway on this machine.
const gatewayExample = "127.0.0.1:9901"

// NewGateway returns a client of the gateway at an address, HOST:PORT or a URL. User and password in a URL are sent as
// basic authentication. It keeps up to the given number of connections. Only the context of a query bounds its
// duration, because queries may live arbitrarily long.
func NewGateway(at string, connections int) *Gateway { return newGateway(at, connections, false) }

// newGateway is NewGateway; with pages it also accepts answers with an HTML Content-Type.
func newGateway(at string, connections int, pages bool) *Gateway {
	options := httpclient.Options{Connect: controlTimeout, Connections: max(1, connections), MostBytes: maxAnswerBytes,
		Pages: pages}
	u, err := address.URL(at).Parse(Address(gatewayExample))
	if err != nil {
		return &Gateway{invalid: fmt.Errorf("the gateway's address %w", err), http: httpclient.Plain(options)}
	}
	u, options.User = httpclient.Bare(u)
	return &Gateway{base: strings.TrimRight(u.String(), "/"), http: httpclient.Plain(options)}
}

// Close closes idle connections.
func (g *Gateway) Close() { g.http.CloseIdleConnections() }

// Query submits a BQL text and returns when the query has finished. Only ctx bounds its duration.
func (g *Gateway) Query(ctx context.Context, bql string) (Answer, error) {
	text, err := g.exchange(ctx, http.MethodPost, "/api/bullet/queries/http-query", "text/plain", strings.NewReader(bql))
	if err != nil {
		return Answer{}, err
	}
	return parseAnswer(text)
}

// Control is the setting of the record source: the rate of background records and the probes, summed over all tasks of
// the topology. It is replaced as a whole, so a client that changes one part must send the others too.
type Control struct {
	// RecordsPerSecond is the rate of background records, without those of the probes.
	RecordsPerSecond float64 `json:"records_per_second"`
	// Probes are the records that queries look for.
	Probes []Probe `json:"probes"`
}

// Probe is a stream of records whose field "probe" holds Value.
type Probe struct {
	Value     string  `json:"value"`
	PerSecond float64 `json:"per_second"`
}

// Control returns the current setting of the source.
func (g *Gateway) Control(ctx context.Context) (control Control, err error) {
	err = g.read(ctx, "/api/source/control", "records_per_second", &control)
	return control, err
}

// SetControl changes the setting of the source. The source applies it within its own poll interval (1 s).
func (g *Gateway) SetControl(ctx context.Context, control Control) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	control.Probes = append([]Probe{}, control.Probes...) // an empty list, not null
	body, err := json.Marshal(control)
	if err != nil {
		return fmt.Errorf("source control: %w", err)
	}
	_, err = g.exchange(ctx, http.MethodPut, "/api/source/control", "application/json", bytes.NewReader(body))
	return err
}

// Status is the sum of the reports of the source's tasks. Tasks without a report in the last 10 s are left out.
type Status struct {
	// Reporting is the number of tasks; Following is the number of those that follow the last setting.
	Reporting int `json:"reporting"`
	Following int `json:"following"`
	// Emitted, Failed and LeftOut count records since the tasks' start. Lag is the number of records that are
	// scheduled and not yet emitted.
	Emitted int64 `json:"emitted"`
	Failed  int64 `json:"failed"`
	LeftOut int64 `json:"left_out"`
	Lag     int64 `json:"lag"`
	// Tasks are the reports that were added up.
	Tasks []TaskStatus `json:"tasks"`
}

// TaskStatus is the report of one task; AgeMs is its age at the time of the answer.
type TaskStatus struct {
	AgeMs int64 `json:"age_ms"`
}

// Age returns the mean age of the tasks' reports. Each task reports at its own interval.
func (s Status) Age() time.Duration {
	if len(s.Tasks) == 0 {
		return 0
	}
	total := int64(0)
	for _, t := range s.Tasks {
		total += t.AgeMs
	}
	return time.Duration(total) * time.Millisecond / time.Duration(len(s.Tasks))
}

// Status returns what the source has done.
func (g *Gateway) Status(ctx context.Context) (status Status, err error) {
	err = g.read(ctx, "/api/source/status", "reporting", &status)
	return status, err
}

// read sends a GET request to the record source. An answer without the required field is an error, because its zeros
// would be taken for the source's figures.
func (g *Gateway) read(ctx context.Context, path, field string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	text, err := g.exchange(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	fields, err := object(text)
	if err == nil && fields[field] == nil {
		err = fmt.Errorf("field %s is missing", field)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s%s: the answer is not from a record source: %w: %s", g.base, path, err, beginning(text))
	}
	return nil
}

// exchange returns the whole body of a successful answer.
func (g *Gateway) exchange(ctx context.Context, method, path, contentType string, body io.Reader) ([]byte, error) {
	if g.invalid != nil {
		return nil, g.invalid
	}
	request, err := http.NewRequestWithContext(ctx, method, g.base+path, body)
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := g.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode/100 != 2 {
		return nil, refusal(request, response, text) // the part of the body that arrived is enough
	}
	if err != nil {
		return nil, fmt.Errorf("%s: read the answer: %w", request.URL, err)
	}
	return text, nil
}

// followLimit bounds the time until the source's tasks follow a new setting; they poll once a second.
const followLimit = 10 * time.Second

// Order adds probes to the setting of the source and keeps those of other clients. background, if not nil, sets the
// rate of the background records. It returns when all of the source's tasks follow. takeBack undoes the change;
// records that the source already made stay.
func (g *Gateway) Order(ctx context.Context, probes []Probe, background *float64) (
	takeBack func(context.Context) error, err error) {
	before, err := g.Control(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the state of the record source: %w", err)
	}
	wanted := before.With(probes)
	if background != nil {
		wanted.RecordsPerSecond = *background
	}
	if err := g.SetControl(ctx, wanted); err != nil {
		return nil, fmt.Errorf("request matching records from the record source: %w", err)
	}
	takeBack = func(ctx context.Context) error {
		now, err := g.Control(ctx)
		if err != nil {
			return fmt.Errorf("read the state of the record source: %w", err)
		}
		now = now.Without(probes)
		if background != nil && now.RecordsPerSecond == *background {
			now.RecordsPerSecond = before.RecordsPerSecond
		}
		return g.SetControl(ctx, now)
	}
	if err := g.follow(ctx); err != nil {
		undoing, cancel := context.WithTimeout(context.WithoutCancel(ctx), controlTimeout)
		defer cancel()
		_ = takeBack(undoing) // the error of follow is more useful
		return nil, err
	}
	return takeBack, nil
}

// follow waits until the source's tasks follow the last setting.
func (g *Gateway) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, followLimit,
		fmt.Errorf("the record source did not apply the request within %s; check that the topology runs and polls %s",
			followLimit, g.base))
	defer cancel()
	return poll.Until(ctx, 200*time.Millisecond, func() bool {
		status, err := g.Status(ctx)
		return err == nil && status.Reporting > 0 && status.Following == status.Reporting
	})
}

// With returns the setting with probes added. Those of other clients stay.
func (c Control) With(probes []Probe) Control {
	c.Probes = append(c.Without(probes).Probes, probes...)
	return c
}

// Without returns the setting without probes. Those of other clients stay.
func (c Control) Without(probes []Probe) Control {
	c.Probes = slices.DeleteFunc(slices.Clone(c.Probes), func(other Probe) bool {
		return slices.ContainsFunc(probes, func(p Probe) bool { return p.Value == other.Value })
	})
	return c
}
