from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from mtlv.errors import DataError
from mtlv.running.corpus_texts import read, reading
from mtlv.settings import dump


@pytest.fixture
def config(suite: Callable, table: Callable) -> str:
    return dump(suite(table("t")).members[0].settings)


def test_another_process_reads_what_this_one_would(config: str):
    with reading(config, None) as begun:
        texts = begun.texts()
    assert texts == read(config, None)
    assert len(texts) == 60
    assert texts["3"].startswith("report 3 ")
    assert begun.process.poll() is not None


def test_a_corpus_that_has_moved(config: str, tmp_path: Path):
    (tmp_path / "t.csv").rename(tmp_path / "moved.csv")
    with reading(config, str(tmp_path / "moved.csv")) as begun:
        assert len(begun.texts()) == 60
    with reading(config, None) as begun, pytest.raises(DataError, match=r"t\.csv"):
        begun.texts()


@pytest.mark.parametrize("text", ["", "data: 3", "data: {name: nothing}", "a: [", "data: {name: hoc}\x00"])
def test_a_config_that_is_none(text: str):
    with reading(text, None) as begun, pytest.raises(DataError):
        begun.texts()


def test_where_no_process_can_be_started_it_is_read_here(config: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with reading(config, None) as begun:
        assert len(begun.texts()) == 60


def test_what_is_not_asked_for_is_not_waited_for(config: str):
    with reading(config, None) as begun:
        pass
    assert begun.process.poll() is not None


def test_a_config_of_an_earlier_release_has_fewer_keys(config: str):
    content = yaml.safe_load(config)
    for key in ("kind", "group", "metric"):
        del content["data"]["columns"][key]
    del content["data"]["window"]
    assert read(yaml.safe_dump(content), None) == read(config, None)
