package part

import (
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

// WriterOptions are a writer's; the zero value has the defaults.
type WriterOptions struct {
	// PageBytes is when a page ends: at the first column that reaches it. 0 is DefaultPageBytes.
	PageBytes int
	// Levels has the least and greatest numbers of windows kept beside the slices, where they hold enough of them.
	Levels bool
	// Cache is used to write labels that an earlier writer wrote; nil: none.
	Cache *Cache
}

// DefaultPageBytes is small enough that reading one series reads little beside it, and large enough that a page's 32
// bytes of directory are nothing. Tests write smaller pages to have many of them.
const DefaultPageBytes = 16 << 10

// How long a column gets. Reading a place reads its column.
const (
	columnPlaces       = 1024
	distributionPlaces = 256
	distributionCells  = 1 << 15 // buckets in all its places
)

// writeBytes is how much is written at once, in bytes.
const writeBytes = 256 << 10

// Writer writes a part, series by series. It is not safe for concurrent use. After an error, only Abandon is of use.
//
// The order of the file follows from writing once, without seeking: pages come first and are written as they fill, and
// the index, which says where they are, comes last. Besides a buffer of 256 KiB the writer holds the index in memory:
// about 20 bytes for each series and 200 for each label value. The slices go to the file at once, so that a part may be
// larger than memory.
type Writer struct {
	fs      disk.FS
	file    disk.File
	name    string
	o       WriterOptions
	offset  uint64 // of buffer
	buffer  []byte
	encoder column.Encoder
	page    []byte
	pageMs  [2]int64 // first and last place in page
	pages   []entry
	block   blockWriter
	blocks  []byte // series blocks, one behind the other
	blockAt []entry
	levels  levelWriter
	pieces  []piece
	present []uint64
	plain   []byte // a block before it is wrapped
	wrapped []byte // a page or block after it
	footer  footer
	last    labels.Labels
	cached  bool // the series of the block so far are as in the cache
}

// Create begins a part in a file that must not exist. The file has no valid footer until Finish, so a crash leaves
// nothing that could be taken for a part.
func Create(fs disk.FS, name string, o WriterOptions) (*Writer, error) {
	if o.PageBytes == 0 {
		o.PageBytes = DefaultPageBytes
	}
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
// order; anything else is an error. Runs ascend by FirstMs and are as run.Reader returns them: no two slices of one
// kind at one time. A series without a slice is left out. Add keeps nothing of runs.
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

// add writes a series; columns writes its columns. Labels that the cache knows, at the place after labels that it
// knows, are in order and need no comparison.
func (w *Writer) add(l labels.Labels, columns func() error) error {
	cached := w.cached && w.o.Cache.knows(len(w.blockAt), len(w.block.labels), l)
	inOrder := cached && len(w.block.labels) > 0 // as they were when the cache took them
	if !inOrder && w.footer.series > 0 && labels.Compare(w.last, l) >= 0 {
		return fmt.Errorf("part %s: series %s comes behind %s", w.name, l, w.last)
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

// addRun writes a run in columns of bounded length. A run without a positive step, or with numbers and distributions,
// is an error of the caller: written, it could not be read again.
func (w *Writer) addRun(r *run.Run) error {
	places := r.Places()
	if r.StepMs <= 0 || len(r.Values) > 0 && len(r.Histograms) > 0 || r.Present != nil &&
		len(r.Present) < (places+63)/64 {
		return fmt.Errorf("run of step %d ms, %d numbers, %d distributions and presence of %d words makes no sense",
			r.StepMs, len(r.Values), len(r.Histograms), len(r.Present))
	}
	for from := 0; from < places; {
		n := min(places-from, columnPlaces)
		if r.Values == nil {
			n = distributionsInColumn(r.Histograms[from:min(places, from+distributionPlaces)])
		}
		if err := w.addColumn(r, from, from+n); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// distributionsInColumn is how many of them, at least one, a column takes. Reading one distribution decodes its whole
// column, so columns of wide distributions are shorter.
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

// addColumn writes the places from one up to another, without those at both ends that hold no slice. Cutting them keeps
// the time of a column exact, and readers skip columns by their time.
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
	p := piece{firstMs: r.FirstMs + int64(from)*r.StepMs, stepMs: r.StepMs, places: to - from,
		distributions: r.Values == nil,
		page:          uint64(len(w.pages)), offset: uint32(len(w.page))}
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

// copyColumn writes a column of numbers as another part has it, without decoding it. Only its presence is read, since
// the footer counts slices.
func (w *Writer) copyColumn(p piece, src []byte) error {
	stored, err := column.Stored(src, p.places)
	if err != nil {
		return err
	}
	p.page, p.offset = uint64(len(w.pages)), uint32(len(w.page))
	w.page = append(w.page, src...)
	return w.endColumn(p, stored)
}

// endColumn notes a column that is at the end of the page: its length, and the times of the page and of the file. A
// page ends with the column that takes it to the size, so a column is never split over two pages and a reader needs one
// page for it.
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

// presence is the bits of some places, nil where all hold a slice, and how many do. A column without absent places is
// written, and later copied and joined, without any presence.
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

// copyBits appends the bits from one up to another, the first of them lowest. The bits behind the last are 0, since
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

// endPage writes the page, if it has anything.
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

// endBlock encodes the block's 64 series. Blocks stay in memory until Finish, because the file has all pages before
// them.
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

// put writes a page or a block, and notes in its entry where it is.
func (w *Writer) put(e *entry, b []byte) error {
	e.offset = w.offset + uint64(len(w.buffer))
	return w.write(b)
}

// write appends to the buffer, which goes to the file when it has 256 KiB.
func (w *Writer) write(b []byte) error {
	w.buffer = append(w.buffer, b...)
	if len(w.buffer) >= writeBytes {
		return w.flush()
	}
	return nil
}

// flush writes the buffer at its offset. The file is only ever extended.
func (w *Writer) flush() error {
	if _, err := w.file.WriteAt(w.buffer, int64(w.offset)); err != nil {
		return fmt.Errorf("write part %s: %w", w.name, err)
	}
	w.offset += uint64(len(w.buffer))
	w.buffer = w.buffer[:0]
	return nil
}

// Finish writes the index and the footer, and syncs and closes the file. The footer is written last, so a file without
// a valid one was never finished. The caller publishes the file: it renames it and syncs the directory. After an error
// the file is useless; call Abandon.
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

// writeIndex writes everything after the pages: series blocks, values blocks, names block, directory, footer. The
// blocks' offsets are known only now, since they were collected in memory.
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

// directory is the entries in chunks of 128, each with its own checksum. A reader finds an entry without a search, and
// a damaged chunk costs its own entries only.
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

// Abandon closes and removes the file. It may be called after Finish failed, and after Abandon; after a Finish that did
// not fail it does nothing. The caller may therefore call it on every error.
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
