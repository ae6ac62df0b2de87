"""How many tokens a second this machine trains on, measured with the encoder of new configs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from math import floor, log2
from pathlib import Path
from tempfile import TemporaryDirectory

from mtlv.hardware import cores
from mtlv.models.aliases import PACKAGED
from mtlv.settings import load_suite
from mtlv.suite.token_counts import ENCODER, max_length

DOCUMENTS = 64  # of a trial
TOKENS_PER_SECOND = 2000  # of a core, roughly; where the encoder is not on this machine


def measure_speed(texts: Sequence[str]) -> float:
    """Return the tokens a second in training on texts of this length, if nothing else runs on this machine.

    Rounded down to a quarter of a power of two, so that it is repeatable. Takes some seconds; nothing is
    downloaded.
    """
    if PACKAGED[ENCODER].folder is None:
        return float(TOKENS_PER_SECOND * cores())
    from mtlv.planning.resolve import resolve
    from mtlv.units.input_cache import InputCache
    from mtlv.units.timing import measure

    rows = [(f"{number} {texts[number % len(texts)]}", number % 2) for number in range(DOCUMENTS)]
    with TemporaryDirectory() as folder:
        table, config = Path(folder, "trial.csv"), Path(folder, "trial.yml")
        with table.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "label"), *rows])
        columns = "columns: {kind: binary, text: text, labels: [label]}"
        config.write_text(
            f"data: {{name: table, path: trial.csv, max_length: {max_length(tuple(texts))[0]}, {columns}}}\n"
            f"encoder: {ENCODER}\narchitecture: mtl\n",
            encoding="utf-8",
        )
        (member,), cache = load_suite(config).members, InputCache()
        job = next(resolve(cache, member).jobs)
        times = measure(job, cache.inputs(job.settings))
    return 2.0 ** (floor(-4 * log2(times.train * times.busy)) / 4)
