// Package part implements one immutable file of the grid store. A part holds the runs of many series, compressed in
// columns, with an index of label values. The index is read as needed and never loaded as a whole. A store with
// hundreds of parts therefore opens fast and takes little memory.
//
// A part has these sections, in this order:
//
//   - pages, which hold the columns, in the order of the series (writer.go)
//   - series blocks: the columns and the labels of 64 series each (seriesblock.go)
//   - values blocks and a names block: in which series blocks a label value occurs (postings.go)
//   - a directory of all of these, with their checksums and times, and a footer (format.go)
//
// The package deals with one file at a time. Package grid decides which files exist, when they are merged and when they
// are deleted. docs/formats/grid.md describes the format.
//
// Every page and block has a checksum. Damage is found when data is read, and is reported as a *run.DamageError. It
// only costs the data under that checksum; the rest of the file can still be read.
//
// Start with Writer (writer.go) for the layout. Then read Part and select.go for finding series, and runs.go for
// reading their slices. merge.go combines parts, and levels.go stores coarser windows in addition to the slices.
package part

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Info summarises the content of a part, from its footer. The manifest has a copy of it.
type Info struct {
	MinMs, MaxMs int64 // ends of the first and last slice; 0 and -1 if there are none
	Series       int
	Slices       int64 // gap markers included
	Bytes        int64 // size of the file
}

// info returns the public form of the footer.
func (f *footer) info() Info {
	return Info{f.minMs, f.maxMs, int(f.series), int64(f.slices), int64(f.size)}
}

// Part is an open part. It is safe for concurrent use, and reading fails after Close. It implements run.Source and
// run.LevelReader. What it returns does not depend on the file and stays valid after Close.
//
// It usually takes less than 70 KB, for the directory chunks, pages and columns that were read last. The series that
// one Select returns are read through caches of their own. If queries shared caches, those that read different series
// would evict each other's pages.
type Part struct {
	*opened

	chunks  cache[[]entry]
	pages   cache[[]byte]
	columns cache[*columns]
	names   cache[[]nameEntry]
}

// opened is the open file with its footer. Several Parts may share it (see Select). Closing one of them closes it for
// all.
type opened struct {
	name   string
	file   disk.File
	footer footer
	close  sync.Once
	closed error

	onDamage func(*run.DamageError) // may be nil
}

// cache keeps two values, such as pages or blocks, by their numbers: the last one read with an even number, and the
// last one with an odd number. It needs no lock. Two readers may read the same value at once, which costs time but is
// correct, since a part never changes.
type cache[T any] struct {
	slots [2]atomic.Pointer[cached[T]]
}

// cached is a value with its number. It is replaced as a whole.
type cached[T any] struct {
	number uint64
	value  T
}

// get returns the value of a number, and calls read if the cache does not have it. Errors are not cached, so the next
// reader tries again and finds the damage again.
func (c *cache[T]) get(number uint64, read func(number uint64) (T, error)) (T, error) {
	slot := &c.slots[number%uint64(len(c.slots))]
	if kept := slot.Load(); kept != nil && kept.number == number {
		return kept.value, nil
	}
	value, err := read(number)
	if err == nil {
		slot.Store(&cached[T]{number, value})
	}
	return value, err
}

// Open opens a part. It reads nothing but the footer, so that a store with hundreds of parts opens fast. If the footer
// cannot be read, it returns a *run.DamageError. If a newer program wrote the part, it returns a disk.ErrNewer, so that
// nobody sets the part aside as damaged.
func Open(fs disk.FS, name string) (*Part, error) {
	file, err := fs.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open part: %w", err)
	}
	p := &Part{opened: &opened{name: name, file: file}}
	if err := p.readFooter(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return p, nil
}

// readFooter reads the footer. If its version is newer than ours, it also reads the beginning of the file, which has
// the version too.
func (p *Part) readFooter() error {
	size, err := p.file.Size()
	if err != nil {
		return fmt.Errorf("open part %s: %w", p.name, err)
	}
	damaged := func(err error) error {
		return &run.DamageError{File: p.name, What: "footer", Labels: "all series", Err: err}
	}
	if size < footerBytes+headerBytes {
		return damaged(errShort)
	}
	var b [footerBytes]byte
	if err := p.read(b[:], uint64(size-footerBytes)); err != nil {
		return damaged(err)
	}
	var head [headerBytes]byte
	if b[footerBytes-1] > version {
		if err := p.read(head[:], 0); err != nil {
			return damaged(err)
		}
	}
	p.footer, err = readFooter(b[:], uint64(size), head[headerBytes-1])
	switch {
	case errors.Is(err, disk.ErrNewer):
		return fmt.Errorf("%s: %w", p.name, err)
	case err != nil:
		return damaged(err)
	}
	return nil
}

// Info returns the content of the footer, without reading the file.
func (p *Part) Info() Info { return p.footer.info() }

// Name returns the file's name.
func (p *Part) Name() string { return p.name }

// Close closes the file. It may be called twice.
func (p *Part) Close() error {
	p.close.Do(func() { p.closed = p.file.Close() })
	return p.closed
}

// read fills b from an offset. If the file ends too early, it is damaged. Other errors are those of the disk.
func (p *Part) read(b []byte, offset uint64) error {
	n, err := p.file.ReadAt(b, int64(offset))
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return errShort
	}
	return err
}

// isDamage reports whether a read error is about the file's content. A closed file is not damaged, and must be neither
// set aside nor counted.
func isDamage(err error) bool { return !errors.Is(err, fs.ErrClosed) }

// damage returns a *run.DamageError that names the file and what is lost. It returns an error that is a
// *run.DamageError already unchanged. To an error that is not about damage it only adds the file's name.
func (p *Part) damage(err error, what, of string, fromMs, toMs int64) error {
	if _, known := errors.AsType[*run.DamageError](err); known {
		return err
	}
	if !isDamage(err) {
		return fmt.Errorf("part %s: %w", p.name, err)
	}
	return p.noted(&run.DamageError{File: p.name, What: what, Labels: of, FromMs: fromMs, ToMs: toMs, Err: err})
}

// OnDamage sets a function that is called whenever a reader meets damage, every time. Call OnDamage before the part is
// read. The function must be safe for concurrent use. It lets the caller log damage that a query only turns into a
// warning.
func (p *Part) OnDamage(note func(*run.DamageError)) { p.onDamage = note }

// noted passes damage to the function of OnDamage, and returns it. It passes a copy, because a reader may add the
// series' labels to the original later.
func (p *Part) noted(d *run.DamageError) *run.DamageError {
	if p.onDamage != nil {
		copied := *d // the reader may add the series' labels to d
		p.onDamage(&copied)
	}
	return d
}

// entry returns the directory entry of page or block number i.
func (p *Part) entry(i uint64) (entry, error) {
	chunk, err := p.chunks.get(i/chunkEntries, p.readChunk)
	if err != nil {
		return entry{}, err
	}
	return chunk[i%chunkEntries], nil
}

// readChunk reads one chunk of the directory and verifies it.
func (p *Part) readChunk(number uint64) ([]entry, error) {
	n := min(p.footer.entries()-number*chunkEntries, chunkEntries)
	b := make([]byte, n*entryBytes+4)
	err := p.read(b, p.footer.directory+number*chunkBytes)
	body := b[:n*entryBytes]
	if err == nil && chunkSum(number, body) != binary.LittleEndian.Uint32(b[len(body):]) {
		err = errChecksum
	}
	if err != nil {
		return nil, p.damage(err, fmt.Sprintf("index (directory, chunk %d)", number), "some series", p.footer.minMs,
			p.footer.maxMs)
	}
	all := make([]entry, n)
	for i := range all {
		all[i] = readEntry(body[i*entryBytes:])
	}
	return all, nil
}

// load reads a page or block, verifies its checksum and decompresses it. Offset and length come from the file, so both
// are checked against its size before memory is reserved.
func (p *Part) load(i uint64) ([]byte, entry, error) {
	e, err := p.entry(i)
	if err != nil {
		return nil, e, err
	}
	if e.length > maxEntryLength || e.offset > p.footer.size || uint64(e.length) > p.footer.size-e.offset {
		return nil, e, errContent
	}
	b := make([]byte, e.length)
	if err := p.read(b, e.offset); err != nil {
		return nil, e, err
	}
	if checksum(b) != e.crc {
		return nil, e, errChecksum
	}
	b, err = unwrap(b)
	return b, e, err
}

// page returns the bytes of a page. They are shared, so the caller must not change them. Two pages are cached, because
// the columns of a metric's series share pages.
func (p *Part) page(number uint64) ([]byte, error) {
	return p.pages.get(number, func(number uint64) ([]byte, error) {
		b, e, err := p.load(number)
		if err != nil {
			err = p.damage(err, fmt.Sprintf("page %d at %d", number, e.offset), "", e.minMs, e.maxMs)
		}
		return b, err
	})
}

// block returns the verified and decompressed bytes of a series block.
func (p *Part) block(number uint64) ([]byte, error) {
	b, e, err := p.load(p.footer.pages + number)
	if err != nil {
		return nil, p.blockDamage(err, number, e)
	}
	return b, nil
}

// blockDamage returns an error that names the series block that cannot be read, its series and its time range.
func (p *Part) blockDamage(err error, number uint64, e entry) error {
	what := fmt.Sprintf("index (series block %d at %d)", number, e.offset)
	of := fmt.Sprintf("series %d to %d", number*seriesInBlock, number*seriesInBlock+uint64(p.seriesIn(number))-1)
	return p.damage(err, what, of, e.minMs, e.maxMs)
}

// seriesIn returns the number of series in a block.
func (p *Part) seriesIn(block uint64) int {
	return int(min(p.footer.series-block*seriesInBlock, seriesInBlock))
}

// columnsOf returns the positions of the columns of a block's series. Two blocks are cached, since a query reads the
// series of a block one after the other.
func (p *Part) columnsOf(block uint64) (*columns, error) {
	return p.columns.get(block, func(block uint64) (*columns, error) {
		b, err := p.block(block)
		if err != nil {
			return nil, err
		}
		return p.readColumns(block, b)
	})
}

// readColumns decodes the first section of a block. An error names the block.
func (p *Part) readColumns(block uint64, b []byte) (*columns, error) {
	c, err := readColumns(b, p.seriesIn(block), p.footer.pages)
	if err != nil {
		e, _ := p.entry(p.footer.pages + block)
		return nil, p.blockDamage(err, block, e)
	}
	return c, nil
}

// readLabels decodes the labels of a block. An error names the block.
func (p *Part) readLabels(block uint64, b []byte) (*labelReader, error) {
	l, err := readLabels(b, p.seriesIn(block))
	if err != nil {
		e, _ := p.entry(p.footer.pages + block)
		return nil, p.blockDamage(err, block, e)
	}
	return l, nil
}
