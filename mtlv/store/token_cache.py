"""Tokens of corpora cached in the store, so that later runs do not tokenize again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.data.token_file import DamagedTokens, read_tokens, write_tokens
from mtlv.data.tokens import join_tokens
from mtlv.seeding import content_key

if TYPE_CHECKING:
    from mtlv.data.source import Corpus
    from mtlv.data.tokens import Tokens

TOKENS_SUFFIX = ".tokens"
MAX_WRITE_SECONDS = 3600  # seconds after which an incomplete file is not being written any more


class TokenCache:
    """A folder with one file per corpus, tokenizer and tokenization options.

    `warn` is called with a message for each damaged file."""

    def __init__(self, folder: Path, warn: Callable[[str], None] = lambda _: None) -> None:
        self.folder, self._warn = folder, warn
        self.used: set[Path] = set()

    def once(
        self,
        corpus: Corpus,
        tokenizer: Sequence[str],
        how: Mapping[str, object],
        make: Callable[[], Iterable[Tokens]],
    ) -> Tokens:
        """Return the corpus's tokens from their file, or from `make`, whose result is stored.

        The tokens are memory-mapped and read-only. A damaged file is created again, with a message to `warn`;
        if no file can be written, the tokens are in memory.

        Args:
            corpus: corpus to tokenize.
            tokenizer: identification of the tokenizer, from `tokenizer_key`.
            how: further options that affect the tokens.
            make: tokenizes the corpus, some documents at a time.
        """
        path = self.folder / f"{content_key([corpus.digest, list(tokenizer), dict(how)])}{TOKENS_SUFFIX}"
        self.used.add(path)
        try:
            tokens = read_tokens(path)
        except DamagedTokens as damaged:
            tokens = None
            self._warn(f"the file of tokens {path} is damaged ({damaged}); it is created again")
        if tokens is not None:
            return tokens
        with suppress(OSError, DamagedTokens):  # a full or read-only disk: it only costs time and memory
            write_tokens(path, make())
            tokens = read_tokens(path)
        return tokens or join_tokens(list(make()))

    def half_written(self) -> Iterator[Path]:
        """Yield files of processes that ended while writing them."""
        for path in sorted(self.folder.glob(f".*{TOKENS_SUFFIX}-*")):
            if time.time() - path.stat().st_mtime > MAX_WRITE_SECONDS:
                yield path

    def unused_files(self) -> Iterator[Path]:
        """Yield files that were not requested from this object."""
        yield from sorted(set(self.folder.glob(f"*{TOKENS_SUFFIX}")) - self.used)
