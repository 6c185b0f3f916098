package chaos

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// identities is scenario 16: who may not send, and certificates and tokens that change in mid-stream. A try is one of
// the wrong callers, or a rotation: there are as many of these as rounds through all callers.
func identities() Scenario {
	return Scenario{Number: 16, Fault: "identities", Full: 300, Short: 12, Try: playIdentities}
}

// stranger is a caller who is to be turned away.
type stranger struct {
	name        string
	credentials credentials.TransportCredentials
	token       string
	code        codes.Code
}

type identityTrial struct {
	g             *Ground
	dir           string
	ours, foreign *authority
	c             *Collector
	ledger        *Ledger
}

func playIdentities(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	t := &identityTrial{g: g, ledger: NewLedger(g.Seed)}
	defer t.ledger.Stop()
	if t.dir, err = g.Directory("identities"); err != nil {
		return o, err
	}
	if t.ours, err = newAuthority("ours"); err != nil {
		return o, err
	}
	if t.foreign, err = newAuthority("foreign"); err != nil {
		return o, err
	}
	if err = t.files(); err != nil {
		return o, err
	}
	at := func(name string) string { return filepath.Join(t.dir, name) }
	t.c, err = g.Start(ctx,
		Settings{Flags: []string{"--grpc-tls-cert-file", at("server.crt"), "--grpc-tls-key-file", at("server.key"),
			"--grpc-tls-client-ca-file", at("ours.ca"),
			"--grpc-token-file", at("tokens")}})
	if err != nil {
		return o, err
	}
	defer func() { t.c.Kill() }()
	good, err := t.ours.client("good", time.Now().Add(time.Hour))
	if err != nil {
		return o, err
	}
	t.ledger.Produce(ctx, t.c.GRPC(), ProducerOptions{Pause: 10 * time.Millisecond, Credentials: t.tls(good)})
	t.ledger.Produce(ctx, t.c.GRPC(), ProducerOptions{Pause: 10 * time.Millisecond, Credentials: t.tls(good),
		Token: "kept"})
	strangers, err := t.strangers(good)
	if err != nil {
		return o, err
	}
	var broken []string
	for o.Tries < tries {
		if err := t.turnAway(ctx, strangers[:min(len(strangers), tries-o.Tries)], &broken); err != nil {
			return o, err
		}
		o.Tries += min(len(strangers), tries-o.Tries)
		if err := t.rotate(ctx, good, &broken); err != nil {
			return o, err
		}
		o.Tries++
	}
	fresh, err := t.ledger.AwaitFresh(ctx)
	if err != nil {
		return o, err
	}
	refused, err := t.c.Figure("bullet_metrics_refused_total", `port="grpc"`)
	if err != nil {
		return o, err
	}
	verified, err := t.ledger.Verify(ctx, t.c.HTTP())
	if err != nil {
		return o, err
	}
	tried := o.Tries
	o.Add(verified)
	o.Tries, o.Broken = tried, append(append(o.Broken, broken...), fresh...)
	o.Measured = append(o.Measured, fmt.Sprintf("%.0f refusals are counted", refused))
	return o, nil
}

func (t *identityTrial) files() error {
	if err := t.ours.serve(t.dir); err != nil {
		return err
	}
	if err := replace(filepath.Join(t.dir, "ours.ca"), t.ours.pem); err != nil {
		return err
	}
	return t.tokens("kept write", "revoked write", "reader read", "elsewhere write elsewhere")
}

func (t *identityTrial) tokens(lines ...string) error {
	return replace(filepath.Join(t.dir, "tokens"), tokenFile(append(lines, "cert:good write", "cert:leaked none")...))
}

// tls is a client that shows certificates, changed as it is wrong.
func (t *identityTrial) tls(shown tls.Certificate, wrong ...func(*tls.Config)) credentials.TransportCredentials {
	pool := x509.NewCertPool()
	pool.AddCert(t.ours.certificate)
	config := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{shown}}
	for _, change := range wrong {
		change(config)
	}
	return credentials.NewTLS(config)
}

func (t *identityTrial) strangers(good tls.Certificate) ([]stranger, error) {
	hour := time.Now().Add(time.Hour)
	var failed error
	certificate := func(a *authority, name string, until time.Time) tls.Certificate {
		pair, err := a.client(name, until)
		if err != nil {
			failed = err
		}
		return pair
	}
	foreignPool := x509.NewCertPool()
	foreignPool.AddCert(t.foreign.certificate)
	other := t.tls(certificate(t.ours, "other", hour)) // a certificate that no line is about, so that the token counts
	return []stranger{
		{"an expired certificate", t.tls(certificate(t.ours, "good", time.Now().Add(-time.Minute))), "",
			codes.Unavailable},
		{"a certificate of another authority", t.tls(certificate(t.foreign, "good", hour)), "", codes.Unavailable},
		{"no certificate", t.tls(tls.Certificate{}, func(c *tls.Config) { c.Certificates = nil }), "kept",
			codes.Unavailable},
		{"a name that the collector's certificate lacks",
			t.tls(good, func(c *tls.Config) { c.ServerName = "elsewhere.example" }), "", codes.Unavailable},
		{"a client that trusts another authority", t.tls(good, func(c *tls.Config) { c.RootCAs = foreignPool }), "",
			codes.Unavailable},
		{"TLS 1.1", t.tls(good, func(c *tls.Config) {
			c.MinVersion, c.MaxVersion = tls.VersionTLS11,
				tls.VersionTLS11
		}), "", codes.Unavailable},
		{"plain text", insecure.NewCredentials(), "kept", codes.Unavailable},
		{"a certificate that was revoked", t.tls(certificate(t.ours, "leaked", hour)), "kept", codes.Unauthenticated},
		{"a certificate without a line, and no token", other, "", codes.Unauthenticated},
		{"a token that is not known", other, "unknown", codes.Unauthenticated},
		{"a token that may only read", other, "reader", codes.PermissionDenied},
		{"a token for another topology", other, "elsewhere", codes.PermissionDenied},
	}, failed
}

// turnAway lets strangers try to send. None may get further than its code, and nothing of it is taken.
func (t *identityTrial) turnAway(ctx context.Context, strangers []stranger, broken *[]string) error {
	for _, s := range strangers {
		taken, err := t.knock(ctx, s)
		if got := status.Code(err); got != s.code || taken {
			*broken = append(*broken, fmt.Sprintf("%s: %s was wanted, it was %v", s.name, s.code, err))
		}
	}
	series, err := storedSlices(ctx, t.c.HTTP(), `{topology="stranger"}`, time.Now().Add(-2*time.Hour),
		time.Now().Add(time.Hour))
	if err == nil && len(series) > 0 {
		*broken = append(*broken, fmt.Sprintf("%d series of strangers answer", len(series)))
	}
	return err
}

// knock sends a batch as a caller, and returns how it ended.
func (t *identityTrial) knock(ctx context.Context, s stranger) (taken bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, end, err := t.connect(ctx, s, "stranger")
	defer end()
	if err != nil {
		return false, err
	}
	err = sendOne(stream, 1)
	return err == nil, err
}

func (t *identityTrial) connect(ctx context.Context, s stranger, topology string) (stream pb.IngestService_ExportClient,
	end func(), err error) {
	connection, err := grpc.NewClient("passthrough:///"+t.c.GRPC(), grpc.WithTransportCredentials(s.credentials))
	if err != nil {
		return nil, func() {}, err
	}
	if s.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.token)
	}
	stream, err = openStream(ctx, connection, topology)
	return stream, func() { _ = connection.Close() }, err
}

// sendOne sends a sample and waits for its acknowledgement.
func sendOne(stream pb.IngestService_ExportClient, sequence uint64) error {
	b := zeroSamples(1)
	b.Epoch, b.Sequence, b.OldestHeldSequence = []byte("stranger-0123456"), sequence, sequence
	b.Series = []*pb.SeriesDefinition{definition(1, "stranger")}
	_ = stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}}) // its error is Recv's
	_, err := stream.Recv()
	return err
}

// revokedWithin is what docs/security.md promises; a second more is for the machine.
const revokedWithin = 5 * time.Second

// rotate replaces the server's certificate and revokes a token in mid-stream: that stream ends with its code, all
// others go on, and reconnect.
func (t *identityTrial) rotate(ctx context.Context, good tls.Certificate, broken *[]string) error {
	hour := time.Now().Add(time.Hour)
	pair, err := t.ours.client("other", hour)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	revoked := stranger{"a token that is revoked in mid-stream", t.tls(pair), "revoked", codes.Unauthenticated}
	stream, end, err := t.connect(limited, revoked, "known")
	defer end()
	if err != nil {
		return fmt.Errorf("%s: before that: %w", revoked.name, err)
	}
	if err := t.ours.serve(t.dir); err != nil {
		return err
	}
	if err := t.tokens("kept write", "reader read", "elsewhere write elsewhere"); err != nil {
		return err
	}
	begun := time.Now()
	_, err = stream.Recv()
	if took := time.Since(begun); status.Code(err) != revoked.code || took > revokedWithin+time.Second {
		*broken = append(*broken, fmt.Sprintf("%s: %s within %s was wanted, it was %v after %s", revoked.name,
			revoked.code, revokedWithin, err, took))
	}
	// Who trusts the authority finds the new certificate good, with the streams of before still open.
	var serial string
	seeing := t.tls(good, func(c *tls.Config) {
		c.VerifyConnection = func(s tls.ConnectionState) error {
			serial = s.PeerCertificates[0].SerialNumber.String()
			return nil
		}
	})
	_, end, err = t.connect(limited, stranger{"the new certificate", seeing, "", codes.OK}, "known")
	end()
	if err != nil {
		*broken = append(*broken, fmt.Sprintf("after the certificate was replaced: %v", err))
	}
	t.g.Log.Debug("rotated", "serial", serial)
	if err := t.tokens("kept write", "revoked write", "reader read", "elsewhere write elsewhere"); err != nil {
		return err
	}
	for { // until the file is looked at again
		_, end, err := t.connect(limited, revoked, "known")
		end()
		if status.Code(err) != codes.Unauthenticated {
			return err
		}
		if err := wait(limited, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
