package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// fullDisk is scenario 5: a small tmpfs is filled to its last byte, batches are turned away, room comes back, batches
// are taken, and the collector is opened again. Some tries start the collector while not a byte is free, and some have
// data that is old enough to go.
func fullDisk() Scenario {
	return Scenario{Number: 5, Fault: "disk full", Full: 100, Short: 3, Try: playFullDisks}
}

// disksAtOnce: a try waits most of the time, since a collector on a full disk looks for room once a second.
const disksAtOnce = 4

func playFullDisks(ctx context.Context, g *Ground, tries int) (Outcome, error) {
	if os.Getuid() != 0 {
		return Outcome{}, errors.New("a tmpfs of its own can be mounted by root alone: run make chaos ROWS=5 as root")
	}
	var mu sync.Mutex
	var all Outcome
	var failures []error
	var workers sync.WaitGroup
	numbers := make(chan int)
	for range disksAtOnce {
		workers.Go(func() {
			for try := range numbers {
				o, err := playFullDisk(ctx, g, try)
				mu.Lock()
				all.Add(o)
				failures = append(failures, err)
				g.Log.Debug("filled", "try", try, "lost", o.Lost, "expired", o.Expired, "broken", o.Broken,
					"error", err)
				mu.Unlock()
			}
		})
	}
	for try := range tries {
		numbers <- try
	}
	close(numbers)
	workers.Wait()
	return all, errors.Join(failures...)
}

// What is turned away while a disk is full, and taken once it is not, by batches.
const (
	turnedAway  = 200
	takenBehind = 300
)

// hasOldData reports whether a try has some that retention may drop where room is missing.
func hasOldData(try int) bool { return try%5 == 1 }

// playFullDisk is one try.
func playFullDisk(ctx context.Context, g *Ground, try int) (o Outcome, err error) {
	d, err := mountSmall(g, try)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, d.unmount()) }()
	random := g.Random(try)
	d.oldData, d.whileFull = hasOldData(try), []string{"", "kill", "stop"}[random.IntN(3)]
	if d.oldData {
		d.whileFull = "kill"
	}
	own := *g
	own.Dir = d.dir + ".log"
	if err := os.MkdirAll(own.Dir, 0o750); err != nil {
		return o, err
	}
	d.c, err = own.Start(ctx, Settings{DataDir: filepath.Join(d.dir, "data"),
		Flags: []string{"--journal-segment-bytes", fmt.Sprint(256<<10 + random.IntN(2<<20)),
			// the disk is the bound, and not a tenth of it
			"--journal-max-bytes", "8GiB", "--store-embedded-retention-bytes", "8GiB",
			"--disk-make-room-after", "2s"}})
	if err != nil {
		return o, err
	}
	defer func() { d.c.Kill() }()
	o, err = d.play(ctx, g.Seed+uint64(try), 20+random.IntN(200))
	for i := range o.Broken {
		o.Broken[i] = fmt.Sprintf("try %d: %s", try, o.Broken[i])
	}
	o.Tries = 1
	if err != nil {
		err = fmt.Errorf("try %d: %w", try, err)
	}
	return o, err
}

// smallDisk is a tmpfs with a collector on it.
type smallDisk struct {
	dir       string
	c         *Collector
	oldData   bool   // see hasOldData
	whileFull string // how the collector is ended while not a byte is free; "" for not at all
	broken    []string
}

func mountSmall(g *Ground, try int) (*smallDisk, error) {
	dir, err := g.Directory(fmt.Sprintf("disk-%d", try))
	if err != nil {
		return nil, err
	}
	kib := 16<<10 + 4*g.Random(try).IntN(8<<10)
	if hasOldData(try) {
		kib = 32 << 10 // old data of keepOld can make a twentieth of it
	}
	options := fmt.Sprintf("size=%dk", kib)
	if err := syscall.Mount("chaos", dir, "tmpfs", 0, options); err != nil {
		return nil, fmt.Errorf("mounting a tmpfs: %w", err)
	}
	return &smallDisk{dir: dir}, nil
}

func (d *smallDisk) unmount() error {
	d.c.Kill()
	if err := syscall.Unmount(d.dir, syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting %s: %w", d.dir, err)
	}
	return nil
}

func (d *smallDisk) play(ctx context.Context, seed uint64, before int) (o Outcome, err error) {
	old, fresh := NewLedger(seed), NewLedger(seed+1)
	defer old.Stop()
	defer fresh.Stop()
	if d.oldData {
		if err := d.keepOld(ctx, old); err != nil {
			return o, err
		}
	}
	for i := range 4 {
		fresh.Produce(ctx, d.c.GRPC(), ProducerOptions{Topology: fmt.Sprintf("fresh-%d", i)})
	}
	if err := fresh.awaitMore(ctx, uint64(before)); err != nil {
		return o, err
	}
	if !d.oldData { // else room is made for them, by the collector that starts on the full disk
		if err := d.fill(); err != nil {
			return o, err
		}
		if err := d.awaitTurnedAway(ctx); err != nil {
			return o, err
		}
	}
	if err := d.restart(ctx); err != nil {
		return o, err
	}
	if d.oldData {
		err = d.awaitRoom(ctx)
	} else {
		err = d.awaitTurnedAway(ctx)
	}
	if err != nil {
		return o, err
	}
	if err := os.Remove(d.ballast()); err != nil {
		return o, err
	}
	broken, err := fresh.AwaitFresh(ctx)
	if err != nil {
		return o, err
	}
	d.broken = append(d.broken, broken...)
	if err := fresh.awaitMore(ctx, takenBehind); err != nil {
		return o, err
	}
	return d.conclude(ctx, old, fresh)
}

// awaitRoom waits until what is old has gone, although nobody made room.
func (d *smallDisk) awaitRoom(ctx context.Context) error {
	for begun := time.Now(); time.Since(begun) < patience; {
		expired, err := d.c.Figure("bullet_metrics_embedded_blocks_expired_total")
		if err != nil || expired > 0 {
			return err
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("old data makes no room for new on a full disk")
}

// awaitMore waits until each producer has had so many more batches acknowledged.
func (l *Ledger) awaitMore(ctx context.Context, batches uint64) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, p := range l.all() {
		p.mu.Lock()
		up := p.acknowledged + batches
		p.mu.Unlock()
		if err := p.AwaitAcknowledged(ctx, up); err != nil {
			return err
		}
	}
	return nil
}

// keepOld fills parts with samples of yesterday, of which the store may drop what is further back than two partitions.
func (d *smallDisk) keepOld(ctx context.Context, old *Ledger) error {
	old.Produce(ctx, d.c.GRPC(), ProducerOptions{Topology: "old", From: time.Now().Add(-23 * time.Hour), Batches: 7200,
		Series: 110})
	if o, err := old.Verify(ctx, d.c.HTTP()); err != nil {
		return err
	} else if o.Lost+o.Doubled > 0 {
		d.broken = append(d.broken, fmt.Sprintf("before the disk was full: %+v", o))
	}
	if err := d.c.Stop(); err != nil { // what is in memory is written
		return err
	}
	if err := d.enoughIsOld(); err != nil {
		return err
	}
	return d.c.Again(ctx)
}

// enoughIsOld checks that the old parts take more than the twentieth of the disk that must be free: slices go only
// where they make the room that is missing.
func (d *smallDisk) enoughIsOld() error {
	parts, err := filepath.Glob(filepath.Join(d.dir, "data", "grid", "*.part"))
	if err != nil {
		return err
	}
	old := int64(0)
	for _, part := range parts {
		about, err := os.Stat(part)
		if err != nil {
			return err
		}
		old += about.Size()
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &disk); err != nil {
		return err
	}
	if must := int64(disk.Blocks) * disk.Bsize / 20; old <= must {
		return fmt.Errorf("old data of %d bytes cannot make the %d bytes that must be free", old, must)
	}
	return nil
}

func (d *smallDisk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill leaves not a byte. What the collector has made room for since it was called last is filled too.
func (d *smallDisk) fill() error {
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, zeros{})
	if err := f.Close(); err != nil {
		return err
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("filling %s: %w", d.dir, err)
	}
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// awaitTurnedAway waits until enough batches were, and checks that the collector is alive and reports that it is not
// ready.
func (d *smallDisk) awaitTurnedAway(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		accounts, err := readFigures(ctx, d.c.HTTP())
		if err != nil {
			return err
		}
		const batches = "bullet_metrics_ingest_batches_total"
		if accounts.sum(batches, `outcome="full"`)+accounts.sum(batches, `outcome="skipped"`) >= turnedAway {
			break
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("the disk is full, and batches are not turned away: %w", err)
		}
	}
	if err := d.awaitUnready(ctx); err != nil {
		return err
	}
	if _, err := d.c.Get(ctx, "/-/healthy"); err != nil {
		d.broken = append(d.broken, fmt.Sprintf("/-/healthy while the disk is full: %v", err))
	}
	return nil
}

// awaitUnready waits until the collector reports that it is not ready. One that has just made a little room by itself,
// as by a checkpoint that is old, is for as long as that lasts: it is filled.
func (d *smallDisk) awaitUnready(ctx context.Context) error {
	for {
		if _, err := d.c.Get(ctx, "/-/ready"); err != nil {
			return nil
		}
		if err := d.fill(); err != nil {
			return err
		}
		if wait(ctx, 10*time.Millisecond) != nil {
			d.broken = append(d.broken, "/-/ready answers 200 while the disk is full")
			return nil
		}
	}
}

// restart ends the collector and starts it without a byte of room.
func (d *smallDisk) restart(ctx context.Context) error {
	switch d.whileFull {
	case "":
		return nil
	case "kill":
		d.c.Kill()
	case "stop":
		if err := d.c.Stop(); err != nil {
			d.broken = append(d.broken,
				fmt.Sprintf("stopped while the disk is full, with all that was acknowledged in the journal: %v", err))
		}
	}
	if err := d.fill(); err != nil {
		return err
	}
	if err := d.c.Launch(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if _, err := d.c.Get(ctx, "/-/healthy"); err == nil {
			return nil
		}
		if d.c.Ended() {
			return fmt.Errorf("the collector does not start with 0 bytes free: see %s", d.c.log)
		}
		if err := wait(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// conclude opens the collector again and counts.
func (d *smallDisk) conclude(ctx context.Context, old, fresh *Ledger) (Outcome, error) {
	if err := fresh.Finish(ctx); err != nil {
		return Outcome{}, err
	}
	expired, err := d.c.Figure("bullet_metrics_embedded_blocks_expired_total")
	if err != nil {
		return Outcome{}, err
	}
	if err := d.c.Stop(); err != nil {
		d.broken = append(d.broken, err.Error())
	}
	if out, err := exec.CommandContext(ctx, d.c.binary, "fsck", d.c.DataDir()).CombinedOutput(); err != nil {
		d.broken = append(d.broken, fmt.Sprintf("fsck: %v: %s", err, out))
	}
	if err := d.c.Again(ctx); err != nil {
		return Outcome{Broken: d.broken}, err
	}
	o, err := fresh.Verify(ctx, d.c.HTTP())
	if err != nil {
		return o, err
	}
	yesterday, err := old.Recount(ctx, d.c.HTTP())
	if expired > 0 {
		yesterday.Expire(yesterday.Lost)
	}
	o.Add(yesterday)
	o.Broken = append(o.Broken, d.broken...)
	return o, err
}
