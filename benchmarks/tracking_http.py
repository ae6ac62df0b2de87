"""Tracking 23, 300 and 3,000 metrics per epoch over HTTP: python benchmarks/tracking_http.py; about 3 minutes

The server is MLflow's with one worker and SQLite, on this machine. Measures the seconds for which metrics
block the training process: with this package's journal, with MLflow's client in one call, and with one call
per metric (only for 23: more would take minutes). The claim is about the journal's share of an epoch of
`minilm` on 320 documents, which is measured in the same run; epochs on real corpora are longer. tracking.py
measures how much the upload process slows down training.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from harness import Claim, Result, interleaved, profiled, publish, seconds, sized

COUNTS, REPEATS, DOCUMENTS = sized((23, 300, 3000), (5, 3000)), sized(5, 1), sized(320, 20)
JOURNAL, CLIENT, SINGLE = "journal (mtlv)", "MLflow client, log_batch", "MLflow client, log_metric"


@contextmanager
def server(folder):
    """Start a server and yield its address."""
    from mtlv.tracking.mlflow_server import ServerAddress, serve

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with serve(f"sqlite:///{folder}/server.db", ServerAddress(port, "127.0.0.1"), log=folder / "server.log"):
        yield f"http://127.0.0.1:{port}"


def points(count, epoch):
    from mtlv.tracking import Metric

    rng, now = np.random.default_rng(epoch), int(time.time() * 1000)
    return [Metric(f"val.tasks.f1/Label number {n}", float(rng.random()), epoch, now) for n in range(count)]


def calls(client, run, tracker, ours, count):
    """Return a function for each way that tracks another epoch of `count` metrics and returns the seconds."""
    from mlflow.entities import Metric

    epoch = iter(range(10**6))

    def journal():
        made = points(count, next(epoch))
        return seconds(lambda: tracker.metrics(ours, made))

    def batch():
        made = [Metric(p.key, p.value, p.timestamp_ms, p.step) for p in points(count, next(epoch))]
        return seconds(lambda: client.log_batch(run, metrics=made))

    def single():
        made = points(count, next(epoch))
        return seconds(lambda: [client.log_metric(run, p.key, p.value, p.timestamp_ms, p.step) for p in made])

    found = {JOURNAL: journal, CLIENT: batch}
    return found | {SINGLE: single} if count == COUNTS[0] else found


def measure(uri, folder):
    """Return seconds by number of metrics and way, the number of calls not uploaded, and a profile."""
    from mlflow import MlflowClient

    from mtlv.tracking import RunSpec
    from mtlv.tracking.journal import Journal
    from mtlv.tracking.journal_tracker import JournalTracker
    from mtlv.tracking.upload_process import UploadProcess
    from mtlv.tracking.uploader import UploadInterval

    client = MlflowClient(tracking_uri=uri)
    run = client.create_run(client.create_experiment("by hand")).info.run_id
    values = {}
    with UploadProcess(uri, "tracking", print) as uploads:
        journal = Journal(folder / "journal", uri, "tracking")
        uploads.begin(folder / "journal", journal.folder, UploadInterval(1.0))
        tracker = JournalTracker(journal)
        ours = tracker.open_run(RunSpec("bench", "bench"))
        for count in COUNTS:
            values[f"{count} metrics"] = interleaved(
                calls(client, run, tracker, ours, count), REPEATS, warm=1
            )
        many = points(3000, 10**6)
        profile = profiled(lambda: tracker.metrics(ours, many))
        came = uploads.finish(120)
        journal.close(delivered=not came.left)
    return values, came.left, profile


def epoch_seconds():
    """Return the wall seconds of an epoch of MTL with `minilm` on generated reports."""
    from throughput import learn, read

    from mtlv.data.batches import PartDocuments
    from mtlv.data.columns import dense
    from mtlv.models.multitask import MultiTaskModel
    from mtlv.registries import ARCHITECTURES
    from mtlv.training.memory import keep_freed_memory

    keep_freed_memory()
    corpus, encoder, tokens = read("synthetic", None, documents=DOCUMENTS, encoder="minilm")
    tasks = {task.name: task for task in corpus.tasks}
    heads = ARCHITECTURES["mtl"].build(list(tasks), (), 1).models[0].heads
    model = MultiTaskModel(encoder.module, heads, tasks=tasks, features="mean", seed=0)
    documents = PartDocuments(tokens, dense(corpus.targets), np.arange(len(corpus)))
    return seconds(lambda: learn(model, lambda epoch: documents.training(16, seed=0, epoch=epoch), steps=20))


def main():
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    with tempfile.TemporaryDirectory() as place, server(Path(place)) as uri:
        values, left, profile = measure(uri, Path(place))
    values["training"] = {f"an epoch of {DOCUMENTS} documents, minilm": [epoch_seconds()]}
    title = "Tracking an epoch's metrics over HTTP: seconds"
    result = Result("tracking_http", title, "s", values)
    ours = np.median(values["3000 metrics"][JOURNAL])
    epoch = next(iter(values["training"].values()))[0]
    text = "tracking, 3,000 metrics an epoch over HTTP, of training time"
    why = f"{1000 * ours:.0f} ms of {epoch:.0f} s"
    result.claims = [
        Claim(text, 1, 100 * ours / epoch, "%", at_least=False, why=why),
        Claim(
            "the same by MLflow's client in one call",
            None,
            100 * np.median(values["3000 metrics"][CLIENT]) / epoch,
            "%",
        ),
        Claim("metrics that did not reach the server", 0, left, "", at_least=False),
    ]
    result.profile = profile
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
