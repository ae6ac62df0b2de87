"""The command `mtlv cluster`: only the groups, with their elbow, map and stability; without training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.errors import TrackingError
from mtlv.events import Callback, NoteGiven, noter
from mtlv.plan import ascii_slug
from mtlv.planning.check import check_suite
from mtlv.planning.groups import TaskGroups
from mtlv.planning.resolve import resolve_groups
from mtlv.registries import GROUPINGS
from mtlv.reporting.groups import write_groups
from mtlv.seeding import content_key
from mtlv.units.corpora import Corpora
from mtlv.units.input_cache import InputCache

if TYPE_CHECKING:
    from mtlv.settings import Settings, Suite


@dataclass(frozen=True)
class ClusterResult:
    """The groups of each different grouping of a suite, and lines that describe them."""

    groups: tuple[TaskGroups, ...]
    lines: tuple[str, ...]


def cluster_suite(suite: Suite, folder: Path | None, callback: Callback) -> ClusterResult:
    """Group the tasks for each different `grouping` of a suite, on its first fold.

    Figures and JSON are written to `folder`, or to `mtlv-clusters` in the working folder.

    Raises:
        MtlvError: an error that a user can fix.
    """
    corpora = Corpora()
    check_suite(suite, corpora)
    cache, folder = InputCache(note=noter(callback), corpora=corpora), folder or Path("mtlv-clusters")
    results, lines = [], []
    different: dict[str, Settings] = {}
    for member in suite.members:
        different.setdefault(content_key(_what_groups(member.settings)), member.settings)
    for settings in different.values():
        name = grouping_title(settings)
        groups = resolve_groups(cache, settings, cache.folds(settings.data)[0])
        place = folder / f"{ascii_slug(name)[:50]}-{content_key(_what_groups(settings), 6)}"
        try:
            write_groups(groups, place, title=name)
        except OSError as error:
            raise TrackingError(
                f"`--out`: {place} cannot be written", got=error.strerror, then="choose another folder"
            ) from error
        for note in groups.grouping.notes:
            callback(NoteGiven(note))
        results.append(groups)
        lines += [*_lines(name, groups), f"  written to {place}"]
    return ClusterResult(tuple(results), tuple(lines))


def _what_groups(settings: Settings) -> list[object]:
    """Return all settings that affect groups."""
    values = settings.encoder.model_dump(mode="json")
    changed = [values[key] for key in ("weights", "vocabulary") if key in values]  # absent at their defaults
    encoder = settings.grouping.encoder or [values["name"], values["revision"], *changed]
    tasks = [] if settings.tasks is None else [settings.tasks]
    return [settings.data.model_dump(mode="json"), settings.grouping.model_dump(mode="json"), encoder, *tasks]


def grouping_title(settings: Settings) -> str:
    """Return the title of figures of a grouping: its corpus, method, features, k and encoder."""
    section = settings.grouping
    if not GROUPINGS[section.method].takes:
        return f"{settings.data.title} · {section.method}"
    encoder = Path(section.encoder or settings.encoder.name).name
    return f"{settings.data.title} · {section.method} · {section.features} · k={section.k} · {encoder}"


def _lines(name: str, groups: TaskGroups) -> list[str]:
    out = [name, f"  {groups.grouping.k} groups: {groups.reason}"]
    medoids = groups.grouping.medoids
    for number, members in enumerate(groups.groups):
        head = "" if medoids is None else f" (medoid: {groups.names[medoids[number]]})"
        out.append(f"  group {number + 1}{head}: {', '.join(members)}")
    if groups.stability:
        out.append("  stability (adjusted Rand index to these groups; 1 is the same, 0 is chance):")
        out += [f"    {change}: {value:.2f}" for change, value in groups.stability.items()]
    return out
