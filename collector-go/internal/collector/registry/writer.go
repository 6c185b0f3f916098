package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// InvalidError says what is wrong with an annotation. The reason is shown to the client, who can correct it. The HTTP
// API answers with status 400.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return e.Reason }

// writer is the registry's own sender of annotations. Its random epoch distinguishes its batches from others. The
// registry's mutex guards it.
type writer struct {
	epoch    journal.Epoch
	sequence uint64
	waiting  map[uint64]chan struct{} // closed when the batch with that sequence is applied
}

func newWriter() *writer {
	w := &writer{waiting: map[uint64]chan struct{}{}}
	_, _ = rand.Read(w.epoch[:]) // never fails: crypto/rand
	return w
}

// applied lets Annotate return, because the state now contains its batch. It ignores batches of other senders.
func (w *writer) applied(b *journal.Batch) {
	if b.Epoch == w.epoch && w.waiting[b.Sequence] != nil {
		close(w.waiting[b.Sequence])
		delete(w.waiting, b.Sequence)
	}
}

// Annotate adds or changes an annotation. If the id is known, empty fields keep their present values; an open step can
// thus be closed with its id and an end. Without an id the annotation gets a random one, and without a time the present
// time.
//
// Annotate returns when the annotation is on disk and can be read, and returns its present contents. An *InvalidError
// is the client's fault. After journal.ErrFull or journal.ErrClosed nothing was set. If ctx ends first, the annotation
// may or may not be set; setting it again with the same id is safe.
func (r *Registry) Annotate(ctx context.Context, a Annotation) (Annotation, error) {
	if a.ID == "" {
		a.ID = randomID()
	}
	if problem := a.problem(r.options.Limits.TextBytes); problem != "" {
		return Annotation{}, &InvalidError{problem}
	}
	if known, ok := r.annotation(a.Topology, a.ID); ok {
		merged := known.changed(a)
		if problem := merged.problem(r.options.Limits.TextBytes); problem != "" {
			return Annotation{}, &InvalidError{problem}
		}
	} else if a.Title == "" {
		return Annotation{}, &InvalidError{"title is missing; it is required for a new annotation"}
	} else {
		a.TimeMs = cmp.Or(a.TimeMs, r.options.Now().UnixMilli())
	}
	if err := r.write(ctx, a); err != nil {
		return Annotation{}, err
	}
	if set, ok := r.annotation(a.Topology, a.ID); ok {
		return set, nil
	}
	return Annotation{}, &InvalidError{"it is older than the retention of annotations, or older than all annotations that are stored"}
}

func randomID() string {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand
	return hex.EncodeToString(id[:])
}

func (r *Registry) annotation(topology, id string) (Annotation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.state.set.byID[annotationKey{topology, id}]; a != nil {
		return *a, true
	}
	return Annotation{}, false
}

// write appends an annotation to the journal, and waits until it is durable and applied.
func (r *Registry) write(ctx context.Context, a Annotation) error {
	// No other producer has an empty topology, because package ingest refuses it.
	producer, err := r.journal.DefineProducer(journal.ProducerDefined{Host: name, Task: -1})
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	sequence, applied := r.reserve()
	nowMs := r.options.Now().UnixMilli()
	durable := make(chan error, 1)
	_, err = r.journal.Append(&journal.Batch{
		Producer: producer, Epoch: r.writer.epoch, Sequence: sequence, SentMs: nowMs, ReceivedMs: nowMs,
		Notes: &bulletmetricsv1.Batch{Annotations: []*bulletmetricsv1.Annotation{{
			Id: a.ID, Topology: a.Topology, TimeMs: a.TimeMs, EndTimeMs: a.EndMs, Title: a.Title, Text: a.Text,
			Tags: a.Tags,
		}}},
	}, func(err error) { durable <- err })
	if err == nil {
		err = waitFor(ctx, durable)
	}
	if err != nil {
		r.release(sequence)
		return fmt.Errorf("registry: set an annotation: %w", err)
	}
	select {
	case <-applied:
		return nil
	case <-ctx.Done():
		r.release(sequence)
		return fmt.Errorf("registry: the annotation is on disk but cannot be read yet: %w", ctx.Err())
	}
}

// waitFor returns the journal's result. If ctx ends first, it returns an error that says that the result is not known
// yet.
func waitFor(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errors.Join(errors.New("not yet confirmed on disk; set it again with the same id"), ctx.Err())
	}
}

// reserve returns a sequence number for an annotation, and a channel that is closed when the annotation is applied. It
// must run before the batch is appended. Otherwise the registry could apply the batch before anybody waits for it.
func (r *Registry) reserve() (sequence uint64, applied chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writer.sequence++
	applied = make(chan struct{})
	r.writer.waiting[r.writer.sequence] = applied
	return r.writer.sequence, applied
}

// release stops waiting for a sequence.
func (r *Registry) release(sequence uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.writer.waiting, sequence)
}
