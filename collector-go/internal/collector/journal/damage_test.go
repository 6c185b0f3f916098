package journal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// written is a closed journal of one segment on a disk in memory, with the positions of its batches.
type written struct {
	fs      *disktest.Memory
	file    []byte                // content of the segment
	batches map[batchKey][2]int64 // start and end of each in the file
	ends    map[int64]bool        // ends of all records
	samples map[batchKey]int
	all     int // number of samples
}

// writeJournal writes n batches. If defined is set, all series are defined before the first one.
func writeJournal(t *testing.T, n int, defined bool) *written {
	fs := disktest.NewMemory(1)
	o := smallOptions(fs)
	o.SegmentBytes = 64 << 20
	j, err := Open("/journal", o)
	require.NoError(t, err)
	s := &sender{producer: ProducerDefined{Topology: "t", Host: "h", Port: 1}, epoch: Epoch{1}}
	for sequence := uint64(1); defined && sequence <= uint64(n); sequence++ {
		batchOf(t, j, s, sequence)
	}
	for i := range n {
		_, err := j.Append(batchOf(t, j, s, uint64(i+1)), func(err error) { require.NoError(t, err) })
		require.NoError(t, err)
		if i%20 == 0 {
			require.NoError(t, j.AppendControl(&Tick{TimeMs: 1}))
		}
	}
	require.NoError(t, j.Close())
	w := &written{fs: fs, file: fs.Bytes(filepath.Join("/journal", segmentName(1))), batches: map[batchKey][2]int64{},
		ends:    map[int64]bool{},
		samples: map[batchKey]int{}}
	scan := scanner{file: bytes.NewReader(w.file), number: 1, off: magicBytes, end: int64(len(w.file))}
	for {
		rec, err := scan.next()
		if err != nil {
			return w
		}
		w.ends[rec.end] = true
		if rec.kind.batch() {
			var b Batch
			require.NoError(t, decodeBatch(rec.kind, rec.payload, &b))
			key := batchKey{b.Epoch, b.Sequence}
			w.batches[key], w.samples[key] = [2]int64{rec.start, rec.end}, b.Samples()
			w.all += b.Samples()
		}
	}
}

// damagedCopy returns the disk with changed bytes in its segment.
func (w *written) damagedCopy(change func(b []byte) []byte) *disktest.Memory {
	fs := disktest.NewMemory(1)
	b := change(slices.Clone(w.file))
	fs.Put(filepath.Join("/journal", segmentName(1)), b)
	return fs
}

const damagedTail = 64 << 10

// TestDamagedTail truncates the last 64 KiB, or flips bits in them. Only the damaged record is lost, and the journal
// opens and continues.
func TestDamagedTail(t *testing.T) {
	w := writeJournal(t, 600, false)
	size := int64(len(w.file))
	require.Greater(t, size, int64(damagedTail))
	destroyed, cases := 0, 0
	eachSeed(t, ledgerCases.N(), func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 3))
		at := size - 1 - random.Int64N(damagedTail)
		change, lost := flip(at, byte(1+random.IntN(255))), func(place [2]int64) bool {
			return place[0] <= at && at < place[1]
		}
		between := false // a file that ends between two records looks like a shorter journal
		if seed%2 == 0 {
			change, lost, between = truncate(at), func(place [2]int64) bool { return place[1] > at }, w.ends[at]
		}
		destroyed, cases = destroyed+w.named(t, change, lost, at, between), cases+1
		w.expectLost(t, change, lost)
	})
	fmt.Printf("tally: cases=%d samples=%d damaged=%d\n", cases, cases*w.all, destroyed)
}

// named checks that Check reports the damaged place, unless it is between two records. It returns how many samples the
// damage destroyed.
func (w *written) named(t *testing.T, change func([]byte) []byte, lost func(place [2]int64) bool, at int64,
	between bool) (destroyed int) {
	whole := len(w.batches)
	for key, place := range w.batches {
		if lost(place) {
			destroyed += w.samples[key]
			whole--
		}
	}
	report, err := Check("/journal", w.damagedCopy(change))
	require.NoError(t, err)
	require.Equal(t, whole, report.Batches)
	if destroyed > 0 {
		require.Equal(t, between, len(report.Findings) == 0)
	}
	for _, f := range report.Findings {
		require.LessOrEqual(t, f.From, at)
		require.GreaterOrEqual(t, f.To, at)
	}
	return destroyed
}

func flip(at int64, mask byte) func([]byte) []byte {
	return func(b []byte) []byte { b[at] ^= mask; return b }
}

func truncate(at int64) func([]byte) []byte {
	return func(b []byte) []byte { return b[:at] }
}

// expectLost opens a damaged copy, reads it, appends to it, and reads it after another start.
func (w *written) expectLost(t *testing.T, change func([]byte) []byte, lost func(place [2]int64) bool) {
	want := map[batchKey]int{}
	for key, place := range w.batches {
		if !lost(place) {
			want[key] = 1
		}
	}
	fs := w.damagedCopy(change)
	for round := range 2 {
		j, err := Open("/journal", smallOptions(fs))
		require.NoError(t, err)
		s := &sender{producer: ProducerDefined{Topology: "t", Host: "h", Port: 1}, epoch: Epoch{2}}
		_, err = j.Append(batchOf(t, j, s, uint64(round+1)), func(err error) { require.NoError(t, err) })
		require.NoError(t, err)
		want[batchKey{Epoch{2}, uint64(round + 1)}]++
		require.NoError(t, j.Close())
		r := newReading()
		r.readClosed(t, j)
		if len(r.batches) != len(want) {
			for key := range want {
				require.Equal(t, 1, r.batches[key], "%v in round %d", key, round)
			}
		}
		require.Equal(t, want, r.batches)
	}
}

// TestCheckNamesTheDamage checks an intact journal, and one with a flipped byte.
func TestCheckNamesTheDamage(t *testing.T) {
	w := writeJournal(t, 60, false)
	report, err := Check("/journal", w.fs)
	require.NoError(t, err)
	require.Equal(t, 1, report.Segments)
	require.Equal(t, 60, report.Batches)
	require.Equal(t, int64(len(w.file)), report.Bytes)
	require.Empty(t, report.Findings)
	place := w.batches[batchKey{Epoch{1}, 33}]
	report, err = Check("/journal", w.damagedCopy(flip(place[0]+20, 1)))
	require.NoError(t, err)
	require.Equal(t, 59, report.Batches)
	require.Equal(t, []Finding{{Segment: segmentName(1), From: place[0], To: place[1], Kind: "batch",
		AfterMs: 1_000_032, BeforeMs: 1_000_034}},
		report.Findings)
	require.Equal(t, fmt.Sprintf("0000000001.segment: bytes %d to %d are damaged or half-written: one batch is lost, "+
		"after 1970-01-01T00:16:40Z, before 1970-01-01T00:16:40Z", place[0], place[1]), report.Findings[0].String())
}

// TestDamagedHeader flips every byte from the beginning of the file to the end of both copies of the header. Only the
// damaged record is lost, which is never one with a batch here.
func TestDamagedHeader(t *testing.T) {
	w := writeJournal(t, 3, false)
	first := int64(len(w.file))
	for _, place := range w.batches {
		first = min(first, place[0])
	}
	for at := range first {
		w.expectLost(t, flip(at, 0x40), func([2]int64) bool { return false })
	}
}

// TestDamageInTheMiddleIsSteppedOver overwrites a stretch that covers complete records.
func TestDamageInTheMiddleIsSteppedOver(t *testing.T) {
	w := writeJournal(t, 600, true)
	eachSeed(t, uint64(cases.Number(40, 8)), func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 4))
		from := int64(len(w.file))/2 + random.Int64N(10_000)
		to := from + random.Int64N(8_000)
		w.expectLost(t, func(b []byte) []byte {
			for i := from; i < to; i++ {
				b[i] = byte(random.Uint32())
			}
			return b
		}, func(place [2]int64) bool { return place[0] < to && place[1] > from })
	})
}

// TestARecordInsideATextIsNotRead writes the bytes of a complete record into a name, then damages the record around
// it.
func TestARecordInsideATextIsNotRead(t *testing.T) {
	forged := appendRecord(nil, positionOf(1, 5000), kindTick, []byte{2})
	b := append(make([]byte, 0, 100), magic[:]...)
	b = appendRecord(b, positionOf(1, int64(len(b))), kindStarted, append(bytes.Repeat([]byte{1}, 20), forged...))
	b[9] ^= 1 // the length
	b = append(b, make([]byte, 50)...)
	scan := scanner{file: bytes.NewReader(b), number: 1, off: magicBytes, end: int64(len(b)),
		damaged: func(int64, int64) {}}
	_, err := scan.next()
	require.Error(t, err)
}

func ExamplePosition() {
	fmt.Println(positionOf(3, 4096))
	// Output: 3:4096
}

// TestAMissingSegmentIsNamed removes a segment from the middle.
func TestAMissingSegmentIsNamed(t *testing.T) {
	fs := disktest.NewMemory(1)
	j, err := Open("/journal", smallOptions(fs))
	require.NoError(t, err)
	for sequence := uint64(1); sequence <= 100; sequence++ {
		appended(t, j, oneBatch(t, j, sequence))
	}
	require.Greater(t, len(j.segments), 6)
	lost := j.segments[2]
	require.NoError(t, j.Close())
	require.NoError(t, fs.Remove("/journal/"+segmentName(lost.number)))
	report, err := Check("/journal", fs)
	require.NoError(t, err)
	require.Equal(t, 1, report.Damaged)
	f := report.Findings[0]
	require.Equal(t, Finding{Segment: "0000000003.segment", To: lost.end, Missing: true, AfterMs: f.AfterMs,
		BeforeMs: f.BeforeMs}, f)
	require.Less(t, f.AfterMs, f.BeforeMs)
	require.Contains(t, f.String(), "0000000003.segment: is missing, of ")
	require.Equal(t, 100-int(f.BeforeMs-f.AfterMs-1), report.Batches)

	j, err = Open("/journal", smallOptions(fs))
	require.NoError(t, err)
	require.Equal(t, 1.0, testutil.ToFloat64(j.figures.damaged), "said at the start")
	require.NoError(t, j.Close())
	r := newReading()
	r.readClosed(t, j)
	require.Len(t, r.batches, report.Batches)
}
