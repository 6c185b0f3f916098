package blocks

import (
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever is accepted as a cursor of the first edition contains its position and the checksum of its text.
func FuzzDecodeCursor(f *testing.F) {
	text := fmt.Sprintf(cursorFormat, 4711, -5, 7, 9)
	f.Add(fmt.Appendf([]byte(text), "crc32c %08x\n", crc32.Checksum([]byte(text), castagnoli)))
	f.Add([]byte(text))
	f.Add([]byte("bullet-metrics embedded cursor 1\nposition 18446744073709551616\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		position, err := decodeCursor("cursor", data)
		if err == nil {
			require.Contains(t, string(data), fmt.Sprintf("\nposition %d\n", position))
			body, _, found := strings.Cut(string(data), "crc32c ")
			require.True(t, found)
			require.Contains(t, string(data), fmt.Sprintf("crc32c %08x\n", crc32.Checksum([]byte(body), castagnoli)))
		}
	})
}
