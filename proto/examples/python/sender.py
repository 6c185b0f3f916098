"""Sends batches to a collector and holds each until it is acknowledged.

Written from the comments of proto/bulletmetrics/v1 alone. A Sender is one epoch: it opens one stream after another, and sends again
on a new one, oldest first, what the last one did not acknowledge.
"""

import collections
import os
import random
import threading
import time

import grpc
from google.rpc import error_details_pb2, status_pb2

from bulletmetrics.v1 import data_pb2, service_pb2, service_pb2_grpc

# What a sender may hold. Whoever submits more waits.
MOST_HELD = 64
# A sender that has heard nothing for as long may begin another stream.
SILENCE_SECONDS = 30
# A sender abandons a batch after an hour.
MOST_AGE_SECONDS = 3600
# The first wait before a new stream, doubled each time that one fails, up to the last.
FIRST_WAIT_SECONDS, LAST_WAIT_SECONDS = 0.05, 2.0


class Refused(Exception):
    """The collector will never take what it was sent: trying again is useless."""


class Held:
    """A batch that is not acknowledged yet. Its samples and its sequence stay as they are; its form may change with each stream."""

    def __init__(self, sequence, content):
        self.sequence = sequence
        self.content = content
        self.since = time.monotonic()


class Stream:
    """One stream: what the collector opened it with, what was defined on it, and how far it has sent."""

    def __init__(self, call):
        self.call = call
        self.opened = None
        self.next_sequence = 0  # the least sequence that is still to be sent on this stream
        self.not_before = 0.0  # a Full asks to wait until then
        self.heard = time.monotonic()
        self.over = False
        self.failure = None
        self.series_ids, self.layout_ids = {}, {}
        self.series_sent_with, self.layouts_sent_with = {}, {}

    def series(self, batch, definition):
        """The id of a series on this stream, defined in the batch unless an earlier one has."""
        key = definition.SerializeToString(deterministic=True)
        number = self.series_ids.setdefault(key, len(self.series_ids) + 1)
        if key not in self.series_sent_with:
            self.series_sent_with[key] = batch.sequence
            batch.series.add().CopyFrom(definition)
            batch.series[-1].id = number
        return number

    def layout(self, batch, definitions):
        """The id of a layout of these series on this stream."""
        key = tuple(self.series(batch, definition) for definition in definitions)
        number = self.layout_ids.setdefault(key, len(self.layout_ids) + 1)
        if key not in self.layouts_sent_with:
            self.layouts_sent_with[key] = batch.sequence
            batch.layouts.add(id=number, series_ids=key)
        return number

    def forget_from(self, sequence):
        """Defines again, under the same ids, what came with batches that were not taken."""
        for sent_with in (self.series_sent_with, self.layouts_sent_with):
            for key in [key for key, at in sent_with.items() if at >= sequence]:
                del sent_with[key]


class Sender:
    """One epoch of one sender. encode(content, batch, stream) writes a content's samples into a batch, with the stream's ids;
    acknowledged(epoch, sequence, content) is called once for each batch, in order, by the thread that run() runs on."""

    def __init__(self, address, opening, encode, acknowledged):
        self.address = address
        self.opening = opening
        self.encode = encode
        self.acknowledged = acknowledged
        self.epoch = os.urandom(16)
        self.held = collections.deque()
        self.sequence = 0
        self.closing = False
        self.stream = None
        self.failure = None
        self.rejections = []
        self.streams, self.fulls, self.resent = 0, 0, 0
        self.changed = threading.Condition()

    def submit(self, content):
        """Queues a content as the next batch; waits while as many are held as may be."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.held) < MOST_HELD or self.failure)
            if self.failure:
                raise self.failure
            self.sequence += 1
            self.held.append(Held(self.sequence, content))
            self.changed.notify_all()

    def close(self):
        """No content follows. run() returns when all are acknowledged."""
        with self.changed:
            self.closing = True
            self.changed.notify_all()

    def run(self):
        """Sends until the sender is closed and everything is acknowledged, over as many streams as it takes."""
        wait = FIRST_WAIT_SECONDS
        try:
            while not self._done():
                before = self.held[0].sequence if self.held else 0
                asked = self._one_stream()
                if self.held and self.held[0].sequence == before:
                    time.sleep(max(asked, wait * random.uniform(0.5, 1)))
                    wait = min(2 * wait, LAST_WAIT_SECONDS)
                else:
                    wait = FIRST_WAIT_SECONDS
        except Exception as failure:
            with self.changed:
                self.failure = failure
                self.changed.notify_all()
            raise

    def cut(self):
        """Ends the stream as a broken network would; for trials."""
        self.stream.call.cancel()

    def _done(self):
        with self.changed:
            self.changed.wait_for(lambda: self.held or self.closing)
            return self.closing and not self.held

    def _one_stream(self):
        """Sends on one stream until it ends; returns how long the collector asked to wait before the next, in seconds."""
        # A client may ping every 5 s at most.
        options = [("grpc.keepalive_time_ms", 20_000), ("grpc.max_receive_message_length", 16 << 20)]
        with grpc.insecure_channel(self.address, options) as channel:
            stream = self.stream = Stream(None)
            ready = threading.Event()
            stream.call = service_pb2_grpc.IngestServiceStub(channel).Export(self._requests(stream, ready))
            ready.set()
            self.streams += 1
            watch = threading.Thread(target=self._watch, args=(stream,), daemon=True)
            watch.start()
            try:
                for response in stream.call:
                    self._take(stream, response)
                return 0.0
            except grpc.RpcError as error:
                if stream.failure:
                    raise stream.failure
                return self._wait_after(error)
            finally:
                with self.changed:
                    stream.over = True
                    self.changed.notify_all()
                watch.join()

    def _requests(self, stream, ready):
        """What gRPC sends: the Open, then batches as far as the window and what was refused let them, then the half-close."""
        ready.wait()
        yield service_pb2.ExportRequest(open=self.opening)
        try:
            while (batch := self._next(stream)) is not None:
                yield service_pb2.ExportRequest(batch=batch)
        except Exception as failure:  # gRPC would report no more than that the call was cancelled
            stream.failure = failure
            raise

    def _next(self, stream):
        """Waits for a batch that may be sent now; None when the stream is over, or all is acknowledged and the sender closed."""
        with self.changed:
            while True:
                if stream.over or self.closing and not self.held:
                    return None
                now = time.monotonic()
                unsent = next((h for h in self.held if h.sequence >= stream.next_sequence), None)
                in_flight = sum(1 for h in self.held if h.sequence < stream.next_sequence)
                if stream.opened and unsent and in_flight < stream.opened.window and now >= stream.not_before:
                    break
                self.changed.wait(timeout=max(0, stream.not_before - now) or None)
            if now - unsent.since > MOST_AGE_SECONDS:
                raise Refused(f"batch {unsent.sequence} was not taken within an hour")
            stream.next_sequence = unsent.sequence + 1
            batch = data_pb2.Batch(
                epoch=self.epoch,
                sequence=unsent.sequence,
                oldest_held_sequence=self.held[0].sequence,
                send_time_ms=int(time.time() * 1000),
                closing=self.closing and unsent is self.held[-1],
            )
            self.encode(unsent.content, batch, stream)
            if batch.ByteSize() > stream.opened.max_batch_bytes:
                raise Refused(f"batch {unsent.sequence} has {batch.ByteSize()} bytes, the collector takes {stream.opened.max_batch_bytes}")
            return batch

    def _take(self, stream, response):
        stream.heard = time.monotonic()
        kind = response.WhichOneof("message")
        if kind == "opened":
            with self.changed:
                stream.opened = response.opened
                self.changed.notify_all()
        elif kind == "acknowledgement" and response.acknowledgement.epoch == self.epoch:
            self.rejections += response.acknowledgement.rejections
            while self.held and self.held[0].sequence <= response.acknowledgement.sequence:
                self.acknowledged(self.epoch, self.held[0].sequence, self.held[0].content)
                with self.changed:
                    self.held.popleft()
                    self.changed.notify_all()
        elif kind == "full" and response.full.epoch == self.epoch:
            with self.changed:
                self.fulls += 1
                self.resent += sum(1 for h in self.held if response.full.sequence <= h.sequence < stream.next_sequence)
                stream.next_sequence = min(stream.next_sequence, response.full.sequence)
                stream.not_before = time.monotonic() + response.full.retry_after_ms / 1000
                stream.forget_from(response.full.sequence)
                self.changed.notify_all()

    def _watch(self, stream):
        """Ends a stream on which nothing was heard for too long while something is under way."""
        with self.changed:
            while not stream.over:
                under_way = not stream.opened or any(h.sequence < stream.next_sequence for h in self.held)
                left = SILENCE_SECONDS - (time.monotonic() - stream.heard)
                if under_way and left <= 0:
                    stream.call.cancel()
                    return
                self.changed.wait(timeout=left if under_way and left > 0 else SILENCE_SECONDS)

    def _wait_after(self, error):
        """Raises Refused where sending again is useless, else returns how long to wait, in seconds."""
        code = error.code()
        if code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
            raise Refused(f"{code.name}: {error.details()}")
        if code == grpc.StatusCode.RESOURCE_EXHAUSTED:
            retry = retry_seconds(error)
            if retry is None:
                raise Refused(f"{code.name}: {error.details()}")
            return retry
        return 0.0


def retry_seconds(error):
    """How long the detail RetryInfo of an error asks to wait; None where there is no such detail."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.RetryInfo()
                if detail.Unpack(info):
                    return info.retry_delay.ToTimedelta().total_seconds()
    return None
