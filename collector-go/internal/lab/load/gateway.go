// Package load generates the query load of an experiment. It submits queries of every class to a Bullet topology,
// either at a constant rate or with a constant number in flight, and checks each answer for completeness.
//
// There are two load models, as in queueing theory. In the closed model (ClosedLoop) a number of slots each hold one
// query and submit the next when it returns, so a slow topology receives fewer queries. In the open model (OpenLoop)
// queries start on a schedule, whatever became of the earlier ones. Both measure latency from the intended start and
// not from the submission; otherwise a stalled client would hide the worst latencies (coordinated omission).
//
// Completeness can be checked because the record source emits probes: records with known values at a known rate, one
// probe for each slot. A query selects one probe, so the client knows how many records its answer must contain.
//
// The package owns Bullet's HTTP interface as clients see it, the control of the record source, and the checks. It must
// know nothing of Storm, of the collector (CollectorActivity apart) or of verdicts. Start reading at Query in class.go
// and desk in ask.go, then ClosedLoop and OpenLoop; Asker joins them for a session.
package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
)

// Bounds of what the gateway may answer.
const (
	maxAnswerBytes = 16 << 20
	maxErrorBytes  = 512
)

// controlTimeout bounds the questions that are answered at once.
const controlTimeout = 5 * time.Second

// Gateway speaks to one query gateway. It is safe for concurrent use.
type Gateway struct {
	base    string
	invalid error // what is wrong with the address: every exchange ends with it
	http    *http.Client
}

// Address is how the address of a query gateway or a DRPC server is written.
func Address(example string) address.Form { return address.Form{Example: example, HostPort: true} }

// gatewayExample is the address of a gateway on this machine.
const gatewayExample = "127.0.0.1:9901"

// NewGateway returns a client of the gateway at an address, HOST:PORT or a URL, whose user and password are sent as
// basic authentication. Up to connections queries share its connections. How long an exchange may take is for its
// context to say: a query lives as long as it likes.
func NewGateway(at string, connections int) *Gateway { return newGateway(at, connections, false) }

// newGateway admits answers whose Content-Type is HTML where pages is set.
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

// Close releases idle connections.
func (g *Gateway) Close() { g.http.CloseIdleConnections() }

// Query submits a BQL text and returns when the query has finished. How long it may take is for ctx to say.
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
	// RecordsPerSecond is the rate of background records, the probes' not counted.
	RecordsPerSecond float64 `json:"records_per_second"`
	// Probes are the records that queries look for.
	Probes []Probe `json:"probes"`
}

// Probe is a stream of records whose field "probe" holds Value.
type Probe struct {
	Value     string  `json:"value"`
	PerSecond float64 `json:"per_second"`
}

// Control asks what the source emits now.
func (g *Gateway) Control(ctx context.Context) (Control, error) {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	var control Control
	err := g.read(ctx, "/api/source/control", "records_per_second", &control)
	return control, err
}

// SetControl changes what the source emits; the source follows within its own poll interval (1 s).
func (g *Gateway) SetControl(ctx context.Context, control Control) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	control.Probes = append([]Probe{}, control.Probes...) // none is a list, not null
	body, err := json.Marshal(control)
	if err != nil {
		return fmt.Errorf("source control: %w", err)
	}
	_, err = g.exchange(ctx, http.MethodPut, "/api/source/control", "application/json", bytes.NewReader(body))
	return err
}

// Status is the sum of the reports of the source's tasks. Tasks that did not report in the last 10 s are left out.
type Status struct {
	// Reporting is the number of tasks; Following the number of those that follow the control last set.
	Reporting int `json:"reporting"`
	Following int `json:"following"`
	// Emitted, Failed and LeftOut count records since the tasks' start; Lag is how many are due and not yet emitted.
	Emitted int64 `json:"emitted"`
	Failed  int64 `json:"failed"`
	LeftOut int64 `json:"left_out"`
	Lag     int64 `json:"lag"`
	// Tasks are the reports that these figures are the sums of.
	Tasks []TaskStatus `json:"tasks"`
}

// TaskStatus is when one of the source's tasks last reported its figures: AgeMs before the answer.
type TaskStatus struct {
	AgeMs int64 `json:"age_ms"`
}

// Age is how old the figures are, the mean over the tasks: each reports its own at an interval.
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

// Status asks what the source has done.
func (g *Gateway) Status(ctx context.Context) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	var status Status
	err := g.read(ctx, "/api/source/status", "reporting", &status)
	return status, err
}

// read asks the record source. An answer without the field that it always has is not the source's: its zeros would be
// taken for what the source does.
func (g *Gateway) read(ctx context.Context, path, field string, into any) error {
	text, err := g.exchange(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	fields, err := object(text)
	if err == nil && fields[field] == nil {
		err = fmt.Errorf("it has no %s", field)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s%s: the answer is not a record source's: %w: %s", g.base, path, err, beginning(text))
	}
	return nil
}

// exchange returns the whole body of an answer with success.
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
		return nil, refusal(request, response, text) // what of it came says enough
	}
	if err != nil {
		return nil, fmt.Errorf("%s: read the answer: %w", request.URL, err)
	}
	return text, nil
}
