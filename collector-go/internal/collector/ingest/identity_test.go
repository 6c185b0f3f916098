package ingest

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

// guarded returns a change of options that makes callers identify themselves.
func guarded(t *testing.T, o access.Options) func(*Options) {
	return func(options *Options) {
		o.Port, o.Listen = access.GRPC, "127.0.0.1:4320"
		guard, err := access.Open(o)
		require.NoError(t, err)
		options.Guard = guard
	}
}

func overTLS(config *tls.Config) grpc.DialOption {
	return grpc.WithTransportCredentials(credentials.NewTLS(config))
}

// attempt opens a stream for a topology and returns the result.
func attempt(t *testing.T, service pb.IngestServiceClient, topology string) error {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := service.Export(ctx)
	if err != nil {
		return err
	}
	_ = stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: topology, Host: "h"}}})
	_, err = stream.Recv()
	return err
}

func TestMutualTLS(t *testing.T) {
	dir, hour := t.TempDir(), time.Now().Add(time.Hour)
	ours, foreign := accesstest.NewAuthority(t, "ours"), accesstest.NewAuthority(t, "foreign")
	cert, key := ours.Issue(dir, "server", hour)
	figures := prometheus.NewRegistry()
	c := start(t, guarded(t, access.Options{TLS: access.TLSFiles{Cert: cert, Key: key, ClientCA: ours.File(dir)},
		Registerer: figures,
		TokenFile: accesstest.TokenFile(t, filepath.Join(dir, "tokens"), "cert:good write t", "cert:leaked none",
			"cert:* write")}))
	with := func(pairs ...tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: ours.Pool(), Certificates: pairs}
	}
	good := ours.Pair("good", hour)
	require.NoError(t, attempt(t, c.dial(overTLS(with(good))), "t"))
	require.NoError(t, attempt(t, c.dial(overTLS(with(ours.Pair("other", hour)))), "u"))
	twelve := with(good)
	twelve.MaxVersion = tls.VersionTLS12
	require.NoError(t, attempt(t, c.dial(overTLS(twelve)), "t"))
	export(t, c.dial(overTLS(with(good)))).fails(codes.PermissionDenied,
		`the certificate good has no access to topology "bullet"`)
	export(t, c.dial(overTLS(with(ours.Pair("leaked", hour))))).fails(codes.Unauthenticated, "has no access here")
	for name, config := range map[string]*tls.Config{
		"TLS 1.1": {RootCAs: ours.Pool(), Certificates: []tls.Certificate{good},
			MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11},
		"no certificate":      with(),
		"certificate of else": with(foreign.Pair("good", hour)),
		"expired":             with(ours.Pair("good", time.Now().Add(-time.Hour))),
		"wrong server":        {RootCAs: foreign.Pool(), Certificates: []tls.Certificate{good}},
		"wrong server name": {RootCAs: ours.Pool(), Certificates: []tls.Certificate{good},
			ServerName: "elsewhere.example"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, attempt(t, c.dial(overTLS(config)), "t"))
		})
	}
	require.Error(t, attempt(t, c.dial(grpc.WithTransportCredentials(insecure.NewCredentials())), "t"), "plain text")
	for _, reason := range []string{"tls_version", "tls_certificate", "tls_client", "tls_plain_text", "topology",
		"certificate"} {
		// a client may see the end before the error of the handshake is counted
		require.Eventually(t, func() bool { return refusals(t, figures, reason) > 0 }, patience,
			time.Millisecond, reason)
	}
}

// refusals returns how many callers were refused for a reason.
func refusals(t *testing.T, figures *prometheus.Registry, reason string) float64 {
	t.Helper()
	families, err := figures.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if family.GetName() == "bullet_metrics_refused_total" && l.GetName() == "reason" &&
					l.GetValue() == reason {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}

// TestCertificatesRotate replaces the collector's certificate. New connections use it, and open streams continue.
func TestCertificatesRotate(t *testing.T) {
	dir, hour := t.TempDir(), time.Now().Add(time.Hour)
	old, next := accesstest.NewAuthority(t, "old"), accesstest.NewAuthority(t, "next")
	cert, key := old.Issue(dir, "server", hour)
	c := start(t, guarded(t, access.Options{TLS: access.TLSFiles{Cert: cert, Key: key}, Insecure: true}))
	s := opened(t, c.dial(overTLS(&tls.Config{RootCAs: old.Pool()})))
	changed := c.server.o.Guard.Changed()
	next.Issue(dir, "server", hour)
	<-changed
	require.Eventually(t,
		func() bool { return attempt(t, c.dial(overTLS(&tls.Config{RootCAs: next.Pool()})), "t") == nil }, patience,
		10*time.Millisecond)
	s.batch(&pb.Batch{Sequence: 1})
	s.acknowledged(1)
}

// bearer is a token as sent by a client.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

func with(token string) grpc.CallOption { return grpc.PerRPCCredentials(bearer(token)) }

// tokens returns a change of options that requires tokens, and the file that contains them.
func tokens(t *testing.T, lines ...string) (path string, change func(*Options)) {
	path = accesstest.TokenFile(t, filepath.Join(t.TempDir(), "tokens"), lines...)
	return path, guarded(t, access.Options{TokenFile: path})
}

func TestTokens(t *testing.T) {
	_, change := tokens(t, "alpha write", "beta write other", "gamma read", "delta write bullet other")
	c := start(t, change)
	service := c.dial()
	export(t, service).fails(codes.Unauthenticated, "no token")
	export(t, service, with("wrong")).fails(codes.Unauthenticated, "not known")
	export(t, service, with("gamma")).fails(codes.PermissionDenied, "may not write")
	export(t, service, with("beta")).fails(codes.PermissionDenied, "no access to topology")
	opened(t, service, with("delta"))
	opened(t, service, with("alpha"))
}

// TestRevocationEndsOpenStreams covers C4: a revoked token ends the stream that it opened, and nothing more is accepted
// on it. Streams with other tokens continue.
func TestRevocationEndsOpenStreams(t *testing.T) {
	path, change := tokens(t, "kept write", "revoked write", "narrowed write")
	c := start(t, change)
	service := c.dial()
	kept, revoked, narrowed := opened(t, service, with("kept")), opened(t, service, with("revoked")),
		opened(t, service, with("narrowed"))
	revoked.batch(&pb.Batch{Sequence: 1})
	revoked.acknowledged(1)
	accesstest.TokenFile(t, path, "kept write", "narrowed write other")
	revoked.fails(codes.Unauthenticated, "not known")
	narrowed.fails(codes.PermissionDenied, "no access to topology")
	kept.batch(&pb.Batch{Sequence: 1})
	kept.acknowledged(1)
}

// TestAFileThatVanishedClosesTheDoor covers C4: if the file of permitted senders stays missing, nobody is admitted and
// open streams end. When the file is back, all are admitted.
func TestAFileThatVanishedClosesTheDoor(t *testing.T) {
	path, change := tokens(t, "alpha write")
	c := start(t, change)
	service := c.dial()
	open := opened(t, service, with("alpha"))
	aside := path + ".aside"
	require.NoError(t, os.Rename(path, aside))
	open.fails(codes.Unavailable, "must repair")
	export(t, service, with("alpha")).fails(codes.Unavailable, "must repair")
	changed := c.server.o.Guard.Changed()
	require.NoError(t, os.Rename(aside, path))
	<-changed
	opened(t, service, with("alpha"))
}

// TestAnEntryEndsWithItsCertificate checks that a stream ends when its certificate expires.
func TestAnEntryEndsWithItsCertificate(t *testing.T) {
	clock := time.Now()
	e := &entry{caller: access.Caller{Until: clock.Add(-time.Hour)}, now: func() time.Time { return clock }}
	<-e.ends()
	e.caller.Until = time.Time{}
	require.Nil(t, e.ends())
	require.Nil(t, e.changed())
	require.NoError(t, e.check())
}

// stay opens a stream that stays open until the test ends.
func stay(t *testing.T, service pb.IngestServiceClient, topology string, options ...grpc.CallOption) error {
	stream, err := service.Export(t.Context(), options...)
	require.NoError(t, err)
	_ = stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: topology, Host: "h"}}})
	_, err = stream.Recv()
	return err
}

// TestTokensOfOneMachineHaveTheirOwnShares checks the quotas of programs that share the address of one machine. Tokens
// keep them apart. Without authentication their address counts, once.
func TestTokensOfOneMachineHaveTheirOwnShares(t *testing.T) {
	_, change := tokens(t, "hostile write", "good write")
	c := start(t, func(o *Options) { change(o); o.MaxStreams = 9 })
	service := c.dial()
	name := func(i int) string { return fmt.Sprint("made up ", i) }
	for i := range 6 {
		require.NoError(t, stay(t, service, name(i), with("hostile")))
	}
	require.ErrorContains(t, stay(t, service, name(6), with("hostile")), "uses 6 of 9 slots")
	require.NoError(t, stay(t, service, "good", with("good")))

	change = guarded(t, access.Options{})
	service = start(t, func(o *Options) { change(o); o.MaxStreams = 9 }).dial()
	for i := range 6 {
		require.NoError(t, stay(t, service, name(i)))
	}
	require.ErrorContains(t, stay(t, service, name(6)), "address 127.0.0.1 uses 6 of 9 slots")
}
