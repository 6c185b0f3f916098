package journal

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files of the current format version")

// writeGolden writes an entry of every kind. It opens the journal several times, so that the second segment's header is
// not empty.
func writeGolden(t *testing.T, dir string) {
	for run := range uint64(2) {
		j, err := Open(dir, DefaultOptions())
		require.NoError(t, err)
		producer, err := j.DefineProducer(ProducerDefined{Topology: "bullet", TopologyID: "bullet-1-1500000000",
			Host: "10.0.0.1", Port: 6700, Task: 12})
		require.NoError(t, err)
		b := &Batch{Producer: producer, Epoch: Epoch{0xAB, 15: 0xCD}, Sequence: 40 + run, SentMs: 1_500_000_000_123,
			ReceivedMs: 1_500_000_000_130}
		for i, v := range []float64{0, 1, -1, 1.5, 850, 1e300, math.Pi, 4_294_967_296, 0} {
			id, err := j.Define(metric.Raw{Worker: metric.Worker{Topology: "bullet", Host: "10.0.0.2", Port: 6701},
				Component: "FilterBolt",
				Task:      int32(i) - 1, Name: "memory/heap", Key: "usedBytes", Shape: metric.ShapeMap,
				Temporality: metric.Gauge,
				IntervalMs:  10_000, PackSpanMs: 60_000})
			require.NoError(t, err)
			b.IDs, b.TimesMs, b.Values = append(b.IDs, id), append(b.TimesMs, b.SentMs-int64(i*i)*100+7),
				append(b.Values, v)
		}
		b.Histograms = []*bulletmetricsv1.HistogramSample{{SeriesId: uint32(b.IDs[2]), TimeMs: 1_500_000_000_000}}
		b.Notes = &bulletmetricsv1.Batch{Drops: []*bulletmetricsv1.Drop{{TotalSamples: 3}}}
		layout, err := j.DefineLayout([]SeriesID{b.IDs[4], b.IDs[1], b.IDs[2]})
		require.NoError(t, err)
		b.Blocks = []Block{
			{Layout: layout, Block: block.Block{Columns: 3, Rows: 2, FirstMs: b.SentMs - 1000, StepMs: 1000,
				Codec:  block.Doubles,
				Values: block.AppendDoubles(nil, []float64{1, 2, 3, 4, 5, math.Pi})}},
			{Layout: layout, Block: block.Block{Columns: 3, Rows: 3, FirstMs: b.SentMs - 9000, StepMs: 1000,
				OffsetsMs: []int32{3, 0, -7},
				Presence:  []byte{0xFE, 0}, Codec: block.Trimmed,
				Values: block.AppendTrimmed(nil, []float64{1, 2, 3, 4, 5, math.E, 0})}},
		}
		if run == 0 {
			defineIdle(t, j, 1_500_000_000_000-40*hourMs)
		}
		for _, control := range []Entry{&Started{TimeMs: 1_500_000_000_000},
			&Connected{Producer: producer, TimeMs: 1_500_000_000_001},
			&Moved{Producer: producer, Epoch: Epoch{9, 8, 7}, First: run == 1, Series: []SeriesID{b.IDs[4], b.IDs[1]},
				State: []byte("state"), TimeMs: 1_500_000_000_002}} {
			require.NoError(t, j.AppendControl(control))
		}
		appended(t, j, b)
		for _, control := range []Entry{&Tick{TimeMs: 1_500_000_001_000},
			&Disconnected{Producer: producer, TimeMs: 1_500_000_001_001}} {
			require.NoError(t, j.AppendControl(control))
		}
		require.NoError(t, j.Close())
	}
}

// defineIdle defines one of each without using it, so that it will be forgotten.
func defineIdle(t *testing.T, j *Journal, atMs int64) {
	require.NoError(t, j.AppendControl(&Tick{TimeMs: atMs}))
	_, err := j.DefineProducer(ProducerDefined{Topology: "idle", TopologyID: "idle-1-1400000000", Host: "10.0.0.9",
		Port: 6700, Task: 3})
	require.NoError(t, err)
	id, err := j.Define(metric.Raw{Worker: metric.Worker{Topology: "idle", Host: "10.0.0.9", Port: 6700}, Name: "idle"})
	require.NoError(t, err)
	_, err = j.DefineLayout([]SeriesID{id})
	require.NoError(t, err)
}

// describe returns the content of a closed journal, with one line per entry.
func describe(t *testing.T, j *Journal) string {
	reader, err := j.Reader(0)
	require.NoError(t, err)
	defer reader.Close()
	var text strings.Builder
	for {
		at, entry, err := reader.Next(context.Background())
		if errors.Is(err, ErrClosed) {
			return text.String()
		}
		require.NoError(t, err)
		if s, ok := entry.(*SeriesDefined); ok {
			r := s.Series
			fmt.Fprintf(&text, "%v Series %d %s %s %s %d %s %q shape %d temporality %d interval %d span %d\n", at, s.ID,
				r.Topology, r.Worker,
				r.Component, r.Task, r.Name, r.Key, r.Shape, r.Temporality, r.IntervalMs, r.PackSpanMs)
			continue
		}
		if b, ok := entry.(*Batch); ok {
			for _, block := range b.Blocks {
				fmt.Fprintf(&text, "%v Block of layout %d: %d rows of %d columns from %d by %d, offsets %v, presence %x, codec %d, values %v\n", at,
					block.Layout, block.Rows, block.Columns, block.FirstMs, block.StepMs, block.OffsetsMs,
					block.Presence, block.Codec, block.Floats(nil))
			}
			fmt.Fprintf(&text, "%v Batch %d %x %d %d %d %v %v %v %d histograms, first of series %d; %d dropped\n", at,
				b.Producer, b.Epoch, b.Sequence,
				b.SentMs, b.ReceivedMs, b.IDs, b.TimesMs, b.Values, len(b.Histograms), b.Histograms[0].GetSeriesId(),
				b.Notes.GetDrops()[0].GetTotalSamples())
			continue
		}
		fmt.Fprintf(&text, "%v %T %+v\n", at, entry, entry)
	}
}

// TestGoldenSegments opens the golden directories of all format versions. Each must read as before.
func TestGoldenSegments(t *testing.T) {
	current := filepath.Join("testdata", fmt.Sprintf("v%d", formatVersion))
	if *updateGolden {
		require.NoError(t, os.RemoveAll(current))
		writeGolden(t, current)
		require.NoError(t, os.Remove(filepath.Join(current, lockName)))
	}
	versions, err := filepath.Glob("testdata/v*")
	require.NoError(t, err)
	require.Len(t, versions, formatVersion)
	for _, version := range versions {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(version)))
		_ = os.Remove(filepath.Join(dir, "entries.txt"))
		j, err := Open(dir, DefaultOptions())
		require.NoError(t, err)
		require.True(t, appended(t, j, &Batch{Producer: 1, Epoch: Epoch{0xAB, 15: 0xCD}, Sequence: 41,
			ReceivedMs: 1_500_000_002_000}),
			"known from the file")
		require.NoError(t, j.Close())
		golden := filepath.Join(version, "entries.txt")
		if *updateGolden && version == current {
			require.NoError(t, os.WriteFile(golden, []byte(describe(t, j)), 0o600))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), describe(t, j))
	}
}

// TestTheFormatHasNotChanged writes the golden segments again. If a byte differs, the format needs a new version.
func TestTheFormatHasNotChanged(t *testing.T) {
	dir := t.TempDir()
	writeGolden(t, dir)
	for number := uint32(1); number <= 2; number++ {
		want, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("v%d", formatVersion), segmentName(number)))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(dir, segmentName(number)))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "segment %d differs", number)
	}
}

// TestBatchesComeBackAsTheyWere encodes arbitrary batches and decodes them.
func TestBatchesComeBackAsTheyWere(t *testing.T) {
	var again Batch
	rapid.Check(t, func(t *rapid.T) {
		b := &Batch{Producer: ProducerID(rapid.Uint32().Draw(t, "producer")),
			Sequence: rapid.Uint64().Draw(t, "sequence"),
			SentMs:   rapid.Int64().Draw(t, "sent"), ReceivedMs: rapid.Int64().Draw(t, "received")}
		copy(b.Epoch[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "epoch"))
		n := rapid.IntRange(0, 50).Draw(t, "n")
		b.IDs, b.TimesMs, b.Values = make([]SeriesID, n), make([]int64, n), make([]float64, n)
		for i := range n {
			b.IDs[i] = SeriesID(rapid.Uint32().Draw(t, "id"))
			b.TimesMs[i] = rapid.Int64().Draw(t, "time")
			b.Values[i] = rapid.OneOf(rapid.Float64(),
				rapid.Map(rapid.IntRange(-1000, 100_000), func(i int) float64 { return float64(i) })).Draw(t, "value")
		}
		tail, err := encodeTail(b)
		require.NoError(t, err)
		payload := appendBatch(nil, b, tail)
		require.LessOrEqual(t, int64(len(payload)), payloadBound(b, tail))
		require.NoError(t, decodeBatch(kindOf(b), payload, &again))
		got := again
		got.IDs = append([]SeriesID{}, again.IDs...) // empty equals nil
		got.TimesMs, got.Values = append([]int64{}, again.TimesMs...), append([]float64{}, again.Values...)
		got.Histograms = nil
		require.Equal(t, b, &got)
		require.Error(t, decodeBatch(kindOf(b), payload[:len(payload)-1], new(Batch)), "a byte short")
		require.Error(t, decodeBatch(kindOf(b), append(payload, 0), new(Batch)), "a byte over")
	})
}

// FuzzPayload decodes arbitrary bytes as each kind of record. The result is an error or an entry, never a panic, and
// the size of the entry is bounded by the input.
func FuzzPayload(f *testing.F) {
	b := &Batch{Producer: 1, Sequence: 2, IDs: []SeriesID{1, 2}, TimesMs: []int64{5, 6}, Values: []float64{1, 2.5}}
	f.Add(byte(kindBatch), appendBatch(nil, b, emptyTail))
	b.Blocks = []Block{{Layout: 1, Block: block.Block{Columns: 2, Rows: 2, StepMs: 1, OffsetsMs: []int32{0, -1},
		Presence: []byte{7},
		Codec:    block.Doubles, Values: make([]byte, 24)}}}
	f.Add(byte(kindBlocks), appendBatch(nil, b, emptyTail))
	row := &SeriesDefined{ID: 3, Series: metric.Raw{Name: "n", Worker: metric.Worker{Topology: "t"}}}
	f.Add(byte(kindSeries), encodeSeries([]used[SeriesDefined]{{row, 5}}))
	f.Add(byte(kindLayouts), encodeLayouts([]used[LayoutDefined]{{&LayoutDefined{ID: 1, Series: []SeriesID{3, 2}}, 7}}))
	f.Add(byte(kindForgotten), encodeForgotten(&Forgotten{Series: []SeriesID{1, 9}, Layouts: []LayoutID{2}, TimeMs: 5}))
	f.Add(byte(kindProducers), encodeProducers([]used[ProducerDefined]{{&ProducerDefined{ID: 1, Topology: "t"}, 3}}))
	f.Add(byte(kindEpochs), epochs{{epoch: Epoch{1}, topology: "t"}: {seenMs: 1, spans: []span{{1, 5}}}}.encode()[0])
	f.Add(byte(kindSegment), segmentHeader{version: 2, number: 7, nextLayout: 2}.encode())
	version1 := segmentHeader{version: 1, number: 7}.encode()
	f.Add(byte(kindSegment), version1[:len(version1)-2]) // without the layouts
	f.Add(byte(kindConnected), []byte{1, 2})
	f.Fuzz(func(t *testing.T, k byte, payload []byte) {
		switch kind(k) {
		case kindBatch, kindBlocks:
			var b Batch
			if decodeBatch(kind(k), payload, &b) == nil {
				require.Len(t, b.Values, len(b.IDs))
				require.Len(t, b.TimesMs, len(b.IDs))
				for i := range b.Blocks {
					require.True(t, sizesHold(&b.Blocks[i].Block))
				}
			}
		case kindSeries:
			rows, _ := decodeSeries(payload)
			require.LessOrEqual(t, len(rows)*minSeriesBytes, len(payload))
		case kindLayouts:
			_, _ = decodeLayouts(payload)
		case kindForgotten:
			_, _ = decodeForgotten(payload)
		case kindProducers, kindProducersV1:
			_, _ = decodeProducers(payload, kind(k) == kindProducers, 0)
		case kindEpochs, kindEpochsV1:
			_ = epochs{}.decode(payload, kind(k) == kindEpochs)
		case kindSegment:
			_, _ = decodeHeader(payload)
		default:
			_, _, _ = decodeControl(kind(k), payload)
		}
	})
}

// FuzzSegment reads arbitrary bytes as a segment, by Open and by a Reader. frame converts them to records with valid
// checksums, so that the code after the checks is reached too. Each byte is either in an intact record or reported as
// damaged.
func FuzzSegment(f *testing.F) {
	for version := 1; version <= formatVersion; version++ {
		for number := uint32(1); number <= 2; number++ {
			b, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("v%d", version), segmentName(number)))
			require.NoError(f, err)
			f.Add(false, b)
			f.Add(false, b[:len(b)-3])
			f.Add(true, unframe(b, number))
		}
	}
	f.Fuzz(func(t *testing.T, framed bool, b []byte) {
		if framed {
			b = frame(b)
		}
		covered := int64(min(magicBytes, len(b)))
		scan := &scanner{file: bytes.NewReader(b), number: 1, off: magicBytes, end: int64(len(b)),
			damaged: func(from, to int64) { covered += to - from }}
		for {
			rec, err := scan.next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			covered += rec.end - rec.start
		}
		require.Equal(t, int64(len(b)), covered)

		again := &scanner{file: scan.file, number: 1, off: magicBytes, end: int64(len(b)),
			damaged: func(int64, int64) {}}
		end, _, err := newState().replaySegment(again)
		if err != nil {
			require.ErrorIs(t, err, disk.ErrNewer)
			return
		}
		require.LessOrEqual(t, end, int64(len(b)))
		r := newReader(newJournal("/journal", DefaultOptions()), 0)
		r.number = 1
		for again.off = magicBytes; ; {
			rec, err := again.next()
			if err != nil {
				return
			}
			r.read(rec)
		}
	})
}

// frame returns a segment of kinds and payloads, each given as a byte with the kind, a byte with the length, and the
// payload. Bytes with an unknown kind are copied.
func frame(b []byte) []byte {
	segment := slices.Clone(magic[:])
	for len(b) >= 2 {
		k, length := kind(b[0]), min(int(b[1]), len(b)-2)
		payload := b[2 : 2+length]
		b = b[2+length:]
		if k == 0 || k > kindLast {
			segment = append(segment, payload...)
			continue
		}
		segment = appendRecord(segment, positionOf(1, int64(len(segment))), k, payload)
	}
	return segment
}

// unframe is the inverse of frame for a valid segment.
func unframe(b []byte, number uint32) (list []byte) {
	scan := scanner{file: bytes.NewReader(b), number: number, off: magicBytes, end: int64(len(b))}
	for {
		rec, err := scan.next()
		if err != nil {
			return list
		}
		list = append(append(list, byte(rec.kind), byte(len(rec.payload))), rec.payload...)
	}
}

// TestListsOnlyWhatIsKnown checks that listsOnly skips only what a decoder would find known.
func TestListsOnlyWhatIsKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "a", "__system", "cpu.usage_user"})
		var rows []used[SeriesDefined]
		var known idSet
		all, id := true, SeriesID(0)
		for range rapid.IntRange(0, 20).Draw(t, "rows") {
			id += SeriesID(rapid.IntRange(1, 9000).Draw(t, "step"))
			rows = append(rows, used[SeriesDefined]{&SeriesDefined{ID: id, Series: metric.Raw{
				Worker: metric.Worker{Topology: text.Draw(t, "topology"), Host: text.Draw(t, "host"),
					Port: rapid.Uint32().Draw(t, "port")},
				Component: text.Draw(t, "component"), Task: rapid.Int32().Draw(t, "task"), Name: text.Draw(t, "name"),
				Key:   text.Draw(t, "key"),
				Shape: metric.Shape(rapid.Uint8().Draw(t, "shape")), IntervalMs: rapid.Int64().Draw(t, "interval"),
				PackSpanMs: rapid.Int64().Draw(t, "pack"),
			}}, int64(rapid.IntRange(0, 1<<20).Draw(t, "hour"))})
			if is := rapid.IntRange(0, 9).Draw(t, "known") > 0; is {
				known.add(uint32(id))
			} else {
				all = false
			}
		}
		payload := encodeSeries(rows)
		require.Equal(t, all, listsOnly(payload, known.has))
		if cut := rapid.IntRange(1, len(payload)).Draw(t, "cut"); len(rows) > 0 {
			require.False(t, listsOnly(payload[:len(payload)-cut], func(uint32) bool { return true }), "cut")
		}
		require.False(t, listsOnly(append(payload, 0), known.has), "too long")
	})
}

// appendRecord appends a record that will be written at position at.
func appendRecord(to []byte, at Position, k kind, payload []byte) []byte {
	start := len(to)
	to = append(beginRecord(to), payload...)
	finishRecord(to[start:], at, k)
	return to
}
