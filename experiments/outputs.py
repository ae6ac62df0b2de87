"""Keep the test outputs of an experiment's runs in one file, `results/outputs.tar.xz`, and read them.

    python experiments/outputs.py CONFIG [key=value ...]

packs the finished runs of the config's store. Beside the config, it writes to `results/` (for
`config-NAME.yml`, to `results/NAME/`):

- `outputs.tar.xz`: the test outputs as float16, without texts and targets. `runs.json` lists the runs with
  their tasks, documents, thresholds and files; `units.json` has the record of each model.
- `epochs.csv`: validation metrics after each epoch, at thresholds fitted on the same scores.

float16 rounds outputs to three to four digits. Only outputs next to a threshold, and ranks of outputs that
become equal, can change a metric. Nothing is trained on from these files.
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtlv.formatting import csv_text
from mtlv.plan import Scores, Task
from mtlv.planning.resolve import FoldRun, ResolvedMember, Resolver
from mtlv.reporting.plan_result import PlanResult, evaluate_plan
from mtlv.settings import Suite, load_suite
from mtlv.store.local import Store
from mtlv.store.records import UnitRecord
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job

NOT_A_RECORD = (
    "key",
    "curve",
    "validation",
    "test",
)  # fields of a unit's record that are outputs, or its name
EPOCH_METRICS = ("score", "f1_macro", "f1_micro", "subset_accuracy", "average_precision_macro")
METRIC_DIGITS = 6


@dataclass(frozen=True)
class OutputPart:
    """Outputs of some tasks of a run on the same N documents.

    Args:
        tasks: names of the T tasks.
        documents: ids of the documents [N].
        outputs: probabilities or numbers [N, T]; of one task with C classes [N, C]; of one task of tagging
            its spans, N lists of `[start, end, label]`.
    """

    tasks: tuple[str, ...]
    documents: tuple[str, ...]
    outputs: NDArray[np.float16] | list[list[list[Any]]]


@dataclass(frozen=True)
class RunOutputs:
    """Test outputs of one fold and seed of a run.

    Args:
        name, fold, seed: which run it is.
        thresholds: fitted on validation, by the name of each yes/no task.
        units: keys of its models in `units.json`.
        parts: the outputs.
    """

    name: str
    fold: int
    seed: int
    thresholds: Mapping[str, float]
    units: tuple[str, ...]
    parts: tuple[OutputPart, ...]


def read_outputs(path: Path | str) -> list[RunOutputs]:
    """Read the test outputs of an experiment.

    Args:
        path: an `outputs.tar.xz`.

    Raises:
        OSError, tarfile.TarError: the file cannot be read.

    Examples:
        >>> runs = read_outputs("experiments/openi-minilm/results/longer/outputs.tar.xz")
        >>> runs[0].parts[0].outputs.shape
        (546, 19)
    """
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive}
    return [
        RunOutputs(
            run["name"],
            run["fold"],
            run["seed"],
            run["thresholds"],
            tuple(run["units"]),
            tuple(_read_part(part, files[part["file"]]) for part in run["parts"]),
        )
        for run in json.loads(files["runs.json"])
    ]


def _read_part(part: Mapping[str, Any], content: bytes) -> OutputPart:
    is_array = part["file"].endswith(".npy")
    outputs = np.load(io.BytesIO(content)) if is_array else json.loads(content)
    return OutputPart(tuple(part["tasks"]), tuple(part["documents"]), outputs)


def pack(suite: Suite, results: Path) -> None:
    """Write the outputs of a suite's finished runs to the folder `results`."""
    store = Store(Path(suite.members[0].settings.store.uri))
    members, _ = Resolver(InputCache(store), suite.members).ready(suite.members)
    runs: list[dict[str, Any]] = []
    units: dict[str, dict[str, Any]] = {}
    files: dict[str, bytes] = {}
    epochs: list[dict[str, Any]] = []
    for member, fold_run in finished_fold_runs(members, store):
        jobs, settings = (*fold_run.earlier, *fold_run.jobs), member.member.settings
        records = {job.unit.key: store.load(job.unit.key) for job in jobs}
        units |= {job.unit.key: describe_unit(job, records[job.unit.key]) for job in jobs}
        last_stage = [records[job.unit.key] for job in fold_run.jobs]
        result = evaluate_plan(last_stage, tasks=member.tasks, settings=settings.evaluation, known={})
        title = {"name": member.name, "fold": fold_run.fold.index, "seed": fold_run.seed}
        parts = list(pack_scores(result.test, member.tasks, files, f"{len(runs):03}"))
        thresholds = dict(result.thresholds.values)
        runs.append(title | {"thresholds": thresholds, "units": list(records), "parts": parts})
        epochs += (title | row for row in measure_epochs(result))
        print("packed", *title.values())
    results.mkdir(parents=True, exist_ok=True)
    files |= {"runs.json": as_json(runs), "units.json": as_json(units)}
    write_archive(results / "outputs.tar.xz", files)
    (results / "epochs.csv").write_text(csv_text(epochs), encoding="utf-8", newline="")


def finished_fold_runs(
    members: Iterable[ResolvedMember], store: Store
) -> Iterator[tuple[ResolvedMember, FoldRun]]:
    """Yield each fold and seed whose models are all in the store."""
    for member in members:
        for fold_run in member.children:
            if all(store.has(job.unit.key) for job in (*fold_run.earlier, *fold_run.jobs)):
                yield member, fold_run


def describe_unit(job: Job, record: UnitRecord) -> dict[str, Any]:
    """Return the record of a unit as plain values, without outputs."""
    plain = {key: value for key, value in asdict(record).items() if key not in NOT_A_RECORD}
    return {"name": job.name, "tasks": list(job.unit.model.tasks)} | plain


def pack_scores(
    test: Scores, tasks: Sequence[Task], files: dict[str, bytes], name: str
) -> Iterator[dict[str, Any]]:
    """Add outputs to `files`; yield the tasks, documents and file of each part.

    Tasks with one number for each of the same documents share a matrix.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for task in tasks:
        scores = test.tasks[task.name]
        documents = tuple(np.array(test.ids)[scores.mask].tolist())
        if scores.outputs.ndim == 1 and scores.outputs.dtype != object:
            alike.setdefault(documents, []).append(task.name)
            continue
        outputs = scores.outputs[scores.mask]
        file = f"{name} {len(files)}" + (".json" if outputs.dtype == object else ".npy")
        files[file] = as_json(outputs.tolist()) if outputs.dtype == object else as_npy(outputs)
        yield {"tasks": [task.name], "documents": documents, "file": file}
    for documents, names in alike.items():
        file = f"{name} {len(files)}.npy"
        files[file] = as_npy(np.stack([test.tasks[task].outputs[test.tasks[task].mask] for task in names], 1))
        yield {"tasks": names, "documents": documents, "file": file}


def measure_epochs(result: PlanResult) -> Iterator[dict[str, Any]]:
    """Yield the loss and the validation metrics after each epoch."""
    for epoch, metrics in enumerate(result.curve):
        values = metrics.plan.as_dict()
        loss = fmean(record.epoch_at(epoch).loss for record in result.records)  # that which was minimised
        row = {"loss": loss} | {name: values[name] for name in EPOCH_METRICS if name in values}
        yield {"epoch": epoch} | {name: round(value, METRIC_DIGITS) for name, value in row.items()}


def as_json(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False, default=lambda value: value.tolist()).encode()


def as_npy(values: NDArray) -> bytes:
    """Return an array as float16, column after column: alike values side by side compress better."""
    file = io.BytesIO()
    np.save(file, np.asfortranarray(values, np.float16))
    return file.getvalue()


def write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    """Write the same bytes for the same files: without times, users and modes."""
    with tarfile.open(path, "w:xz", preset=9) as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def main(config: str, *overrides: str) -> None:
    name = Path(config).stem.removeprefix("config").removeprefix("-")
    pack(load_suite(config, overrides), Path(config).parent / "results" / name)


if __name__ == "__main__":
    main(*sys.argv[1:])
