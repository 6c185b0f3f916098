package grid

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// listing is the content of a store's directory.
type listing struct {
	manifests []uint64 // sequences, newest first
	parts     []uint64 // numbers, ascending
	aside     []string // names of incomplete temporary files
	damaged   []string // names of damaged files that were set aside
}

// list reads the directory once and sorts the names by what they are. Unknown names are ignored, so that a file that an
// operator puts there does no harm.
func list(fs disk.FS, dir string) (listing, error) {
	names, err := fs.ReadDir(dir)
	if err != nil {
		return listing{}, fmt.Errorf("grid store: list %s: %w", dir, err)
	}
	var l listing
	for _, name := range names {
		if n, is := numberIn(name, manifestPrefix, ""); is {
			l.manifests = append(l.manifests, n)
		}
		if n, is := numberIn(name, "", partSuffix); is {
			l.parts = append(l.parts, n)
		}
		if strings.HasSuffix(name, disk.AsideSuffix) {
			l.aside = append(l.aside, name)
		}
		if strings.HasSuffix(name, damagedSuffix) {
			l.damaged = append(l.damaged, name)
		}
	}
	slices.Sort(l.manifests)
	slices.Reverse(l.manifests)
	slices.Sort(l.parts)
	return l, nil
}

// maxManifestBytes limits the size of a manifest that is read.
const maxManifestBytes = 256 << 20

// readManifest reads a manifest and returns its damage, if any, and an error. A manifest that a newer program wrote is
// an error, not damage.
func readManifest(fs disk.FS, name string, sequence uint64) (manifest, error, error) {
	f, err := fs.Open(name)
	if err != nil {
		return manifest{}, nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return manifest{}, nil, err
	}
	if size > maxManifestBytes {
		return manifest{}, fmt.Errorf("its size of %d bytes exceeds the limit", size), nil
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return manifest{}, nil, err
	}
	m, damage := decodeManifest(data)
	if errors.Is(damage, disk.ErrNewer) {
		return manifest{}, nil, damage
	}
	if damage == nil && m.sequence != sequence {
		damage = fmt.Errorf("it is manifest %d", m.sequence)
	}
	return m, damage, nil
}

// recover determines what the store consists of after a start, and removes files that do not belong to it. It uses the
// newest manifest that is valid. Damage only costs the damaged data; the rest of the store opens.
func (s *Store) recover() error {
	if err := CheckVersions(s.fs, s.dir); err != nil {
		return fmt.Errorf("grid store: %w", err)
	}
	l, err := list(s.fs, s.dir)
	if err != nil {
		return err
	}
	sure := true // false if a manifest cannot be read: then there may be parts that the one in use does not list
	base, older, found, err := l.newestManifest(s.fs, s.dir, func(sequence uint64, name string, err error) {
		sure = false
		s.figures.damaged.WithLabelValues("manifest").Inc()
		s.log.Error("grid store: a manifest is damaged; using the previous one with all readable parts, and replaying the journal from there",
			"file", name, "error", err)
		s.setAside(manifestName(sequence))
	})
	if err != nil {
		return err
	}
	sure = sure && found
	s.keepOne(older)
	// A process that was killed may have written files without making them durable. Without this sync, a loss of power
	// could bring back an older manifest, after the feed has already used the newer position.
	if err := s.fs.SyncDir(s.dir); err != nil {
		return fmt.Errorf("grid store: sync %s: %w", s.dir, err)
	}
	s.manifest = base
	for i, bound := range bounds {
		s.figures.expired(bound, base.expired[i])
	}
	if len(l.manifests) > 0 {
		s.sequence = l.manifests[0]
	}
	s.manifest.next = max(s.manifest.next, 1)
	changed, err := s.openListed(sure)
	if err != nil {
		return err
	}
	adopted, err := s.openUnlisted(l, base, sure)
	if err != nil {
		return err
	}
	for _, name := range l.aside {
		s.remove(name)
	}
	for _, name := range l.damaged {
		s.keepAside(name)
	}
	s.manifest.parts = nil
	slices.SortStableFunc(s.pieces, byAge)
	for _, p := range s.pieces {
		s.manifest.parts = append(s.manifest.parts, p.entry)
		s.newestMs = max(s.newestMs, p.maxMs)
	}
	s.durable.Store(s.manifest.position)
	s.handed, s.replayed = s.manifest.position, s.manifest.position
	if changed || adopted {
		if err := s.publish(s.manifest); err != nil {
			s.log.Warn("grid store: failed to write the manifest after recovery; the next write tries again", "error", err)
		}
	}
	return nil
}

// newestManifest reads the newest manifest in dir that is not damaged, and returns the sequences of the ones before it.
// found is false if there is none. It calls damaged for each newer manifest.
func (l listing) newestManifest(fs disk.FS, dir string, damaged func(sequence uint64, name string, err error)) (
	m manifest, older []uint64, found bool, err error) {
	for i, sequence := range l.manifests {
		name := filepath.Join(dir, manifestName(sequence))
		m, damage, err := readManifest(fs, name, sequence)
		if err != nil {
			return manifest{}, nil, false, fmt.Errorf("grid store: read %s: %w", name, err)
		}
		if damage == nil {
			return m, l.manifests[i+1:], true, nil
		}
		damaged(sequence, name, damage)
	}
	return manifest{}, nil, false, nil
}

// keepOne keeps the manifest before the one in use, and removes the earlier ones. The kept one is the fallback if the
// newest is damaged.
func (s *Store) keepOne(older []uint64) {
	for i, sequence := range older {
		if i == 0 {
			s.stale = []uint64{sequence}
			continue
		}
		s.remove(manifestName(sequence))
	}
}

// openListed opens the parts that the manifest lists. A part that cannot be opened is logged with its time range,
// counted, and left out. The store opens without it. changed reports that a part was left out.
func (s *Store) openListed(sure bool) (changed bool, err error) {
	for _, e := range s.manifest.parts {
		name := s.path(partName(e.number))
		opened, err := s.openPart(name)
		_, damaged := errors.AsType[*run.DamageError](err)
		switch {
		case err == nil:
			s.pieces = append(s.pieces, &piece{entry: e, Part: opened})
			continue
		case isMissing(err) && !sure:
			s.log.Warn("grid store: a part of an older manifest is missing; unlisted parts may have its slices",
				"file", name, "from_ms", e.minMs, "to_ms", e.maxMs)
		case isMissing(err):
			s.figures.damaged.WithLabelValues("missing").Inc()
			s.log.Error("grid store: a part is missing; it was deleted by hand or by retention on a full disk",
				"file", name, "from_ms", e.minMs, "to_ms", e.maxMs, "slices", e.slices)
		case damaged:
			s.figures.damaged.WithLabelValues("part").Inc()
			s.log.Error("grid store: a part is damaged and was set aside; run bullet-metrics fsck to see what can be read",
				"file", name, "from_ms", e.minMs, "to_ms", e.maxMs, "slices", e.slices, "error", err)
			s.setAside(partName(e.number))
		default:
			return false, fmt.Errorf("grid store: open %s: %w", name, err)
		}
		changed = true
	}
	return changed, nil
}

// openUnlisted removes the parts that the manifest does not list. A crash came between writing and publishing them, and
// the journal still has their slices. If a newer manifest was lost (sure is false), it may have listed parts that are
// newer than the manifest in use, so they are adopted. Slices that come again from the journal are recognised.
func (s *Store) openUnlisted(l listing, base manifest, sure bool) (adopted bool, err error) {
	listed := map[uint64]bool{}
	for _, e := range base.parts {
		listed[e.number] = true
	}
	for _, number := range l.parts {
		s.manifest.next = max(s.manifest.next, number+1)
		if listed[number] {
			continue
		}
		if sure || number < base.next {
			s.remove(partName(number))
			continue
		}
		opened, err := s.openPart(s.path(partName(number)))
		_, damaged := errors.AsType[*run.DamageError](err)
		switch {
		case damaged:
			s.figures.damaged.WithLabelValues("part").Inc()
			s.log.Error("grid store: a part is damaged and was set aside", "file", s.path(partName(number)), "error", err)
			s.setAside(partName(number))
			continue
		case err != nil:
			return adopted, fmt.Errorf("grid store: open %s: %w", s.path(partName(number)), err)
		}
		adopted = true
		i := opened.Info()
		s.pieces = append(s.pieces, &piece{Part: opened, entry: entry{number: number, oldest: number,
			added: base.sequence, minMs: i.MinMs, maxMs: i.MaxMs, series: i.Series, slices: i.Slices, bytes: i.Bytes}})
	}
	return adopted, nil
}
