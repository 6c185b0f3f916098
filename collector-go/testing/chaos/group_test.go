package chaos

import (
	"bufio"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that is ended while it plays a scenario leaves no test, and so no cluster, behind.
func TestWhatACommandStartedEndsWithIt(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	// A shell gives what it runs in the background an empty input: the inner one waits for ours through descriptor 3.
	command := groupCommand(ctx, "sh", "-c", "exec 3<&0; sh -c 'echo begun; read never <&3' & wait")
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan(), "the inner one never began")

	end()
	require.False(t, lines.Scan(), "the pipe is open for as long as one of them lives: its end is that of both")
	require.Error(t, command.Wait())
}
