"""What kinds of task have in common whose heads read one vector for each document."""

from __future__ import annotations

from typing import Self

from mtlv.models.heads import Head, HeadSize


class DocumentKind:
    """A plain head; what its outputs mean needs no weights."""

    by_word = False

    def head(self, shape: HeadSize) -> Head:
        """The module that learns."""
        return Head(shape)

    def bound(self, head: Head) -> Self:  # noqa: ARG002
        """The kind as one head has it."""
        return self
