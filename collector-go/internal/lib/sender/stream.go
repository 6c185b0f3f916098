package sender

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// answerLimit is how long the collector may take to acknowledge a batch.
const answerLimit = 30 * time.Second

// Run connects and delivers until ctx ends. After a failure it reconnects after a pause that doubles each time; it
// starts again with MinBackoff once a stream was accepted. It returns an error only if connecting can never work, for
// example because of an unreadable CA.
func (s *Sender) Run(ctx context.Context) error {
	transport, err := s.options.TLS.Credentials()
	if err != nil {
		return err
	}
	connection, err := grpc.NewClient(s.options.Address, grpc.WithTransportCredentials(transport))
	if err != nil {
		return fmt.Errorf("the collector at %s: %w", s.options.Address, err)
	}
	defer connection.Close()
	for backoff := s.options.MinBackoff; ctx.Err() == nil; backoff = min(2*backoff, s.options.MaxBackoff) {
		before := s.Figures().Connections
		err := s.stream(ctx, pb.NewIngestServiceClient(connection))
		s.note(func(f *Figures) { f.LastError = text(err) })
		if s.Figures().Connections > before {
			backoff = s.options.MinBackoff
		}
		pause(ctx, backoff)
	}
	return nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// stream serves one stream. It sends Open, and then one batch at a time, each after the previous one is durable. More
// batches in flight would be faster, but a program has only few samples.
func (s *Sender) stream(ctx context.Context, client pb.IngestServiceClient) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sending, err := Authorized(ctx, s.options.TokenFile)
	if err != nil {
		return err
	}
	stream, err := client.Export(sending)
	if err != nil {
		return err
	}
	answers := make(chan answer)
	go receive(ctx, stream, answers)
	open := &pb.Open{Topology: s.options.Topology, Host: s.options.Host, Task: -1, PluginVersion: s.options.Version}
	if err := stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: open}}); err != nil {
		return (<-answers).err // Send returns only io.EOF; the reason comes from Recv
	}
	first, err := s.await(ctx, answers)
	if err != nil {
		return err
	}
	if first.GetOpened() == nil {
		return fmt.Errorf("the collector answered Open with %T", first.GetMessage())
	}
	s.note(func(f *Figures) { f.Connections++; f.LastError = "" })
	return s.deliver(ctx, stream, answers, streamKnows{blocks: first.GetOpened().GetTakesBlocks()})
}

type answer struct {
	response *pb.ExportResponse
	err      error
}

// receive passes the collector's answers to answers until the stream ends.
func receive(ctx context.Context, stream pb.IngestService_ExportClient, answers chan<- answer) {
	for {
		response, err := stream.Recv()
		select {
		case answers <- answer{response, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (s *Sender) await(ctx context.Context, answers <-chan answer) (*pb.ExportResponse, error) {
	timer := time.NewTimer(answerLimit)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a.response, a.err
	case <-timer.C:
		return nil, fmt.Errorf("the collector sent nothing for %s", answerLimit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Sender) deliver(ctx context.Context, stream pb.IngestService_ExportClient, answers <-chan answer,
	t streamKnows) error {
	for {
		batch := s.next(t)
		if batch == nil {
			select {
			case <-s.arrived:
				continue
			case a := <-answers:
				return unexpected(a)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: batch}}); err != nil {
			return (<-answers).err
		}
		response, err := s.await(ctx, answers)
		if err != nil {
			return err
		}
		t.series, t.layouts = t.series+len(batch.Series), t.layouts+len(batch.Layouts)
		switch {
		case response.GetAcknowledgement() != nil:
			s.acknowledged(response.GetAcknowledgement())
		case response.GetFull() != nil:
			pause(ctx, time.Duration(response.GetFull().GetRetryAfterMs())*time.Millisecond)
		}
	}
}

func unexpected(a answer) error {
	if a.err != nil {
		return a.err
	}
	return fmt.Errorf("the collector sent an unexpected %T", a.response.GetMessage())
}

// Authorized returns a context whose calls carry the token in a file, or ctx if tokenFile is "". The file is read for
// each connection, so that a token can be replaced without a restart.
func Authorized(ctx context.Context, tokenFile string) (context.Context, error) {
	if tokenFile == "" {
		return ctx, nil
	}
	token, err := textfile.Token(tokenFile)
	if err != nil {
		return nil, fmt.Errorf("the token: %w", err)
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token), nil
}

// Credentials returns the transport credentials for the settings. An error names the file that cannot be used.
func (t TLS) Credentials() (credentials.TransportCredentials, error) {
	if !t.Enabled {
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := textfile.Read(t.CA, textfile.Most)
		if err != nil {
			return nil, fmt.Errorf("the CA: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("CA file " + t.CA + " contains no PEM certificate")
		}
	}
	if t.Cert != "" {
		pair, err := loadPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", t.Cert, t.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}

// loadPair is like tls.LoadX509KeyPair, for files that may begin with a byte order mark.
func loadPair(cert, key string) (pair tls.Certificate, err error) {
	shown, err := textfile.Read(cert, textfile.Most)
	if err != nil {
		return pair, err
	}
	secret, err := textfile.Read(key, textfile.Most)
	if err != nil {
		return pair, err
	}
	return tls.X509KeyPair(shown, secret)
}
