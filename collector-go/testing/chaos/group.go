package chaos

import (
	"context"
	"os/exec"
	"syscall"
)

// groupCommand is a command that ends, when ctx does, together with what it started: `go test` alone would leave its
// test behind, and that its cluster.
func groupCommand(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, name, arguments...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	return command
}
