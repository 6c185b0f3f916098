//go:build stores || dashboards

// Package servertest holds the stores on the network against the real servers: Prometheus of our library's version,
// Thanos, VictoriaMetrics, InfluxDB 1.6 and InfluxDB 1.13, which also answers the API of version 2. Prometheus and
// Thanos are built from source, as is InfluxDB 1.13 where there is a Rust toolchain; the others are Debian's. With
// -short, Prometheus is Debian's too, and the tests that need a server built from source are skipped.
package servertest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	root  = repository()
	tools = filepath.Join(root, "build/tools")
)

// repository is the directory above the test's that has the collector's module.
func repository() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "collector-go/go.mod")); missing == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return "."
}

// Server is a real server in a directory of a test, on one port of the loopback for all its lives.
type Server struct {
	t       testing.TB
	address string // host:port
	ready   string // path that answers 2xx once the server takes writes
	command func(dir, address string) *exec.Cmd
	dir     string
	process *exec.Cmd
	ended   chan struct{}
	log     string
}

// fromDebian is a program of one of Debian's packages, unpacked into build/servers.
func fromDebian(t testing.TB, name, program string) string {
	unpack := exec.CommandContext(t.Context(), root+"/.ci/server", name)
	unpack.Stderr = os.Stderr
	out, err := unpack.Output()
	require.NoError(t, err)
	return filepath.Join(strings.TrimSpace(string(out)), "usr/bin", program)
}

// built is a program that `make test-stores` built, "" where it could not.
func built(t testing.TB, program string) string {
	path, err := filepath.Abs(filepath.Join(tools, program))
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Run starts a program of one's own, whose path ready answers with 2xx once it is up. command is given a directory and
// the address for HTTP, the same each time that it is started.
func Run(t testing.TB, ready string, command func(dir, address string) *exec.Cmd) *Server {
	return start(t, &Server{ready: ready, command: command})
}

func start(t testing.TB, s *Server) *Server {
	s.t, s.dir, s.address = t, directory(t), freeAddress(t)
	s.log = filepath.Join(s.dir, "log")
	s.Start()
	t.Cleanup(s.stop)
	return s
}

// directory is one in memory where the machine has one, so that no server waits for a disk.
func directory(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "bullet-metrics-store-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// freeAddress is one that nothing listens at.
func freeAddress(t testing.TB) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// Start runs the program and waits until it answers.
func (s *Server) Start() {
	s.process = s.command(s.dir, s.address)
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	require.NoError(s.t, err)
	defer log.Close()
	s.process.Stdout, s.process.Stderr = log, log
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(s.t, s.process.Start())
	s.ended = make(chan struct{})
	process, ended := s.process, s.ended
	go func() {
		_ = process.Wait()
		close(ended)
	}()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		response, err := http.Get("http://" + s.address + s.ready)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode/100 == 2 {
				return
			}
		}
		select {
		case <-s.ended:
			s.fail("ended before it answered")
		default:
		}
		if time.Now().After(deadline) {
			s.fail("does not answer")
		}
	}
}

func (s *Server) fail(what string) {
	said, _ := os.ReadFile(s.log)
	require.FailNow(s.t, filepath.Base(s.process.Path)+" "+what, "%s", said)
}

// stop ends the program; Start runs it again on the same data.
func (s *Server) stop() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(20 * time.Second):
		_ = s.process.Process.Kill()
		<-s.ended
	}
	s.process = nil
}

// Kill ends the program as a loss of power would; Start runs it again on what it had on disk.
func (s *Server) Kill() {
	require.NoError(s.t, s.process.Process.Kill())
	<-s.ended
	s.process = nil
}

// URL is the server's.
func (s *Server) URL() string { return "http://" + s.address }

// get asks the server.
func (s *Server) get(path string) []byte {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+path, nil)
	require.NoError(s.t, err)
	return s.do(request)
}

func (s *Server) do(request *http.Request) []byte {
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, 2, response.StatusCode/100, "%s: %s", request.URL, body)
	return body
}

// places distinguishes the tests that share a server.
var places atomic.Int64

func nextPlace() string { return fmt.Sprint("place", places.Add(1)) }

// withEnvironment is a command with settings in its environment.
func withEnvironment(c *exec.Cmd, settings ...string) *exec.Cmd {
	c.Env = append(os.Environ(), settings...)
	return c
}
