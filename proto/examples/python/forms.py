"""Samples in the forms that a batch can hold them in: columns, blocks and histograms."""

import math
import struct

from bulletmetrics.v1 import data_pb2


def columns(batch, samples):
    """Adds (series id, time in ms, value) one by one, as columns."""
    base = samples[0][1]
    batch.samples.base_time_ms = base
    for series_id, time_ms, value in samples:
        batch.samples.series_ids.append(series_id)
        batch.samples.time_offsets_ms.append(time_ms - base)
        batch.samples.values.append(value)


def block(batch, layout_id, times, step_ms, cells, codec):
    """Adds a rectangle: cells[c][r] is the value of the layout's series c at times[r], None where there is no sample."""
    rows = len(times)
    offsets = [time_ms - times[0] - row * step_ms for row, time_ms in enumerate(times)]
    flat = [cell for column in cells for cell in column]
    presence = bytearray((len(flat) + 7) // 8)
    for number, cell in enumerate(flat):
        if cell is not None:
            presence[number // 8] |= 1 << number % 8
    values = [cell for cell in flat if cell is not None]
    batch.blocks.add(
        layout_id=layout_id,
        first_time_ms=times[0],
        step_ms=step_ms,
        count=rows,
        time_offsets_ms=offsets if any(offsets) else (),
        presence=b"" if len(values) == len(flat) else bytes(presence),
        codec=codec,
        values=trimmed(values) if codec == data_pb2.VALUE_CODEC_TRIMMED else struct.pack(f"<{len(values)}d", *values),
    )


def trimmed(values):
    """VALUE_CODEC_TRIMMED: the lengths, two to a byte, then the first bytes of each value."""
    parts = [struct.pack(">d", value).rstrip(b"\0") for value in values]
    lengths = bytearray((len(parts) + 1) // 2)
    for number, part in enumerate(parts):
        lengths[number // 2] |= len(part) << 4 * (number % 2)
    return bytes(lengths) + b"".join(parts)


def histogram(batch, series_id, time_ms, observations, schema=3):
    """Adds one reading of a distribution, from what was observed since the one before, in seconds."""
    counts = {}
    for seconds in observations:
        index = math.ceil(math.log2(seconds) * 2**schema)
        counts[index] = counts.get(index, 0) + 1
    sample = batch.histograms.add(
        series_id=series_id, time_ms=time_ms, schema=schema, count=len(observations), sum=math.fsum(observations)
    )
    end = 0
    for index in sorted(counts):
        if sample.positive_spans and index == end:
            sample.positive_spans[-1].length += 1
        else:
            sample.positive_spans.add(offset=index - end, length=1)
        sample.positive_counts.append(counts[index])
        end = index + 1
