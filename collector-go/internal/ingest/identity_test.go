package ingest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// authority signs certificates.
type authority struct {
	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t *testing.T, name string) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{t, certificate, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue writes a certificate for 127.0.0.1 and its key into dir.
func (a *authority) issue(dir, name string, expires time.Time) (certFile, keyFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: expires, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	require.NoError(a.t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	require.NoError(a.t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(a.t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	return certFile, keyFile
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

func (a *authority) file(dir string) string {
	path := filepath.Join(dir, a.certificate.Subject.CommonName+".crt")
	require.NoError(a.t, os.WriteFile(path, a.pem, 0o600))
	return path
}

func overTLS(config *tls.Config) grpc.DialOption {
	return grpc.WithTransportCredentials(credentials.NewTLS(config))
}

// attempt opens a stream and returns how that went.
func attempt(t *testing.T, service pb.IngestServiceClient) error {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := service.Export(ctx)
	if err != nil {
		return err
	}
	_ = stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: "t", Host: "h"}}})
	_, err = stream.Recv()
	return err
}

func TestMutualTLS(t *testing.T) {
	dir := t.TempDir()
	ours, foreign := newAuthority(t, "ours"), newAuthority(t, "foreign")
	cert, key := ours.issue(dir, "server", time.Now().Add(time.Hour))
	c := start(t, func(o *Options) { o.TLS = &TLSFiles{Cert: cert, Key: key, ClientCA: ours.file(dir)} })
	pair := func(a *authority, name string, expires time.Time) []tls.Certificate {
		certFile, keyFile := a.issue(dir, name, expires)
		p, err := tls.LoadX509KeyPair(certFile, keyFile)
		require.NoError(t, err)
		return []tls.Certificate{p}
	}
	good := pair(ours, "good", time.Now().Add(time.Hour))
	require.NoError(t, attempt(t, c.dial(overTLS(&tls.Config{RootCAs: ours.pool(), Certificates: good}))))
	require.NoError(t, attempt(t, c.dial(overTLS(&tls.Config{RootCAs: ours.pool(), Certificates: good,
		MaxVersion: tls.VersionTLS12}))))
	for name, config := range map[string]*tls.Config{
		"TLS 1.1":             {RootCAs: ours.pool(), Certificates: good, MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11},
		"no certificate":      {RootCAs: ours.pool()},
		"certificate of else": {RootCAs: ours.pool(), Certificates: pair(foreign, "bad", time.Now().Add(time.Hour))},
		"expired":             {RootCAs: ours.pool(), Certificates: pair(ours, "old", time.Now().Add(-time.Hour))},
		"wrong server":        {RootCAs: foreign.pool(), Certificates: good},
		"wrong server name":   {RootCAs: ours.pool(), Certificates: good, ServerName: "elsewhere.example"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, attempt(t, c.dial(overTLS(config))))
		})
	}
	require.Error(t, attempt(t, c.dial(grpc.WithTransportCredentials(insecure.NewCredentials()))), "plain text")
}

// TestCertificatesRotate replaces the server's certificate: new connections see it, streams that are open go on.
func TestCertificatesRotate(t *testing.T) {
	dir := t.TempDir()
	old, next := newAuthority(t, "old"), newAuthority(t, "next")
	cert, key := old.issue(dir, "server", time.Now().Add(time.Hour))
	var later atomic.Int64
	c := start(t, func(o *Options) {
		o.TLS = &TLSFiles{Cert: cert, Key: key}
		o.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	s := opened(t, c.dial(overTLS(&tls.Config{RootCAs: old.pool()})))
	next.issue(dir, "server", time.Now().Add(time.Hour))
	require.NoError(t, os.Chtimes(cert, time.Now(), time.Now().Add(time.Minute)))
	later.Store(int64(time.Minute))
	require.NoError(t, attempt(t, c.dial(overTLS(&tls.Config{RootCAs: next.pool()}))))
	s.batch(&pb.Batch{Sequence: 1})
	s.acknowledged(1)

	require.NoError(t, os.WriteFile(cert, []byte("no PEM"), 0o600))
	later.Store(int64(2 * time.Minute))
	require.NoError(t, attempt(t, c.dial(overTLS(&tls.Config{RootCAs: next.pool()}))), "what cannot be read changes nothing")
}

func TestBadTLSFilesAreRefusedAtOnce(t *testing.T) {
	o := DefaultOptions()
	o.TLS = &TLSFiles{Cert: "/nowhere.crt", Key: "/nowhere.key"}
	_, err := New(newSlowJournal(), o)
	require.ErrorContains(t, err, "/nowhere.crt")
}

// bearer is a token as a client sends it.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

func tokenFile(t *testing.T, path string, lines ...string) {
	var text string
	for _, line := range lines {
		var token, rest string
		_, err := fmt.Sscanf(line, "%s", &token)
		require.NoError(t, err)
		rest = line[len(token):]
		text += fmt.Sprintf("%x%s\n", sha256.Sum256([]byte(token)), rest)
	}
	require.NoError(t, os.WriteFile(path, []byte("# who may send\n\n"+text), 0o600))
}

func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	tokenFile(t, path, "alpha ingest", "beta ingest other", "gamma read", "delta ingest bullet other")
	var later atomic.Int64
	c := start(t, func(o *Options) {
		o.TokenFile = path
		o.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	service := c.dial()
	with := func(token string) grpc.CallOption { return grpc.PerRPCCredentials(bearer(token)) }
	export(t, service).fails(codes.Unauthenticated, "no token")
	export(t, service, with("wrong")).fails(codes.Unauthenticated, "not known")
	export(t, service, with("gamma")).fails(codes.Unauthenticated, "not known")
	export(t, service, with("beta")).fails(codes.PermissionDenied, "not for topology")
	opened(t, service, with("delta"))
	opened(t, service, with("alpha"))

	tokenFile(t, path, "epsilon ingest")
	require.NoError(t, os.Chtimes(path, time.Now(), time.Now().Add(time.Minute)))
	later.Store(int64(time.Minute))
	export(t, service, with("alpha")).fails(codes.Unauthenticated, "not known")
	opened(t, service, with("epsilon"))

	require.NoError(t, os.WriteFile(path, []byte("secret-in-the-clear ingest"), 0o600))
	later.Store(int64(2 * time.Minute))
	opened(t, service, with("epsilon"))
	_, err := LoadTokens(path)
	require.ErrorContains(t, err, "line 1")
}
