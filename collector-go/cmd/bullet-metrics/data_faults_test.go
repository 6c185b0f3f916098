package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// stoppedCollector is a data directory with a file of every format, of a collector that was stopped in order, below
// dir; and the settings to start it again.
func stoppedCollector(t *testing.T, dir string) (start func() error, end time.Time) {
	receiver := newReceiver(t)
	c := settings(filepath.Join(dir, "data"))
	c.Stores["remote_write"]["up"] = toReceiver(receiver.URL)
	r := startCollector(t, c)
	end = time.Now().Truncate(10 * time.Second)
	r.send(minute(1, end))
	require.Eventually(t, func() bool { return receiver.has("bullet_worker_cpu_seconds_total") >= 4 }, 30*time.Second,
		20*time.Millisecond)
	r.close()
	return func() error {
		col, err := openCollector(c, slog.New(slog.DiscardHandler))
		if err == nil {
			started := &running{t: t, col: col, failed: col.start()}
			query := fmt.Sprintf("bullet_worker_cpu_seconds_total[50s] @ %d", end.Add(-15*time.Second).Unix())
			assert.Contains(t, started.ask(query), `"worker":"h:6700"`, "what the store had is there")
			started.close()
		}
		return err
	}, end
}

// contents are all files of a directory by their names, and what is in them.
func contents(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || slices.Contains([]string{"LOCK", "lock"}, entry.Name()) {
			return err
		}
		info, err := entry.Info()
		require.NoError(t, err)
		data, err := os.ReadFile(path)
		all[path] = fmt.Sprint(info.Mode(), crc32.ChecksumIEEE(data), len(data))
		return err
	}))
	return all
}

// last is the file that a pattern finds last.
func last(t *testing.T, pattern ...string) string {
	found, err := filepath.Glob(filepath.Join(pattern...))
	require.NoError(t, err)
	require.NotEmpty(t, found, pattern)
	return found[len(found)-1]
}

func edit(t *testing.T, path string, change func(data []byte) []byte) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, change(data), 0o640))
	return path
}

// summed puts a checksum in the place of a text's last line.
func summed(text string) []byte {
	body := text[:strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1]
	return fmt.Appendf([]byte(body), "crc32c %08x\n", crc32.Checksum([]byte(body), castagnoli))
}

// stated changes the version in a part of a checkpoint, whose checksum is its last 4 bytes.
func stated(part []byte) {
	part[8] = 99
	binary.LittleEndian.PutUint32(part[len(part)-4:], crc32.Checksum(part[:len(part)-4], castagnoli))
}

// checkpointed changes a checkpoint's state.
func checkpointed(change func(state []byte)) func([]byte) []byte {
	return func(data []byte) []byte {
		change(data[8:])
		binary.LittleEndian.PutUint32(data[4:], crc32.Checksum(data[8:], castagnoli))
		return data
	}
}

// repacked changes a part of a feed's checkpoint, which is compressed.
func repacked(t *testing.T, number int, change func(part []byte)) func([]byte) []byte {
	return func(data []byte) []byte {
		pack, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		unpack, err := zstd.NewReader(nil)
		require.NoError(t, err)
		defer unpack.Close()
		out, state := data[:9:9], data[9:]
		for i := 0; len(state) > 0; i++ {
			length, n := binary.Uvarint(state)
			part := state[n:][:length]
			state = state[n+int(length):]
			if i == number {
				plain, err := unpack.DecodeAll(part, nil)
				require.NoError(t, err)
				change(plain)
				part = pack.EncodeAll(plain, nil)
			}
			out = append(binary.AppendUvarint(out, uint64(len(part))), part...)
		}
		return checkpointed(func([]byte) {})(out)
	}
}

// newerJournal is a segment whose first record states a version that is not known.
func newerJournal(number uint64) func([]byte) []byte {
	return func(data []byte) []byte {
		header, at := data[8:20], number<<32|8
		length := binary.LittleEndian.Uint32(header)
		payload := data[20 : 20+length]
		payload[0] = 99
		prefix := append(binary.LittleEndian.AppendUint64(nil, at), header[0:4]...)
		prefix = append(prefix, header[8:10]...)
		binary.LittleEndian.PutUint32(header[4:],
			crc32.Update(crc32.Checksum(prefix, castagnoli), castagnoli, payload))
		check := append(binary.LittleEndian.AppendUint64(nil, at), header[:10]...)
		binary.LittleEndian.PutUint16(header[10:], uint16(crc32.Checksum(check, castagnoli)))
		return data
	}
}

// What a newer program wrote is no damage, whichever file it is in: the collector does not start, names the file and
// what to do, and changes nothing, nor does fsck --repair.
func TestANewerVersionIsRefusedInEveryFormat(t *testing.T) {
	replaced := func(old, with string) func([]byte) []byte {
		return func(data []byte) []byte { return bytes.Replace(data, []byte(old), []byte(with), 1) }
	}
	for name, change := range map[string]func(t *testing.T, data string) (file string){
		"journal segment": func(t *testing.T, data string) string {
			path := last(t, data, "journal", "*.segment")
			var number uint64
			_, err := fmt.Sscanf(filepath.Base(path), "%d", &number)
			require.NoError(t, err)
			return edit(t, path, newerJournal(number))
		},
		"checkpoint of a feed": func(t *testing.T, data string) string {
			return edit(t, last(t, data, "feeds", "embedded", "checkpoint-*"),
				checkpointed(func(state []byte) { state[0] = 99 }))
		},
		"the catalogue's part of it": func(t *testing.T, data string) string {
			return edit(t, last(t, data, "feeds", "up", "checkpoint-*"), repacked(t, 0, stated))
		},
		"the slicer's part of it": func(t *testing.T, data string) string {
			return edit(t, last(t, data, "feeds", "up", "checkpoint-*"), repacked(t, 1, stated))
		},
		"checkpoint of the registry": func(t *testing.T, data string) string {
			return edit(t, last(t, data, "registry", "checkpoint-*"), checkpointed(stated))
		},
		"manifest": func(t *testing.T, data string) string {
			return edit(t, last(t, data, "grid", "manifest-*"), func(text []byte) []byte {
				return summed(strings.Replace(string(text), "manifest 2", "manifest 3", 1))
			})
		},
		"manifest with another checksum": func(t *testing.T, data string) string {
			return edit(t, last(t, data, "grid", "manifest-*"), replaced("manifest 2", "manifest 17"))
		},
		"part": func(t *testing.T, data string) string {
			return edit(t, last(t, data, "grid", "*.part"), func(part []byte) []byte {
				part[7], part[len(part)-1] = 99, 99
				return part
			})
		},
		"part of the next version, by its footer alone": func(t *testing.T, data string) string {
			return edit(t, last(t, data, "grid", "*.part"), func(part []byte) []byte {
				part[len(part)-1]++
				return part
			})
		},
		"cursor of a store on the network": func(t *testing.T, data string) string {
			return edit(t, filepath.Join(data, "stores", "up", "cursor"), func(text []byte) []byte {
				return summed(strings.Replace(string(text), "cursor 1", "cursor 2", 1))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			data := filepath.Join(dir, "data")
			start, _ := stoppedCollector(t, dir)
			file := change(t, data)
			before := contents(t, data)
			refused := func(says, by string) {
				t.Helper()
				assert.Contains(t, says, file, by)
				assert.Contains(t, says, "a newer version of bullet-metrics wrote it", by)
				assert.Contains(t, says, "run the newer release", by)
				assert.Equal(t, before, contents(t, data), by)
			}
			err := start()
			require.Error(t, err)
			refused(err.Error(), "serve")
			says, code := checkedServe(t, dir)
			assert.Equal(t, exitUsage, code)
			refused(says, "serve --check")
			for _, args := range [][]string{{data}, {data, "--repair"}} {
				says, code = fsck(t, args...)
				assert.Equal(t, exitFailed, code)
				refused(says, fmt.Sprint("fsck ", args))
			}
		})
	}
}

// Every other reason for which a collector does not start on its data is found by serve --check and fsck before, and
// each names what to do; what fsck --repair does lets it start with all that the store had.
func TestEveryRefusalToStartHasARemedy(t *testing.T) {
	repair := "--repair"
	for name, c := range map[string]struct {
		change func(t *testing.T, data string) error
		says   []string
		mend   func(data string) error // nil: fsck --repair
	}{
		"the journal's newest segment is removed": {
			func(t *testing.T, data string) error { return os.Remove(last(t, data, "journal", "*.segment")) },
			[]string{"store embedded has read the journal up to", "store up has read the journal up to", repair}, nil},
		"the journal's newest segment is emptied": {
			func(t *testing.T, data string) error { return os.Truncate(last(t, data, "journal", "*.segment"), 0) },
			[]string{"store embedded has read the journal up to", repair}, nil},
		"the journal is removed": {
			func(_ *testing.T, data string) error { return os.RemoveAll(filepath.Join(data, "journal")) },
			[]string{"store embedded has read the journal up to", "the journal ends at 0:0", repair}, nil},
		"the journal is emptied": {
			func(t *testing.T, data string) error {
				for _, segment := range []string{"*.segment", "LOCK"} {
					if err := os.Remove(last(t, data, "journal", segment)); err != nil {
						return err
					}
				}
				return nil
			},
			[]string{"store embedded has read the journal up to", repair}, nil},
		"the cursor of a store is damaged": {
			func(_ *testing.T, data string) error {
				return os.WriteFile(filepath.Join(data, "stores", "up", "cursor"), []byte("??"), 0o640)
			},
			[]string{"cursor: not a cursor", "the whole journal is then sent again", repair}, nil},
		"a file in the place of a directory": {
			func(_ *testing.T, data string) error {
				if err := os.RemoveAll(filepath.Join(data, "feeds")); err != nil {
					return err
				}
				return os.WriteFile(filepath.Join(data, "feeds"), nil, 0o640)
			},
			[]string{"feeds is not a directory: move it out of the data directory"},
			func(data string) error { return os.Remove(filepath.Join(data, "feeds")) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			data := filepath.Join(dir, "data")
			start, _ := stoppedCollector(t, dir)
			says, _ := checkedServe(t, dir)
			require.NotContains(t, says, "WRONG", "before")
			require.NoError(t, c.change(t, data))
			before := contents(t, data)
			err := start()
			require.Error(t, err)
			for _, want := range c.says {
				assert.ErrorContains(t, err, want)
			}
			says, code := checkedServe(t, dir)
			assert.Equal(t, exitUsage, code)
			found, code := fsck(t, data)
			assert.Equal(t, exitFailed, code)
			for _, want := range c.says {
				assert.Contains(t, says, want, "serve --check")
				assert.Contains(t, found, want, "fsck")
			}
			assert.Equal(t, before, contents(t, data))
			if c.mend != nil {
				require.NoError(t, c.mend(data))
			} else {
				_, code = fsck(t, data, repair)
				assert.Equal(t, exitFailed, code, "what was found is named once more")
			}
			says, _ = checkedServe(t, dir)
			assert.NotContains(t, says, "WRONG")
			require.NoError(t, start())
			require.NoError(t, start(), "and once more")
		})
	}
}
