package part

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/column"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// WriterOptions are the settings of a writer. The zero value has the defaults.
type WriterOptions struct {
	// PageBytes is the size at which a page ends, with the first column that reaches it. 0 means DefaultPageBytes.
	PageBytes int
	// Levels stores the least and greatest numbers of windows in addition to the slices, if windows have enough of
	// them.
	Levels bool
	// Cache has the encoded labels of earlier writers. It may be nil.
	Cache *Cache
}

// DefaultPageBytes is small enough that reading one series reads little else. It is large enough that the 32 bytes of a
// page's directory entry do not matter. Tests write smaller pages to get many of them.
const DefaultPageBytes = 16 << 10

// These constants limit the length of a column. Reading one slot decodes its whole column.
const (
	columnSlots       = 1024
	distributionSlots = 256
	distributionCells = 1 << 15 // buckets in all slots of a column
)

// writeBytes is the number of bytes that are written to the file at once.
const writeBytes = 256 << 10

// Writer writes a part, series by series. It is not safe for concurrent use. After an error, only Abandon may be
// called.
//
// The file is written once, without seeking, which determines its order: pages are written as they fill, and the index
// with their positions comes last. The writer has a buffer of 256 KiB and keeps the index in memory: about 20 bytes for
// each series and 200 for each label value. It does not keep the slices, so a part may be larger than memory.
type Writer struct {
	fs      disk.FS
	file    disk.File
	name    string
	o       WriterOptions
	offset  uint64 // of the buffer in the file
	buffer  []byte
	encoder column.Encoder
	page    []byte
	pageMs  [2]int64 // first and last slot in the page
	pages   []entry
	block   blockWriter
	blocks  []byte // encoded series blocks, one after the other
	blockAt []entry
	levels  levelWriter
	pieces  []piece
	present []uint64
	plain   []byte // a block before it is wrapped
	wrapped []byte // a page or block after it is wrapped
	footer  footer
	last    labels.Labels
	cached  bool // the cache has the series of the current block so far
}

// Create begins a part in a file that must not exist. The file has no valid footer until Finish, so after a crash it is
// not accepted as a part.
func Create(fs disk.FS, name string, o WriterOptions) (*Writer, error) {
	o.PageBytes = cmp.Or(o.PageBytes, DefaultPageBytes)
	if o.Cache == nil {
		o.Cache = &Cache{}
	}
	file, err := fs.Create(name)
	if err != nil {
		return nil, fmt.Errorf("create part: %w", err)
	}
	w := &Writer{fs: fs, file: file, name: name, o: o, footer: footer{minMs: 0, maxMs: -1}, cached: true}
	w.buffer = append(append(w.buffer, headerMagic...), version)
	return w, nil
}

// Add writes a series. Series must arrive in the order of labels.Compare, each once, since readers search by that
// order; otherwise Add returns an error. Runs must be sorted by FirstMs and be as run.Reader returns them: no two
// slices of one kind at one time. A series without a slice is omitted. Add does not keep runs.
func (w *Writer) Add(l labels.Labels, runs []run.Run) error {
	return w.add(l, func() error {
		for i := range runs {
			if err := w.addRun(&runs[i]); err != nil {
				return err
			}
		}
		if w.o.Levels && len(w.pieces) > 0 {
			w.levels.add(&w.encoder, runs)
		}
		return nil
	})
}

// add writes a series, whose columns the function columns writes. If the cache has this series and the one before it at
// these positions, they are in order and need not be compared.
func (w *Writer) add(l labels.Labels, columns func() error) error {
	cached := w.cached && w.o.Cache.knows(len(w.blockAt), len(w.block.labels), l)
	inOrder := cached && len(w.block.labels) > 0 // the order was checked when the cache stored them
	if !inOrder && w.footer.series > 0 && labels.Compare(w.last, l) >= 0 {
		return fmt.Errorf("part %s: series %s comes after %s", w.name, l, w.last)
	}
	w.pieces = w.pieces[:0]
	if err := columns(); err != nil {
		return fmt.Errorf("part %s: series %s: %w", w.name, l, err)
	}
	if len(w.pieces) == 0 {
		return nil
	}
	w.block.add(l, w.pieces)
	w.last, w.cached = l, cached
	w.footer.series++
	if len(w.block.labels) == seriesInBlock {
		return w.endBlock()
	}
	return nil
}

// addRun writes a run in columns of limited length. A run without a positive step, or with both numbers and
// distributions, is an error, because it could not be read again.
func (w *Writer) addRun(r *run.Run) error {
	slots := r.Slots()
	if r.StepMs <= 0 || len(r.Values) > 0 && len(r.Histograms) > 0 || r.Present != nil &&
		len(r.Present) < (slots+63)/64 {
		return fmt.Errorf("run of step %d ms, %d numbers, %d distributions and presence of %d words is invalid",
			r.StepMs, len(r.Values), len(r.Histograms), len(r.Present))
	}
	for from := 0; from < slots; {
		n := min(slots-from, columnSlots)
		if r.Values == nil {
			n = distributionsInColumn(r.Histograms[from:min(slots, from+distributionSlots)])
		}
		if err := w.addColumn(r, from, from+n); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// distributionsInColumn returns how many distributions a column takes, at least one. Reading one distribution decodes
// its whole column, so columns of distributions with many buckets are shorter.
func distributionsInColumn(all []*histogram.Histogram) int {
	cells := 0
	for i, h := range all {
		if h != nil {
			if cells += len(h.PositiveBuckets) + len(h.NegativeBuckets); cells > distributionCells && i > 0 {
				return i
			}
		}
	}
	return len(all)
}

// addColumn writes the slots in [from, to), without the slots at both ends that hold no slice. The time range of
// a column is therefore exact, and readers use it to skip columns.
func (w *Writer) addColumn(r *run.Run, from, to int) error {
	for from < to && !r.Has(from) {
		from++
	}
	for from < to && !r.Has(to-1) {
		to--
	}
	if from == to {
		return nil
	}
	present, stored := w.presence(r, from, to)
	p := piece{firstMs: r.FirstMs + int64(from)*r.StepMs, stepMs: r.StepMs, slots: to - from,
		distributions: r.Values == nil, page: uint64(len(w.pages)), offset: uint32(len(w.page))}
	var err error
	if p.distributions {
		w.page, err = w.encoder.Histograms(w.page, r.Histograms[from:to], present)
	} else {
		w.page = w.encoder.Floats(w.page, r.Values[from:to], present)
	}
	if err != nil {
		return err
	}
	return w.endColumn(p, stored)
}

// copyColumn writes an encoded column of numbers from another part without decoding it. It only reads the presence,
// since the footer counts slices.
func (w *Writer) copyColumn(p piece, src []byte) error {
	stored, err := column.Stored(src, p.slots)
	if err != nil {
		return err
	}
	p.page, p.offset = uint64(len(w.pages)), uint32(len(w.page))
	w.page = append(w.page, src...)
	return w.endColumn(p, stored)
}

// endColumn records the column at the end of the page: its length, and the times of the page and the file. A page ends
// with the column that makes it large enough. A column is therefore never split over two pages, and a reader needs only
// one page for it.
func (w *Writer) endColumn(p piece, stored int) error {
	p.length = uint32(len(w.page)) - p.offset
	w.pieces = append(w.pieces, p)
	if p.offset == 0 {
		w.pageMs = [2]int64{p.firstMs, p.lastMs()}
	}
	w.pageMs = [2]int64{min(w.pageMs[0], p.firstMs), max(w.pageMs[1], p.lastMs())}
	if w.footer.slices == 0 {
		w.footer.minMs, w.footer.maxMs = p.firstMs, p.lastMs()
	}
	w.footer.minMs, w.footer.maxMs = min(w.footer.minMs, p.firstMs), max(w.footer.maxMs, p.lastMs())
	w.footer.slices += uint64(stored)
	if len(w.page) >= w.o.PageBytes {
		return w.endPage()
	}
	return nil
}

// presence returns the presence of some slots, or nil if all hold a slice, and how many do. Columns without absent
// slots are written, copied and joined without presence.
func (w *Writer) presence(r *run.Run, from, to int) (present []uint64, stored int) {
	if r.Present == nil {
		return nil, to - from
	}
	w.present = copyBits(w.present[:0], r.Present, from, to)
	for _, word := range w.present {
		stored += bits.OnesCount64(word)
	}
	if stored == to-from {
		return nil, stored
	}
	return w.present, stored
}

// copyBits appends the bits in [from, to), with the first in the lowest bit. Bits after the last one are 0, since
// other code counts whole words.
func copyBits(dst, all []uint64, from, to int) []uint64 {
	for ; from < to; from += 64 {
		word := all[from>>6] >> (from & 63)
		if next := from>>6 + 1; from&63 > 0 && next < len(all) {
			word |= all[next] << (64 - from&63)
		}
		if left := to - from; left < 64 {
			word &= 1<<left - 1
		}
		dst = append(dst, word)
	}
	return dst
}

// endPage writes the page, unless it is empty.
func (w *Writer) endPage() error {
	if len(w.page) == 0 {
		return nil
	}
	w.wrapped = wrap(w.wrapped[:0], w.page)
	e := entry{crc: checksum(w.wrapped), length: uint32(len(w.wrapped)), minMs: w.pageMs[0], maxMs: w.pageMs[1]}
	err := w.put(&e, w.wrapped)
	w.pages = append(w.pages, e)
	w.page = w.page[:0]
	return err
}

// endBlock encodes the current block of up to 64 series. Blocks stay in memory until Finish, because all pages come
// before them in the file.
func (w *Writer) endBlock() error {
	if len(w.block.labels) == 0 {
		return nil
	}
	if err := w.endLevels(); err != nil {
		return err
	}
	e := entry{offset: uint64(len(w.blocks)), minMs: w.block.minMs, maxMs: w.block.maxMs}
	texts := w.o.Cache.encode(len(w.blockAt), w.block.labels, w.cached)
	w.plain = append(w.block.appendColumns(w.plain[:0]), texts...)
	w.cached = true
	w.block.reset()
	w.blocks = wrap(w.blocks, w.plain)
	b := w.blocks[e.offset:]
	e.length, e.crc = uint32(len(b)), checksum(b)
	w.blockAt = append(w.blockAt, e)
	return nil
}

// put writes a page or block, and records its position in its entry.
func (w *Writer) put(e *entry, b []byte) error {
	e.offset = w.offset + uint64(len(w.buffer))
	return w.write(b)
}

// write appends to the buffer, which is written to the file when it has 256 KiB.
func (w *Writer) write(b []byte) error {
	w.buffer = append(w.buffer, b...)
	if len(w.buffer) >= writeBytes {
		return w.flush()
	}
	return nil
}

// flush writes the buffer at its offset. The file only grows.
func (w *Writer) flush() error {
	if _, err := w.file.WriteAt(w.buffer, int64(w.offset)); err != nil {
		return fmt.Errorf("write part %s: %w", w.name, err)
	}
	w.offset += uint64(len(w.buffer))
	w.buffer = w.buffer[:0]
	return nil
}

// Finish writes the index and the footer, and syncs and closes the file. The footer is written last, so a file without
// a valid one was never finished. The caller must publish the file by renaming it and syncing the directory. After an
// error the file is unusable; call Abandon.
func (w *Writer) Finish() (Info, error) {
	if err := w.endBlock(); err != nil {
		return Info{}, err
	}
	if err := w.endPage(); err != nil {
		return Info{}, err
	}
	if err := w.writeIndex(); err != nil {
		return Info{}, err
	}
	if err := w.file.Sync(); err != nil {
		return Info{}, fmt.Errorf("sync part %s: %w", w.name, err)
	}
	file := w.file
	w.file = nil
	if err := file.Close(); err != nil {
		return Info{}, fmt.Errorf("close part %s: %w", w.name, err)
	}
	return w.footer.info(), nil
}

// writeIndex writes everything after the pages: series blocks, values blocks, names block, directory and footer. The
// offsets of the blocks are known only now, since the blocks were collected in memory.
func (w *Writer) writeIndex() error {
	all := w.pages
	base := w.offset + uint64(len(w.buffer))
	for i := range w.blockAt {
		w.blockAt[i].offset += base
	}
	all = append(all, w.blockAt...)
	if err := w.write(w.blocks); err != nil {
		return err
	}
	lists, names := w.o.Cache.index(len(w.blockAt))
	for _, b := range slices.Concat(lists, [][]byte{names}) {
		e := entry{length: uint32(len(b)), crc: checksum(b)}
		if err := w.put(&e, b); err != nil {
			return err
		}
		all = append(all, e)
	}
	f := &w.footer
	f.pages, f.blocks, f.lists = uint64(len(w.pages)), uint64(len(w.blockAt)), uint64(len(lists))
	f.directory = w.offset + uint64(len(w.buffer))
	if err := w.write(directory(all)); err != nil {
		return err
	}
	f.size = w.offset + uint64(len(w.buffer)) + footerBytes
	if err := w.write(f.append(nil)); err != nil {
		return err
	}
	return w.flush()
}

// directory returns the entries in chunks of 128, each with its own checksum. A reader finds an entry without a search,
// and a damaged chunk only costs its own entries.
func directory(all []entry) []byte {
	var dst []byte
	for number := uint64(0); len(all) > 0; number++ {
		n := min(len(all), chunkEntries)
		start := len(dst)
		for _, e := range all[:n] {
			dst = e.append(dst)
		}
		dst = binary.LittleEndian.AppendUint32(dst, chunkSum(number, dst[start:]))
		all = all[n:]
	}
	return dst
}

// Abandon closes and removes the file. It may be called after an error of Finish, and twice. After a successful Finish
// it does nothing, so the caller may call it on every error.
func (w *Writer) Abandon() error {
	if w.fs == nil || w.file == nil && w.footer.size > 0 {
		return nil
	}
	fs, file := w.fs, w.file
	w.fs, w.file = nil, nil
	var err error
	if file != nil {
		err = file.Close()
	}
	return errors.Join(err, fs.Remove(w.name))
}
