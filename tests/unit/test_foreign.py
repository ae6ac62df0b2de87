"""JSON of others is read within limits, and each says what is allowed."""

from __future__ import annotations

import json
import sys
import tracemalloc
from pathlib import Path

import pytest

from mtlv import foreign
from mtlv.foreign import parse_json, read_json

VALUE = {"a": [1, 2.5, None, True, "ä,[{"], "b": {}}


def test_what_is_within_the_limits_is_read_as_it_is(tmp_path: Path):
    path = tmp_path / "x.json"
    for encoding in ("utf-8", "utf-8-sig"):
        path.write_text(json.dumps(VALUE, ensure_ascii=False), encoding=encoding)
        assert read_json(path) == parse_json(path.read_bytes()) == VALUE
    assert parse_json(json.dumps(VALUE)) == VALUE
    assert parse_json("3") == 3


@pytest.mark.parametrize(("opening", "closing"), ["[]", ('{"a":', "}")], ids=["lists", "objects"])
def test_depth(opening: str, closing: str):
    def nested(depth: int) -> str:
        return opening * depth + "1" + closing * depth

    assert parse_json(nested(foreign.MAX_DEPTH))
    for depth in (foreign.MAX_DEPTH + 1, 500, 100_000):
        with pytest.raises(ValueError, match="nested too deeply, more than 20 levels"):
            parse_json(nested(depth))


def test_depth_counts_wherever_it_is():
    deep = "[" * 25 + "]" * 25
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json(f'[1, "x", {{"a": 1, "b": {deep}}}, []]')


def test_size(tmp_path: Path):
    path = tmp_path / "x.json"
    path.write_text('"' + "x" * 98 + '"')
    assert read_json(path, 100) == parse_json(path.read_text(), 100) == "x" * 98
    for read in (lambda: read_json(path, 99), lambda: parse_json(path.read_bytes(), 99)):
        with pytest.raises(ValueError, match="100 bytes, more than 99"):
            read()


def test_a_huge_file_is_not_taken_into_memory(tmp_path: Path):
    path = tmp_path / "x.json"
    with path.open("wb") as file:
        file.truncate(10**12)
    tracemalloc.start()
    with pytest.raises(ValueError, match="1,000,000,000,000 bytes, more than 1,000,000"):
        read_json(path, 1_000_000)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="a file that does not say how large it is")
def test_no_more_is_read_than_is_allowed():
    with pytest.raises(ValueError, match="11 bytes, more than 10"):
        read_json(Path("/proc/self/maps"), 10)


@pytest.mark.parametrize("item", ["[]", "{}"])
def test_short_values_that_fill_the_memory_are_counted_before_they_are_made(item: str):
    text = "[" + ",".join([item] * 400_000) + "]"
    assert len(text) < 1_500_000
    tracemalloc.start()
    with pytest.raises(ValueError, match="00,000 values, more than 300,000"):
        parse_json(text, 1_500_000)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 15_000_000
    assert len(parse_json(text)) == 400_000


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe{}", b"[1,]", b"9" * 5000])
def test_what_is_no_json_is_a_value_error(content: bytes):
    with pytest.raises(ValueError, match=r"."):
        parse_json(content)
