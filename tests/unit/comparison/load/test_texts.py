from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from mtlv.comparison.load.texts import has_targets, subgroups_of, texts_of
from mtlv.data.joined import join
from mtlv.data.source import Corpus
from mtlv.errors import DataError
from mtlv.plan import Scores, Task, TaskScores
from mtlv.settings import dump
from mtlv.units.corpora import read_data_settings, read_documents


def read_texts(config: Path, name: str, path: str | None = None) -> dict[str, str]:
    return texts_of(read_documents(read_data_settings(config, name), path))


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


def corpus(name: str = "a", **subgroups: list[str]) -> Corpus:
    """Documents with these values of columns, and the targets 0, 1, 0, 1, ..."""
    count = len(next(iter(subgroups.values()), [])) or 4
    ids = tuple(map(str, range(count)))
    targets = {name: np.arange(count) % 2}
    return Corpus(name, (Task(name, source=name),), ids, ids, targets, subgroups=subgroups)


def sizes(**subgroups: list[str]) -> dict[str, int]:
    (groups,) = subgroups_of(corpus(**subgroups)).values()
    return {name: len(ids) for name, ids in groups.items()}


def test_a_group_has_the_documents_of_one_value_and_a_missing_one_is_the_last():
    assert sizes(sex=["M", "", "F", "M"]) == {"F": 1, "M": 2, "missing": 1}
    assert list(sizes(sex=["M", "", "F", "M"])) == ["F", "M", "missing"]
    assert list(sizes(site=["10", "9", "2", "2"])) == ["2", "9", "10"]
    assert subgroups_of(corpus(sex=["M", "", "F", "M"]))["sex"]["M"] == {"0", "3"}


def test_many_numbers_are_cut_at_the_quartiles_of_the_documents():
    ages = [*range(20, 30), *[40] * 20, *range(50, 60), ""]
    named = sizes(age=list(map(str, ages)))
    assert named == {"20 to 29": 10, "40 to 40": 20, "50 to 59": 10, "missing": 1}
    assert sizes(year=[str(year) for year in (*range(1990, 2000), *range(2002, 2012))]) == {
        "1990 to 1994": 5, "1995 to 1999": 5, "2002 to 2006": 5, "2007 to 2011": 5,
    }  # fmt: skip


def test_of_many_texts_the_rarest_are_one_group():
    sites = [name for name in "abcdefghijkl" for _ in range(1 if name in "ck" else 2)]
    named = sizes(site=sites)
    assert list(named) == [*"abdefghijl", "other"]
    assert named["other"] == 2


def test_sources_share_columns_and_documents_without_one_are_in_no_group():
    joined = join([corpus("a", sex=["F", "M"]), corpus("b"), corpus("c", sex=["F", ""])])
    assert subgroups_of(joined) == {"sex": {"F": {"a/0", "c/0"}, "M": {"a/1"}, "missing": {"c/1"}}}


def test_documents_in_another_order_have_other_targets():
    scores = Scores(
        ("u",), "test", ("3", "0"), {"a": TaskScores(np.zeros(2), np.array([1, 0]), np.array([True, True]))}
    )
    assert has_targets(corpus(), scores)
    turned = corpus().take([3, 2, 1, 0])
    assert not has_targets(Corpus("a", turned.tasks, corpus().ids, turned.texts, turned.targets), scores)
