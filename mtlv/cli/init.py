"""`mtlv init`: a first config for a table."""

from __future__ import annotations

import argparse
import csv
from contextlib import suppress
from pathlib import Path

from mtlv.cli.terminal import OK, say
from mtlv.errors import ConfigError, DataError, shorten
from mtlv.formatting import list_first

EXPORTS = (".json", ".jsonl")


def init(args: argparse.Namespace) -> int:
    """Look at a table, and write a config that runs."""
    from mtlv.data.standoff import other_format
    from mtlv.suite.format_config import write_format_config

    out = args.out or Path(f"{args.table.resolve().stem}.yml")
    is_described = args.labels or args.text or args.columns or args.header is not None  # as a table
    other = None if is_described else other_format(args.table)
    if other is None:
        return _init_table(args, out)
    if args.table.suffix.lower() in EXPORTS:
        with suppress(DataError):  # beside entities, it may have columns that can be learned
            return _init_table(args, out)
    say(*write_format_config(*other, out))
    return OK


def _init_table(args: argparse.Namespace, out: Path) -> int:
    from mtlv.data.tables.column_kinds import FEWEST
    from mtlv.data.tables.guess import guess
    from mtlv.data.tables.parts import beside
    from mtlv.data.tables.tag_columns import SPANS
    from mtlv.suite.new_config import need_new, write_config
    from mtlv.suite.speed import measure_speed
    from mtlv.suite.token_counts import max_length

    labels = _names(args.labels or "")
    path, note = beside(args.table)
    names = _names(args.columns or "") or None
    table = guess(path, text=args.text, labels=labels, names=names, header=args.header)
    need_new(out)
    lines = write_config(table, out, measure_speed(table.sample), args.minutes)
    pair = f" and `{table.columns['text_pair']}`" if "text_pair" in table.columns else ""
    say(*filter(None, (note, *table.notes)))
    say(f"{table.path.name}: {table.documents} documents, text in `{table.text}`{pair}")
    kinds = dict.fromkeys(str(one.columns["kind"]) for one in table.learned)
    say(f"to learn ({', '.join(kinds)}): {list_first(table.labels)}")
    if table.others and not labels:
        say(f"not learned: {list_first(table.others)}; name all that you want to learn with `--labels`")
    for flaw in table.flawed:
        say(f"left out: {flaw}; to learn it, fill or remove these cells, then run this again")
    if table.empty:
        counts = list_first([f"{name} {count}" for name, count in table.empty.items()])
        say(
            f"empty cells: {counts}; such a cell is neither learned nor tested; if it means no, set "
            "`missing_labels: no` for labels"
        )
    if table.uncertain:
        counts = list_first([f"{name} {count}" for name, count in table.uncertain.items()])
        meaning = next(one.columns["uncertain"] for one in table.learned if one.uncertain)
        say(
            f"-1 or uncertain: {counts}; read as {meaning}: set `uncertain` to unknown (neither "
            "learned nor tested), yes or no"
        )
    if table.rare:
        say(
            f"left out: {list_first(list(table.rare))}; fewer than {FEWEST} documents have them, or lack them"
        )
    if "mentions" in table.columns:
        column = table.columns["mentions"]
        say(f"marked entities in `{column}`; `data.mentions` sets how the encoder sees them")
    for name in table.marked:
        say(f"not read: `{shorten(name)}` {SPANS}")
    if table.texts:
        pair = f"`text_pair: {table.texts[0]}` to `data.columns`"
        length = f"`data.max_length: {max_length(table.pairs)[0]}`"
        say(f"not read: {list_first(table.texts)}; for pairs of texts add {pair}, with {length}")
    say(*lines)
    return OK


def _names(text: str) -> tuple[str, ...]:
    """Return names separated by commas; names with commas are in double quotes."""
    try:
        cells = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:  # for example, a line break that is not in quotes
        then = "put names with commas or line breaks in double quotes"
        raise ConfigError([f"`--labels` cannot be read (got {error}); {then}"]) from error
    return tuple(name.strip() for name in cells if name.strip())
