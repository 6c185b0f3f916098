"""The ledger: what was acknowledged, one batch a line, and what slices a collector must have made of it."""

import json
import math
import threading


class Ledger:
    """Appends a line for each batch that was acknowledged, and reports every so many. It may be written by several threads."""

    def __init__(self, path, report):
        self.file = open(path, "a", encoding="utf-8")
        self.lock = threading.Lock()
        self.report, self.lines = report, 0

    def acknowledged(self, worker, epoch, sequence, rows):
        line = json.dumps({"worker": worker, "epoch": epoch.hex(), "sequence": sequence, "rows": rows})
        with self.lock:
            self.file.write(line + "\n")
            self.file.flush()
            self.lines += 1
            if self.report and self.lines % self.report == 0:
                print(f"acknowledged {self.lines}", flush=True)


def read(path):
    """All rows of a ledger by worker, in time's order. A batch that stands there twice is an error of the client."""
    seen, workers = set(), {}
    with open(path, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            batch = (line["epoch"], line["sequence"])
            if batch in seen:
                raise ValueError(f"batch {line['sequence']} of epoch {line['epoch']} was acknowledged twice")
            seen.add(batch)
            workers.setdefault(line["worker"], []).extend(line["rows"])
    return {worker: sorted(rows) for worker, rows in workers.items()}


class Slices:
    """What slices hold that are made of the rows of one worker. A slice of W is (end-W, end], and its time is its end."""

    def __init__(self, rows, width_ms):
        self.gauges = {}  # (gauge, end) -> mean
        self.rows, self.work = {}, {}  # end -> total at the slice's end
        self.observations, self.seconds = {}, {}  # end -> total at the slice's end
        cells, count, observations, seconds = {}, 0, 0, 0.0
        for time_ms, numbers, observed in rows:
            end = -(-time_ms // width_ms) * width_ms
            *gauges, added, work = numbers
            for number, value in enumerate(gauges):
                if value is not None:
                    cells.setdefault((f"gauge-{number}", end), []).append(value)
            count += added
            observations += len(observed)
            seconds += math.fsum(observed)
            self.rows[end], self.work[end] = count, work
            self.observations[end], self.seconds[end] = observations, seconds
        self.gauges = {cell: math.fsum(values) / len(values) for cell, values in cells.items()}

    def ends(self):
        return sorted(self.rows)
