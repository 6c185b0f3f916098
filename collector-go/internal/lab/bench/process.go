package bench

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
)

// Process is a server that was started to be measured. Its CPU and memory come from the operating system, so that they
// are known even if the program does not report them. The caller of Start ends it with End or Kill.
type Process struct {
	*Server
	Command *exec.Cmd
	// Begun is the CPU that it had used when it was ready.
	Begun time.Duration

	log  string
	over chan struct{} // closed when the process has ended
}

// FreeAddress returns a loopback address on which nobody listens. Another program may use it first; the server for
// which it was meant then ends at its start, which Start reports.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// readyEvery is the interval for polling whether a started server answers.
const readyEvery = 20 * time.Millisecond

// Start starts a program that serves HTTP at base, and waits until the path ready answers. Its output is appended to
// the file log. The caller ends it with End or Kill.
func Start(ctx context.Context, program string, arguments []string, base, ready, log string) (*Process, error) {
	return StartCommand(ctx, exec.Command(program, arguments...), base, ready, log)
}

// StartCommand is Start for a command that may have its own environment. The kernel kills the server if this process
// ends first, so that a killed benchmark leaves no server behind.
func StartCommand(ctx context.Context, command *exec.Cmd, base, ready, log string) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(log), 0o750); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &Process{Server: NewServer(base, plain), Command: command, log: log}
	command.Stdout, command.Stderr = file, file
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.Command.Start(); err != nil {
		return nil, err
	}
	p.over = make(chan struct{})
	go func() { _ = p.Command.Wait(); close(p.over) }()
	looking := time.NewTicker(readyEvery)
	defer looking.Stop()
	for {
		if _, err := p.Get(ctx, ready); err == nil {
			p.Begun, err = p.CPU(ctx)
			return p, err
		}
		select {
		case <-p.over:
			return nil, fmt.Errorf("%s ended while starting: %s", filepath.Base(command.Path), p.lastLine())
		case <-ctx.Done():
			p.Kill()
			return nil, ctx.Err()
		case <-looking.C:
		}
	}
}

// CPU returns the user and system time of the process so far, from the operating system, in steps of 10 ms.
func (p *Process) CPU(context.Context) (time.Duration, error) {
	stat, err := measure.ProcessStat(p.Command.Process.Pid)
	return time.Duration(stat.CPUTime() * float64(time.Second)), err
}

// Resident returns the resident memory of the process in bytes.
func (p *Process) Resident(context.Context) (int64, error) {
	stat, err := measure.ProcessStat(p.Command.Process.Pid)
	return int64(stat.ResidentMemory()), err
}

// endedBySignal is the exit code of a JVM that ended after SIGTERM.
const endedBySignal = 128 + int(syscall.SIGTERM)

// End asks the process to end. It returns the CPU since the process was ready, and the bytes that the process has
// written to disk. The work of ending, such as writing all data, is counted.
func (p *Process) End() (cpu time.Duration, written int64, err error) {
	if err := p.Command.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, 0, err
	}
	<-p.over
	state := p.Command.ProcessState
	if !state.Success() && state.ExitCode() != endedBySignal {
		return 0, 0, fmt.Errorf("the server ended with %s: %s", state, p.lastLine())
	}
	usage := state.SysUsage().(*syscall.Rusage)
	return state.UserTime() + state.SystemTime() - p.Begun, usage.Oublock * 512, nil
}

// Kill ends the process at once, like a crash. It may have ended already.
func (p *Process) Kill() {
	_ = p.Command.Process.Kill()
	<-p.over
}

// lastLine returns the last line of the server's output, which usually states why it ended. The whole log stays in its
// file.
func (p *Process) lastLine() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}

// BytesIn returns the total size of the files below a directory, in bytes; 0 if the directory does not exist.
func BytesIn(dir string) (sum int64, err error) {
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		return 0, nil
	}
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
