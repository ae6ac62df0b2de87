"""Effect of each known defect of the MTLV thesis's code on its results, with one corpus and one encoder.

    python experiments/thesis-audit/run.py --fixed-vectors data.path=FOLDER_OR_FILE [key=value ...]

Trained units are kept in a folder: the same command resumes where it was stopped, and writes the table of
the finished units. With `--tables`, only the tables and the figure are written again, from `seeds.csv`,
without training. `README.md` describes the defects and the results.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from audit_report import Line, draw, measured, read_seeds, table, write_csv, write_seeds
from audit_rows import rows
from audit_work import Audit

from mtlv.settings import load_suite

HERE = Path(__file__).parent


def report(audit: Audit, out: Path) -> str:
    """Write tables, metrics per seed, figure, data and versions to `out`; return a message."""
    lines = measured(rows(), audit.found())
    if not any(line.differences for line in lines):
        return "no row and its twin are both there yet: nothing to report"
    out.mkdir(parents=True, exist_ok=True)
    write_seeds(lines, out / "seeds.csv")
    (out / "about.json").write_text(json.dumps(audit.about(), indent=1, ensure_ascii=False) + "\n")
    return tables(lines, out)


def tables(lines: Sequence[Line], out: Path) -> str:
    """Write the tables and the figure to `out`; return a message."""
    write_csv(lines, out / "audit.csv")
    (out / "audit.md").write_text(table(lines), encoding="utf-8")
    draw(lines, out / "audit.png", title="What each defect does to the numbers, in points beside the dots")
    return f"wrote {out}"


def main(arguments: list[str] | None = None) -> None:
    """Run the command; see the module's docstring."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("changes", nargs="*", help="key=value: changes to config.yml")
    parser.add_argument(
        "--fixed-vectors",
        action="store_true",
        help="train two small layers on the encoder's vectors, not the encoder: seconds per model",
    )
    parser.add_argument("--minutes", type=float, help="start no unit after this many minutes")
    parser.add_argument("--units", type=Path, default=Path("mtlv-store/thesis-audit"), help="folder of units")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder of tables and figure")
    parser.add_argument("--tables", action="store_true", help="train nothing, read OUT/seeds.csv")
    given = parser.parse_intermixed_args(arguments)
    if given.tables:
        if not (given.out / "seeds.csv").is_file():
            parser.error(f"there is no seeds.csv in {given.out}: --tables reads one that this script wrote")
        print(tables(measured(rows(), read_seeds(given.out / "seeds.csv")), given.out))
        return
    audit = Audit(
        load_suite(HERE / "config.yml", given.changes), given.units, fixed_vectors=given.fixed_vectors
    )
    audit.train(given.minutes, partial(print, flush=True))
    print(report(audit, given.out))


if __name__ == "__main__":
    main()
