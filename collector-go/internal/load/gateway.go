// Package load is the client side of an experiment: it asks a Bullet topology queries of every class, at a constant
// rate or a number at a time, and checks each answer against what the topology's record source generated. It knows
// Bullet's HTTP and the source's control; it knows nothing of Storm, of the collector or of verdicts.
package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
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
	base string
	http *http.Client
}

// NewGateway returns a client of the gateway at address, "host:port" or a URL. Up to connections queries share its
// connections.
func NewGateway(address string, connections int) *Gateway {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: controlTimeout}).DialContext,
		MaxIdleConns:        connections,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     time.Minute,
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return &Gateway{base: strings.TrimRight(address, "/"), http: &http.Client{Transport: transport}}
}

// Close releases idle connections.
func (g *Gateway) Close() { g.http.CloseIdleConnections() }

// Answer is what a query returned.
type Answer struct {
	// Records are as they came, since what they hold is the query's.
	Records []json.RawMessage `json:"records"`
	Meta    json.RawMessage   `json:"meta"`
}

// Query submits a BQL text and returns when the query has finished. How long it may take is for ctx to say.
func (g *Gateway) Query(ctx context.Context, bql string) (Answer, error) {
	var answer Answer
	err := g.exchange(ctx, http.MethodPost, "/api/bullet/queries/http-query", "text/plain",
		strings.NewReader(bql), &answer)
	return answer, err
}

// Control is what the record source is asked to emit, over the whole topology.
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
	err := g.exchange(ctx, http.MethodGet, "/api/source/control", "", nil, &control)
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
	return g.exchange(ctx, http.MethodPut, "/api/source/control", "application/json", bytes.NewReader(body), nil)
}

// Status is what the source's tasks that spoke in the last 10 s say, summed.
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
	err := g.exchange(ctx, http.MethodGet, "/api/source/status", "", nil, &status)
	return status, err
}

func (g *Gateway) exchange(ctx context.Context, method, path, contentType string, body io.Reader, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, g.base+path, body)
	if err != nil {
		return err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := g.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return refusal(request, response)
	}
	return decode(response, into)
}

func decode(response *http.Response, into any) error {
	limited := &io.LimitedReader{R: response.Body, N: maxAnswerBytes}
	if into == nil {
		_, err := io.Copy(io.Discard, limited)
		return err
	}
	var err error
	if text, raw := into.(*rawText); raw {
		err = text.read(limited)
	} else {
		err = json.NewDecoder(limited).Decode(into)
	}
	if err != nil && limited.N == 0 {
		return fmt.Errorf("%s: the answer is larger than %d bytes", response.Request.URL, maxAnswerBytes)
	}
	if err != nil {
		return fmt.Errorf("%s: the answer is not the JSON expected: %w", response.Request.URL, err)
	}
	_, err = io.Copy(io.Discard, limited) // so that the connection can be used again
	return err
}
