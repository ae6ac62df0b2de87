from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from mtlv.comparison.load import texts as corpus_texts
from mtlv.comparison.load.texts import RunConfig, read, reading
from mtlv.errors import DataError
from mtlv.processes import ChildProcess
from mtlv.settings import dump

BOMB = "\n".join(
    ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]
)
"""As nested anchors make it, a list of 2 * 9 ** 11 texts of 600 bytes."""


@pytest.fixture
def config(suite: Callable, table: Callable, tmp_path: Path) -> RunConfig:
    file = tmp_path / "config.yml"
    file.write_text(dump(suite(table("t")).members[0].settings), encoding="utf-8")
    return RunConfig(file, "`config.yml` of run `r` (1)")


def moved(config: RunConfig, path: Path) -> RunConfig:
    return replace(config, path=str(path))


def test_another_process_reads_what_this_one_would(config: RunConfig):
    with reading(config) as begun:
        texts = begun.texts()
    assert texts == read(config)
    assert len(texts) == 60
    assert texts["3"].startswith("report 3 ")
    assert begun.process.process.poll() is not None


def test_a_corpus_that_has_moved(config: RunConfig, tmp_path: Path):
    (tmp_path / "t.csv").rename(tmp_path / "moved.csv")
    with reading(moved(config, tmp_path / "moved.csv")) as begun:
        assert len(begun.texts()) == 60
    with reading(config) as begun, pytest.raises(DataError, match=r"t\.csv"):
        begun.texts()


@pytest.mark.parametrize("text", ["", "data: 3", "data: {name: nothing}", "a: [", "data: {name: hoc}\x00"])
def test_a_config_that_is_none(config: RunConfig, text: str):
    config.file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError):
        read(config)


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
def test_a_hostile_config_is_refused_at_once_and_named(config: RunConfig, name: str):
    content, said = HOSTILE[name]
    config.file.write_text(content, encoding="utf-8")
    begun = time.process_time()
    with pytest.raises(DataError, match=rf"^`config.yml` of run `r` .*{said}"):
        read(config)
    assert time.process_time() - begun < 20


def test_anchors_that_multiply_are_refused_by_the_other_process(config: RunConfig):
    """It would be at it for ever: its limit of memory would end it after a while, and say less."""
    config.file.write_text(f"{BOMB}\ndata: {{name: table, labels: *a11}}", encoding="utf-8")
    with reading(config) as begun, pytest.raises(DataError, match="up to 100,000 values are allowed"):
        begun.texts()


CHILD = """
from mtlv.processes import parent
def main():
    with parent(memory=300_000_000):
        {}
"""


@pytest.mark.parametrize("work", ["while True: pass", "bytes(400_000_000)"], ids=["time", "memory"])
def test_what_needs_too_much_is_ended_and_not_read_here_instead(
    config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str
):
    (tmp_path / "a_child.py").write_text(CHILD.format(work))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(corpus_texts, "ChildProcess", lambda _: ChildProcess("a_child"))
    monkeypatch.setattr(corpus_texts, "PATIENCE", 3.0)
    with (
        reading(config) as begun,
        pytest.raises(DataError, match=r"run `r` .*killed.*allowed: 3 seconds and half of the memory"),
    ):
        begun.texts()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are told by Linux")
def test_the_process_has_a_limit_of_memory(config: RunConfig, monkeypatch: pytest.MonkeyPatch):
    with reading(config) as begun:
        limits = Path(f"/proc/{begun.process.process.pid}/limits")
        while (most := re.search(r"Max data size +(\S+)", limits.read_text())) and most[1] == "unlimited":
            assert begun.process.process.poll() is None
        assert most is not None
        assert 500_000_000 < int(most[1]) < 10**12
        assert len(begun.texts()) == 60


def test_where_no_process_can_be_started_it_is_read_here(config: RunConfig, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with reading(config) as begun:
        assert len(begun.texts()) == 60


def test_what_is_not_asked_for_is_not_waited_for(config: RunConfig):
    with reading(config) as begun:
        pass
    assert begun.process.process.poll() is not None


def test_a_config_of_an_earlier_release_has_fewer_keys(config: RunConfig):
    whole = read(config)
    content = yaml.safe_load(config.file.read_text(encoding="utf-8"))
    for key in ("kind", "group", "metric"):
        del content["data"]["columns"][key]
    del content["data"]["window"]
    config.file.write_text(yaml.safe_dump(content), encoding="utf-8")
    assert read(config) == whole
