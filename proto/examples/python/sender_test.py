"""The sender against a server that is scripted to refuse, to cut and to demand."""

import concurrent.futures
import threading
import unittest

import grpc

import forms
import workload
from bulletmetrics.v1 import data_pb2, service_pb2, service_pb2_grpc
from sender import Refused, Sender


class Scripted(service_pb2_grpc.IngestServiceServicer):
    """Takes batches in order. It answers some sequences with Full once, and ends the stream before others once."""

    def __init__(self, window=4, fulls=(), cuts=(), ending=None):
        self.window = window
        self.fulls, self.cuts, self.ending = set(fulls), set(cuts), ending
        self.taken, self.opens, self.most_under_way = [], 0, 0

    def Export(self, requests, context):
        self.opens += 1
        assert next(requests).open.topology == "t"
        yield service_pb2.ExportResponse(opened=service_pb2.Opened(window=self.window, max_batch_bytes=1 << 20, takes_blocks=True))
        if self.ending:
            context.abort(*self.ending)
        known, layouts, refused = set(), set(), 0
        for request in requests:
            batch = request.batch
            self.most_under_way = max(self.most_under_way, batch.sequence - batch.oldest_held_sequence + 1)
            if refused and batch.sequence > refused and batch.oldest_held_sequence <= refused:
                continue  # behind the refused batch, with its definitions: this server reads none of them
            refused = 0
            if batch.sequence in self.fulls:
                self.fulls.remove(batch.sequence)
                refused = batch.sequence
                yield service_pb2.ExportResponse(full=service_pb2.Full(epoch=batch.epoch, sequence=batch.sequence, retry_after_ms=1))
                continue
            if batch.sequence in self.cuts:
                self.cuts.remove(batch.sequence)
                context.abort(grpc.StatusCode.UNAVAILABLE, "cut")
            known |= {series.id for series in batch.series}
            layouts |= {layout.id for layout in batch.layouts}
            assert known >= set(batch.samples.series_ids) | {h.series_id for h in batch.histograms}
            assert layouts >= {block.layout_id for block in batch.blocks}
            if batch.sequence not in self.taken:
                self.taken.append(batch.sequence)
            yield service_pb2.ExportResponse(acknowledgement=service_pb2.Acknowledgement(epoch=batch.epoch, sequence=batch.sequence))


class SenderTest(unittest.TestCase):
    def run_against(self, script, batches=30):
        """Sends so many batches to a scripted server; returns what was acknowledged, in order."""
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        service_pb2_grpc.add_IngestServiceServicer_to_server(script, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(server.stop, None)
        worker = workload.Worker("h:1", 1)
        acknowledged = []
        sender = Sender(
            f"127.0.0.1:{port}",
            service_pb2.Open(topology="t", host="h"),
            worker.encode,
            lambda epoch, sequence, content: acknowledged.append(sequence),
        )

        def submit():
            try:
                for n in range(batches):
                    sender.submit([worker.reading(1000 * n)])
                sender.close()
            except Refused:
                pass

        threading.Thread(target=submit, daemon=True).start()
        sender.run()
        return acknowledged

    def test_all_is_taken_once_and_in_order(self):
        script = Scripted(fulls=[1, 5, 6, 7, 20, 30], cuts=[1, 9, 10, 21, 30])
        self.assertEqual(self.run_against(script), list(range(1, 31)))
        self.assertEqual(script.taken, list(range(1, 31)))
        self.assertEqual(script.opens, 6)
        self.assertFalse(script.fulls | script.cuts)

    def test_the_window_is_kept(self):
        script = Scripted(window=3)
        self.run_against(script)
        self.assertLessEqual(script.most_under_way, 3)

    def test_what_is_useless_is_not_tried_again(self):
        for code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.RESOURCE_EXHAUSTED):
            script = Scripted(ending=(code, "no"))
            with self.assertRaises(Refused):
                self.run_against(script)
            self.assertEqual(script.opens, 1)


class FormsTest(unittest.TestCase):
    def test_trimmed_values(self):
        self.assertEqual(forms.trimmed([0.0, 1.0, -2.5]), bytes([0x20, 0x02]) + b"\x3f\xf0" + b"\xc0\x04")

    def test_presence_and_offsets(self):
        batch = data_pb2.Batch()
        forms.block(batch, 1, [1000, 2001], 1000, [[1, None], [None, 2]], data_pb2.VALUE_CODEC_DOUBLES)
        self.assertEqual(batch.blocks[0].presence, bytes([0b1001]))
        self.assertEqual(list(batch.blocks[0].time_offsets_ms), [0, 1])
        self.assertEqual(len(batch.blocks[0].values), 16)

    def test_histogram_spans(self):
        batch = data_pb2.Batch()
        forms.histogram(batch, 1, 0, [1.0, 1.05, 2.0, 8.0], schema=0)
        sample = batch.histograms[0]
        self.assertEqual([(span.offset, span.length) for span in sample.positive_spans], [(0, 2), (1, 1)])
        self.assertEqual(list(sample.positive_counts), [1, 2, 1])


if __name__ == "__main__":
    unittest.main()
