// Package hosts distributes the queries of a run over load clients on several hosts. A client (Serve) is a process on
// its host. It receives orders, one line of JSON each, and answers with the outcomes of its queries. Hosts combines
// the clients into one load.Asker. The package does not judge what was measured.
//
// Both sides must have the same version of the protocol, which the first line states (docs/formats/load-client.md).
package hosts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

// protocol is the version of the protocol.
const protocol = 1

// mostLine bounds the length of a line in bytes.
const mostLine = 1 << 20

// order is a line to a client, with exactly one of its fields set. Times are ms since the Unix epoch by the client's
// clock.
type order struct {
	Begin *beginOrder `json:"begin,omitempty"`
	Clock *numbered   `json:"clock,omitempty"`
	Hold  *holdOrder  `json:"hold,omitempty"`
	Open  *openOrder  `json:"open,omitempty"`
	Count *countOrder `json:"count,omitempty"`
	End   *struct{}   `json:"end,omitempty"`
}

// beginOrder is the first order and is sent once: the queries, their target, and the client's part of them.
type beginOrder struct {
	Protocol          int         `json:"protocol"`
	Part              load.Part   `json:"part"`
	Target            load.Target `json:"target"`
	Connections       int         `json:"connections"`
	Class             load.Class  `json:"class"`
	Limit             int         `json:"limit"`
	DurationMs        int64       `json:"duration_ms"`
	MatchingPerSecond float64     `json:"matching_per_second"`
	NoSource          bool        `json:"no_source,omitempty"`
	BQL               string      `json:"bql,omitempty"`
}

// numbered is an order or an answer of which there is no more to say than its number.
type numbered struct {
	ID int64 `json:"id"`
}

// holdOrder is load.Asker's Hold for the whole run; the client does its part.
type holdOrder struct {
	Queries  int   `json:"queries"`
	FromMs   int64 `json:"from_ms"`
	SpreadMs int64 `json:"spread_ms"`
}

type openOrder struct {
	ID           int64   `json:"id"`
	Rate         float64 `json:"rate_per_second"`
	StartMs      int64   `json:"start_ms"`
	DurationMs   int64   `json:"duration_ms"`
	MostInFlight int     `json:"most_in_flight"`
	Probes       int     `json:"probes"`
	GraceMs      int64   `json:"grace_ms"`
}

// countOrder asks how many queries that were submitted before a moment have not ended.
type countOrder struct {
	ID       int64 `json:"id"`
	BeforeMs int64 `json:"before_ms"`
}

// answer is a line from a client, with exactly one of its fields set. An outcome is written before any answer that
// counts its query as ended.
type answer struct {
	Ready   *readyAnswer  `json:"ready,omitempty"`
	Clock   *clockAnswer  `json:"clock,omitempty"`
	Outcome *load.Outcome `json:"outcome,omitempty"`
	Opened  *numbered     `json:"opened,omitempty"`
	Count   *countAnswer  `json:"count,omitempty"`
	State   *stateAnswer  `json:"state,omitempty"`
	End     *endAnswer    `json:"end,omitempty"`
	Error   string        `json:"error,omitempty"`
}

// readyAnswer answers begin; Cores is the number of processors that the client may use.
type readyAnswer struct {
	Protocol int `json:"protocol"`
	Cores    int `json:"cores"`
}

type clockAnswer struct {
	ID     int64 `json:"id"`
	TimeUs int64 `json:"time_us"` // µs since the Unix epoch
}

type countAnswer struct {
	ID       int64 `json:"id"`
	InFlight int   `json:"under_way"`
}

// stateAnswer is sent every second: the CPU time that the client has used so far, and its queries in flight.
type stateAnswer struct {
	TimeMs   int64 `json:"time_ms"`
	CPUUs    int64 `json:"cpu_us"`
	InFlight int   `json:"in_flight"`
}

// endAnswer is the last line, after an end order or the end of the orders. Outcomes is the number of outcomes that the
// client has written.
type endAnswer struct {
	Outcomes int `json:"outcomes"`
}

// query returns the client's query.
func (b beginOrder) query() (load.Query, error) {
	return load.NewQuery(b.Class, load.Parameters{Limit: b.Limit, Duration: load.DurationOf(b.DurationMs),
		PerSecond: b.MatchingPerSecond, NoSource: b.NoSource, Text: b.BQL})
}

func (b beginOrder) validate() error {
	switch {
	case b.Protocol != protocol:
		return fmt.Errorf("the orders have protocol version %d, but this program has %d: install the same version of bullet-metrics on all hosts",
			b.Protocol, protocol)
	case b.Part.Number < 1 || b.Part.Number > b.Part.Of:
		return fmt.Errorf("invalid part %d of %d", b.Part.Number, b.Part.Of)
	case b.Connections < 1:
		return fmt.Errorf("the number of connections must be at least 1, not %d", b.Connections)
	case b.Target.Gateway == "" && len(b.Target.DRPC) == 0:
		return errors.New("missing address of a gateway or DRPC server")
	}
	return nil
}

// options returns the options of the open loop.
func (o openOrder) options() load.OpenOptions {
	return load.OpenOptions{Rate: o.Rate, Start: time.UnixMilli(o.StartMs), Duration: load.DurationOf(o.DurationMs),
		MostInFlight: o.MostInFlight, Probes: o.Probes, Grace: load.DurationOf(o.GraceMs)}
}

// eachLine decodes one line after the other into values of T and passes them to take. It returns the first error of
// take, and nil at the end. An incomplete last line, which a killed process may leave, is ignored.
func eachLine[T any](from io.Reader, take func(T) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, mostLine)
	lines.Split(func(data []byte, atEnd bool) (int, []byte, error) {
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			return end + 1, data[:end], nil
		}
		if atEnd {
			return len(data), nil, nil
		}
		return 0, nil, nil
	})
	for lines.Scan() {
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return fmt.Errorf("the line %.200q is not an order or answer: %w", lines.Bytes(), err)
		}
		if err := take(one); err != nil {
			return err
		}
	}
	return lines.Err()
}
