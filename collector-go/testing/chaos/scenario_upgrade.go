package chaos

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// upgrade is scenario 24: the program of today opens what older ones left. A try is a data directory, or a journal, of
// an older format: it is started over a copy, and killed while it takes that over. What a collector then answers is
// what the older one had, also after it was opened once more, and it goes on.
func upgrade() Scenario {
	return Scenario{Number: 24, Fault: "upgrade", Full: 40, Short: 3,
		Try: func(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
			killed := 0
			for try := range tries {
				one, kills, err := inheritances[try%len(inheritances)].play(ctx, g, try)
				killed += kills
				if o.Add(one); err != nil {
					return o, fmt.Errorf("try %d: %w", try, err)
				}
				o.Tries++
			}
			o.Measured = append(o.Measured, fmt.Sprintf("%d kills while it was taken over", killed))
			return o, nil
		}}
}

// inheritance is what an older program left, in the repository below collector-go.
type inheritance struct {
	name string
	// path is a packed data directory, or a directory of segments where it ends in none.
	path string
	// read is how many samples of its journal are read; where it is a data directory, slices is how many answer, and
	// digest is that of answers' text. That they are what the older program's files hold is shown by
	// TestADirectoryOfTheFirstEditionIsConverted, with that program's reader.
	read, slices int
	digest       string
}

var inheritances = []inheritance{
	{name: "a directory of the first edition",
		path: "testing/blockstest/testdata/data-first-edition.tar.gz", slices: firstEditionSlices,
		digest: firstEditionDigest},
	{name: "a journal of version 1", path: "internal/collector/journal/testdata/v1", read: 20},
	{name: "a journal of version 2", path: "internal/collector/journal/testdata/v2", read: 46},
}

const (
	firstEditionSlices = 3724
	firstEditionDigest = "47acb9af4a7f8885af7667c75dfeaa0e3debf3d8f29cd31793503cf3d2c5e330"
)

// When the first edition's collector ran lies between these.
var inheritedFrom, inheritedTo = time.Unix(1795200000, 0), time.Unix(1795300000, 0)

func (i inheritance) play(ctx context.Context, g *Ground, try int) (o Outcome, kills int, err error) {
	dir, err := g.Directory(fmt.Sprintf("inherited-%d", try))
	if err != nil {
		return o, 0, err
	}
	if err := i.lay(filepath.Join(g.Repository, "collector-go"), dir); err != nil {
		return o, 0, err
	}
	c, kills, err := g.takeOver(ctx, dir, try)
	if err != nil {
		return o, kills, err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed + uint64(try))
	defer ledger.Stop()
	for _, when := range []string{"taken over", "opened again"} {
		wrong, err := i.wrong(ctx, c, o.Acknowledged)
		if err != nil {
			return o, kills, err
		}
		if wrong != "" {
			o.Broken = append(o.Broken, fmt.Sprintf("try %d, %s, %s: %s", try, i.name, when, wrong))
		}
		if o.Acknowledged == 0 {
			ledger.Produce(ctx, c.GRPC(), ProducerOptions{Batches: 100})
			fresh, err := ledger.verifyBeside(ctx, c.HTTP()) // the older one refused some, in its time
			if err != nil {
				return o, kills, err
			}
			o.Add(fresh)
		}
		if err := errors.Join(c.Stop(), c.Again(ctx)); err != nil {
			return o, kills, err
		}
	}
	if err := c.Stop(); err != nil {
		return o, kills, err
	}
	if said, err := exec.CommandContext(ctx, g.Binary, "fsck", dir).CombinedOutput(); err != nil {
		o.Broken = append(o.Broken, fmt.Sprintf("try %d, %s: fsck: %v: %s", try, i.name, err, said))
	}
	return o, kills, os.RemoveAll(dir)
}

// takeOver starts a collector over a directory, and kills it up to three times before it is ready, as soon as 10 to 400
// ms after its start.
func (g *Ground) takeOver(ctx context.Context, dir string, try int) (c *Collector, kills int, err error) {
	random := g.Random(try)
	for range random.IntN(4) {
		own := *g
		limited, cancel := context.WithTimeout(ctx, time.Duration(10+random.IntN(391))*time.Millisecond)
		c, err = own.Start(limited, Settings{DataDir: dir, Flags: []string{"--store-embedded-retention-time", "0s"}})
		cancel()
		if err == nil {
			c.Kill()
		} else if limited.Err() == nil {
			return nil, kills, err // it ended by itself
		}
		kills++
	}
	c, err = g.Start(ctx, Settings{DataDir: dir, Flags: []string{"--store-embedded-retention-time", "0s"}})
	return c, kills, err
}

// wrong is what a collector answers otherwise than the older one would. fresh is how many samples it took itself.
func (i inheritance) wrong(ctx context.Context, c *Collector, fresh int64) (string, error) {
	if i.read > 0 {
		return i.misread(ctx, c, fresh)
	}
	found, err := storedSlices(ctx, c.HTTP(), `{__name__=~".+"}`, inheritedFrom, inheritedTo)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, series := range found {
		for _, p := range series.Values {
			// maps are printed in the order of their keys
			lines = append(lines, fmt.Sprintf("%v %d %v", series.Metric, p.ms, p.value))
		}
	}
	slices.Sort(lines)
	if digest := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "\n")))); len(lines) != i.slices ||
		digest != i.digest {
		return fmt.Sprintf("%d slices answer, with the digest %s; %d with %s should", len(lines), digest, i.slices,
			i.digest), nil
	}
	return "", nil
}

// misread waits until the samples of the journal are read, and returns what is wrong where fewer or more were.
func (i inheritance) misread(ctx context.Context, c *Collector, fresh int64) (string, error) {
	want := float64(i.read)
	if fresh > 0 {
		want += float64(fresh) + 1 // the producer's end
	}
	for begun := time.Now(); ; {
		read, err := c.Figure("bullet_metrics_feed_samples", `store="embedded"`, `fate="read"`)
		if err != nil || read == want {
			return "", err
		}
		if time.Since(begun) > answerLimit {
			return fmt.Sprintf("%.0f samples of its journal are read, there are %.0f", read, want), nil
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// lay copies what was left into a directory.
func (i inheritance) lay(sources, dir string) error {
	from := filepath.Join(sources, i.path)
	if !strings.HasSuffix(from, ".tar.gz") {
		return os.CopyFS(filepath.Join(dir, "journal"), os.DirFS(from))
	}
	packed, err := os.Open(from)
	if err != nil {
		return err
	}
	defer packed.Close()
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if err := layFile(filepath.Join(dir, filepath.Clean("/"+header.Name)), text); err != nil {
			return err
		}
	}
}

func layFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o640)
}
