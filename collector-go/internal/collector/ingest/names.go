package ingest

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Bounds of names. They are far above what Storm and Bullet use. They keep a sender from filling the dictionary with
// text.
const (
	maxNameBytes = 512
	maxKeyDepth  = 8
	maxPort      = 65_535
)

// checkText returns an error that explains what is wrong with a text that a producer chose.
func checkText(field, s string) error {
	switch {
	case len(s) > maxNameBytes:
		return fmt.Errorf("%s has %d bytes, at most %d are allowed; it starts with %.40q", field, len(s),
			maxNameBytes, s)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s is not UTF-8: %.40q", field, s)
	case strings.Contains(s, metric.KeySeparator):
		return fmt.Errorf("%s contains a NUL: %.40q", field, s)
	}
	return nil
}

// checkName does what checkText does, and also refuses an empty text.
func checkName(field, s string) error {
	if s == "" {
		return fmt.Errorf("%s is empty", field)
	}
	return checkText(field, s)
}

// checkPort returns an error for a number that is no TCP port. Port 0 is valid, because a client that is no worker has
// it.
func checkPort(field string, port uint32) error {
	if port > maxPort {
		return fmt.Errorf("%s is %d, at most %d", field, port, maxPort)
	}
	return nil
}

// checkOpen returns an error that lists everything that is wrong with an Open. A sender with an invalid Open is refused
// completely, because its topology and host are part of every series.
func checkOpen(o *pb.Open) error {
	return errors.Join(
		checkName("open.topology", o.GetTopology()),
		checkText("open.topology_id", o.GetTopologyId()),
		checkName("open.host", o.GetHost()),
		checkPort("open.port", o.GetPort()),
		checkText("open.plugin_version", o.GetPluginVersion()),
		checkGeneration(o),
	)
}

// rawSeries returns a series as the journal names it, or an error that explains what is wrong with its definition. The
// topology is that of the stream: a sender cannot define series of another one.
func rawSeries(topology string, d *pb.SeriesDefinition) (metric.Raw, error) {
	if err := checkDefinition(d); err != nil {
		return metric.Raw{}, err
	}
	return metric.Raw{
		Worker:      metric.Worker{Topology: topology, Host: d.GetHost(), Port: d.GetPort()},
		Component:   d.GetComponent(),
		Task:        d.GetTask(),
		Name:        d.GetName(),
		Key:         strings.Join(d.GetKey(), metric.KeySeparator),
		Shape:       metric.Shape(d.GetShape()),
		Temporality: metric.Temporality(d.GetTemporality()),
		IntervalMs:  int64(d.GetIntervalMs()),
		PackSpanMs:  int64(d.GetPackSpanMs()),
	}, nil
}

// checkDefinition checks the texts and enumerations of a definition. An unknown shape or temporality is refused rather
// than stored, because the meaning of the numbers would be unknown.
func checkDefinition(d *pb.SeriesDefinition) error {
	if err := errors.Join(
		checkName("series.host", d.GetHost()),
		checkPort("series.port", d.GetPort()),
		checkName("series.component", d.GetComponent()),
		checkName("series.name", d.GetName()),
	); err != nil {
		return err
	}
	if len(d.GetKey()) > maxKeyDepth {
		return fmt.Errorf("series.key of %.40q has %d parts, at most %d are allowed", d.GetName(), len(d.GetKey()),
			maxKeyDepth)
	}
	for _, key := range d.GetKey() {
		if err := checkName("series.key", key); err != nil {
			return fmt.Errorf("%w, of %.40q", err, d.GetName())
		}
	}
	if pb.Shape_name[int32(d.GetShape())] == "" || pb.Temporality_name[int32(d.GetTemporality())] == "" {
		return fmt.Errorf("series %.40q has the unknown shape %d or temporality %d", d.GetName(), d.GetShape(),
			d.GetTemporality())
	}
	return nil
}
