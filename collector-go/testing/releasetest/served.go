package releasetest

import (
	"bufio"
	"io"
	"os/exec"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Served is a collector of any release, as a process. GRPC and HTTP are its addresses.
type Served struct {
	process    *exec.Cmd
	GRPC, HTTP string
	drained    chan struct{}
}

var up = regexp.MustCompile(`msg="collector is up" .*grpc=(\S+) http=(\S+)`)

// Start runs a command that serves, and returns when it answers. The process ends with the test.
func Start(t testing.TB, command *exec.Cmd) *Served {
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	command.Stderr = command.Stdout
	require.NoError(t, command.Start())
	s := &Served{process: command, drained: make(chan struct{})}
	t.Cleanup(func() { _ = command.Process.Kill() })
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		t.Log(lines.Text())
		if at := up.FindStringSubmatch(lines.Text()); at != nil {
			s.GRPC, s.HTTP = at[1], at[2]
			go func() {
				defer close(s.drained)
				_, _ = io.Copy(io.Discard, output)
			}()
			return s
		}
	}
	require.Fail(t, "the collector ended before it was up", "%v: %v", command.Args, command.Wait())
	return nil
}

// Stop asks the collector to end, as systemd does, and returns when it has, with exit code 0.
func (s *Served) Stop(t testing.TB) {
	require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
	<-s.drained
	require.NoError(t, s.process.Wait())
}

// Kill ends it as a machine that fails does.
func (s *Served) Kill(t testing.TB) {
	require.NoError(t, s.process.Process.Kill())
	<-s.drained
	require.Error(t, s.process.Wait(), "it was killed")
}
