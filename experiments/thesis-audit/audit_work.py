"""The audit's units: listing them, training the missing ones, and evaluating the finished ones."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from audit_frozen import frozen
from audit_rows import Figures, Row, child_of, figures, rows
from audit_training import key_of, load, save, train_with
from sklearn.metrics import adjusted_rand_score

from mtlv.plan import gather
from mtlv.planning.resolve import FoldRun
from mtlv.settings import Suite
from mtlv.units.input_cache import InputCache
from mtlv.units.inputs import UnitInputs

PACKAGES = ("torch", "transformers", "numpy", "scikit-learn")
GROUPED = ("gmtl-names", "gmtl-descriptions", "gmtl-random", "gmtl-codes")


@dataclass(frozen=True)
class Work:
    """A row with one seed, and its units; `later` is false for the first seed."""

    row: Row
    seed: int
    child: FoldRun
    later: bool

    @property
    def urgency(self) -> tuple[bool, int, bool, int]:
        """Sort key: seed by seed, extra rows after others, their further seeds last; cheap rows first."""
        return self.later and self.row.extra, self.seed, self.row.extra, len(self.child.jobs)


class Audit:
    """Rows of the audit, their units and the folder of units."""

    def __init__(self, suite: Suite, units: Path, *, fixed_vectors: bool = False) -> None:
        self.suite, self.units, self.cache = suite, units, InputCache()
        self.fixed_vectors = fixed_vectors
        units.mkdir(parents=True, exist_ok=True)
        seeds = suite.members[0].settings.seeds
        works = [
            Work(row, seed, child_of(row, seed, suite, self.cache), seed != seeds[0])
            for row in rows()
            for seed in seeds
        ]
        self.works = sorted(works, key=lambda work: work.urgency)

    @cached_property
    def inputs(self) -> UnitInputs:
        """Inputs of all units: rows differ in plans and training, but not in data or encoder."""
        settings = self.suite.members[0].settings
        real = self.cache.inputs(settings)
        if not self.fixed_vectors:
            return real
        return frozen(real, max_length=settings.data.max_length, folder=self.units)

    def path(self, work: Work, place: int) -> Path:
        """Return the path of a unit of a row."""
        return self.units / f"{key_of(work.child.jobs[place], self.inputs, work.row.defects)}.npz"

    def paths(self, work: Work) -> list[Path]:
        return [self.path(work, place) for place in range(len(work.child.jobs))]

    def missing(self) -> Iterator[tuple[Work, int]]:
        """Yield each unit that is not trained yet once: the row, and the unit's index in it."""
        seen = set()
        for work in self.works:
            for place, path in enumerate(self.paths(work)):
                if path not in seen and not path.exists():
                    yield work, place
                seen.add(path)

    def train(self, minutes: float | None, say: Callable[[str], None]) -> None:
        """Train the missing units; start none after `minutes` minutes, if given."""
        begun, todo = time.monotonic(), list(self.missing())
        for number, (work, place) in enumerate(todo, start=1):
            if minutes is not None and time.monotonic() - begun > 60 * minutes:
                say(f"time is up: {len(todo) - number + 1} units are left for another time")
                return
            job = work.child.jobs[place]
            trained = train_with(job, self.inputs, work.row.defects)
            save(self.path(work, place), trained)
            where = f"{work.row.id}, seed {work.seed}, model {place + 1} of {len(work.child.jobs)}"
            say(f"[{number}/{len(todo)}] {where}: {trained.seconds:.0f} s")

    def found(self) -> dict[str, dict[int, Figures]]:
        """Return the metrics of every row and seed whose units are all trained."""
        out: dict[str, dict[int, Figures]] = {}
        for work in self.works:
            paths = self.paths(work)
            if not all(path.exists() for path in paths):
                continue
            parts = [load(path) for path in paths]
            out.setdefault(work.row.id, {})[work.seed] = figures(
                gather([part.validation for part in parts]),
                gather([part.test for part in parts]),
                names=self.cache.corpus(work.child.jobs[0].settings.data).names,
                scoring=work.row.scoring,
                settings=work.child.jobs[0].settings,
            )
        return out

    def about(self) -> dict[str, object]:
        """Return facts about data, groups, units and versions, as plain values."""
        work = self.works[0]
        fold, settings = work.child.fold, work.child.jobs[0].settings
        parts = [load(path) for path in sorted(self.units.glob("*.npz"))]
        return {
            "documents": {p: len(fold.part(p)) for p in ("train", "validation", "test")},
            "encoder": {"name": Path(settings.encoder.name).name, "digest": self.inputs.encoder.digest},
            "fixed_vectors": self.fixed_vectors,
            "data_digest": self.cache.corpus(settings.data).digest,
            "steps_per_model": -(-len(fold.train) // settings.training.batch_size) * settings.training.epochs,
            "groups": self.groups(),
            "agreement_with_names": self.agreement(),
            "weights_moved_by": self.moved(),
            "units": len(parts),
            "minutes": round(sum(part.seconds for part in parts) / 60, 1),
            "python": platform.python_version(),
            "packages": {name: version(name) for name in PACKAGES},
        }

    def groups(self) -> dict[str, list[list[str]]]:
        """Return the groups of each grouped row with the first seed."""
        out: dict[str, list[list[str]]] = {}
        for work in self.works:
            if work.row.id in GROUPED:
                found = work.child.groups
                out.setdefault(work.row.id, [list(group) for group in found.groups] if found else [])
        return out

    def agreement(self) -> dict[str, float]:
        """Return the adjusted Rand index of each grouping and the groups by names."""
        labels = {row: _labels(groups) for row, groups in self.groups().items()}
        reference = labels.pop("gmtl-names")
        order = sorted(reference)
        wanted = [reference[name] for name in order]
        return {
            row: float(adjusted_rand_score(wanted, [found[name] for name in order]))
            for row, found in labels.items()
        }

    def moved(self) -> dict[str, dict[str, float]]:
        """Return the mean absolute change of the weights of heads and encoder, for GMHL's first seed."""
        out = {}
        for work in self.works:
            path = self.path(work, 0)
            if work.row.member == "gmhl" and not work.later and path.exists():
                unit = load(path)
                out[work.row.id] = {"heads": unit.head_shift, "encoder": unit.encoder_shift}
        return out


def _labels(groups: list[list[str]]) -> dict[str, int]:
    return {name: number for number, group in enumerate(groups) for name in group}
