"""A task of a logged model and its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass as checked

from mtlv.data.joined import sources_of
from mtlv.data.relations import INPUTS
from mtlv.data.source import Corpus
from mtlv.data.targets import TARGETS
from mtlv.data.words import RULES, Agreement, best_rule, split_words
from mtlv.errors import DataError
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.settings.values import Count, Fraction, MaybeCount, OneOf

if TYPE_CHECKING:
    from mtlv.settings.data_schema import DataSettings

TEXT, SECOND, WORDS, MENTIONS = "text", "text_pair", "words", "mentions"
OPTIONAL = (SECOND, WORDS, MENTIONS)
MADE_UP = "This is a short text."
MOST_CLASSES = 100_000
MOST_MENTIONS = 1000
STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
"""Values of the files of a model, which may be from anywhere, are not converted."""


@checked(frozen=True, config=STRICT)
class InputSchema:
    """Inputs that a task reads from a document."""

    max_length: Count  # in tokens, with special tokens; longer documents are truncated
    # columns that it needs besides the text
    reads: Annotated[tuple[Annotated[str, OneOf(OPTIONAL)], ...], Field(strict=False)] = ()
    # presentation of marked entities, one of `mtlv.data.relations.INPUTS`
    shown: Annotated[str, OneOf(INPUTS)] = "original"
    # roles of marked entities, in order of occurrence, without duplicates
    roles: Annotated[tuple[str, ...], Field(strict=False, max_length=MOST_CLASSES)] = ()
    mentions: Annotated[int, Field(ge=0, le=MOST_MENTIONS)] = 0  # maximum number in a document
    window: MaybeCount = None  # words per window of longer documents; None does not cut them
    # words shared by neighbouring windows; None as in `data.window_overlap`
    window_overlap: Annotated[int | None, Field(ge=0)] = None
    window_pooling: Literal["mean", "max"] | None = None  # as `data.window_pooling`
    # how texts are split into words, one of `RULES`; None is `RUNS`
    rule: Annotated[str, OneOf(tuple(RULES))] | None = None
    # share of the training documents whose given words the rule makes; None if it made the words
    agreement: Fraction | None = None

    @classmethod
    def of(cls, corpus: Corpus, data: DataSettings, train: Iterable[int]) -> Self:
        """Return the inputs of a corpus's tasks; `train` has the rows of the training documents."""
        optional = zip(OPTIONAL, (corpus.seconds, corpus.words, corpus.mentions), strict=True)
        rows = corpus.mentions or ()
        is_cut = corpus.words is not None and all(TARGETS[task.kind].by_word for task in corpus.tasks)
        words = _word_rule(corpus, train)
        return cls(
            max_length=data.max_length,
            reads=tuple(name for name, column in optional if column is not None),
            shown="original" if corpus.mentions is None else data.mentions,
            roles=tuple(dict.fromkeys(span.type for row in rows for span in row)),
            mentions=max(map(len, rows), default=0),
            window=data.window if is_cut else None,
            window_overlap=data.window_overlap if is_cut or data.window_pooling else None,
            window_pooling=data.window_pooling,
            rule=None if words is None else words.rule,
            agreement=None if words is None or corpus.rule else words.share,
        )

    @property
    def tokens(self) -> tuple[str, ...]:
        """Return the tokens that may mark an entity in a text, sorted.

        Raises:
            DataError: a role cannot be shown this way.
        """
        count = max(self.mentions, len(self.roles)) if self.roles else 0
        row = [Span(0, 1, self.roles[n % len(self.roles)]) for n in range(count)]
        return INPUTS[self.shown].tokens([row])

    def check(self) -> None:
        """Raise ValueError if values do not fit each other; each by itself is checked when it is read."""
        if {WORDS, MENTIONS} <= set(self.reads):
            raise ValueError("entities marked in words")
        size = self.window or ((self.max_length + 1) // 2 if self.window_pooling else 0)
        if self.window_overlap is not None and self.window_overlap >= size:
            raise ValueError("`window_overlap` that is not below `window`")
        try:
            self.tokens  # noqa: B018 - each role can be shown
        except DataError as error:
            raise ValueError(str(error)) from error


def _word_rule(corpus: Corpus, train: Iterable[int]) -> Agreement | None:
    if corpus.words is None:
        return None
    if corpus.rule:
        return Agreement(corpus.rule, 1.0)
    prose = corpus.prose
    return best_rule((corpus.words[row], None if prose is None else prose[row]) for row in train)


@dataclass(frozen=True)
class ServedTask:
    """A task and its input schema."""

    task: Task
    schema: InputSchema

    def as_json(self) -> dict[str, Any]:
        """Return plain values, without empty ones of the schema; the inverse of `read`."""
        task = {key: getattr(self.task, key) for key in KEPT}
        return task | {key: value for key, value in asdict(self.schema).items() if value not in ((), None)}

    @classmethod
    def read(cls, name: str, content: object) -> Self:
        """Read a task from a description.

        Raises:
            ValueError: a value is invalid, or a key unknown or missing.
        """
        if not isinstance(content, dict):
            raise ValueError("`tasks` with a value that is not a task")
        values = {"name": name} | {key: content[key] for key in KEPT if key in content}
        task = TypeAdapter(Task).validate_python(values)
        rest = {key: value for key, value in content.items() if key not in KEPT}
        schema = InputSchema(**rest)
        schema.check()
        if len(task.classes) > MOST_CLASSES or len(set(task.classes)) < len(task.classes):
            raise ValueError(f"task `{name}` with too many classes, or one twice")
        if not set(task.negative) <= set(task.classes):
            raise ValueError(f"task `{name}` with `negative` that are not among its classes")
        return cls(task, schema)


def made_up_row(tasks: Iterable[ServedTask]) -> dict[str, object]:
    """Return a value for each input, made up, that all tasks can read; none if they mark other entities."""
    schemas = [served.schema for served in tasks]
    marked = {(schema.mentions, schema.roles) for schema in schemas if MENTIONS in schema.reads}
    if len(marked) > 1:
        return {}
    row: dict[str, object] = {TEXT: MADE_UP}
    if any(SECOND in schema.reads for schema in schemas):
        row[SECOND] = MADE_UP
    for count, roles in marked:
        places = split_words(MADE_UP).places[:count]
        row[MENTIONS] = [[*place, roles[n % len(roles)]] for n, place in enumerate(places)]
    return row


KEPT = ("kind", "source", "classes", "negative")
"""Attributes of a task in its description."""


def served_tasks(
    tasks: Sequence[Task], corpus: Corpus, data: DataSettings, train: NDArray[np.int64]
) -> dict[str, ServedTask]:
    """Return the tasks by name, in order; each source of a joined corpus has its own schema.

    `train` has the rows of the training documents in the joined corpus.
    """
    forms: dict[str, InputSchema] = {}
    for (member, first, end), settings in zip(sources_of(corpus), data.each_source, strict=True):
        rows = (train[(train >= first) & (train < end)] - first).tolist()
        forms |= dict.fromkeys(member.names, InputSchema.of(member, settings, rows))
    return {task.name: ServedTask(task, forms[task.name]) for task in tasks}
