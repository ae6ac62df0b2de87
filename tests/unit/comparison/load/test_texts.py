from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from mtlv.comparison.load.texts import read_texts
from mtlv.errors import DataError
from mtlv.settings import dump

NAME = "`config.yml` of run `r` (1)"
BOMB = "\n".join(
    ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]
)
"""As nested anchors make it, a list of 2 * 9 ** 11 texts of 600 bytes."""


@pytest.fixture
def config(suite: Callable, table: Callable, tmp_path: Path) -> Path:
    file = tmp_path / "config.yml"
    file.write_text(dump(suite(table("t")).members[0].settings), encoding="utf-8")
    return file


def test_texts_are_by_the_id_of_their_document(config: Path):
    texts = read_texts(config, NAME)
    assert len(texts) == 60
    assert texts["3"].startswith("report 3 ")


def test_a_corpus_that_has_moved(config: Path, tmp_path: Path):
    (tmp_path / "t.csv").rename(tmp_path / "moved.csv")
    assert len(read_texts(config, NAME, str(tmp_path / "moved.csv"))) == 60
    with pytest.raises(DataError, match=r"t\.csv"):
        read_texts(config, NAME)


@pytest.mark.parametrize("text", ["", "data: 3", "data: {name: nothing}", "a: [", "data: {name: hoc}\x00"])
def test_a_config_that_is_none(config: Path, text: str):
    config.write_text(text, encoding="utf-8")
    with pytest.raises(DataError):
        read_texts(config, NAME)


HOSTILE = {
    "anchors that multiply": (
        f"{BOMB}\ndata: {{name: table, labels: *a11}}",
        "up to 100,000 values are allowed",
    ),
    "levels": ("data: " + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
    "size": ("data: {}\n#" + "x" * 300_000, "larger than 250000 bytes"),
    "a number of many digits": ("data: " + "9" * 10_000, "not a number"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_config_is_refused_at_once_and_named(config: Path, name: str):
    content, said = HOSTILE[name]
    config.write_text(content, encoding="utf-8")
    begun = time.process_time()
    with pytest.raises(DataError, match=rf"^`config.yml` of run `r` .*{said}"):
        read_texts(config, NAME)
    assert time.process_time() - begun < 20


def test_a_config_may_have_fewer_keys(config: Path):
    whole = read_texts(config, NAME)
    content = yaml.safe_load(config.read_text(encoding="utf-8"))
    for key in ("kind", "group", "metric"):
        del content["data"]["columns"][key]
    del content["data"]["window"]
    config.write_text(yaml.safe_dump(content), encoding="utf-8")
    assert read_texts(config, NAME) == whole
