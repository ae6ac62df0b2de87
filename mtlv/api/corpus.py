"""Corpora, read from the catalog, a DataFrame or a `datasets.Dataset`."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mtlv.api.arguments import as_settings, errors_name_arguments, of_type, several, wrong_type
from mtlv.api.in_memory import InMemory, with_json
from mtlv.api.notebook import html
from mtlv.data import source
from mtlv.data.catalog import CORPORA
from mtlv.data.standoff import other_format
from mtlv.data.tables.rows import FORMATS, need_header
from mtlv.errors import ConfigError, DataError
from mtlv.evaluation.scoring import SCORING
from mtlv.seeding import content_key
from mtlv.settings import load_suite
from mtlv.settings.data_schema import KINDS_WITHOUT_TARGET
from mtlv.units.corpora import read_corpus

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from mtlv.plan import Task

TARGETS = {f"data.columns{key}" for key in ("", ".labels", ".label_list", ".target", ".tags")}
NO_LABELS = (
    "argument `labels` is missing; name the columns of 0 and 1, such as `labels=['urgent']`, or give "
    "`label_list`, or for other kinds of task `kind` and `target` or `tags`"
)
ELSEWHERE = ("path", "hub", "documents", "sources")  # of documents that are not in memory
FOLDER = "corpora"  # subfolder of a store, for corpora from memory


class Corpus:
    """Documents with tasks. Created by `load`, `from_dataframe` and `from_dataset`.

    Args:
        settings: the `data` settings by dotted key.
        memory: documents in memory; None if the settings name files.
    """

    def __init__(self, settings: Mapping[str, Any], memory: InMemory | None = None) -> None:
        self.settings, self.memory = dict(settings), memory
        with readable(self) as values:
            self.documents: source.Corpus = read_corpus(load_suite({}, values).members[0].settings.data)

    @property
    def name(self) -> str:
        """Name of the corpus in runs."""
        return self.documents.name

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the T tasks."""
        return self.documents.names

    def __len__(self) -> int:
        """Return the number of documents N."""
        return len(self.documents)

    def to_frame(self) -> pd.DataFrame:
        """Return N rows, indexed by document id, with `text` and one column per task.

        Unknown labels are NA.
        """
        import pandas as pd

        targets = {name: list(values) for name, values in self.documents.targets.items()}
        index = pd.Index(self.documents.ids, name="id")
        frame = pd.DataFrame({"text": self.documents.texts, **targets}, index=index)
        for name in self.tasks:
            known = self.documents.known(name)
            if not known.all():
                values = self.documents.targets[name].dtype
                dtype = f"Int{8 * values.itemsize}" if values.kind == "i" else values
                frame[name] = frame[name].astype(dtype).where(known)
        return frame

    def __repr__(self) -> str:
        notes = "".join(f"; {note}" for note in self.documents.notes)
        return f"Corpus({self.name!r}, {len(self):,} documents, {len(self.tasks)} tasks{notes})"

    def _repr_html_(self) -> str:
        tasks, targets = self.documents.tasks, self.documents.targets
        rows = [(task.name, task.kind, _count(task, targets[task.name]), task.description) for task in tasks]
        return html(repr(self), ("task", "kind", "documents", "description"), rows)


def _count(task: Task, values: NDArray) -> int | str:
    positive = SCORING[task.kind].counts_positive
    return f"{int((values > 0).sum()):,} yes" if positive else len(values)


def the_corpus(value: Corpus, where: str) -> Corpus:
    """Return what was given to a function as its corpus.

    Raises:
        DataError: it is none.
    """
    of_type(value, Corpus, where, "make one with `mtlv.load`, `from_dataframe` or `from_dataset`")
    return value


@contextmanager
def readable(corpus: Corpus) -> Iterator[dict[str, Any]]:
    """Yield settings that name a corpus; documents in memory are written to a temporary folder.

    Raises:
        DataError: they cannot be written.
    """
    if corpus.memory is None:
        yield corpus.settings
        return
    with TemporaryDirectory(prefix="mtlv-") as name:
        path = Path(name) / f"{corpus.memory.what}{corpus.memory.suffix}"
        corpus.memory.write(path)
        yield {**corpus.settings, "data.path": str(path)}


def stored_path(corpus: Corpus, store: Path) -> Path | None:
    """Return the path in a store for this content; None if the documents are not in memory."""
    if corpus.memory is None:
        return None
    key = content_key([corpus.documents.digest, corpus.documents.groups, corpus.settings])
    return store.absolute() / FOLDER / f"{key}{corpus.memory.suffix}"


COLUMNS_OF_TABLES = {"text", "columns", "labels", "label_list", "target", "kind"}
"""Arguments of `load` with which a file is read as a table."""


def _no_target(settings: Mapping[str, Any]) -> bool:
    """Return whether no column with targets is named, although the kind of task needs one."""
    return not settings.keys() & TARGETS and settings.get("data.columns.kind") not in KINDS_WITHOUT_TARGET


def load(name: str | os.PathLike[str], path: str | os.PathLike[str] | None = None, **settings: Any) -> Corpus:
    """Read a corpus from the catalog, or your own files.

    Args:
        name: name in the catalog (see `mtlv data list`), or path of a CSV, TSV, JSONL or Parquet file.
            Files of CoNLL, BRAT, PubTator and annotation tools are recognized if no columns are named.
        path: path of its files; None is where `mtlv data fetch` puts them.
        settings: other `data` settings, such as `limit` and `labels` (some of the corpus). For a table: its
            columns, as for `from_dataframe`, such as `text="report", labels=["heart", "lung"]`.

    Raises:
        DataError: the documents do not exist or cannot be read.
        ConfigError: a setting is wrong.

    Example:
        >>> import mtlv
        >>> corpus = mtlv.load("synthetic", documents=60)
        >>> corpus
        Corpus('synthetic', 60 documents, 9 tasks; all documents are generated; none is real)
        >>> corpus.to_frame().shape
        (60, 10)
    """
    if not isinstance(name, (str, os.PathLike)):
        raise wrong_type(name, "name or path", "mtlv.load", "give a DataFrame to `mtlv.from_dataframe`")
    if path is None and str(name) not in CORPORA:
        if os.path.exists(name):
            if not settings.keys() & COLUMNS_OF_TABLES and (other := other_format(Path(name))):
                name, path = other
            else:
                name, path = "table", name
        elif Path(name).suffix in FORMATS:
            raise DataError("there is no such file", got=str(name), then="check the path")
    where = {} if path is None else {"data.path": str(Path(path).absolute())}
    section = "data.columns" if name == "table" else "data"
    arguments = _of_columns(settings) if name == "table" else settings
    values = {"data.name": str(name), **where, **as_settings(arguments, section, ("data",))}
    if name == "table" and _no_target(values):
        raise ConfigError([NO_LABELS])
    with errors_name_arguments(section):
        return Corpus(values)


def _of_columns(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with those of `columns` among them; `labels` beside its own are some of them.

    Raises:
        DataError: `columns` is no mapping.
    """
    rest = dict(settings)
    columns = rest.pop("columns", {})
    of_type(columns, Mapping, "columns", "write `{'text': COLUMN, 'labels': [COLUMN]}`")
    if "labels" in columns and "labels" in rest:
        rest["data__labels"] = rest.pop("labels")
    return {**{f"data__columns__{key}": value for key, value in columns.items()}, **rest}


def from_dataframe(
    frame: pd.DataFrame,
    *,
    text: str = "text",
    labels: Sequence[str] | None = None,
    descriptions: Mapping[str, str] | None = None,
    name: str = "dataframe",
    **columns: Any,
) -> Corpus:
    """Create a corpus from a DataFrame; nothing is written until it is used for training.

    Args:
        frame: N rows, one document each; an index with a name and unique values has the ids of the documents.
        text: column with the text.
        labels: T columns of 0 and 1, one yes/no task each.
        descriptions: descriptions of tasks by name, used to group them.
        name: name of the corpus.
        columns: other `data` settings, such as `id`, `part`, `max_length`, or for other kinds of task
            `kind`, `target`, `tags` and `classes`.

    Raises:
        DataError: `frame` is no DataFrame, or a column is missing or has invalid values; the message names
            the first wrong row, counted from 1.
        ConfigError: no column with targets is named.

    Example:
        >>> import mtlv, pandas as pd
        >>> frame = pd.DataFrame({"report": ["clear", "large heart"] * 15, "urgent": [0, 1] * 15})
        >>> mtlv.from_dataframe(frame, text="report", labels=["urgent"], name="reports")
        Corpus('reports', 30 documents, 1 tasks)
    """
    import pandas as pd

    of_type(frame, pd.DataFrame, "mtlv.from_dataframe", "read a file with `mtlv.load`")
    frame, names = _with_names(frame)
    text, labels = names(text), None if labels is None else list(map(names, several(labels, "labels")))
    columns = {key: names(value) for key, value in columns.items()}
    if isinstance(descriptions, Mapping):
        descriptions = {names(task): words for task, words in descriptions.items()}
    index = frame.index
    can_use_index = columns.get("id") in (None, index.name)
    if can_use_index and isinstance(index.name, str) and index.is_unique and index.name not in frame:
        frame, columns = frame.reset_index(), {**columns, "id": index.name}

    def save(path: Path) -> None:
        try:
            with_json(frame).to_parquet(path, index=False)
        except (TypeError, ValueError) as error:  # from pandas and pyarrow, which names the column last
            raise DataError(
                "the DataFrame cannot be written as Parquet",
                got="; ".join(map(str, reversed(error.args))).splitlines()[0],
                then="give each column values of one type",
            ) from error

    return _in_memory(
        "table", InMemory("DataFrame", save, ".parquet"), text, labels, descriptions, name, columns
    )


def _with_names(frame: pd.DataFrame) -> tuple[pd.DataFrame, Callable[[Any], Any]]:
    """Return a table whose columns are named by texts, and a function from other names of columns to these.

    Raises:
        DataError: columns have the same name, or names of several levels.
    """
    if frame.columns.nlevels > 1:
        raise DataError(
            "the columns of the DataFrame have names of several levels",
            got=frame.columns[0],
            then="join them first: `frame.columns = [' '.join(map(str, name)) for name in frame.columns]`",
        )
    texts = list(map(str, frame.columns))
    need_header(Path("DataFrame"), texts)
    numbered = {name: text for name, text in zip(frame.columns, texts, strict=True) if name is not text}

    def name(value: Any) -> Any:
        is_name = isinstance(value, Hashable) and not isinstance(value, (str, bool))
        return numbered.get(value, value) if is_name else value

    return frame.set_axis(texts, axis=1), name


def from_dataset(
    dataset: Any,
    *,
    text: str = "text",
    labels: Sequence[str] | None = None,
    descriptions: Mapping[str, str] | None = None,
    name: str = "dataset",
    **columns: Any,
) -> Corpus:
    """Create a corpus from a `datasets.Dataset`, or from a `DatasetDict` with its own split.

    Args:
        dataset: N rows, one document each; the names of a `ClassLabel` are the classes of its task.
        text, labels, descriptions, name, columns: as for `from_dataframe`.

    Raises:
        DataError: as for `from_dataframe`.

    Example:
        >>> import mtlv
        >>> from datasets import Dataset
        >>> dataset = Dataset.from_dict({"text": ["clear", "large heart"] * 15, "urgent": [0, 1] * 15})
        >>> mtlv.from_dataset(dataset, labels=["urgent"])
        Corpus('dataset', 30 documents, 1 tasks)
    """

    if not hasattr(dataset, "save_to_disk"):  # `datasets` is imported only if it is needed
        raise wrong_type(dataset, "Dataset", "mtlv.from_dataset", "give a DataFrame to `mtlv.from_dataframe`")

    def save(path: Path) -> None:
        import datasets

        shown = datasets.is_progress_bar_enabled()
        datasets.disable_progress_bars()
        try:
            dataset.save_to_disk(str(path))
        finally:
            if shown:
                datasets.enable_progress_bars()

    return _in_memory("huggingface", InMemory("Dataset", save, ""), text, labels, descriptions, name, columns)


def _in_memory(
    kind: str,
    memory: InMemory,
    text: str,
    labels: Sequence[str] | None,
    descriptions: Mapping[str, str] | None,
    name: str,
    columns: Mapping[str, Any],
) -> Corpus:
    settings: dict[str, Any] = {"data.name": kind, "data.alias": name, "data.columns.text": text}
    if labels is not None:
        settings["data.columns.labels"] = several(labels, "labels")
    if descriptions is not None:
        of_type(descriptions, Mapping, "descriptions", "write `{TASK: TEXT}`")
        settings["data.descriptions"] = dict(descriptions)
    settings |= as_settings(columns, "data.columns", ("data",))
    if elsewhere := [key for key in ELSEWHERE if f"data.{key}" in settings]:
        raise ConfigError([f"argument `{elsewhere[0]}`: has no effect, because the documents are in memory"])
    if _no_target(settings):
        raise ConfigError([NO_LABELS])
    with errors_name_arguments("data.columns", memory.name_object):
        return Corpus(settings, memory)
