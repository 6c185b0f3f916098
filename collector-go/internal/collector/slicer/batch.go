package slicer

import (
	"cmp"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// BatchInfo describes a batch in addition to its samples. Times are in Unix milliseconds; unknown times are 0.
type BatchInfo struct {
	Producer uint32
	Sender   metric.Worker // the worker in which the producer runs
	Epoch    [16]byte      // the process of the producer; each process numbers its batches from 1
	Sequence uint64

	FirstSentMs int64 // when the batch was first sent, by the sender's clock
	SentMs      int64 // when this copy was sent, by the sender's clock
	ReceivedMs  int64 // when the collector received it, by its own clock

	AnswerSentMs int64 // when the collector sent the newest answer that the sender has, by the collector's clock
	AnswerCameMs int64 // when the sender received that answer, by the sender's clock
	HandOvers    []HandOver
}

// HandOver is the delivery of a worker's report to the sender, with the times of both clocks.
type HandOver struct {
	Worker  metric.Worker
	SentMs  int64 // by the clock of the worker
	TakenMs int64 // by the clock of the sender
}

// ObserveBatch adds a batch. It calls add, which adds the samples in their order by Add, AddBlock and AddHistogram. The
// clocks and the numbers of the producer are set before, because they affect how the samples are interpreted.
//
// A batch of a producer that does not own its topology's state ends the ownership of another one.
func (s *Slicer) ObserveBatch(b *BatchInfo, add func()) {
	if s.Owner(b.Producer) == "" {
		s.ReleaseOf(b.Sender.Topology)
	}
	s.AdvanceTopology(b.Producer, cmp.Or(b.FirstSentMs, b.SentMs))
	s.beginEpoch(b.Producer, b.Epoch)
	s.beginBatch(b.Producer, b.Sequence)
	s.received(b.ReceivedMs)
	s.sent(b.Sender, b.SentMs)
	s.answered(b.Sender, b.AnswerCameMs, b.AnswerSentMs)
	for _, h := range b.HandOvers {
		s.handedOver(h.Worker, b.Sender, h.SentMs, h.TakenMs)
	}
	add()
	s.endBatch()
}
