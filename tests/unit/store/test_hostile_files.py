"""Every file of a store or a run is read within limits, and one beyond them is answered like a broken one."""

from __future__ import annotations

import ast
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

import mtlv
from mtlv.data.token_file import MAGIC, SUM, DamagedTokens, read_tokens
from mtlv.errors import EncoderError, TrackingError
from mtlv.models.layers import known_layers
from mtlv.models.sizes import need_possible
from mtlv.sealed import seal
from mtlv.store.local import Store
from mtlv.store.progress import SuiteState, read_states
from mtlv.store.split_file import load_folds
from mtlv.store.timestamps import EpochTimestamps
from mtlv.tracking.journal import ABOUT, record_of
from mtlv.tracking.journal_reader import _about

DEEP = "[" * 30 + "]" * 30  # Python's own reader takes it; what is deeper ends its recursion
PACKAGE = Path(mtlv.__file__).parent
READERS = {"loads", "load", "safe_load", "load_all", "safe_load_all", "full_load", "unsafe_load"}
MAY = {
    "foreign.py",  # the limits
    "models/encoder_config.py",  # what the tokenizer of this process says of itself
    "store/checkpoints.py",  # by torch's weights-only reader, after its own checks
}


def parsers(path: Path) -> Iterator[str]:
    """Calls of `json`, `yaml`, NumPy or torch that parse."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READERS:
            of = node.func.value
            if isinstance(of, ast.Name) and of.id in ("json", "yaml", "np", "numpy", "torch"):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}"


def test_nothing_is_parsed_but_within_the_limits():
    found = [place for path in sorted(PACKAGE.rglob("*.py")) for place in parsers(path)]
    assert [place for place in found if place.split(":")[0] not in MAY] == []
    assert {place.split(":")[0] for place in found} == MAY


def fails(with_: type[Exception], call: Callable[[], object]) -> None:
    with pytest.raises(with_, match=r"more than (20 levels|50,000,000|500,000,000)"):
        call()


@pytest.mark.parametrize("began", ['"today"', "null"])
def test_a_status_that_cannot_be_read_hides_no_other(tmp_path: Path, began: str):
    state = asdict(SuiteState("e", "c"))
    suites = {"c": seal(state | {"began": json.loads(began)}), "d": seal(state | {"began": 1.0})}
    for name, content in {"a": "3", "b": "null", **suites}.items():
        (tmp_path / f"{name}.json").write_text(content)
    warnings: list[str] = []
    assert [state.began for state in read_states(tmp_path, warnings.append)] == [1.0]
    assert [f"{name}.json" in warning for name, warning in zip("ab", warnings, strict=True)] == [True, True]


@pytest.mark.parametrize("content", [DEEP, "[" * 100_000], ids=["deep", "deeper"])
def test_files_of_a_store(tmp_path: Path, content: str):
    for name in ("unit.json", "f.json", ABOUT, "config.json"):
        (tmp_path / name).write_text(content)
    warnings: list[str] = []
    assert load_folds(tmp_path / "f.json", warnings.append) is None
    assert "more than 20 levels" in warnings[0]
    (tmp_path / "f.json.damaged").unlink()
    fails(TrackingError, lambda: _about(tmp_path))
    fails(EncoderError, lambda: need_possible(tmp_path))
    body = f"1\ttext\tu\t{content}\t{{}}".encode()
    fails(ValueError, lambda: record_of(b"%08x\t%s\n" % (zlib.crc32(body), body)))
    assert known_layers(str(tmp_path)) is None
    assert read_states(tmp_path) == []
    tokens = tmp_path / "tokens"
    text = content.encode()
    tokens.write_bytes(MAGIC + len(text).to_bytes(8, "big") + zlib.crc32(text).to_bytes(SUM, "big") + text)
    with pytest.raises(DamagedTokens):
        read_tokens(tokens)
    (tmp_path / "u.jsonl").write_text(f"{content}\n{seal({'epoch': 0, 'timestamp_ms': 5})}\n")
    assert EpochTimestamps(tmp_path).timestamp_ms("u", 0) == 5
    store = Store(tmp_path / "store")
    (store.units / "u").mkdir()
    (store.units / "u" / "unit.json").write_text(content)
    fails(TrackingError, lambda: store.load("u"))
