package grid

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

// manifest is what the store consists of: docs/formats/grid.md, "The directory".
type manifest struct {
	sequence uint64 // one more than that of the manifest before
	position uint64 // of the journal: all that closed from records before it is in parts
	next     uint64 // number of the next part
	parts    []entry
}

// entry is a part, as the manifest lists it.
type entry struct {
	number uint64
	// number of the oldest part whose slices it has; where two parts have a slice, that of the lower one counts
	oldest       uint64
	level        int    // how often its slices were merged
	added        uint64 // sequence of the manifest that listed it first
	minMs, maxMs int64  // ends of its first and last slice
	series       int
	slices       int64
	bytes        int64
}

const (
	manifestPrefix = "manifest-"
	manifestHead   = "bullet-metrics grid manifest 1\nsequence %d\nposition %d\nnext %d\nparts %d\n"
	manifestEntry  = "part %d oldest %d level %d added %d from_ms %d to_ms %d series %d slices %d bytes %d\n"
	manifestSum    = "crc32c %08x\n"
	partSuffix     = ".part"
	damagedSuffix  = ".damaged"
)

func manifestName(sequence uint64) string { return fmt.Sprintf("%s%012d", manifestPrefix, sequence) }
func partName(number uint64) string       { return fmt.Sprintf("%012d%s", number, partSuffix) }

// number is that in a name, if it is what such a name is made of.
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

func (m manifest) encode() []byte {
	text := fmt.Appendf(nil, manifestHead, m.sequence, m.position, m.next, len(m.parts))
	for _, e := range m.parts {
		text = fmt.Appendf(text, manifestEntry, e.number, e.oldest, e.level, e.added, e.minMs, e.maxMs, e.series,
			e.slices, e.bytes)
	}
	return fmt.Appendf(text, manifestSum, crc32.Checksum(text, castagnoli))
}

// maxParts bounds what a manifest may list.
const maxParts = 1 << 20

// decodeManifest accepts exactly what encode writes.
func decodeManifest(data []byte) (manifest, error) {
	var m manifest
	var parts int
	const entries = 5 // lines before the first part
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines) < entries+1 {
		return manifest{}, errors.New("not a manifest of version 1")
	}
	head := string(bytes.Join(lines[:entries], nil))
	if _, err := fmt.Sscanf(head, manifestHead, &m.sequence, &m.position, &m.next, &parts); err != nil {
		return manifest{}, errors.New("not a manifest of version 1")
	}
	if parts < 0 || parts > maxParts || len(lines) < entries+parts {
		return manifest{}, errors.New("it lists more parts than it has")
	}
	for _, line := range lines[entries : entries+parts] {
		var e entry
		if _, err := fmt.Sscanf(string(line), manifestEntry, &e.number, &e.oldest, &e.level, &e.added, &e.minMs,
			&e.maxMs, &e.series, &e.slices, &e.bytes); err != nil {
			return manifest{}, errors.New("a part's line cannot be read")
		}
		m.parts = append(m.parts, e)
	}
	if !bytes.Equal(m.encode(), data) {
		return manifest{}, errors.New("the checksum does not match")
	}
	return m, nil
}

// bytes is the size of all parts.
func (m manifest) bytes() (sum int64) {
	for _, e := range m.parts {
		sum += e.bytes
	}
	return sum
}

// without is the parts but those in gone.
func (m manifest) without(gone map[uint64]string) []entry {
	kept := make([]entry, 0, len(m.parts))
	for _, e := range m.parts {
		if _, goes := gone[e.number]; !goes {
			kept = append(kept, e)
		}
	}
	return kept
}
