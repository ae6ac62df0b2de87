"""Base of kinds whose heads read one vector per document."""

from __future__ import annotations

from typing import Self

from mtlv.models.heads import Head, HeadSize


class DocumentKind:
    """A plain head, whose outputs are interpreted without weights."""

    by_word = False

    def head(self, shape: HeadSize) -> Head:
        """Return the trainable module."""
        return Head(shape)

    def bound(self, head: Head) -> Self:  # noqa: ARG002
        """Return the kind for one head."""
        return self
