"""Text tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from mtlv.formatting import safe


def table(
    console: Console,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str = "",
    left: int = 1,
) -> None:
    """Print a text table; the first `left` columns are left-aligned, the others right-aligned.

    If the terminal is too narrow, the first cell of each row is printed on a separate line.
    """
    cells = [[safe(cell) for cell in row] for row in rows]
    names = [safe(name) for name in header]
    if title:
        console.print(Text(safe(title), style="bold"), soft_wrap=True)
    lines = plain_table(names, cells, left)
    if console.is_terminal and cells and max(map(cell_len, lines)) > console.width:
        figures = plain_table(["", *names[1:]], [["", *row[1:]] for row in cells], left)
        lines = [figures[0]]
        for row, figure in zip(cells, figures[1:], strict=True):
            lines += [row[0], figure]
    for i, line in enumerate(lines):
        console.print(Text(line, style="" if i else "bold"), soft_wrap=True)


def plain_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a table with its header; the first `left` columns are left-aligned."""
    everything = [header, *rows]
    widths = [max(cell_len(row[i]) for row in everything) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        pairs = enumerate(zip(padded, row, strict=True))
        parts = [cell + pad if column < left else pad + cell for column, (pad, cell) in pairs]
        return "  ".join(parts).rstrip()

    return [line(row) for row in everything]
