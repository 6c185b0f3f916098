package chaos

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTally(t *testing.T) {
	require.Equal(t, tally{"tries": 3, "late": 40}, readTally("=== RUN X\ntally: tries=2 late=40 odd\nPASS tally: tries=9\ntally: tries=3\n"))
}
