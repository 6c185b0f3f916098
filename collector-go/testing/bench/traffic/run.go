package traffic

import (
	"fmt"
	"time"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// again is the time after which a Run repeats the recording. It is a whole number of reporting intervals. The part
// before the last eight minutes, which defines most series, is sent once.
const again = 8 * time.Minute

// Run is one submission of a topology that sends a recording again and again, in simulated time.
type Run struct {
	copied Copy
	next   int           // the next batch
	round  time.Duration // the time between the first round and this one
}

// Run returns the n-th submission of a topology. Each submission has its own id, and processes on its own ports. The
// recording must be longer than 8 minutes.
func (r *Recording) Run(topology string, n int, begin time.Time) *Run {
	return &Run{copied: Copy{recording: r, name: topology, id: fmt.Sprintf("%s-%d-%d", topology, n, begin.Unix()),
		begin: begin, ports: uint32(n)}}
}

// Opened returns the message that opens the stream.
func (r *Run) Opened() *pb.Open { return r.copied.opened() }

// Due returns the time at which the next batch is sent.
func (r *Run) Due() time.Time {
	return r.copied.begin.Add(r.round + r.copied.recording.batches[r.next].after)
}

// Next returns the next batch. The caller sets its epoch and sequence.
func (r *Run) Next() *pb.Batch {
	batches, now := r.copied.recording.batches, r.copied
	now.begin = now.begin.Add(r.round)
	b := now.batch(batches[r.next].Batch)
	b.Closing = false
	if r.round > 0 { // the series are defined, the processes are the same, and drops are counted from the start
		b.Series, b.Layouts, b.Topology, b.Workers, b.Drops = nil, nil, nil, nil, nil
	}
	if r.next++; r.next == len(batches) {
		r.round += again
		for r.next = 0; batches[r.next].after <= now.recording.Length-again; {
			r.next++
		}
	}
	return b
}
