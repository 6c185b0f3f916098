package sender

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// door is a collector's real ingest with its own journal, at an address that stays the same after a restart.
type door struct {
	journal *journal.Journal
	stop    func()
}

func open(t *testing.T, dir, address string, change func(*ingest.Options)) *door {
	t.Helper()
	j, err := journal.Open(dir, journal.DefaultOptions())
	require.NoError(t, err)
	o := ingest.DefaultOptions()
	if change != nil {
		change(&o)
	}
	server, err := ingest.New(j, o)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	d := &door{journal: j}
	d.stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(t, <-ended)
		assert.NoError(t, j.Close())
	})
	t.Cleanup(d.stop)
	return d
}

// batches returns the batches in the journal and the known series.
func (d *door) batches(t *testing.T) (all []journal.Batch, series map[journal.SeriesID]journal.SeriesDefined) {
	reader, err := d.journal.Reader(0)
	require.NoError(t, err)
	defer reader.Close()
	nothingToWaitFor, cancel := context.WithCancel(context.Background())
	cancel()
	series = map[journal.SeriesID]journal.SeriesDefined{}
	for {
		_, entry, err := reader.Next(nothingToWaitFor)
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			return all, series
		}
		switch e := entry.(type) {
		case *journal.Batch:
			all = append(all, *e.Retained())
		case *journal.SeriesDefined:
			series[e.ID] = *e
		}
	}
}

func freeAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// start runs a sender until the test ends.
func start(t *testing.T, o Options) *Sender {
	t.Helper()
	o.MinBackoff, o.MaxBackoff = 10*time.Millisecond, 50*time.Millisecond
	s, err := New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() { cancel(); assert.NoError(t, <-done) })
	return s
}

func flush(t *testing.T, s *Sender) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, s.Flush(ctx))
}

var temperature = Series{Name: "bullet_query_result_completeness_ratio", Key: [2]string{"raw"},
	Interval: 10 * time.Second}

func value(v float64) []Sample { return []Sample{{Series: temperature, Time: time.Now(), Value: v}} }

func TestSamplesReachTheJournalOnceAcrossACollectorsRestart(t *testing.T) {
	dir, address := t.TempDir(), freeAddress(t)
	s := start(t, DefaultOptions(address, "bullet", "canary-host", "canary"))
	s.Offer(value(1)) // there is no collector yet
	first := open(t, dir, address, nil)
	flush(t, s)
	first.stop()
	s.Offer(value(2))
	s.Offer(value(3))
	second := open(t, dir, address, nil)
	flush(t, s)
	s.Offer([]Sample{{Series: Series{Name: "bullet_query_latency_seconds", Key: [2]string{"raw"}, Histogram: true,
		Cumulative: true, Interval: 10 * time.Second}, Time: time.Now(),
		Histogram: &pb.HistogramSample{Schema: 5, ZeroThreshold: 0.0005, Count: 2, Sum: 3,
			PositiveSpans: []*pb.BucketSpan{{Offset: 3, Length: 1}}, PositiveCounts: []uint64{2}}}})
	s.Close()
	flush(t, s)

	batches, series := second.batches(t)
	var values []float64
	for _, b := range batches {
		values = append(values, b.Values...)
		for _, id := range b.IDs {
			raw := series[id].Series
			assert.Equal(t, "canary-host:0", raw.Worker.String())
			assert.Equal(t, []string{"canary", "bullet_query_result_completeness_ratio", "raw"},
				[]string{raw.Component, raw.Name, raw.Key})
		}
	}
	assert.Equal(t, []float64{1, 2, 3}, values)
	require.Len(t, batches, 5)
	assert.Len(t, batches[3].Histograms, 1)
	for i, b := range batches {
		assert.Equal(t, i == 4, b.Notes.GetClosing(), "batch %d: the last word comes last", i)
	}
	f := s.Figures()
	assert.Equal(t, []uint64{4, 4, 0, 0}, []uint64{f.Offered, f.Acknowledged, f.Rejected, f.Dropped})
	assert.Equal(t, uint64(2), f.Connections)
	assert.Empty(t, f.LastError)
}

func TestTheQueueIsBoundedAndWhatItLosesIsReported(t *testing.T) {
	dir, address := t.TempDir(), freeAddress(t)
	o := DefaultOptions(address, "bullet", "h", "canary")
	o.QueueBatches = 3
	s := start(t, o)
	for i := range 5 {
		s.Offer(value(float64(i)))
	}
	require.Eventually(t, func() bool { return s.Figures().LastError != "" }, patience, time.Millisecond,
		"it reports that nobody is there")
	d := open(t, dir, address, nil)
	flush(t, s)
	batches, _ := d.batches(t)
	var values []float64
	for _, b := range batches {
		values = append(values, b.Values...)
	}
	assert.Equal(t, []float64{2, 3, 4}, values, "the oldest go first")
	require.NotEmpty(t, batches[0].Notes.GetDrops())
	assert.Equal(t, uint64(2), batches[0].Notes.GetDrops()[0].GetTotalSamples())
	f := s.Figures()
	assert.Equal(t, []uint64{5, 3, 2}, []uint64{f.Offered, f.Acknowledged, f.Dropped})
}

func TestWhatTheCollectorRejectsIsCounted(t *testing.T) {
	address := freeAddress(t)
	open(t, t.TempDir(), address, nil)
	s := start(t, DefaultOptions(address, "bullet", "h", "canary"))
	s.Offer([]Sample{{Series: temperature, Time: time.Now().Add(time.Hour), Value: 1},
		{Series: temperature, Time: time.Now(), Value: 1}})
	flush(t, s)
	f := s.Figures()
	assert.Equal(t, []uint64{2, 1, 1}, []uint64{f.Offered, f.Acknowledged, f.Rejected})
	assert.Contains(t, f.LastRejection, "FUTURE")
}

func guard(t *testing.T, o access.Options) *access.Guard {
	t.Helper()
	o.Port, o.Listen = access.GRPC, "127.0.0.1:4320"
	g, err := access.Open(o)
	require.NoError(t, err)
	return g
}

func TestATokenIsSentAndAWrongOneIsSaid(t *testing.T) {
	address, dir := freeAddress(t), t.TempDir()
	tokens, token := filepath.Join(dir, "tokens"), filepath.Join(dir, "token")
	secret := "a-secret-of-more-than-32-characters-0123456789"
	require.NoError(t, os.WriteFile(tokens, []byte(fmt.Sprintf("%x write bullet\n", sha256.Sum256([]byte(secret)))),
		0o600))
	require.NoError(t, os.WriteFile(token, []byte("wrong-"+secret+"\n"), 0o600))
	open(t, t.TempDir(), address, func(o *ingest.Options) { o.Guard = guard(t, access.Options{TokenFile: tokens}) })
	o := DefaultOptions(address, "bullet", "h", "canary")
	o.TokenFile = token
	s := start(t, o)
	s.Offer(value(1))
	require.Eventually(t, func() bool { return s.Figures().LastError != "" }, patience, time.Millisecond)
	assert.Regexp(t, "Unauthenticated|PermissionDenied", s.Figures().LastError)
	require.NoError(t, os.WriteFile(token, []byte(secret+"\n"), 0o600))
	flush(t, s)
}

func TestTLSWithACAOfOnesOwn(t *testing.T) {
	web := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1
	defer web.Close()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	der, err := x509.MarshalPKCS8PrivateKey(web.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cert,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	address := freeAddress(t)
	open(t, t.TempDir(), address, func(o *ingest.Options) {
		o.Guard = guard(t, access.Options{TLS: access.TLSFiles{Cert: cert, Key: key}, Insecure: true})
	})
	o := DefaultOptions(address, "bullet", "h", "canary")
	o.TLS = TLS{Enabled: true, CA: cert}
	s := start(t, o)
	s.Offer(value(1))
	flush(t, s)

	o.TLS.CA = "" // the system's authorities do not know it
	stranger := start(t, o)
	stranger.Offer(value(1))
	require.Eventually(t, func() bool { return strings.Contains(stranger.Figures().LastError, "certificate") },
		patience, time.Millisecond)
}

// Samples of the same time are sent as one block to a collector that accepts blocks, and as columns to an older one.
// The samples are the same.
func TestBlocksAreSentWhereTheyAreTaken(t *testing.T) {
	s, err := New(DefaultOptions("127.0.0.1:1", "bullet", "h", "canary"))
	require.NoError(t, err)
	at := time.UnixMilli(1_700_000_000_000)
	named := func(name string, after time.Duration, v float64) Sample {
		return Sample{Series: Series{Name: name}, Time: at.Add(after), Value: v}
	}
	s.Offer([]Sample{named("a", 0, 1), named("b", 0, 2.5), named("a", time.Second, 3), named("a", time.Second, 4),
		named("b", time.Second, 5)})
	old := s.next(streamKnows{})
	assert.Equal(t, []float64{1, 2.5, 3, 4, 5}, old.GetSamples().GetValues())
	assert.Empty(t, old.GetLayouts())
	b := s.next(streamKnows{blocks: true})
	require.Len(t, b.GetBlocks(), 2)
	require.Len(t, b.GetLayouts(), 1)
	assert.Equal(t, []uint32{1, 2}, b.GetLayouts()[0].GetSeriesIds())
	for i, want := range [][]float64{{1, 2.5}, {4, 5}} {
		of := block.Block{Columns: 2, Rows: 1, Codec: block.Codec(b.GetBlocks()[i].GetCodec()),
			Values: b.GetBlocks()[i].GetValues()}
		require.NoError(t, of.Check())
		assert.Equal(t, want, of.Floats(nil))
		assert.Equal(t, at.UnixMilli()+int64(1000*i), b.GetBlocks()[i].GetFirstTimeMs())
	}
	assert.Equal(t, []float64{3}, b.GetSamples().GetValues())
	again := s.next(streamKnows{blocks: true, series: 2, layouts: 1})
	assert.Empty(t, again.GetLayouts())
	assert.Equal(t, b.GetSequence(), again.GetSequence())
}

func TestBlocksReachTheJournal(t *testing.T) {
	address := freeAddress(t)
	d := open(t, t.TempDir(), address, nil)
	s := start(t, DefaultOptions(address, "bullet", "h", "canary"))
	for range 2 {
		now := time.Now()
		s.Offer([]Sample{{Series: Series{Name: "a"}, Time: now, Value: 1},
			{Series: Series{Name: "b"}, Time: now, Value: 2}})
		flush(t, s)
	}
	assert.Equal(t, uint64(4), s.Figures().Acknowledged)
	batches, _ := d.batches(t)
	require.Len(t, batches, 2)
	for _, b := range batches {
		require.Len(t, b.Blocks, 1)
		assert.Equal(t, []float64{1, 2}, b.Blocks[0].Floats(nil))
	}
}

// fullOnce is a collector that refuses the first batch for lack of capacity. full is called before.
type fullOnce struct {
	pb.UnimplementedIngestServiceServer
	full func()
	got  []*pb.Batch // complete once the sender is flushed
}

func (f *fullOnce) Export(g grpc.BidiStreamingServer[pb.ExportRequest, pb.ExportResponse]) error {
	if _, err := g.Recv(); err != nil {
		return err
	}
	answer := &pb.ExportResponse{Message: &pb.ExportResponse_Opened{Opened: &pb.Opened{Window: 8}}}
	for {
		if err := g.Send(answer); err != nil {
			return err
		}
		request, err := g.Recv()
		if err != nil {
			return nil
		}
		f.got = append(f.got, request.GetBatch())
		sequence := request.GetBatch().GetSequence()
		answer = &pb.ExportResponse{Message: &pb.ExportResponse_Acknowledgement{
			Acknowledgement: &pb.Acknowledgement{Sequence: sequence}}}
		if len(f.got) == 1 {
			f.full()
			answer = &pb.ExportResponse{Message: &pb.ExportResponse_Full{
				Full: &pb.Full{Sequence: sequence, RetryAfterMs: 1}}}
		}
	}
}

// A batch that the collector refused may be dropped before it is sent again. The next one is then the oldest that the
// sender holds, without which the collector would skip it.
func TestARefusedBatchThatIsDroppedIsNotSentAgain(t *testing.T) {
	for _, queue := range []int{2, 3} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		o := DefaultOptions(listener.Addr().String(), "bullet", "h", "canary")
		o.QueueBatches = queue
		s := start(t, o)
		collector, server := &fullOnce{full: func() { s.Offer(value(2)); s.Offer(value(3)) }}, grpc.NewServer()
		pb.RegisterIngestServiceServer(server, collector)
		serving := make(chan error, 1)
		go func() { serving <- server.Serve(listener) }()
		s.Offer(value(1))
		flush(t, s)
		server.Stop()
		require.NoError(t, <-serving)
		var sequences []uint64
		for _, b := range collector.got {
			sequences = append(sequences, b.GetSequence())
			assert.Equal(t, b.GetSequence(), b.GetOldestHeldSequence())
		}
		f := s.Figures()
		if queue == 2 {
			assert.Equal(t, []uint64{1, 2, 3}, sequences)
			assert.Equal(t, []uint64{3, 2, 1}, []uint64{f.Offered, f.Acknowledged, f.Dropped})
		} else {
			assert.Equal(t, []uint64{1, 1, 2, 3}, sequences)
			assert.Equal(t, []uint64{3, 3, 0}, []uint64{f.Offered, f.Acknowledged, f.Dropped})
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for message, change := range map[string]func(*Options){
		"missing port; use HOST:PORT": func(o *Options) { o.Address = "collector" },
		"require a topology":          func(o *Options) { o.Topology = "" },
		"must be greater than 0":      func(o *Options) { o.QueueBatches = 0 },
		"and its key belong together": func(o *Options) { o.TLS.Enabled, o.TLS.Cert = true, "c.pem" },
		"requires TLS":                func(o *Options) { o.TLS.CA = "ca.pem" },
	} {
		o := DefaultOptions("127.0.0.1:1", "t", "h", "c")
		change(&o)
		assert.ErrorContains(t, o.Validate(), message)
	}
}
