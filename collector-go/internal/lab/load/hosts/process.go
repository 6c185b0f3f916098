package hosts

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// HostPlaceholder stands for the host in the words of the command that reaches it.
const HostPlaceholder = "{host}"

// Connection is a connection to a started load client. Orders and Answers may each be used by one goroutine at a time.
type Connection struct {
	// Orders is the client's input; closing it ends the client.
	Orders io.WriteCloser
	// Answers is the client's output.
	Answers io.Reader
	// Wait waits for the client's end, after its answers have ended. The error states how it ended, nil if it ended
	// normally.
	Wait func() error
	// Kill ends the client at once.
	Kill func()
}

// Connect starts a load client on a host, and does not wait for it.
type Connect func(host string) (*Connection, error)

// ByCommand returns a Connect that runs the operator's command, such as ssh. words are the words of the command, with
// HostPlaceholder for the host.
func ByCommand(words []string) Connect {
	return func(host string) (*Connection, error) {
		filled := make([]string, len(words))
		for i, word := range words {
			filled[i] = strings.ReplaceAll(word, HostPlaceholder, host)
		}
		return start(filled)
	}
}

// Limits for reporting and awaiting a client's end.
const (
	mostStderr = 4 << 10
	// lingering is how long child processes of the command may keep its output open after its end.
	lingering = 2 * time.Second
)

func start(words []string) (*Connection, error) {
	ctx, kill := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	stderr := &tail{}
	command.Stderr, command.WaitDelay = stderr, lingering
	// its own process group: Ctrl-C reaches only this program, which ends its clients in order
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	orders, err := command.StdinPipe()
	if err == nil {
		var answers io.ReadCloser
		if answers, err = command.StdoutPipe(); err == nil {
			if err = command.Start(); err == nil {
				return &Connection{Orders: orders, Answers: answers, Kill: kill, Wait: func() error {
					defer kill()
					return stderr.explain(strings.Join(words, " "), command.Wait())
				}}, nil
			}
		}
	}
	kill()
	return nil, fmt.Errorf("%s: %w", strings.Join(words, " "), err)
}

// tail keeps the last mostStderr bytes that are written. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-mostStderr):]
	return len(p), nil
}

// explain adds the last output of a command to its error.
func (t *tail) explain(command string, err error) error {
	if err == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := bytes.TrimSpace(t.text); len(text) > 0 {
		return fmt.Errorf("%s: %w; it wrote:\n%s", command, err, text)
	}
	return fmt.Errorf("%s: %w", command, err)
}
