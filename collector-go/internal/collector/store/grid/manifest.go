package grid

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// manifest lists what the store consists of (docs/formats/grid.md, "The directory"). A manifest file is never changed.
// Each change of the store writes a new file with a higher sequence, so that a crash leaves either the old or the new
// state.
type manifest struct {
	sequence uint64 // one more than that of the previous manifest
	position uint64 // journal position before which everything that closed is in parts
	next     uint64 // number of the next part
	expired  [len(bounds)]tally
	parts    []entry
}

// tally counts what retention has deleted for one bound since the store was created.
type tally struct{ parts, slices, bytes int64 }

func (t *tally) add(other tally) {
	t.parts, t.slices, t.bytes = t.parts+other.parts, t.slices+other.slices, t.bytes+other.bytes
}

// entry describes a part in the manifest.
type entry struct {
	number uint64
	// oldest is the number of the oldest part that was merged into this one. If two parts have a slice, the one with
	// the lower oldest takes precedence.
	oldest       uint64
	level        int    // number of times that its slices were merged
	added        uint64 // sequence of the first manifest that listed it or, if it was merged, its newest source
	minMs, maxMs int64  // ends of its first and last slice
	series       int
	slices       int64
	bytes        int64
}

// manifestVersion is the version that is written. Version 1 can still be read. It has no lines about what retention has
// deleted.
const manifestVersion = 2

const (
	manifestPrefix  = "manifest-"
	manifestMagic   = "bullet-metrics grid manifest "
	manifestHeader  = "sequence %d\nposition %d\nnext %d\n"
	manifestExpired = "expired %s parts %d slices %d bytes %d\n"
	manifestCount   = "parts %d\n"
	manifestEntry   = "part %d oldest %d level %d added %d from_ms %d to_ms %d series %d slices %d bytes %d\n"
	manifestSum     = "crc32c %08x\n"
	partSuffix      = ".part"
	damagedSuffix   = ".damaged"
)

// manifestName returns the name of a manifest's file. The number has twelve digits, so that names sort like numbers.
func manifestName(sequence uint64) string { return fmt.Sprintf("%s%012d", manifestPrefix, sequence) }
func partName(number uint64) string       { return fmt.Sprintf("%012d%s", number, partSuffix) }

// numberIn returns the number in a file's name. It only accepts names that the store itself would write, so that a copy
// such as "000000000017 (1).part" is never used as a part.
func numberIn(name, prefix, suffix string) (n uint64, is bool) {
	rest, found := strings.CutPrefix(name, prefix)
	if !found {
		return 0, false
	}
	if rest, found = strings.CutSuffix(rest, suffix); !found {
		return 0, false
	}
	_, err := fmt.Sscanf(rest, "%d", &n)
	return n, err == nil && fmt.Sprintf("%012d", n) == rest
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode writes the newest version. The text is readable for an operator and small: one line for each part.
func (m manifest) encode() []byte { return m.encodeAs(manifestVersion) }

// encodeAs writes any known version. decodeManifest encodes what it has read again and compares the bytes, so it
// accepts only what a writer would write.
func (m manifest) encodeAs(version int) []byte {
	text := fmt.Appendf(nil, manifestMagic+"%d\n"+manifestHeader, version, m.sequence, m.position, m.next)
	for i, bound := range bounds {
		if t := m.expired[i]; version >= 2 {
			text = fmt.Appendf(text, manifestExpired, bound, t.parts, t.slices, t.bytes)
		}
	}
	text = fmt.Appendf(text, manifestCount, len(m.parts))
	for _, e := range m.parts {
		text = fmt.Appendf(text, manifestEntry, e.number, e.oldest, e.level, e.added, e.minMs, e.maxMs, e.series,
			e.slices, e.bytes)
	}
	return fmt.Appendf(text, manifestSum, crc32.Checksum(text, castagnoli))
}

// maxParts limits the parts that a manifest may list, so that a damaged count cannot reserve unlimited memory.
const maxParts = 1 << 20

// manifestOf returns the version in a manifest's first line, or 0 if the line is not that of a manifest.
func manifestOf(line string) (version int) {
	rest, found := strings.CutPrefix(line, manifestMagic)
	if _, err := fmt.Sscanf(rest, "%d\n", &version); !found || err != nil || rest != fmt.Sprintf("%d\n", version) {
		return 0
	}
	return version
}

// decodeManifest accepts exactly what encodeAs writes in a known version. If the first line has a newer version, it
// reads nothing else and returns a disk.ErrNewer.
func decodeManifest(data []byte) (manifest, error) {
	lines := strings.SplitAfter(string(data), "\n")
	version := manifestOf(lines[0])
	switch {
	case version > manifestVersion:
		return manifest{}, disk.CheckVersion(uint64(version), manifestVersion)
	case version < 1:
		return manifest{}, errors.New("not a manifest")
	}
	rest := strings.Join(lines[1:], "")
	read := func(lines int, layout string, into ...any) (err error) {
		var text string
		for range lines {
			line, left, found := strings.Cut(rest, "\n")
			if !found {
				return errors.New("it is truncated")
			}
			text, rest = text+line+"\n", left
		}
		_, err = fmt.Sscanf(text, layout, into...)
		return err
	}
	var m manifest
	var parts int
	err := read(3, manifestHeader, &m.sequence, &m.position, &m.next)
	for i, bound := range bounds {
		if t := &m.expired[i]; version >= 2 && err == nil {
			err = read(1, strings.Replace(manifestExpired, "%s", bound, 1), &t.parts, &t.slices, &t.bytes)
		}
	}
	if err == nil {
		err = read(1, manifestCount, &parts)
	}
	if err != nil || parts < 0 || parts > maxParts {
		return manifest{}, fmt.Errorf("not a manifest of version %d", version)
	}
	for range parts {
		var e entry
		if read(1, manifestEntry, &e.number, &e.oldest, &e.level, &e.added, &e.minMs, &e.maxMs, &e.series, &e.slices,
			&e.bytes) != nil {
			return manifest{}, errors.New("a part's line cannot be read")
		}
		m.parts = append(m.parts, e)
	}
	if !bytes.Equal(m.encodeAs(version), data) {
		return manifest{}, errors.New("the checksum does not match")
	}
	return m, nil
}

// bytes returns the total size of all parts according to the manifest.
func (m manifest) bytes() (sum int64) {
	for _, e := range m.parts {
		sum += e.bytes
	}
	return sum
}

// without returns the entries of the parts that are not in gone. It makes a new list, because a query may be reading
// the old m.parts.
func (m manifest) without(gone map[uint64]string) []entry {
	kept := make([]entry, 0, len(m.parts))
	for _, e := range m.parts {
		if _, goes := gone[e.number]; !goes {
			kept = append(kept, e)
		}
	}
	return kept
}
