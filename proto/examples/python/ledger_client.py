"""A client that keeps its own ledger of what a collector acknowledged, and compares it with what the collector answers.

  python ledger_client.py send --grpc HOST:PORT --topology NAME --ledger FILE
  python ledger_client.py verify --http URL --topology NAME --ledger FILE

send ends when everything is acknowledged, however often the collector went away. verify ends with 1 where the collector's slices
are not those of the ledger: the mean of each gauge, the totals of both kinds of counters, count and sum of each distribution.
"""

import argparse
import json
import random
import sys
import threading
import time
import urllib.parse
import urllib.request

import ledger
import workload
from bulletmetrics.v1 import service_pb2
from sender import Sender

# A collector counts a sample that is as late as this by its worker's event time; what is older is closed.
LATENESS_MS = 30_000


def send(options):
    book = ledger.Ledger(options.ledger, options.report)
    start = (int(time.time()) - options.batches * options.rows - 3600) // 60 * 60_000
    senders = [start_worker(options, book, start, number) for number in range(options.streams)]
    for thread, _ in senders:
        thread.join()
    for _, sender in senders:
        if sender.failure or sender.rejections:
            sys.exit(f"{sender.opening.host}: {sender.failure or sender.rejections}")
    print(json.dumps({
        "batches": sum(sender.sequence for _, sender in senders),
        "streams": sum(sender.streams for _, sender in senders),
        "fulls": sum(sender.fulls for _, sender in senders),
    }))


def start_worker(options, book, start, number):
    """Starts a sender of its own, with the samples of one worker."""
    worker = workload.Worker(f"python-{number}.example:{6700 + number}", options.seed)
    host, port = worker.name.rsplit(":", 1)
    opening = service_pb2.Open(topology=options.topology, host=host, port=int(port), plugin_version="python-example")
    cuts = random.Random(options.seed + number)

    def acknowledged(epoch, sequence, rows):
        book.acknowledged(worker.name, epoch, sequence, rows)
        if options.cut and cuts.random() < 1 / options.cut:
            sender.cut()

    sender = Sender(options.grpc, opening, worker.encode, acknowledged)

    def submit():
        at = start
        for _ in range(options.batches):
            rows = []
            for _ in range(options.rows):
                at += workload.STEP_MS
                rows.append(worker.reading(at))
            sender.submit(rows)
            time.sleep(options.pace)
        # One row that is later than everything by more than a slice and the lateness closes the slices before it.
        sender.submit([worker.reading(at + 10 * LATENESS_MS)])
        sender.close()

    threading.Thread(target=submit, daemon=True).start()
    thread = threading.Thread(target=sender.run)
    thread.start()
    return thread, sender


def verify(options):
    width_ms = options.width * 1000
    workers = {name: ledger.Slices(rows[:-1], width_ms) for name, rows in ledger.read(options.ledger).items()}
    deadline = time.monotonic() + options.within
    while wrong := [line for name, slices in workers.items() for line in differences(options, name, slices, width_ms)]:
        if time.monotonic() > deadline:
            sys.exit("\n".join(wrong[:20] + [f"{len(wrong)} differences"]))
        time.sleep(0.2)
    print(json.dumps({
        "workers": len(workers),
        "rows": sum(slices.rows[slices.ends()[-1]] for slices in workers.values()),
        "slices": sum(len(slices.gauges) + 4 * len(slices.rows) for slices in workers.values()),
    }))


def differences(options, worker, slices, width_ms):
    """What the collector answers for a worker that is not what the ledger says."""
    ends = slices.ends()
    labels = f'{{topology="{options.topology}",worker="{worker}"}}'

    def compare(query, expected, name=lambda labels, end: end):
        found = query_range(options.http, query, ends[0], ends[-1], width_ms)
        found = {name(labels, end): value for labels, end, value in found}
        for at in sorted(expected.keys() | found.keys()):
            if at not in found or at not in expected or abs(found[at] - expected[at]) > 1e-9 * abs(expected[at]):
                yield f"{worker}: {query} at {at}: {found.get(at)}, the ledger has {expected.get(at)}"

    yield from compare(f"storm_python_rows_total{labels}", slices.rows)
    yield from compare(f"storm_python_work_total{labels}", slices.work)
    yield from compare(f"histogram_count(storm_python_wait_seconds{labels})", slices.observations)
    yield from compare(f"histogram_sum(storm_python_wait_seconds{labels})", slices.seconds)
    yield from compare(f"storm_python_level{labels}", slices.gauges, lambda labels, end: (labels["key"], end))


def query_range(url, query, start_ms, end_ms, step_ms):
    """Prometheus' query_range: (labels, time in ms, value) for each point of each series."""
    form = {"query": query, "start": start_ms / 1000, "end": end_ms / 1000, "step": step_ms / 1000}
    with urllib.request.urlopen(f"{url}/api/v1/query_range", urllib.parse.urlencode(form).encode(), timeout=30) as answer:
        result = json.load(answer)["data"]["result"]
    return [(series["metric"], round(float(at) * 1000), float(value)) for series in result for at, value in series["values"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(required=True)
    sending = modes.add_parser("send", help="send until everything is acknowledged")
    sending.add_argument("--grpc", default="127.0.0.1:4320", help="HOST:PORT that samples go to")
    sending.add_argument("--streams", type=int, default=3, help="workers, each with a stream of its own")
    sending.add_argument("--batches", type=int, default=200, help="batches of each worker")
    sending.add_argument("--rows", type=int, default=20, help="rows of a batch, a second of event time each")
    sending.add_argument("--pace", type=float, default=0.0, help="seconds between two batches of a worker")
    sending.add_argument("--cut", type=int, default=0, help="cut a stream after one acknowledged batch in so many; 0 for never")
    sending.add_argument("--report", type=int, default=0, help="print a line after so many acknowledged batches; 0 for never")
    sending.add_argument("--seed", type=int, default=1, help="what values and cuts are drawn from")
    sending.set_defaults(run=send)
    verifying = modes.add_parser("verify", help="compare the collector's slices with the ledger")
    verifying.add_argument("--http", default="http://127.0.0.1:9320", help="URL of the collector")
    verifying.add_argument("--width", type=int, default=10, help="width of a slice, seconds")
    verifying.add_argument("--within", type=float, default=60, help="seconds in which the collector may still read its journal")
    verifying.set_defaults(run=verify)
    for mode in (sending, verifying):
        mode.add_argument("--topology", default="python-ledger", help="name that the sender goes by")
        mode.add_argument("--ledger", default="ledger.jsonl", help="file of what was acknowledged")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
