"""Keep the outputs of finished units without documents and targets, and restore them to a store.

    python experiments/units.py keep CONFIG data.path=FILE
    python experiments/units.py restore CONFIG data.path=FILE

`keep` writes results/KEY.npz next to the config (results/small/ for config-small.yml) for each finished unit
in the config's store. `restore` writes the units back, with the targets of the corpus, so that `mtlv run`
resumes where an earlier machine stopped. For teachers with weights (`store.keep_weights`), outputs for the
training documents are kept too, so that they can still teach.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtlv.data.targets import TARGETS, spans_column
from mtlv.execution.runner import UnitRunner
from mtlv.plan import Scores
from mtlv.plan.probed import from_json
from mtlv.plan.spans import Span
from mtlv.planning.resolve import UnfinishedError, resolve_all
from mtlv.settings import load_suite
from mtlv.store.local import Store
from mtlv.store.records import EpochRecord, UnitRecord
from mtlv.store.teacher_outputs import has_teacher_outputs, write_teacher_outputs
from mtlv.units.input_cache import InputCache
from mtlv.units.inputs import Outputs
from mtlv.units.job import Job, each_once

F32 = np.dtype(np.float32)
PLAIN = (
    "train_seconds",
    "total_seconds",
    "parameters",
    "peak_memory_mb",
    "device",
    "chosen_epoch",
    "teacher_entropy",
)


def keep(store: Store, job: Job, cache: InputCache, path: Path, *, teaches: bool = True) -> None:
    record, inputs = store.load(job.unit.key), cache.inputs(job.settings)
    plain = {key: getattr(record, key) for key in PLAIN}
    plain |= {"epochs": [vars(epoch) for epoch in record.epochs], "chosen_epochs": dict(record.chosen_epochs)}
    plain |= {} if record.probe is None else {"probe": asdict(record.probe)}
    masks = {name: task.mask for name, task in record.validation.tasks.items()}
    kept = {f"curve {epoch}": own(outputs, masks) for epoch, outputs in enumerate(record.curve)}
    for part in ("validation", "test"):
        scores = getattr(record, part)
        kept[part] = own(scores.outputs, {name: task.mask for name, task in scores.tasks.items()})
    can_teach = all(TARGETS[inputs.tasks[name].kind].own for name in job.unit.model.tasks)
    if teaches and can_teach and store.has_weights(job.unit.key):
        kept["lessons"] = UnitRunner(cache.inputs, store, print, ()).teacher_outputs(job)
    np.savez_compressed(path, record=json.dumps(plain), **arrays(kept, job.unit.model.tasks))


def arrays(kept: Mapping[str, Outputs], names: Sequence[str]) -> dict[str, NDArray]:
    """Return outputs as arrays: one of all tasks per part if they are alike, which takes half the space."""
    found = {part: [values[name] for name in names] for part, values in kept.items()}
    if all({(v.dtype, *v.shape) for v in own} == {(F32, len(own[0]))} for own in found.values()):
        parts = {part: np.stack(own, axis=1) for part, own in found.items()}
        curve = [parts.pop(part) for part in found if part.startswith("curve")]
        return {"curve": np.stack(curve), **parts}
    return {f"{part} {at}": packed(values) for part, own in found.items() for at, values in enumerate(own)}


def restore(store: Store, job: Job, cache: InputCache, path: Path) -> None:
    """Write a unit and its teacher outputs to the store; the latter also if it already has the unit."""
    found, folder = by_part(path, job.unit.model.tasks), store.units / job.unit.key
    if not store.has(job.unit.key):
        restore_unit(store, job, cache, path, found)
        print("restored", job.name)
    if "lessons" in found and not has_teacher_outputs(folder):
        write_teacher_outputs(folder, found["lessons"])


def restore_unit(store: Store, job: Job, cache: InputCache, path: Path, found: Mapping[str, Outputs]) -> None:
    inputs = cache.inputs(job.settings)
    plain = json.loads(str(np.load(path)["record"]))

    def scores(part: str, outputs: Outputs) -> Scores:
        rows = job.fold.part(part)
        return inputs.scores(job.unit.key, part, rows, inputs.parts(tuple(outputs), rows), outputs)

    epochs = tuple(EpochRecord(**epoch) for epoch in plain.pop("epochs"))
    probe = from_json(plain.pop("probe")) if "probe" in plain else None
    curve = tuple(scores("validation", found[f"curve {epoch}"]).outputs for epoch in range(len(epochs)))
    both = {part: scores(part, found[part]) for part in ("validation", "test")}
    store.save(UnitRecord(key=job.unit.key, epochs=epochs, curve=curve, probe=probe, **both, **plain), None)


def by_part(path: Path, names: Sequence[str]) -> dict[str, Outputs]:
    """Return outputs by part (`curve 0`, ...) and task; see `arrays`."""
    kept = dict(np.load(path))
    old = {f"curve {epoch}": values for epoch, values in enumerate(kept.pop("curve", ()))}
    old |= {part: kept.pop(part) for part in ("validation", "test", "lessons") if part in kept}
    found = {part: dict(zip(names, values.astype(np.float32).T, strict=True)) for part, values in old.items()}
    for key in kept.keys() - {"record"}:
        part, number = key.rsplit(" ", 1)
        found.setdefault(part, {})[names[int(number)]] = unpacked(kept[key])
    return found


def own(outputs: Outputs, masks: Mapping[str, NDArray]) -> Outputs:
    """Return the outputs of the documents of each task's own source."""
    return {name: values[masks[name]] for name, values in outputs.items()}


def packed(values: NDArray) -> NDArray:
    """Return spans as text, because NumPy would pickle them; other values unchanged."""
    return np.array(json.dumps(values.tolist())) if values.dtype == object else values


def unpacked(values: NDArray) -> NDArray:
    if values.dtype.kind != "U":
        return values
    return spans_column([[Span(*span) for span in row] for row in json.loads(str(values))])


def jobs(cache: InputCache, config: str, overrides: list[str]) -> Iterator[Job]:
    members = load_suite(config, overrides).members
    for member in resolve_all(cache, [each for each in members if not each.settings.grouping.sources]):
        yield from member.jobs
    with suppress(UnfinishedError):  # groups may depend on units that are neither trained nor kept
        for member in resolve_all(cache, members):
            yield from member.jobs


def main(do: str, config: str, *overrides: str) -> None:
    """Keep or restore the config's finished units."""
    store = Store(Path(load_suite(config, list(overrides)).members[0].settings.store.uri))
    cache = InputCache(store)
    results = Path(config).parent / "results" / Path(config).stem.removeprefix("config").removeprefix("-")
    results.mkdir(parents=True, exist_ok=True)
    found = jobs(cache, config, list(overrides))
    if do == "restore":
        for job in found:  # lazily: groups may depend on units restored before
            path = results / f"{job.unit.key}.npz"
            if path.is_file():
                restore(store, job, cache, path)
        return
    finished = [job for job in each_once(found) if store.has(job.unit.key)]
    teachers = {teacher.unit.key for job in finished for teacher in job.teachers}
    for job in finished:
        path = results / f"{job.unit.key}.npz"
        if not path.is_file():
            keep(store, job, cache, path, teaches=job.unit.key in teachers)
            print("kept", job.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
