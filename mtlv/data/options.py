"""What to read of a corpus: the `data.*` settings as plain arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mtlv.data.hierarchy import read_levels
from mtlv.errors import DataError, nearest
from mtlv.plan.task import Task


@dataclass(frozen=True)
class Columns:
    """Columns of a user's table, and what to learn from them; see `data.columns`.

    Args:
        text: text of the document.
        text_pair: second text of a pair.
        words: the document as words, instead of `text`.
        mentions: marked entities in characters of `text`.
        id: id of the document; default: the row number.
        part: `train`, `validation` or `test`; default: no own split.
        group: group of the document (an abstract, a patient), which is not split.
        kind: kind of the task, one of `mtlv.data.tables.readers`.
        task: name of the task; default: name of the target column, or `entities` of CoNLL files.
        labels: columns of 0 and 1, one per label.
        label_list: alternatively one column of label lists: JSON lists, or names joined by `separator`.
        missing_labels: `error`, or `unknown` if an empty cell of a target is one that is not known, or `no`
            if one of `labels` means no.
        uncertain: what -1, `uncertain` or `NA` means in `labels`: `unknown`, `yes`, `no`, or `error`.
        target: class or number.
        tags: one tag per word.
        classes: names of the classes or types, of positions or numbers of `label_list`; None uses those in
            the data, sorted.
        negative: classes that mean "nothing here".
        metric: main metric of the task; None uses the default of its kind.
        names: names of the columns of files without a header, in order.
        encoding: of files of text; None recognises it.
        subgroups: columns by whose values the test documents are also scored.
    """

    text: str = "text"
    text_pair: str | None = None
    words: str | None = None
    mentions: str | None = None
    id: str | None = None
    part: str | None = None
    group: str | None = None
    kind: str = "binary"
    task: str | None = None
    labels: tuple[str, ...] | None = None
    label_list: str | None = None
    separator: str = ";"
    missing_labels: str = "error"
    uncertain: str = "error"
    target: str | None = None
    tags: str | None = None
    classes: tuple[str, ...] | None = None
    negative: tuple[str, ...] = ()
    metric: str | None = None
    names: tuple[str, ...] | None = None
    encoding: str | None = None
    subgroups: tuple[str, ...] | None = None


@dataclass(frozen=True)
class DataOptions:
    """The `data.*` settings for reading.

    Args:
        path: file or folder; default: where `mtlv data fetch` saves it.
        labels: names of the labels to keep, in this order; None keeps all.
        limit: read at most this many documents, drawn by `seed`; None reads all.
        documents: number of generated documents (`synthetic`).
        columns: columns of a user's `table`.
        descriptions: label name -> sentence, instead of the card's.
        parents: table of a hierarchy of the labels, see `read_levels`.
        seed: seed for `limit` and generated text.
        alias: name of the corpus instead of its catalog name.
        hub: name of a data set on a hub, instead of `path`.
        text_only: whether to read only texts, for masked language modelling; or one of `PAIRS`.
        of_several: whether it is one of several sources: descriptions may be of another one's tasks.
    """

    path: Path | None = None
    labels: tuple[str, ...] | None = None
    limit: int | None = None
    documents: int = 600
    columns: Columns = Columns()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    parents: Path | None = None
    seed: int = 0
    alias: str | None = None
    hub: str | None = None
    text_only: bool | str = False
    of_several: bool = False


def check_names(key: str, named: Iterable[str], known: Collection[str], corpus: str) -> None:
    """Raise an error if a corpus does not have a label that `data.KEY` names.

    Raises:
        DataError: a label is unknown.
    """
    unknown = [name for name in named if name not in known]
    if unknown:
        hints = " ".join(hint for name in unknown if (hint := nearest(name, known)))
        raise DataError(
            f"`data.{key}`: corpus `{corpus}` has no label {', '.join(f'`{name}`' for name in unknown)}",
            allowed=", ".join(known),
            then=hints or f"run `mtlv data show {corpus}`",
        )


def select(tasks: Sequence[Task], options: DataOptions, corpus: str) -> tuple[Task, ...]:
    """Return the tasks in `options.labels`, with the user's descriptions and name of the corpus.

    Raises:
        DataError: a label in `labels` or `descriptions` that the corpus does not have, or a duplicate;
            or as for `read_levels`.
    """
    known = {task.name: task for task in tasks}
    names = tuple(known) if options.labels is None else options.labels
    check_names("labels", names, known, corpus)
    if not options.of_several:
        check_names("descriptions", options.descriptions, known, corpus)
    if len(set(names)) < len(names):
        raise DataError("`data.labels` names a label twice", got=", ".join(names))
    chosen = [known[name] for name in names]
    labels = [task.name for task in chosen if task.kind == "binary"]
    levels = {} if options.parents is None else read_levels(options.parents, labels)
    described = options.descriptions
    return tuple(
        replace(t, description=described.get(t.name, t.description), source=options.alias or t.source)
        for t in (replace(task, levels=levels.get(task.name, ())) for task in chosen)
    )
