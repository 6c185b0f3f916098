"""What one stream of the ledger client measures, and how it is written into batches.

Each worker has gauges, a counter of each kind and a distribution, all read once a second of event time. The values are binary
fractions, so that their sums are exact in whatever order they are added.
"""

import random

import forms
from bulletmetrics.v1 import data_pb2

STEP_MS = 1000
GAUGES = 6
# Of these cells there is none: one in seven of the last gauge.
MISSING_EVERY = 7


def definition(worker, name, temporality, shape=data_pb2.SHAPE_NUMBER, key=()):
    host, port = worker.rsplit(":", 1)
    return data_pb2.SeriesDefinition(
        host=host, port=int(port), component="ledger", task=1, name=name, key=key, interval_ms=STEP_MS, temporality=temporality, shape=shape
    )


def definitions(worker):
    """The series of a worker: its numbers, in the order of a layout's columns, and its distribution."""
    numbers = [
        definition(worker, "python_level", data_pb2.TEMPORALITY_GAUGE, data_pb2.SHAPE_MAP, [f"gauge-{n}"]) for n in range(GAUGES)
    ]
    numbers.append(definition(worker, "python_rows", data_pb2.TEMPORALITY_DELTA))
    numbers.append(definition(worker, "python_work", data_pb2.TEMPORALITY_CUMULATIVE))
    return numbers, definition(worker, "python_wait_seconds", data_pb2.TEMPORALITY_DELTA, data_pb2.SHAPE_HISTOGRAM)


class Worker:
    """Makes the readings of one worker, from a seed."""

    def __init__(self, name, seed):
        self.name = name
        self.numbers, self.distribution = definitions(name)
        self.random = random.Random(f"{seed}/{name}")
        self.work = 0
        self.row = 0

    def reading(self, time_ms):
        """One row: the time, the numbers in the order of the layout (None for a gauge that was not read), and the observations."""
        self.row += 1
        self.work += self.random.randrange(1, 1 << 20)
        gauges = [self.random.randrange(1 << 20) / 64 for _ in range(GAUGES)]
        if self.row % MISSING_EVERY == 0:
            gauges[-1] = None
        observed = [self.random.randrange(1, 1 << 12) / 1024 for _ in range(self.random.randrange(1, 6))]
        return [time_ms, gauges + [1, self.work], observed]

    def encode(self, rows, batch, stream):
        """Writes rows into a batch, in a form that is drawn for each stream: what is sent again may come in another."""
        if stream.opened.takes_blocks and random.random() < 0.7:
            self._as_block(rows, batch, stream)
        else:
            self._as_columns(rows, batch, stream)
        number = stream.series(batch, self.distribution)
        for time_ms, _, observed in rows:
            forms.histogram(batch, number, time_ms, observed)

    def _as_block(self, rows, batch, stream):
        times = [row[0] for row in rows]
        cells = [list(column) for column in zip(*(row[1] for row in rows))]
        codec = random.choice([data_pb2.VALUE_CODEC_DOUBLES, data_pb2.VALUE_CODEC_TRIMMED])
        forms.block(batch, stream.layout(batch, self.numbers), times, STEP_MS, cells, codec)

    def _as_columns(self, rows, batch, stream):
        ids = [stream.series(batch, number) for number in self.numbers]
        forms.columns(batch, [(i, row[0], value) for row in rows for i, value in zip(ids, row[1]) if value is not None])
