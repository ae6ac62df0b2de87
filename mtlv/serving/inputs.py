"""A task of a logged model and its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mtlv.data.joined import sources_of
from mtlv.data.relations import INPUTS
from mtlv.data.source import Corpus
from mtlv.data.targets import TARGETS
from mtlv.data.words import RULES, Agreement, best_rule, split_words
from mtlv.errors import DataError
from mtlv.plan import Task
from mtlv.plan.spans import Span

if TYPE_CHECKING:
    from mtlv.settings.data_schema import DataSettings

TEXT, SECOND, WORDS, MENTIONS = "text", "text_pair", "words", "mentions"
OPTIONAL = (SECOND, WORDS, MENTIONS)
MADE_UP = "This is a short text."
MOST_CLASSES = 100_000
MOST_MENTIONS = 1000


@dataclass(frozen=True)
class InputSchema:
    """Inputs that a task reads from a document."""

    max_length: int  # in tokens, with special tokens; longer documents are truncated
    reads: tuple[str, ...] = ()  # columns of `OPTIONAL` that it needs besides the text
    shown: str = "original"  # presentation of marked entities, one of `mtlv.data.relations.INPUTS`
    roles: tuple[str, ...] = ()  # roles of marked entities, in order of occurrence, without duplicates
    mentions: int = 0  # maximum number of marked entities of a document
    window: int | None = None  # words per window of longer documents; None does not cut them
    # words shared by neighbouring windows; None as in `data.window_overlap`
    window_overlap: int | None = None
    rule: str | None = None  # how texts are split into words, one of `RULES`; None is `RUNS`
    # share of the training documents whose given words the rule makes; None if it made the words
    agreement: float | None = None

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
            window_overlap=data.window_overlap if is_cut else None,
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
        """Raise ValueError if a value is invalid."""
        if type(self.max_length) is not int or self.max_length < 1:
            raise ValueError("`max_length` that is not a whole number of 1 or more")
        if not set(self.reads) <= set(OPTIONAL) or len(set(self.reads)) < len(self.reads):
            raise ValueError("`reads` with an unknown column")
        if {WORDS, MENTIONS} <= set(self.reads):
            raise ValueError("entities marked in words")
        if self.shown not in INPUTS:
            raise ValueError(f"the unknown value {self.shown!r}")
        if self.rule is not None and self.rule not in RULES:
            raise ValueError(f"the unknown rule of words {self.rule!r}")
        share = 0 if self.agreement is None else self.agreement
        if type(share) not in (int, float) or not 0 <= share <= 1:
            raise ValueError("`agreement` that is not a number from 0 to 1")
        if type(self.mentions) is not int or not 0 <= self.mentions <= MOST_MENTIONS:
            raise ValueError(f"`mentions` that is not a whole number up to {MOST_MENTIONS}")
        _check_window(self.window, self.window_overlap)
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


def _check_window(size: object, overlap: object) -> None:
    if size is not None and (type(size) is not int or size < 1):
        raise ValueError("`window` that is not a whole number of 1 or more")
    if overlap is not None and (type(size) is not int or type(overlap) is not int or not 0 <= overlap < size):
        raise ValueError("`window_overlap` that is not a whole number below `window`")


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
            ValueError: a value is invalid.
            TypeError: a key is unknown or missing.
        """
        if not isinstance(content, dict):
            raise ValueError("`tasks` with a value that is not a task")
        texts, lists = ("kind", "source", "shown", "rule"), ("classes", "negative", "reads", "roles")
        if not all(isinstance(content.get(key, ""), str) for key in texts):
            raise ValueError(f"a value of task `{name}` that is not text")
        if not all(are_names(content.get(key, [])) for key in lists):
            raise ValueError(f"a value of task `{name}` that is not a list of names")
        values: dict[str, Any] = {k: tuple(v) if k in lists else v for k, v in content.items()}
        task = Task(name, **{key: values.pop(key) for key in KEPT if key in values})
        schema = InputSchema(**values)
        schema.check()
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


def are_names(value: object) -> bool:
    """Whether it is a list of texts without duplicates."""
    return (
        isinstance(value, list)
        and len(value) <= MOST_CLASSES
        and all(isinstance(name, str) for name in value)
        and len(set(value)) == len(value)
    )


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
