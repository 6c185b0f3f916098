package checkpoint

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDecode checks that, for arbitrary bytes of a file, an accepted state has a valid checksum and is returned
// exactly.
func FuzzDecode(f *testing.F) {
	complete := func(state string) []byte {
		b := binary.LittleEndian.AppendUint32([]byte(magic), crc32.Checksum([]byte(state), castagnoli))
		return append(b, state...)
	}
	f.Add(complete("state"), false)
	f.Add(complete(""), false)
	f.Add(complete("state")[:headerLength+2], false)
	f.Add([]byte(magic), true)
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		if sealed && len(data) >= headerLength {
			data = complete(string(data[headerLength:]))
		}
		state, err := decode(data)
		if err != nil {
			require.False(t, sealed && len(data) >= headerLength)
			return
		}
		require.Equal(t, data, complete(string(state)))
	})
}
