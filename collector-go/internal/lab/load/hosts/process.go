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

// Connection is a load client that was started. Its orders and answers are each for one goroutine at a time.
type Connection struct {
	// Orders go to the client; their end ends it.
	Orders io.WriteCloser
	// Answers are what it writes.
	Answers io.Reader
	// Wait waits for its end, once its answers have ended; the error states how it ended, nil for by itself.
	Wait func() error
	// Kill ends it at once.
	Kill func()
}

// Connect starts a load client on a host, and does not wait for it.
type Connect func(host string) (*Connection, error)

// ByCommand starts load clients by a command of the operator's, such as ssh: its words, with the host for
// HostPlaceholder.
func ByCommand(words []string) Connect {
	return func(host string) (*Connection, error) {
		filled := make([]string, len(words))
		for i, word := range words {
			filled[i] = strings.ReplaceAll(word, HostPlaceholder, host)
		}
		return start(filled)
	}
}

// Bounds of how a client's end is reported and awaited.
const (
	mostStderr = 4 << 10
	// lingering is how long what the command started may hold its output open after it ended.
	lingering = 2 * time.Second
)

func start(words []string) (*Connection, error) {
	ctx, kill := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	stderr := &tail{}
	command.Stderr, command.WaitDelay = stderr, lingering
	// a group of its own: Ctrl-C is for this program, which ends its clients in order
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

// tail keeps the end of what is written. It is safe for concurrent use.
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

// explain adds to the end of a command what it wrote last.
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
