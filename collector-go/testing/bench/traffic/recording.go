// Package traffic is what a topology of Bullet on a real Storm cluster sent to its collector, from a recording. It
// plays the recording as many topologies at once: to our collector as it was sent, or decoded to another server. Start
// with Read and Play.
package traffic

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/replay"
)

// Recording is the batches of one stream, which is one submission of a topology.
type Recording struct {
	open    *pb.Open
	firstMs int64
	batches []batch
	// Workers, Series, Batches, Samples and Values count what one copy sends. A distribution is one sample and two
	// values.
	Workers, Series, Batches, Samples, Values int
	// Length is the time from the first batch to the last one.
	Length time.Duration
}

// batch is a batch, with its time since the first one, and its samples decoded.
type batch struct {
	after time.Duration
	*pb.Batch
	rows []Row
}

// Read reads the first stream of a recording, up to a time after its first batch.
func Read(path string, most time.Duration) (*Recording, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	events, err := replay.ReadRecording(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r, workers, stream, firstMs := &Recording{}, map[string]bool{}, uint64(0), int64(0)
	d := &decoder{map[uint32]series{}, map[uint32][]uint32{}}
	for _, e := range events {
		b := e.Request.GetBatch()
		switch {
		case r.open == nil:
			r.open, stream, firstMs = e.Request.GetOpen(), e.Stream, e.AtMs
		case b == nil || e.Stream != stream || e.AtMs-firstMs > most.Milliseconds():
		default:
			rows, n, err := d.rows(b)
			if err != nil {
				return nil, fmt.Errorf("%s: batch %d: %w", path, b.GetSequence(), err)
			}
			r.Length = time.Duration(e.AtMs-firstMs) * time.Millisecond
			r.batches = append(r.batches, batch{r.Length, b, rows})
			r.Samples += n
			for _, row := range rows {
				r.Values += len(row.Values)
			}
			for _, w := range b.GetWorkers() {
				workers[fmt.Sprint(w.GetHost(), w.GetPort())] = true
			}
		}
	}
	if len(r.batches) == 0 {
		return nil, errors.New(path + " has no batch")
	}
	r.Workers, r.Series, r.Batches, r.firstMs = len(workers), len(d.series), len(r.batches), firstMs
	return r, nil
}

// Copy is a topology of its own that sends what was recorded: with a name, hosts, an epoch and a phase of its own.
type Copy struct {
	recording *Recording
	name, id  string // of the topology, and Storm's of its submission
	begin     time.Time
	ports     uint32 // added to every port
}

// phase is over which time the first batches of all copies are spread: the interval at which topologies report.
const phase = 10 * time.Second

// copies returns n copies of a recording, whose first one begins at a time.
func (r *Recording) copies(n int, begin time.Time) (all []*Copy) {
	for i := range n {
		name := fmt.Sprintf("bullet-%03d", i)
		all = append(all, &Copy{recording: r, name: name, id: name + "-1-1",
			begin: begin.Add(phase * time.Duration(i) / time.Duration(n))})
	}
	return all
}

func (c *Copy) shiftMs() int64 { return c.begin.UnixMilli() - c.recording.firstMs }

func (c *Copy) host(recorded string) string { return c.name + "-" + recorded }

// opened is how the copy opens its stream.
func (c *Copy) opened() *pb.Open {
	open := proto.CloneOf(c.recording.open)
	replay.ShiftTimes(open.ProtoReflect(), c.shiftMs())
	open.Topology, open.TopologyId, open.Host = c.name, c.id, c.host(open.GetHost())
	open.Port += c.ports
	open.Epoch, open.Generation = nil, 0 // the topology has not moved between collectors
	return open
}

// batch is a recorded batch as the copy sends it.
func (c *Copy) batch(recorded *pb.Batch) *pb.Batch {
	b := proto.CloneOf(recorded)
	replay.ShiftTimes(b.ProtoReflect(), c.shiftMs())
	epoch := sha256.Sum256([]byte(c.name))
	b.Epoch = epoch[:16]
	if t := b.GetTopology(); t != nil {
		t.Name, t.Id = c.name, c.id
	}
	for _, d := range b.GetSeries() {
		d.Host, d.Port = c.host(d.GetHost()), d.GetPort()+c.ports
	}
	for _, w := range b.GetWorkers() {
		w.Host, w.Port = c.host(w.GetHost()), w.GetPort()+c.ports
	}
	for _, w := range b.GetClocks().GetWorkers() {
		w.Host, w.Port = c.host(w.GetHost()), w.GetPort()+c.ports
	}
	for _, g := range b.GetGaps() {
		g.Host, g.Port = c.host(g.GetHost()), g.GetPort()+c.ports
	}
	return b
}
