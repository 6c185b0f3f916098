package stack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// command describes a process to start.
type command struct {
	name string
	path string
	args []string
	// log is the file that its stdout and stderr are appended to.
	log string
	// holdStdin gives the process a pipe as stdin that closes when this program ends, for programs that stop with
	// their stdin.
	holdStdin bool
}

// Process is a child process in a process group of its own. Ctrl-C at a terminal therefore reaches only this program,
// which then ends its children in the right order. The group also allows killing what the child has started itself.
type Process struct {
	name  string
	log   string
	cmd   *exec.Cmd
	stdin io.Closer
	ready chan []byte // the first line of stdout that is a JSON object
	done  chan struct{}
	err   error // why it ended; valid once done is closed
}

// maxReadyLine bounds, in bytes, the line on which a program reports that it is ready.
const maxReadyLine = 1 << 20

// start starts a process. Its output goes to its log.
func (c command) start() (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(c.log), 0o755); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	p := &Process{name: c.name, log: c.log, ready: make(chan []byte, 1), done: make(chan struct{})}
	p.cmd = exec.Command(c.path, c.args...)
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.launch(c.holdStdin, log); err != nil {
		log.Close()
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	return p, nil
}

// launch connects the pipes and starts the process. The goroutine that reads stdout owns the log from then on and
// closes it.
func (p *Process) launch(holdStdin bool, log *os.File) error {
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if holdStdin {
		if p.stdin, err = p.cmd.StdinPipe(); err != nil {
			return err
		}
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go p.wait(stdout, log)
	return nil
}

// wait reads stdout until the process ends, and stores how it ended.
func (p *Process) wait(stdout io.Reader, log *os.File) {
	defer log.Close()
	lines := bufio.NewReaderSize(io.TeeReader(stdout, log), maxReadyLine)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 && line[0] == '{' {
			select {
			case p.ready <- append([]byte(nil), line...):
			default: // a line that nobody waits for is dropped
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	p.err = p.cmd.Wait()
	close(p.done)
}

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// awaitReady waits for the JSON line with which the process reports that it is ready, and decodes it into ready.
func (p *Process) awaitReady(ctx context.Context, limit time.Duration, ready any) error {
	ctx, cancel := limited(ctx, limit)
	defer cancel()
	select {
	case line := <-p.ready:
		if err := json.Unmarshal(line, ready); err != nil {
			return fmt.Errorf("%s reported readiness with %q: %w", p.name, line, err)
		}
		return nil
	case <-p.done:
		return p.obituary()
	case <-ctx.Done():
		return fmt.Errorf("%s did not become ready: %w; its log is %s", p.name, context.Cause(ctx), p.log)
	}
}

// limited returns a context whose cause after the limit is that nothing came in time.
func limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
}

// obituary describes how the process ended, with the end of its log. Call it only after the end.
func (p *Process) obituary() error {
	how := "ended by itself"
	if p.err != nil {
		how = "ended: " + p.err.Error()
	}
	return fmt.Errorf("%s %s; the last lines of %s:\n%s", p.name, how, p.log, logTail(p.log))
}

// Bounds of the end of a log that an error shows.
const (
	tailLines = 8
	tailBytes = 8 << 10
)

// Tail returns the end of a file, at most a number of bytes.
func Tail(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		_, _ = file.Seek(-most, io.SeekEnd)
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// logTail returns the last lines of a log, indented. It is for an error that an operator reads, so a log that cannot
// be read is replaced by the reason.
func logTail(path string) string {
	text, err := Tail(path, tailBytes)
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n  ")
}

// stop asks the process to end, and kills it and its whole group after grace, or as soon as hasten is closed. It
// reports whether the process ended by itself, and returns only when it has ended.
func (p *Process) stop(grace time.Duration, hasten <-chan struct{}) (orderly bool) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
	case <-hasten:
	}
	p.kill()
	return false
}

// kill ends the process and its group at once.
func (p *Process) kill() {
	_ = syscall.Kill(-p.Pid(), syscall.SIGKILL)
	<-p.done
}
