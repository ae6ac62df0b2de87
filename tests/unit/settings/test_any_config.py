"""Whatever stands in a config or behind it: a suite, or a ConfigError of whole lines. Nothing else."""

from __future__ import annotations

import json
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from mtlv.errors import ConfigError
from mtlv.settings import Suite, dump, load_overrides, load_suite
from mtlv.settings.draft import known_keys

CONFIGS = sorted((Path(__file__).resolve().parents[3] / "config").glob("*.yml"))
KEYS = [*known_keys(), "data", "encoder", "architecture", "training", "grouping", "matrix", "runs", "seed"]

texts = st.text(max_size=12)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | texts
    | st.sampled_from(
        ["auto", "mtl", "gmhl", "tiny", "synthetic", "table", "given", "1e3", "0x10", ".inf", "~", "\0"]
    )
)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(texts | st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """Dotted keys as sections, so that values reach the schema."""
    out: dict[str, Any] = {}
    for key, value in values.items():
        *sections, last = key.split(".")
        place = out
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                break
        else:
            place[last] = value
    return out


configs = st.dictionaries(st.sampled_from(KEYS), trees, max_size=5)


def loaded(data: bytes | str, *overrides: str) -> Suite | None:
    """The suite; nothing where it was refused, by whole lines that a terminal can show."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        path = Path("c.yml")
        path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
        try:
            suite = load_suite(path, overrides)
        except ConfigError as error:
            said(error)
            return None
        reads_back(suite)
    return suite


def said(error: ConfigError) -> None:
    assert error.problems
    for line in error.problems:
        assert line.strip()
        assert line.isprintable(), line
        assert len(line) < 1500, line


def reads_back(suite: Suite) -> None:
    """What is kept as `config.yml` asks for the same again."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for member in suite.members[:2]:
            Path("kept.yml").write_text(dump(member.settings), encoding="utf-8")
            assert load_suite("kept.yml").members[0].settings == member.settings


@given(st.binary(max_size=300))
def test_bytes(data: bytes) -> None:
    loaded(data)


@given(st.text(alphabet="ab:-[]{}&*!|>?%@`'\"#,~ \n\t<=0123.", max_size=80))
def test_signs_of_yaml(text: str) -> None:
    loaded(text)


@given(trees)
def test_trees(tree: Any) -> None:
    loaded(yaml.dump(tree, Dumper=yaml.SafeDumper, allow_unicode=True))


@given(configs, st.booleans())
def test_wrong_values_at_known_keys(values: dict[str, Any], sections: bool) -> None:
    loaded(yaml.dump(nested(values) if sections else values, Dumper=yaml.SafeDumper))


@given(st.sampled_from(CONFIGS), st.data())
def test_damaged_examples(path: Path, data: st.DataObject) -> None:
    whole = path.read_bytes()
    start = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, 40))
    put = data.draw(
        st.binary(max_size=8) | st.sampled_from([b"\t", b": ", b"- ", b"&a *a", b"'", b"\n\n", b"{"])
    )
    loaded(whole[:start] + put + whole[start + length :])


@given(
    st.lists(
        st.one_of(st.text(max_size=30), st.tuples(st.sampled_from(KEYS), texts).map("=".join)), max_size=3
    )
)
def test_overrides(overrides: list[str]) -> None:
    try:
        reads_back(load_overrides(overrides))
    except ConfigError as error:
        said(error)


@given(st.lists(st.tuples(st.sampled_from(KEYS), trees), min_size=1, max_size=3))
def test_overrides_of_known_keys(pairs: list[tuple[str, Any]]) -> None:
    flow = [
        f"{key}={yaml.dump(tree, Dumper=yaml.SafeDumper, default_flow_style=True, width=10**6)}"
        for key, tree in pairs
    ]
    loaded("experiment: e\n", *flow)


printable = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), min_size=1, max_size=12)


@given(
    st.lists(printable | st.sampled_from(["1e3", "0x10", "~", ".inf"]), min_size=1, max_size=3, unique=True)
)
def test_names_of_labels_are_kept_as_they_are(names: list[str]) -> None:
    """Labels may look like numbers."""
    data = {"name": "table", "path": "t.csv", "labels": names, "columns": {"label_list": "l"}}
    suite = loaded(json.dumps({"data": data}, ensure_ascii=False))
    assert suite is not None
    assert suite.members[0].settings.data.labels == tuple(names)
