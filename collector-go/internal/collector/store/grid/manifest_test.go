package grid

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var golden = manifest{sequence: 12, position: 18446744073709551615, next: 43,
	expired: [len(bounds)]tally{{3, 900, 12_000}, {}, {1, 7_200_000, 9_000_000}}, parts: []entry{
		{number: 42, oldest: 3, level: 2, added: 11, minMs: 1_700_000_000_000, maxMs: 1_700_000_590_000, series: 40_000,
			slices: 2_400_000, bytes: 3_000_000},
		{number: 41, oldest: 41, added: 12, minMs: -5, maxMs: -5, series: 1, slices: 1, bytes: 300},
	}}

// A manifest of every known version can be read unchanged, and the newest version is written.
func TestManifestOfEveryVersion(t *testing.T) {
	for version := 1; version <= manifestVersion; version++ {
		data, err := os.ReadFile(fmt.Sprintf("testdata/manifest-%d", version))
		require.NoError(t, err)
		want := golden
		if version < 2 {
			want.expired = [len(bounds)]tally{}
		}
		assert.Equal(t, string(data), string(want.encodeAs(version)))
		m, err := decodeManifest(data)
		require.NoError(t, err)
		assert.Equal(t, want, m)
	}
}

func TestManifestDamagedAnywhere(t *testing.T) {
	data := golden.encode()
	for i := range data {
		for _, change := range []byte{1, 2, 4, 0x20, 0x80} {
			spoiled := append([]byte(nil), data...)
			spoiled[i] ^= change
			_, err := decodeManifest(spoiled)
			require.Error(t, err, "byte %d", i)
		}
		_, err := decodeManifest(data[:i])
		require.Error(t, err)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(golden.encode())
	f.Add(manifest{}.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeManifest(data)
		if err == nil {
			version := manifestOf(string(data[:bytes.IndexByte(data, '\n')+1]))
			assert.Equal(t, string(data), string(m.encodeAs(version)))
		}
	})
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{partName(7): true, "7.part": false, partName(7) + ".new": false,
		partName(7) + damagedSuffix: false,
		manifestName(7):             false, "lock": false, "00000000000x.part": false, "+00000000007.part": false} {
		_, is := numberIn(name, "", partSuffix)
		assert.Equal(t, want, is, name)
	}
	n, is := numberIn(manifestName(1<<62), manifestPrefix, "")
	assert.True(t, is)
	assert.Equal(t, uint64(1<<62), n)
}
