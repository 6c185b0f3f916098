package embedded

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCursorGolden(t *testing.T) {
	golden, err := os.ReadFile("testdata/cursor-1")
	require.NoError(t, err)
	want := cursor{position: 18446744073709551615, newestMs: 1700000000000, handed: 42, stored: math.MinInt64}
	assert.Equal(t, string(golden), string(want.encode()))
	got, err := decodeCursor(golden)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestCursorSurvivesWriting(t *testing.T) {
	dir := t.TempDir()
	none, err := readCursor(dir)
	require.NoError(t, err)
	assert.Equal(t, noCursor(), none)
	want := cursor{position: 7, newestMs: 8, handed: 9, stored: 10}
	require.NoError(t, want.write(dir))
	got, err := readCursor(dir)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestCursorSaysWhatToDoWhenDamaged(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, cursor{position: 7}.write(dir))
	path := filepath.Join(dir, cursorFile)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[len("bullet-metrics embedded cursor 1\nposition ")] = '8'
	require.NoError(t, os.WriteFile(path, data, 0o666))
	_, err = readCursor(dir)
	require.ErrorContains(t, err, "checksum")
	require.ErrorContains(t, err, "remove the file")
	_, err = Open(dir, DefaultOptions())
	require.ErrorContains(t, err, "remove the file")
	require.NoError(t, os.Remove(path))
	s, err := Open(dir, DefaultOptions())
	require.NoError(t, err, "the failed Open let go of its lock")
	require.NoError(t, s.Close(t.Context()))
}

func FuzzCursor(f *testing.F) {
	f.Add(noCursor().encode())
	f.Add(cursor{position: 1, newestMs: 2, handed: 3, stored: 4}.encode())
	f.Add([]byte("bullet-metrics embedded cursor 1\nposition 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeCursor(data)
		if err == nil {
			assert.Equal(t, string(data), string(c.encode()), "what decodes is what was encoded")
		}
	})
}
