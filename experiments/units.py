"""Keep the outputs of finished units without documents and targets, and restore them to a store.

    python experiments/units.py keep CONFIG data.path=FILE
    python experiments/units.py restore CONFIG data.path=FILE

`keep` writes results/KEY.npz beside the config (results/full/ for config-full.yml) for each finished unit
of the config's store; `restore` writes the units back, with the targets of the corpus, so that `mtlv run`
continues where an earlier machine stopped. Outputs for training documents are kept of units with weights
(`store.keep_weights`), so that they can still teach.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mtlv.execution.runner import UnitRunner
from mtlv.planning.resolve import UnfinishedError, resolve_all
from mtlv.settings import load_suite
from mtlv.store.lessons import write_lessons
from mtlv.store.local import Store
from mtlv.store.records import EpochRecord, UnitRecord
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job

PLAIN = (
    "train_seconds",
    "total_seconds",
    "parameters",
    "peak_memory_mb",
    "device",
    "chosen_epoch",
    "teacher_entropy",
)


def keep(store: Store, job: Job, cache: InputCache, path: Path) -> None:
    record, names = store.load(job.unit.key), job.unit.model.tasks
    plain = {key: getattr(record, key) for key in PLAIN}
    plain |= {"epochs": [vars(epoch) for epoch in record.epochs], "chosen_epochs": dict(record.chosen_epochs)}
    parts = {part: getattr(record, part).matrix(names)[0] for part in ("validation", "test")}
    curve = np.stack([np.stack([outputs[name] for name in names], 1) for outputs in record.curve])
    if store.has_weights(job.unit.key):
        lessons = UnitRunner(cache, store, print, ()).lessons(job)
        parts["lessons"] = np.stack([lessons[name] for name in names], 1)
    np.savez_compressed(path, record=json.dumps(plain), curve=curve.astype(np.float32), **parts)


def restore(store: Store, job: Job, cache: InputCache, path: Path) -> None:
    found = np.load(path)
    plain, names = json.loads(str(found["record"])), job.unit.model.tasks
    inputs, scores = cache.inputs(job.settings), {}
    for part in ("validation", "test"):
        rows = job.fold.part(part)
        outputs = dict(zip(names, found[part].astype(np.float32).T, strict=True))
        scores[part] = inputs.scores(job.unit.key, part, rows, inputs.parts(names, rows), outputs)
    epochs = tuple(EpochRecord(**epoch) for epoch in plain.pop("epochs"))
    curve = tuple(dict(zip(names, each.T, strict=True)) for each in found["curve"])
    store.save(UnitRecord(key=job.unit.key, epochs=epochs, curve=curve, **scores, **plain), None)
    if "lessons" in found:
        lessons = dict(zip(names, found["lessons"].T, strict=True))
        write_lessons(store.units / job.unit.key, lessons)


def jobs(cache: InputCache, config: str, overrides: list[str]) -> Iterator[Job]:
    members = load_suite(config, overrides).members
    try:
        resolved = resolve_all(cache, members)
    except UnfinishedError:  # groups that follow from units not trained yet
        resolved = resolve_all(cache, [member for member in members if not member.settings.grouping.sources])
    for member in resolved:
        yield from member.jobs


def main(do: str, config: str, *overrides: str) -> None:
    """Keep or restore what there is of the config's units."""
    store = Store(Path(load_suite(config, list(overrides)).members[0].settings.store.uri))
    cache = InputCache(store)
    results = Path(config).parent / "results" / Path(config).stem.removeprefix("config").removeprefix("-")
    results.mkdir(parents=True, exist_ok=True)
    for job in {job.unit.key: job for job in jobs(cache, config, list(overrides))}.values():
        path = results / f"{job.unit.key}.npz"
        if do == "keep" and store.has(job.unit.key) and not path.is_file():
            keep(store, job, cache, path)
            print("kept", job.name)
        if do == "restore" and path.is_file() and not store.has(job.unit.key):
            restore(store, job, cache, path)
            print("restored", job.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
