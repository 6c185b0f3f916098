package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// oversize is scenario 13: what is far too large. A try is one such request.
func oversize() Scenario {
	return Scenario{Number: 13, Fault: "oversize", Full: 300, Short: len(oversizes), Try: playOversizes}
}

const oversizeMemory = 32 << 20

// oversized is a request that is too large, and what is said to it.
type oversized struct {
	name  string
	batch func() *pb.Batch // sent over gRPC, where it is not nil
	gzip  bool
	code  codes.Code                  // OK: the samples are rejected by name
	http  func(address string) string // else asked over HTTP; "" means that it was refused as it should be
}

var oversizes = []oversized{
	{name: "a message of 64 MB", code: codes.ResourceExhausted, batch: func() *pb.Batch {
		return zeroSamples(8 << 20)
	}},
	{name: "a compression bomb of 64 MB", gzip: true, code: codes.ResourceExhausted, batch: func() *pb.Batch {
		return zeroSamples(8 << 20)
	}},
	{name: "a compression bomb below the limit", gzip: true, code: codes.InvalidArgument, batch: func() *pb.Batch {
		return &pb.Batch{Drops: make([]*pb.Drop, 1<<20)} // two bytes each
	}},
	{name: "a million labels", code: codes.InvalidArgument, batch: func() *pb.Batch {
		d := definition(1, "wide")
		for range 1_000_000 {
			d.Key = append(d.Key, "k")
		}
		return &pb.Batch{Series: []*pb.SeriesDefinition{d}}
	}},
	// 6 MB
	{name: "a million definitions", code: codes.ResourceExhausted, batch: func() *pb.Batch {
		return defined(1_000_000)
	}},
	{name: "half a million definitions", code: codes.InvalidArgument, batch: func() *pb.Batch {
		return defined(500_000)
	}},
	{name: "a label of 1 MB", code: codes.OK, batch: func() *pb.Batch {
		b := zeroSamples(1)
		b.Series = []*pb.SeriesDefinition{definition(1, strings.Repeat("x", 1<<20))}
		return b
	}},
	{name: "a query of 1 MB", http: func(address string) string {
		return refusedWith(http.PostForm("http://"+address+"/api/v1/query",
			url.Values{"query": {strings.Repeat("x", 1<<20)}}))(400, 413, 422)
	}},
	{name: "an annotation of 64 MB", http: func(address string) string {
		return refusedWith(http.Post("http://"+address+"/api/v1/annotations", "application/json",
			io.LimitReader(endless('x'), 64<<20)))(400, 413)
	}},
	{name: "headers of 16 MB", http: func(address string) string {
		request, err := http.NewRequest(http.MethodGet, "http://"+address+"/api/v1/query?query=1", http.NoBody)
		if err != nil {
			return err.Error()
		}
		request.Header.Set("X-Large", strings.Repeat("x", 16<<20))
		return refusedWith(http.DefaultClient.Do(request))(431)
	}},
}

// defined has so many definitions, as short as can be.
func defined(series int) *pb.Batch {
	b := &pb.Batch{}
	for i := range series {
		b.Series = append(b.Series, &pb.SeriesDefinition{Id: uint32(i) + 1})
	}
	return b
}

// zeroSamples has so many samples of series 1.
func zeroSamples(samples int) *pb.Batch {
	return &pb.Batch{Samples: &pb.SampleColumns{BaseTimeMs: time.Now().UnixMilli(),
		SeriesIds: bytesOf[uint32](samples, 1), TimeOffsetsMs: make([]int64, samples),
		Values: make([]float64, samples)}}
}

func bytesOf[T any](n int, v T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = v
	}
	return all
}

func definition(id uint32, name string) *pb.SeriesDefinition {
	return &pb.SeriesDefinition{Id: id, Host: "h", Port: 6700, Component: component, Task: 1, Name: name,
		Temporality: pb.Temporality_TEMPORALITY_GAUGE, Shape: pb.Shape_SHAPE_NUMBER}
}

// endless is a body of one byte over and over.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte{byte(e)}, len(p)))
	return len(p), nil
}

// refusedWith returns what is wrong with how a request was refused. A connection that is closed while the client still
// sends is a refusal too.
func refusedWith(response *http.Response, err error) func(statuses ...int) string {
	return func(statuses ...int) string {
		if err != nil {
			if text := err.Error(); strings.Contains(text, "reset by peer") || strings.Contains(text, "broken pipe") {
				return ""
			}
			return err.Error()
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		for _, s := range statuses {
			if response.StatusCode == s {
				return ""
			}
		}
		return fmt.Sprintf("it was answered with %s, one of %v was wanted", response.Status, statuses)
	}
}

func playOversizes(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	c, err := g.Start(ctx, Settings{})
	if err != nil {
		return o, err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed)
	defer ledger.Stop()
	ledger.Produce(ctx, c.GRPC(), ProducerOptions{Pause: 200 * time.Millisecond})
	if err := ledger.all()[0].AwaitAcknowledged(ctx, 10); err != nil {
		return o, err
	}
	var broken []string
	first, most, costliest := c.ResidentBytes(), int64(0), ""
	for try := range tries {
		attack := oversizes[try%len(oversizes)]
		before, why := c.ResidentBytes(), ""
		if err := c.ForgetPeak(); err != nil {
			return o, err
		}
		if attack.http != nil {
			why = attack.http(c.HTTP())
		} else if why, err = attack.send(ctx, c.GRPC()); err != nil {
			return o, err
		}
		if why != "" {
			broken = append(broken, attack.name+": "+why)
		}
		peak, err := c.PeakBytes()
		if err != nil {
			return o, err
		}
		by := peak - before
		g.Log.Debug("oversize", "try", try, "attack", attack.name, "before_mib", before>>20, "by_mib", by>>20)
		if by > most {
			most, costliest = by, attack.name
		}
		if by > oversizeMemory {
			broken = append(broken, fmt.Sprintf("%s: memory grew by %d MiB, at most %d", attack.name, by>>20,
				oversizeMemory>>20))
		}
	}
	o.Measured = append(o.Measured,
		fmt.Sprintf("memory +%d MiB at most by one (at most +%d), by %s; %d MiB before all of them and %d after, which is what the garbage of any work takes",
			most>>20, oversizeMemory>>20, costliest, first>>20, c.ResidentBytes()>>20))
	fresh, err := ledger.AwaitFresh(ctx)
	if err != nil {
		return o, err
	}
	verified, err := ledger.verifyBeside(ctx, c.HTTP())
	if err != nil {
		return o, err
	}
	o.Add(verified)
	o.Tries, o.Broken = tries, append(append(o.Broken, broken...), fresh...)
	return o, nil
}

// send returns what is wrong with the result.
func (a oversized) send(ctx context.Context, address string) (wrong string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if a.gzip {
		options = append(options, grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	}
	connection, err := grpc.NewClient("passthrough:///"+address, options...)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	stream, err := openStream(ctx, connection, "large")
	if err != nil {
		return "", err
	}
	b := a.batch()
	b.Epoch, b.Sequence, b.OldestHeldSequence = bytes.Repeat([]byte{byte(time.Now().UnixNano())}, 16), 1, 1
	if a.batch != nil && b.Drops != nil {
		for i := range b.Drops {
			b.Drops[i] = &pb.Drop{}
		}
	}
	_ = stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}}) // its error is Recv's
	answer, err := stream.Recv()
	switch {
	case status.Code(err) != a.code:
		return fmt.Sprintf("%s was wanted, it was answered with %v", a.code, err), nil
	case err != nil:
		return "", nil
	case len(answer.GetAcknowledgement().GetRejections()) != 1:
		return fmt.Sprintf("its sample was not rejected: %v", answer), nil
	}
	return "", nil
}
