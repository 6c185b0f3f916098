//go:build stores

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	grpcmetadata "google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

// The page's file of nginx, with other addresses and certificates, in front of a collector: who has a token reads and
// sends through it, batch after batch on one stream, and nobody else does.
func TestBehindAReverseProxy(t *testing.T) {
	dir, authority := t.TempDir(), accesstest.NewAuthority(t, "authority")
	c := settings(t.TempDir())
	c.GRPC.TokenFile = accesstest.TokenFile(t, filepath.Join(dir, "access"), "reads read", "writes write t")
	c.HTTP.TokenFile, c.HTTP.ExternalURL = c.GRPC.TokenFile, "https://collector.example"
	r := startCollector(t, c)
	certificate, key := authority.Issue(dir, "collector", time.Now().Add(time.Hour))
	address := startNginx(t, dir, strings.NewReplacer("/etc/nginx/tls/collector.crt", certificate,
		"/etc/nginx/tls/collector.key", key, "127.0.0.1:9320", r.col.httpListener.Addr().String(),
		"127.0.0.1:4320", r.col.grpcListener.Addr().String()).Replace(nginxOfThePage(t)))
	trust := &tls.Config{RootCAs: authority.Pool(), ServerName: "127.0.0.1"}

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true}}
	get := func(path, token string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+path, nil)
		require.NoError(t, err)
		request.Host = "collector.example"
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := client.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(text)
	}
	code, page := get("/", "reads")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, page, "<title>")
	code, _ = get("/", "")
	assert.Equal(t, http.StatusUnauthorized, code)

	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(trust)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	open := func(token string) (pb.IngestService_ExportClient, error) {
		ctx := grpcmetadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
		stream, err := pb.NewIngestServiceClient(connection).Export(ctx)
		require.NoError(t, err)
		_ = stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: "t",
			TopologyId: "t-1", Host: "h", Port: 6700, Task: 3}}})
		_, err = stream.Recv()
		return stream, err
	}
	_, err = open("reads")
	assert.Equal(t, codes.PermissionDenied, status.Code(err), "%v", err)
	stream, err := open("writes")
	require.NoError(t, err)
	end := time.Now().Truncate(time.Minute)
	for sequence := range uint64(2) {
		require.NoError(t, stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{
			Batch: minute(sequence+1, end.Add(time.Duration(sequence-1)*time.Minute))}}))
		answer, err := stream.Recv()
		require.NoError(t, err)
		require.Equal(t, sequence+1, answer.GetAcknowledgement().GetSequence(), "%v", answer)
	}
	code, answered := get("/api/v1/topologies", "reads")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, answered, `"t"`)
}

// nginxOfThePage is the file that the page on reverse proxies has.
func nginxOfThePage(t *testing.T) string {
	page, err := os.ReadFile("../../../docs/security/reverse-proxy.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```nginx\n(.*?)```").FindStringSubmatch(string(page))
	require.Len(t, block, 2)
	return block[1]
}

// startNginx runs Debian's nginx with a server's file until the test ends, and returns where it listens.
func startNginx(t *testing.T, dir, server string) string {
	unpack := exec.CommandContext(t.Context(), "../../../.ci/server", "nginx")
	unpack.Stderr = os.Stderr
	unpacked, err := unpack.Output()
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	require.Contains(t, server, "listen 443 ")
	file := filepath.Join(dir, "nginx.conf")
	temporary := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("%s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	require.NoError(t, os.WriteFile(file, []byte("daemon off;\nmaster_process off;\npid "+dir+"/pid;\nevents {}\n"+
		"http {\naccess_log off;\n"+temporary+strings.Replace(server, "listen 443 ", "listen "+address+" ", 1)+"}\n"), 0o600))
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	defer log.Close()
	nginx := exec.Command(filepath.Join(strings.TrimSpace(string(unpacked)), "usr/sbin/nginx"), "-p", dir, "-c", file,
		"-e", "stderr")
	nginx.Stderr, nginx.SysProcAttr = log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, nginx.Start())
	t.Cleanup(func() {
		_ = nginx.Process.Signal(syscall.SIGTERM)
		_ = nginx.Wait()
	})
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond, "nginx does not listen: %s", log.Name())
	return address
}
