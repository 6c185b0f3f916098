package part

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

const (
	version        = 2 // version 1 can be read too; its series have no shapes
	headerMagic    = "BMGRIDP"
	footerMagic    = "BMGRIDF"
	headerBytes    = 8
	footerBytes    = 112
	entryBytes     = 32
	chunkEntries   = 128 // in a chunk of the directory
	chunkBytes     = chunkEntries*entryBytes + 4
	seriesInBlock  = 64
	valuesBytes    = 4 << 10 // size from which a values block ends
	maxEntryLength = 1 << 30 // of a page or block, in bytes
)

// These errors say what is wrong with bytes that cannot be read.
var (
	errChecksum = errors.New("checksum does not match")
	errContent  = errors.New("invalid content")
	errShort    = errors.New("file is too short")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// entry has the position, checksum and time range of a page or block. Readers skip entries outside of a query's time
// range. Its size is fixed, so that entry i can be read directly.
type entry struct {
	offset       uint64
	length, crc  uint32
	minMs, maxMs int64
}

func (e entry) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, e.offset)
	dst = binary.LittleEndian.AppendUint32(dst, e.length)
	dst = binary.LittleEndian.AppendUint32(dst, e.crc)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.minMs))
	return binary.LittleEndian.AppendUint64(dst, uint64(e.maxMs))
}

func readEntry(b []byte) entry {
	return entry{
		offset: binary.LittleEndian.Uint64(b), length: binary.LittleEndian.Uint32(b[8:]),
		crc:   binary.LittleEndian.Uint32(b[12:]),
		minMs: int64(binary.LittleEndian.Uint64(b[16:])), maxMs: int64(binary.LittleEndian.Uint64(b[24:])),
	}
}

// chunkSum returns the checksum of a directory chunk. It covers the chunk's number, so that one chunk is never accepted
// in place of another.
func chunkSum(number uint64, entries []byte) uint32 {
	return crc32.Update(checksum(binary.LittleEndian.AppendUint64(nil, number)), castagnoli, entries)
}

// footer describes the whole file. It is written last and read first, so that a file that was not finished has none.
type footer struct {
	minMs, maxMs         int64
	series, slices       uint64
	pages, blocks, lists uint64 // numbers of pages, series blocks and values blocks
	directory, size      uint64 // offset of the directory, and size of the file
}

// append writes the footer. The magic is at the very end and part of the checksum, so that a truncated or extended file
// is recognised.
func (f *footer) append(dst []byte) []byte {
	start := len(dst)
	for _, v := range [...]uint64{uint64(f.minMs), uint64(f.maxMs), f.series, f.slices, f.pages, f.blocks, f.lists,
		f.directory, f.size, seriesInBlock} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	dst = append(dst, make([]byte, 20)...)
	magic := append([]byte(footerMagic), version)
	sum := crc32.Update(checksum(dst[start:]), castagnoli, magic)
	return append(binary.LittleEndian.AppendUint32(dst, sum), magic...)
}

// nextVersions is how far ahead a version may be to count as newer although nothing confirms it. A refused start
// because of a flipped bit is better than setting aside a file that a newer program wrote.
const nextVersions = 4

// readFooter decodes the last footerBytes of a file. size is the size of the file, and headerVersion the version in its
// first bytes. For a newer version it returns a disk.ErrNewer. A number that does not fit the size of the file is
// damage, so that offsets from a footer stay within the file.
func readFooter(b []byte, size uint64, headerVersion byte) (f footer, err error) {
	magic := b[footerBytes-8:]
	sum := crc32.Update(checksum(b[:footerBytes-12]), castagnoli, magic)
	intact := sum == binary.LittleEndian.Uint32(b[footerBytes-12:])
	if string(magic[:7]) != footerMagic || magic[7] == 0 || magic[7] <= version && !intact {
		return f, errChecksum
	}
	if err := disk.CheckVersion(uint64(magic[7]), version); err != nil {
		// A newer version may have another kind of checksum. A file is intact if its beginning and its end have the
		// same version.
		if intact || magic[7] == headerVersion || magic[7] <= version+nextVersions {
			return f, err
		}
		return f, errChecksum
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	f = footer{int64(at(0)), int64(at(1)), at(2), at(3), at(4), at(5), at(6), at(7), at(8)}
	const most = 1 << 32
	if f.size != size || at(9) != seriesInBlock || f.pages > most || f.blocks > most || f.lists > most ||
		f.series >= most ||
		f.blocks != (f.series+seriesInBlock-1)/seriesInBlock || f.directory > size ||
		f.entries()*entryBytes > size-f.directory {
		return f, errContent
	}
	return f, nil
}

// entries returns the number of entries in the directory.
func (f *footer) entries() uint64 { return f.pages + f.blocks + f.lists + 1 }

// appendShared writes the length of the prefix that text shares with before, and the rest. Sorted names and values
// share long prefixes.
func appendShared(dst []byte, before, text string) []byte {
	n := 0
	for n < len(before) && n < len(text) && before[n] == text[n] {
		n++
	}
	dst = binary.AppendUvarint(dst, uint64(n))
	dst = binary.AppendUvarint(dst, uint64(len(text)-n))
	return append(dst, text[n:]...)
}

// readShared decodes what appendShared wrote, and appends the text. The previous text begins at to[before].
// Its length limits the shared prefix, and the remaining bytes limit the rest.
func readShared(r *varint.Reader, to []byte, before int) []byte {
	n := r.Length(len(to) - before)
	rest := r.Sized()
	to = append(to, to[before:before+n]...)
	return append(to, rest...)
}
