"""Token ids of a corpus: computed once, stored in flat arrays, batched later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mtlv.data.columns import RaggedColumn
from mtlv.data.texts.ids import CutIds, Flat, JoinedIds
from mtlv.data.windowed import WindowLayout
from mtlv.errors import DataError
from mtlv.plan.spans import Span

T = TypeVar("T")

CUT_OFF, NO_WORD = -1, -2
"""Index of a word's first token if it is beyond the maximum length; and if there is no word.

Also used for a mention's tokens.
"""
CHUNK, CHARACTERS = 4096, 2**20
"""Documents per call of the tokenizer, whose lists take about 50 times the memory of the ids; a call also
ends with the document that has the last of so many characters (or words)."""


@dataclass(frozen=True)
class Tokens:
    """Token ids of N documents, concatenated.

    If long documents are cut into windows (`cuts`), each window is a document here.

    Args:
        ids: [sum of lengths] token ids; an array, or read from arrays on disk when they are needed.
        offsets: [N + 1]; document n is `ids[offsets[n]:offsets[n + 1]]`.
        pad: padding id.
        truncated: number of documents that were longer than the maximum length; 0 for tokenizers written in
            Python, which do not report it.
        segments: [sum of lengths] 1 for tokens of the second text of a pair; None without pairs.
        words: index of each word's first token in its document, or `CUT_OFF`; None if documents are not
            given as words.
        mentions: for each mention its first token and the one after its last, or `CUT_OFF`
            twice; None without marked entities.
        cuts: windows of long documents that are documents here; None if none are cut.
        windows: tokens of each window of each document, whose vectors are pooled; None if each has one.
        lost: number of tokens that were truncated, of single texts.
    """

    ids: Flat
    offsets: NDArray[np.int64]
    pad: int
    truncated: int
    segments: Flat | None = None
    words: RaggedColumn | None = None
    mentions: RaggedColumn | None = None
    cuts: WindowLayout | None = None
    windows: RaggedColumn | None = None
    lost: int = 0

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of documents: all their windows, or themselves."""
        return documents if self.cuts is None else self.cuts.rows(documents)

    def documents(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the document of each row."""
        return rows if self.cuts is None else self.cuts.documents[rows]

    def pad_mentions(self, index: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the first token of each mention of documents and the one after its last [B, M, 2].

        `NO_WORD` twice if a document has fewer than M; None without marked entities.
        """
        if self.mentions is None:
            return None
        pairs = self.mentions.pad_rows(index)
        return pairs.reshape(len(index), pairs.shape[1] // 2, 2)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens per document [N], of all its windows."""
        return np.diff(self.offsets)

    def place_windows(self, index: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the row of `pad_rows` of each window of documents [B, W], `NO_WORD` for fewer than W.

        None if each of them has one.
        """
        lengths = np.ones((len(index), 1)) if self.windows is None else self.windows.pad_rows(index)
        if lengths.shape[1] == 1:
            return None
        return np.where(lengths > 0, np.cumsum(lengths > 0).reshape(lengths.shape) - 1, NO_WORD)

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest document, or window."""
        return int((self.lengths if self.windows is None else self.windows.flat).max())

    def pad_rows(
        self, index: NDArray[np.int64], multiple: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return ids and mask [B, L] of the documents `index` [B], padded to the longest of them.

        A document of several windows has as many rows. L is rounded up to `multiple`, up to the longest of
        all documents.
        """
        mask = self._mask(index, multiple)
        return self._spread(self.ids, index, mask, self.pad), mask

    def pad_segments(self, index: NDArray[np.int64], multiple: int = 1) -> NDArray[np.int64] | None:
        """Return the text to which each token of documents belongs [B, L]; None without pairs."""
        if self.segments is None:
            return None
        return self._spread(self.segments, index, self._mask(index, multiple), 0)

    def _mask(self, index: NDArray[np.int64], multiple: int) -> NDArray[np.bool_]:
        lengths = self.offsets[index + 1] - self.offsets[index]  # `lengths` computes all documents
        if self.windows is not None:
            lengths = (of_windows := self.windows.pad_rows(index))[of_windows > 0]
        columns = int(lengths.max())
        if multiple > 1:
            columns = max(columns, min(-(-columns // multiple) * multiple, self.longest))
        return np.arange(columns)[None, :] < lengths[:, None]

    def _spread(
        self, flat: Flat, index: NDArray[np.int64], mask: NDArray[np.bool_], fill: int
    ) -> NDArray[np.int64]:
        out = np.full(mask.shape, fill, dtype=np.int64)
        out[mask] = np.concatenate([flat[self.offsets[i] : self.offsets[i + 1]] for i in index])
        return out


def tokenise(texts: Sequence, tokenizer: Callable[..., Any], **how: Any) -> Tokens:
    """Return the tokens of all documents; see `tokenize_documents`."""
    return join_tokens(list(tokenize_documents(texts, tokenizer, **how)))


def tokenize_documents(
    texts: Sequence[str] | Sequence[Sequence[str]],
    tokenizer: Callable[..., Any],
    *,
    max_length: int,
    pad: int,
    seconds: Sequence[str] | None = None,
    mentions: Sequence[Sequence[Span]] | None = None,
    overlap: int | None = None,
) -> Iterator[Tokens]:
    """Tokenize every document once, including special tokens, truncated to `max_length` tokens.

    Args:
        texts: N documents: texts, or lists of words, whose first tokens are then stored.
        tokenizer: a fast tokenizer of Transformers.
        max_length: in tokens; the longer text of a pair is truncated first.
        pad: padding id.
        seconds: second texts of N pairs.
        mentions: marked entities of N documents, as character spans of `texts`.
        overlap: tokens that adjacent windows of a longer text share; None truncates it.

    Yields:
        The tokens of some documents at a time, at least once.

    Raises:
        DataError: entities are marked in documents given as words, or the tokenizer makes no windows.
    """
    if mentions is not None and _by_word(texts):
        raise DataError("entities are marked in texts, but these documents are given as words")
    if overlap is not None and not getattr(tokenizer, "is_fast", False):
        raise DataError(
            "`data.window_pooling`: this encoder's tokenizer does not cut texts into windows",
            got=type(tokenizer).__name__,
            allowed="null, or an encoder with a fast tokenizer",
        )
    how: dict[str, Any] = {"max_length": max_length, "pad": pad, "overlap": overlap}
    for rows, some in _chunks(texts):
        yield _tokenise(some, tokenizer, _rows(seconds, rows), _rows(mentions, rows), **how)


def _chunks(texts: Sequence[T]) -> Iterator[tuple[slice, list[T]]]:
    """Yield rows and texts for one call of the tokenizer; there is at least one."""
    chunk: list[T] = []
    size = start = 0
    for text in texts:
        chunk.append(text)
        size += len(text)  # type: ignore[arg-type]
        if len(chunk) == CHUNK or size >= CHARACTERS:
            yield slice(start, start + len(chunk)), chunk
            chunk, size, start = [], 0, start + len(chunk)
    if chunk or not start:
        yield slice(start, start + len(chunk)), chunk


def _by_word(texts: Sequence) -> bool:
    return bool(texts) and not isinstance(texts[0], str)


def _rows(values: Sequence[T] | None, rows: slice) -> Sequence[T] | None:
    return None if values is None else values[rows]


def _tokenise(
    texts: Sequence,
    tokenizer: Callable[..., Any],
    seconds: Sequence[str] | None,
    mentions: Sequence[Sequence[Span]] | None,
    *,
    max_length: int,
    pad: int,
    overlap: int | None,
) -> Tokens:
    by_word = _by_word(texts)
    texts_and_seconds = [list(texts)] if seconds is None else [list(texts), list(seconds)]
    encoded = tokenizer(
        *texts_and_seconds,
        truncation=True,  # longest first
        max_length=max_length,
        is_split_into_words=by_word,
        return_attention_mask=False,
        return_token_type_ids=seconds is not None,
        return_overflowing_tokens=overlap is not None,
        stride=overlap or 0,
        return_offsets_mapping=mentions is not None,
    )
    lengths = np.array([len(ids) for ids in encoded["input_ids"]], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    cut = () if overlap is not None else [one for one in encoded.encodings or () if one.overflowing]
    rest = [part.special_tokens_mask.count(0) for one in cut for part in one.overflowing]
    windows = None
    if len(lengths) > len(texts):
        counts = np.bincount(encoded["overflow_to_sample_mapping"])
        windows = RaggedColumn(lengths, np.concatenate([[0], np.cumsum(counts)]), fill=0)
        offsets = offsets[windows.offsets]
    return Tokens(
        _flat(encoded["input_ids"], np.int32),
        offsets,
        pad,
        len(cut),
        None if seconds is None else _flat(encoded["token_type_ids"], np.int8),
        _first_tokens(encoded, texts) if by_word else None,
        None if mentions is None else _mention_tokens(encoded, mentions),
        windows=windows,
        lost=0 if seconds is not None else sum(rest),
    )


def _flat(rows: Sequence[Sequence[int]], kind: type) -> NDArray:
    return np.fromiter(chain.from_iterable(rows), dtype=kind, count=sum(map(len, rows)))


def _first_tokens(encoded: Any, texts: Sequence[Sequence[str]]) -> RaggedColumn:
    """Return the index of each word's first token; `CUT_OFF` also for words that the tokenizer removes."""
    rows = []
    for number, words in enumerate(texts):
        places = [CUT_OFF] * len(words)
        for place, word in enumerate(encoded.word_ids(number)):
            if word is not None and places[word] < 0:
                places[word] = place
        rows.append(places)
    return RaggedColumn.of(rows, fill=NO_WORD)


def _mention_tokens(encoded: Any, rows: Sequence[Sequence[Span]]) -> RaggedColumn:
    """Return the first token of each mention and the one after its last; `CUT_OFF` twice if it has none.

    A token belongs to a mention if they share a character. A mention truncated in
    its middle has its remaining tokens.
    """
    places_of_mentions = []
    for number, mentions in enumerate(rows):
        first_text = np.array([part == 0 for part in encoded.sequence_ids(number)])  # no special tokens
        begins, ends = np.array(encoded["offset_mapping"][number]).T
        places: list[int] = []
        for span in mentions:
            (within,) = np.nonzero(first_text & (begins < span.end) & (ends > span.start) & (begins < ends))
            places += [int(within[0]), int(within[-1]) + 1] if len(within) else [CUT_OFF, CUT_OFF]
        places_of_mentions.append(places)
    return RaggedColumn.of(places_of_mentions, fill=NO_WORD)


def in_chunks(tokens: Tokens, max_length: int) -> Tokens:
    """Cut documents into rows of at most `max_length` tokens, each with the document's special tokens.

    Args:
        tokens: single texts, not truncated, with one special token at the start and one at the end.
        max_length: in tokens.

    Returns:
        Rows that are read from `tokens` when they are needed.
    """
    size = max_length - 2
    text_lengths = tokens.lengths - 2
    layout = WindowLayout.unread(np.maximum(-(-text_lengths // size), 1))
    lengths = np.full(len(layout.documents), size)
    lengths[np.cumsum(layout.counts) - 1] = text_lengths - (layout.counts - 1) * size
    offsets = np.concatenate([[0], np.cumsum(lengths + 2)])
    assert isinstance(tokens.ids, np.ndarray)
    ids = CutIds(tokens.ids, tokens.offsets, layout=layout, rows=offsets, size=size)
    return Tokens(ids, offsets, tokens.pad, 0, cuts=layout)


def join_tokens(parts: Sequence[Tokens]) -> Tokens:
    """Concatenate the tokens of several corpora, or of parts of one."""
    are_arrays = all(isinstance(part.ids, np.ndarray) for part in parts)

    def no_words(part: Tokens) -> RaggedColumn:
        return RaggedColumn.of([()] * len(part), fill=NO_WORD)

    return Tokens(
        _join_arrays([part.ids for part in parts]),
        _join_offsets([part.offsets for part in parts]),
        parts[0].pad,
        sum(part.truncated for part in parts),
        _join(
            parts,
            "segments",
            lambda part: np.broadcast_to(np.int8(0), len(part.ids)),  # takes no memory if ids are on disk
            _join_arrays if are_arrays else JoinedIds,
        ),
        _join(parts, "words", no_words, _join_columns),
        _join(parts, "mentions", no_words, _join_columns),
        _join(parts, "cuts", lambda one: WindowLayout.unread(np.ones(len(one), np.int64)), WindowLayout.join),
        _join(
            parts,
            "windows",
            lambda part: RaggedColumn(part.lengths, np.arange(len(part) + 1), fill=0),
            _join_columns,
        ),
        sum(part.lost for part in parts),
    )


def _join(
    parts: Sequence[Tokens], name: str, instead: Callable[[Tokens], T], join: Callable[[Sequence[T]], Any]
) -> Any:
    """Concatenate a column; `instead` makes that of a part without it. None if no part has it."""
    columns = [getattr(part, name) for part in parts]
    if all(column is None for column in columns):
        return None
    return join([instead(p) if column is None else column for p, column in zip(parts, columns, strict=True)])


def _join_arrays(parts: Sequence[Flat]) -> Flat:
    """Return one array; a lazy one, if one of the parts is."""
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) < len(parts):
        return JoinedIds(parts)
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _join_columns(columns: Sequence[RaggedColumn]) -> RaggedColumn:
    offsets = _join_offsets([column.offsets for column in columns])
    return RaggedColumn(np.concatenate([column.flat for column in columns]), offsets, columns[0].fill)


def _join_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    ends = accumulate(int(part[-1]) for part in parts)
    return np.concatenate([parts[0], *(part[1:] + end for part, end in zip(parts[1:], ends, strict=False))])
