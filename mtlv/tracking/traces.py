"""Traces of journals, in a folder beside theirs: if a journal is deleted, its trace tells what is missing.

A trace names the runs of its journal, and goes when the journal was uploaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mtlv.disk import remove
from mtlv.formatting import list_first, many
from mtlv.sealed import read_sealed, write_sealed

FOLDER = "traces"
"""Folder of the traces in a store."""
MAX_NAMED_RUNS = 3  # maximum of runs that a message names; more are counted
Tell = Callable[[str], None]


def write_trace(journal: Path, experiment: str, runs: Mapping[str, str]) -> None:
    """Write which runs a journal has, name by uid. A full disk must not stop training."""
    with suppress(OSError):
        write_sealed(_place(journal), {"experiment": experiment, "runs": dict(runs)})


def discard(journal: Path) -> None:
    """Remove a journal that was uploaded, after its trace."""
    _end_trace(journal)
    remove(journal)  # with its folder: one without calls was damaged


def _end_trace(journal: Path) -> None:
    """Remove the trace of a journal, and its runs from the traces of journals that were deleted."""
    trace = _read(_place(journal), lambda _: None)
    with suppress(OSError):
        _place(journal).unlink()
    if trace is None:
        return
    for path, earlier in _find_deleted(journal.parent, lambda _: None):
        rest = {uid: name for uid, name in earlier["runs"].items() if uid not in trace["runs"]}
        with suppress(OSError):
            if not rest:
                path.unlink()
            elif rest != earlier["runs"]:
                write_sealed(path, {**earlier, "runs": rest})


def report_deleted(root: Path, tell: Tell) -> int:
    """Report the runs of journals that were deleted before their upload; return the number of journals.

    Args:
        root: folder of the journals.
        tell: gets a message for each of them, and for each damaged trace.
    """
    deleted = _find_deleted(root, tell)
    for path, trace in deleted:
        names = [f"`{name}`" for name in trace["runs"].values()]
        tell(
            f"the tracking journal `{root / path.stem}` was deleted: what it had not uploaded of "
            f"{many(len(names), 'run')} of the experiment `{trace['experiment']}` is missing in MLflow "
            f"({list_first(names, MAX_NAMED_RUNS)}); `mtlv run CONFIG` writes finished units there again, "
            f"or delete `{path}` to leave it so"
        )
    return len(deleted)


def _find_deleted(root: Path, tell: Tell) -> list[tuple[Path, dict[str, Any]]]:
    """Return the traces whose journals are gone."""
    traces = [(path, _read(path, tell)) for path in sorted((root.parent / FOLDER).glob("[!.]*.json"))]
    return [
        (path, trace)
        for path, trace in traces
        # A journal is made before its trace, and removed after it.
        if trace is not None and not (root / path.stem).exists() and path.exists()
    ]


def _read(path: Path, tell: Tell) -> dict[str, Any] | None:
    return read_sealed(path, tell, "if its journal is deleted, nothing tells what is missing in MLflow")


def _place(journal: Path) -> Path:
    return journal.parent.parent / FOLDER / f"{journal.name}.json"
