// Package part is one immutable file of the grid store. A part holds the runs of many series, compressed in columns,
// with an index of label values. The index is read where it is needed and never loaded as a whole, so that opening a
// store with hundreds of parts is fast and costs little memory.
//
// From the beginning of the file to its end, a part has
//
//   - pages, which hold the columns, in the order of the series (writer.go)
//   - series blocks: the columns and the labels of 64 series each (seriesblock.go)
//   - values blocks and a names block: in which series blocks a label value occurs (postings.go)
//   - a directory of all of these, with their checksums and times, and a footer (format.go)
//
// The package knows one file at a time. Which files exist, when they are merged and when they are deleted is the
// business of package grid. docs/formats/grid.md describes the format.
//
// Every page and block has a checksum. Damage is found where it is read, is reported as a *run.DamageError, and costs
// only what it covers: the rest of the file still answers.
//
// Start with Writer (writer.go) for the layout, then Part and select.go for finding series, and runs.go for reading
// their slices. merge.go combines parts, and levels.go keeps coarser windows beside the slices.
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

// Info summarises what a part holds, from its footer. The manifest keeps a copy of it.
type Info struct {
	MinMs, MaxMs int64 // ends of the first and last slice; 0 and -1 where there is none
	Series       int
	Slices       int64 // markers included
	Bytes        int64 // of the file
}

// info is the public form of the footer.
func (f *footer) info() Info {
	return Info{f.minMs, f.maxMs, int(f.series), int64(f.slices), int64(f.size)}
}

// Part is an open part. It is safe for concurrent use; reading after Close fails. It implements run.Source and
// run.LevelReader. What it returns is not tied to the file and stays valid after Close.
//
// It usually holds less than 70 KB: the chunks, pages and places of columns that were read last. What one Select finds
// is read through caches of its own. If queries shared them, those that read different series would evict each other's
// pages.
type Part struct {
	*opened

	chunks  cache[[]entry]
	pages   cache[[]byte]
	columns cache[*columns]
	names   cache[[]nameEntry]
}

// opened is the open file with its footer. Several Parts may share it (see Select); closing one closes all.
type opened struct {
	name   string
	file   disk.File
	footer footer
	close  sync.Once
	closed error

	onDamage func(*run.DamageError) // may be nil
}

// cache keeps, for each remainder of a number, the value that was read last: two neighbouring pages or blocks. It needs
// no lock: two readers may read the same value at once, which costs time but is correct, since a part never changes.
type cache[T any] struct {
	slots [2]atomic.Pointer[cached[T]]
}

// cached is one kept value with its number, replaced as a whole.
type cached[T any] struct {
	number uint64
	value  T
}

// get returns the value of a number, and calls read if it is not kept. An error is not kept: the next reader tries
// again, and meets the damage again.
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

// Open opens a part and reads its footer, and nothing else: a store with hundreds of parts opens at once. A footer that
// cannot be read is a *run.DamageError. A part that a newer program wrote is a disk.ErrNewer instead, so that nobody
// sets it aside as damaged.
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

// readFooter reads the footer and, only if its version is newer than ours, the beginning of the file, which states the
// version too.
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

// Info is the content of the footer. It needs no read.
func (p *Part) Info() Info { return p.footer.info() }

// Name is the file's.
func (p *Part) Name() string { return p.name }

// Close releases the file. It may be called twice.
func (p *Part) Close() error {
	p.close.Do(func() { p.closed = p.file.Close() })
	return p.closed
}

// read fills b from an offset. A file that ends too early is damage, other errors are the disk's.
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

// isDamage reports whether a read error is about the file's content. A closed file is not damaged, and must not be set
// aside or counted.
func isDamage(err error) bool { return !errors.Is(err, fs.ErrClosed) }

// damage makes a *run.DamageError that names the file and what is lost. An error that names its damage already stays as
// it is, and an error that is not damage only gets the file's name.
func (p *Part) damage(err error, what, of string, fromMs, toMs int64) error {
	if _, known := errors.AsType[*run.DamageError](err); known {
		return err
	}
	if !isDamage(err) {
		return fmt.Errorf("part %s: %w", p.name, err)
	}
	return p.noted(&run.DamageError{File: p.name, What: what, Labels: of, FromMs: fromMs, ToMs: toMs, Err: err})
}

// OnDamage sets a function that is called for each damage that a reader meets, as often as it is met. Call it before
// the part is read. The function must be safe for concurrent use. Damage reaches the log this way even where a query
// only turns it into a warning.
func (p *Part) OnDamage(note func(*run.DamageError)) { p.onDamage = note }

// noted passes damage on to Part.OnDamage and returns it. It passes a copy, because a reader adds the labels of the
// series to its own later.
func (p *Part) noted(d *run.DamageError) *run.DamageError {
	if p.onDamage != nil {
		copied := *d // its reader may name the series
		p.onDamage(&copied)
	}
	return d
}

// entry is where page or block number i is.
func (p *Part) entry(i uint64) (entry, error) {
	chunk, err := p.chunks.get(i/chunkEntries, p.readChunk)
	if err != nil {
		return entry{}, err
	}
	return chunk[i%chunkEntries], nil
}

// readChunk reads and checks one chunk of the directory.
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

// load reads a page or block, verifies its checksum and unpacks it. Offset and length come from the file, so both are
// checked against its size before memory is reserved.
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

// page returns the bytes of a page. They are shared, so nobody may change them. The last two pages are kept, because
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

// block is the bytes of a series block, unpacked and checked.
func (p *Part) block(number uint64) ([]byte, error) {
	b, e, err := p.load(p.footer.pages + number)
	if err != nil {
		return nil, p.blockDamage(err, number, e)
	}
	return b, nil
}

// blockDamage says which series block cannot be read, which series it costs, and over which time.
func (p *Part) blockDamage(err error, number uint64, e entry) error {
	what := fmt.Sprintf("index (series block %d at %d)", number, e.offset)
	of := fmt.Sprintf("series %d to %d", number*seriesInBlock, number*seriesInBlock+uint64(p.seriesIn(number))-1)
	return p.damage(err, what, of, e.minMs, e.maxMs)
}

// seriesIn is how many series a block has.
func (p *Part) seriesIn(block uint64) int {
	return int(min(p.footer.series-block*seriesInBlock, seriesInBlock))
}

// columnsOf is where the columns of a block's series are. The last two blocks are kept, since a query reads one series
// of a block after the other.
func (p *Part) columnsOf(block uint64) (*columns, error) {
	return p.columns.get(block, func(block uint64) (*columns, error) {
		b, err := p.block(block)
		if err != nil {
			return nil, err
		}
		return p.readColumns(block, b)
	})
}

// readColumns decodes the first part of a block, and names the block if it is damaged.
func (p *Part) readColumns(block uint64, b []byte) (*columns, error) {
	c, err := readColumns(b, p.seriesIn(block), p.footer.pages)
	if err != nil {
		e, _ := p.entry(p.footer.pages + block)
		return nil, p.blockDamage(err, block, e)
	}
	return c, nil
}

// readLabels decodes the labels of a block, and names the block if it is damaged.
func (p *Part) readLabels(block uint64, b []byte) (*labelReader, error) {
	l, err := readLabels(b, p.seriesIn(block))
	if err != nil {
		e, _ := p.entry(p.footer.pages + block)
		return nil, p.blockDamage(err, block, e)
	}
	return l, nil
}
