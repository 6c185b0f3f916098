package forward

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever is accepted as a cursor is exactly what would be written for it.
func FuzzDecodeCursor(f *testing.F) {
	f.Add(cursor{}.encode())
	f.Add(cursor{position: 1<<64 - 1, reserved: 7}.encode())
	f.Add(append(cursor{position: 5}.encode(), '\n'))
	f.Add(cursor{position: 5}.encode()[:20])
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := decodeCursor(data); err == nil {
			require.Equal(t, data, c.encode())
		}
	})
}
