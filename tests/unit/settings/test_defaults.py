"""`defaults.yml` and the schema hold the same keys in the same order, and every key is explained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

import mtlv.settings
from mtlv.settings.draft import SUITE_KEYS, defaults, known_keys
from mtlv.settings.load import default_settings, load_suite
from mtlv.settings.schema import Settings

ROOT = Path(__file__).resolve().parents[3]
TEXT = (Path(mtlv.settings.__file__).parent / "defaults.yml").read_text(encoding="utf-8")
CONFIGS = sorted((ROOT / "config").glob("*.yml"))


def schema_keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from schema_keys(field.annotation, f"{prefix}{name}.")
        else:
            yield prefix + (field.alias or name)


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from models(field.annotation)


def test_schema_and_defaults_agree() -> None:
    assert list(known_keys()) == list(schema_keys(Settings))
    assert tuple(defaults())[-len(SUITE_KEYS) :] == SUITE_KEYS
    assert isinstance(default_settings(), Settings)


def test_by_default_models_learn_with_a_warm_up_decay_and_clipping() -> None:
    """A constant rate without warm-up, decay and clipping leaves rare labels untrained."""
    training = default_settings().training
    assert (training.schedule, training.warmup) == ("linear", 0.1)
    assert (training.weight_decay, training.clip_norm) == (0.01, 1.0)


def test_the_schema_has_no_default() -> None:
    assert all(field.is_required() for model in models(Settings) for field in model.model_fields.values())


@pytest.mark.parametrize("key", [*known_keys(), *SUITE_KEYS])
def test_every_key_has_a_comment(key: str) -> None:
    lines = TEXT.splitlines()
    depth, name = key.count("."), key.rpartition(".")[2]
    places = [i for i, line in enumerate(lines) if line.startswith(f"{'  ' * depth}{name}:")]
    # The three bounds of the grid share one comment.
    above = key.startswith("evaluation.grid.") or any(lines[i - 1].strip().startswith("#") for i in places)
    assert above, key


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_each_example_loads_and_starts_with_its_command(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith(f"# mtlv run config/{path.name}")
    overrides = [word for word in first.split() if "=" in word]
    suite = load_suite(path, overrides)
    assert suite.members
    assert suite.notes == ()


def test_the_examples_cover_what_they_should() -> None:
    loaded = {path.stem: load_suite(path) for path in CONFIGS}
    for name in ("stl", "mtl", "gmtl", "gmhl"):
        settings = loaded[name].members[0].settings
        assert (settings.architecture.name, settings.data.name) == (name, "openi")
    assert len(loaded["suite"].members) == 12
    assert {m.settings.architecture.name for m in loaded["quickstart"].members} == {
        "stl",
        "mtl",
        "gmtl",
        "gmhl",
    }
    table = loaded["table"].members[0].settings.data
    assert table.path is not None
    assert Path(table.path) == ROOT / "config" / "example.csv"
    header = Path(table.path).read_text(encoding="utf-8").splitlines()[0].split(",")
    assert {table.columns.text, table.columns.id, *(table.columns.labels or ())} <= set(header)
