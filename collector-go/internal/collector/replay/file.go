package replay

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/capture"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// File is a capture that is being played. It has the capture's reader, its next data point, and a sender that plays the
// role of the consumer.
type File struct {
	name   string
	reader *capture.Reader
	ahead  []reading      // read before the replay begins
	point  *capture.Point // the next data point; nil at the end
	nowMs  int64          // the capture's clock at that point

	sender      *ingest.Local // nil until the first batch
	prepare     *capture.Prepare
	topology    string // of the sender
	topologyID  string
	storm       string                // release of Storm; "" if it is unknown
	ids         map[metric.Raw]uint32 // the sender's ids of series, without the worker's topology
	layouts     sender.Layouts        // of the sender
	described   bool                  // the topology's description has been sent
	unsupported uint64                // running total of this sender
}

// NewFile returns a capture that is read from r. Errors contain the name. It is also the topology's name if the capture
// does not state one.
func NewFile(name string, r io.Reader) *File {
	return &File{name: name, reader: capture.NewReader(name, r)}
}

// reading is what a capture's reader returned.
type reading struct {
	point *capture.Point
	err   error
}

// mostAhead is the largest number of malformed lines after which a file without a data point still counts as a capture.
const mostAhead = 1000

// lookAhead reads the first data point. A file that only has malformed lines is an error.
func (f *File) lookAhead() error {
	var malformed *capture.LineError
	for len(f.ahead) < mostAhead {
		point, err := f.reader.Next()
		f.ahead = append(f.ahead, reading{point, err})
		switch {
		case errors.Is(err, io.EOF) && len(f.ahead) > 1:
			return fmt.Errorf("no line is one of a metrics log; nothing was stored: %w", f.ahead[0].err)
		case !errors.As(err, &malformed):
			return nil // of another error, advance tells
		}
	}
	return nil
}

func (f *File) next() (*capture.Point, error) {
	if len(f.ahead) == 0 {
		return f.reader.Next()
	}
	first := f.ahead[0]
	f.ahead = f.ahead[1:]
	return first.point, first.err
}

// advance reads the next data point. It skips and counts malformed lines, and keeps the errors of the first few.
func (p *Player) advance(f *File) error {
	for {
		point, err := f.next()
		var malformed *capture.LineError
		switch {
		case errors.As(err, &malformed):
			if p.outcome.Unread++; len(p.outcome.Malformed) < maxMalformed {
				p.outcome.Malformed = append(p.outcome.Malformed, err)
			}
			continue
		case errors.Is(err, io.EOF):
			f.point = nil
			return nil
		case err != nil:
			return err
		}
		point.TimeMs += p.ShiftMs
		if point.NowMs > 0 {
			point.NowMs += p.ShiftMs
		}
		f.point = point
		f.nowMs = f.clock(point)
		return nil
	}
}

// clock returns the consumer's clock at a data point, in ms. A line without a clock is assumed to arrive at the newest
// event time so far.
func (f *File) clock(point *capture.Point) int64 {
	if point.NowMs > 0 {
		return point.NowMs
	}
	return max(f.nowMs, point.TimeMs, 1)
}

// open creates the sender for a data point, and a new one if the consumer was restarted. A new sender gets a new epoch,
// like a restarted worker.
func (p *Player) open(f *File, point *capture.Point, files []*File) (err error) {
	if f.sender != nil && f.prepare == point.Prepare {
		return nil
	}
	f.close()
	f.prepare, f.topology, f.topologyID = point.Prepare, filepath.Base(f.name), ""
	port, task := point.Port, int32(0)
	if at := point.Prepare; at != nil && at.TopologyID != "" {
		f.topology, f.topologyID, port, task = at.Topology(), shiftID(at.TopologyID, p.ShiftMs), at.Port, at.Task
	}
	f.storm = p.Storm
	if at := point.Prepare; at != nil && at.Storm != "" {
		f.storm = at.Storm
	}
	p.settleName(f, files)
	host := point.Host
	host = cmp.Or(host, "unknown")
	var epoch journal.Epoch
	_, _ = rand.Read(epoch[:]) // never fails (crypto/rand)
	f.sender, err = p.server.Local(&pb.Open{Topology: f.topology, TopologyId: f.topologyID, Host: host, Port: port,
		Task: task}, epoch)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	f.ids, f.layouts, f.described, f.unsupported = map[metric.Raw]uint32{}, sender.Layouts{Max: maxLayouts}, false, 0
	p.outcome.Topologies[f.topology] = true
	return nil
}

// settleName chooses the topology's name for a capture. A collector expects one run of a topology at a time: two at
// once would mix their counters in the same series. If the name is taken, the capture's file name is used instead.
func (p *Player) settleName(f *File, files []*File) {
	if !p.taken(f, f.topology, files) {
		return
	}
	said := f.topology
	f.topology = filepath.Base(f.name)
	for n := 2; p.taken(f, f.topology, files); n++ {
		f.topology = fmt.Sprintf("%s#%d", filepath.Base(f.name), n)
	}
	p.log.Warn("another run of this topology has samples of the same time or later; storing this one under another name",
		"file", f.name, "topology", said, "stored_as", f.topology)
}

// taken reports whether another run uses a topology's name at this capture's time or later. A capture that does not
// name its run counts as the run that was stored under that name before. It never shares a name with another capture of
// the same replay.
func (p *Player) taken(f *File, name string, files []*File) bool {
	for _, other := range files {
		if other != f && other.sender != nil && other.topology == name &&
			(other.topologyID != f.topologyID || f.topologyID == "") {
			return true
		}
	}
	for _, run := range p.Earlier[name] {
		if f.topologyID != "" && run.ID != f.topologyID && run.LastMs >= p.clock.ms.Load() {
			return true
		}
	}
	return false
}

// close ends the sender, if there is one. The journal then records that the consumer has ended.
func (f *File) close() {
	if f.sender != nil {
		f.sender.Close()
		f.sender = nil
	}
}

// batch holds the samples of one second of a capture, as columns.
type batch struct {
	series  []metric.Raw // without topology; one entry for each sample
	timesMs []int64
	values  []float64

	unsupported uint64
}

// samples returns the number of samples in the batch.
func (b *batch) samples() int { return len(b.values) }

// add appends the samples of the capture's next data point to a batch. It does not advance the capture.
func (f *File) add(b *batch) {
	p := f.point
	b.unsupported += uint64(p.Unsupported)
	for _, s := range p.Samples {
		b.series = append(b.series, metric.Raw{Worker: metric.Worker{Host: p.Host, Port: p.Port},
			Component: p.Component, Task: p.Task, Name: p.Name, Key: s.Key, Shape: s.Shape, IntervalMs: p.IntervalMs})
		b.timesMs = append(b.timesMs, p.TimeMs)
		b.values = append(b.values, s.Value)
	}
}

// finish returns the batch in the form that the plugin would send. New series and layouts are defined, the topology is
// described once, and the count of dropped samples is a running total.
func (f *File) finish(b *batch, nowMs int64) *pb.Batch {
	out := &pb.Batch{SendTimeMs: nowMs, Samples: &pb.SampleColumns{}}
	if len(b.timesMs) > 0 {
		out.Samples.BaseTimeMs = b.timesMs[0]
	}
	ids := make([]uint32, len(b.series))
	for i := range b.series {
		id, known := f.ids[b.series[i]]
		if !known {
			id = uint32(len(f.ids) + 1)
			f.ids[b.series[i]] = id
			out.Series = append(out.Series, definition(id, &b.series[i]))
		}
		ids[i] = id
	}
	fill(&f.layouts, out, b, ids)
	if b.unsupported > 0 {
		f.unsupported += b.unsupported
		out.Drops = []*pb.Drop{{Reason: pb.DropReason_DROP_REASON_UNSUPPORTED_VALUE, TotalSamples: f.unsupported}}
	}
	if !f.described && (f.topologyID != "" || f.storm != "") {
		f.described = true
		out.Topology = &pb.TopologyInfo{Name: f.topology, Id: f.topologyID, StormVersion: f.storm}
	}
	return out
}

// definition returns the definition of a series as the plugin would send it.
func definition(id uint32, raw *metric.Raw) *pb.SeriesDefinition {
	d := &pb.SeriesDefinition{Id: id, Host: raw.Host, Port: raw.Port, Component: raw.Component, Task: raw.Task,
		Name: raw.Name, IntervalMs: uint32(raw.IntervalMs), Shape: pb.Shape(raw.Shape)}
	if raw.Shape == metric.ShapeMap {
		d.Key = strings.Split(raw.Key, metric.KeySeparator)
	}
	return d
}

// EndMs returns the time of the last data point of captures, in ms. It reads them completely.
func EndMs(paths []string) (int64, error) {
	files, closeAll, err := Open(paths)
	if err != nil {
		return 0, err
	}
	defer closeAll()
	reading, end := New(nil, nil, nil, nil), int64(0)
	for _, f := range files {
		for err := reading.advance(f); f.point != nil || err != nil; err = reading.advance(f) {
			if err != nil {
				return 0, err
			}
			end = max(end, f.nowMs)
		}
	}
	return end, nil
}

// Open opens all captures before anything is stored, so that a file that is missing or no capture leaves the data
// directory unchanged. closeAll closes them.
func Open(paths []string) (files []*File, closeAll func(), err error) {
	var opened []io.Closer
	closeAll = func() {
		for _, f := range opened {
			_ = f.Close() // read only
		}
	}
	for _, path := range paths {
		f, err := textfile.Open(path)
		if err == nil {
			opened, files = append(opened, f), append(files, NewFile(path, f))
			err = files[len(files)-1].lookAhead()
		}
		if err != nil {
			closeAll()
			return nil, nil, err
		}
	}
	return files, closeAll, nil
}
