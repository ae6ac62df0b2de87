"""Words with their pieces in two vocabularies, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mtlv.figures import canvas

ROW = 0.24  # inches per word
HEADS = {
    0.0: "word (occurrences)",
    0.3: "published vocabulary",
    0.68: "own vocabulary",
}  # by share of the width
LONGEST = 34  # letters of a cell

Pieces = Sequence[Sequence[str]]


def draw_splittings(words: Sequence[str], before: Pieces, after: Pieces, path: Path, *, title: str) -> Path:
    """Draw words with the pieces of two vocabularies, and return `path`."""
    with canvas.style():
        page = canvas.new_figure(7.2, 0.9 + ROW * (len(words) + 1), title, 72)
        axes = page.add_subplot()
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(len(words) + 0.5, -0.5)
        for x, head in HEADS.items():
            axes.text(x, 0, head, va="center", weight="bold")
        for row, cells in enumerate(zip(words, before, after, strict=True), 1):
            for x, cell in zip(HEADS, cells, strict=True):
                text, colour = (cell, "black") if isinstance(cell, str) else _join_pieces(cell)
                axes.text(x, row, canvas.wrap_name(text, LONGEST, 1), va="center", color=colour)
        return canvas.save(page, path)


def _join_pieces(pieces: Sequence[str]) -> tuple[str, str]:
    """Return the pieces of a word as text, and its colour: another one if the word is split."""
    return " · ".join(pieces), canvas.BLUE if len(pieces) == 1 else canvas.ORANGE
