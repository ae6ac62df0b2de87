"""Small corpora in their authors' formats, made up: names of drugs, pairs of sentences, relations."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mtlv.settings import Suite, load_suite

PARTS = {"train": 32, "dev": 12, "test": 12}
VERBS = {"CPR:4": "blocks", "CPR:3": "drives", "false": "meets"}


def conll(folder: Path) -> str:
    rng = np.random.default_rng(0)
    for part, count in PARTS.items():
        lines = []
        for _ in range(count):
            words = rng.choice(["the", "aspirin", "dose", "was", "heparin"], 6)
            lines += [f"{word}\t{'B-Drug' if word in ('aspirin', 'heparin') else 'O'}" for word in words]
            lines.append("")
        (folder / f"{part}.tsv").write_text("\n".join(lines) + "\n")
    return "conll"


def biosses(folder: Path) -> str:
    rng, number = np.random.default_rng(0), 0
    (folder / "blurb_split").mkdir()
    for part, count in PARTS.items():
        lines = ["pair_id\tsent1\tsent2\tscore"]
        for _ in range(count):
            number, high = number + 1, int(rng.integers(2))
            second = "it grows fast" if high else "it stays small"
            lines.append(f"{number}\tcell {number} and more\t{second} {number}\t{high}")
        (folder / "blurb_split" / f"{part}.tsv").write_text("\n".join(lines) + "\n")
    return "biosses"


def chemprot(folder: Path) -> str:
    number = 0
    for part, count in PARTS.items():
        lines = ["index\tsentence\tlabel"]
        for _ in range(count):
            number += 1
            label = list(VERBS)[number % 3]
            lines.append(f"{number}.T1.T2\t@CHEMICAL$ {number} {VERBS[label]} @GENE$ .\t{label}")
        (folder / f"{part}.tsv").write_text("\n".join(lines) + "\n")
    return "chemprot"


CORPORA = {
    "conll": (conll, "entity_f1"),
    "biosses": (biosses, "pearson"),
    "chemprot": (chemprot, "f1_micro_positive"),
}


def sources_of(
    folder: Path, *names: str, changes: tuple[str, ...] = (), more: str = "matrix: {architecture: [stl, mtl]}"
) -> Suite:
    """A suite on several of them in one model; all, where none is named."""
    given = []
    for name in names or tuple(CORPORA):
        place = folder / name
        if not place.exists():
            place.mkdir()
            CORPORA[name][0](place)
        given.append(f"{{name: {name}, path: {name}}}")
    (folder / "c.yml").write_text(f"data: {{max_length: 32, sources: [{', '.join(given)}]}}\n{more}\n")
    base = [
        "encoder=tiny",
        "training.batch_size=8",
        "training.epochs=2",
        "training.device=cpu",
        "training.precision=fp32",
    ]
    return load_suite(folder / "c.yml", [*base, f"store.uri={folder / 'store'}", *changes])
