"""Registries: our own choices, those of other packages, and nothing imported before it is chosen."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import get_args

import pytest

import mtlv
from mtlv import registries
from mtlv.comparison.output_readers import READINGS
from mtlv.data.catalog import CORPORA
from mtlv.data.options import Columns
from mtlv.data.tables.readers import KINDS as TABLES
from mtlv.data.targets import TARGETS
from mtlv.errors import ConfigError
from mtlv.evaluation.learned import CONSTANT_ANSWERS
from mtlv.evaluation.scoring import SCORING
from mtlv.grouping.methods import GroupingMethod
from mtlv.models.kinds import KINDS as MODELS
from mtlv.plan import Task
from mtlv.registries import ARCHITECTURES, BALANCERS, FEATURES, GROUPINGS, OBJECTIVES, OPTIMIZERS, Registry
from mtlv.serving.kinds import ANSWERS
from mtlv.settings.data_schema import ColumnSettings

EACH = {
    "architectures": ARCHITECTURES,
    "groupings": GROUPINGS,
    "features": FEATURES,
    "objectives": OBJECTIVES,
    "balancers": BALANCERS,
    "optimizers": OPTIMIZERS,
    "corpora": CORPORA,
}


BY_KIND = {
    "targets": TARGETS,
    "tables": TABLES,
    "models": MODELS,
    "evaluation": SCORING,
    "constant answers": CONSTANT_ANSWERS,
    "serving": ANSWERS,
    "comparison": READINGS,
}


@pytest.mark.parametrize("name", BY_KIND)
def test_every_registry_by_kind_has_the_kinds_of_the_settings(name: str) -> None:
    kinds = get_args(ColumnSettings.model_fields["kind"].annotation)
    assert list(BY_KIND[name]) == list(kinds)
    assert Columns.kind in kinds
    assert Task("t").kind == Columns.kind


@pytest.mark.parametrize("name", EACH)
def test_every_own_choice_is_there_and_in_the_comment_of_its_setting(name: str) -> None:
    registry = EACH[name]
    assert registry.group == f"mtlv.{name}"
    assert all(registry[choice] is registry[choice] for choice in registry)
    assert len(registry) == len(list(registry))
    comments = Path(mtlv.__file__).with_name("settings") / "defaults.yml"
    if registry is not CORPORA:  # `mtlv data list` has those
        text = comments.read_text(encoding="utf-8")
        assert [choice for choice in registry if choice not in text] == []
        own = [choice for choice in registry if registry.title(choice)]
        assert own == list(registry), "each has a line that says what it is"
        assert [choice for choice in own if registry.title(choice) in text] == [], "which stands once"


def found(monkeypatch: pytest.MonkeyPatch, **values: str) -> Registry[object]:
    """A registry with one choice of its own, beside another package that registers `values`."""
    points = [EntryPoint(name, value, "mtlv.things") for name, value in values.items()]
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: points if group == "mtlv.things" else []
    )
    return Registry("mtlv.things", {"own": "mtlv.seeding:content_key", "module": "mtlv.seeding"})


def test_a_choice_of_another_package_needs_no_title(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bare(BALANCERS["random"]):  # type: ignore[misc]
        pass

    registry = found(monkeypatch)
    for choice, title in (
        (Bare, ""),  # that of the class above it is not its own
        (GroupingMethod(), ""),
        (BALANCERS["sum"], "Losses as they are"),
        (FEATURES["label_count"], "the number of training documents with each label"),
    ):
        monkeypatch.setitem(registry._loaded, "own", choice)
        assert registry.title("own") == title


def test_a_name_of_ours_cannot_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    from mtlv import seeding

    registry = found(monkeypatch, own="mtlv.disk:flush", other="mtlv.disk:flush", another="mtlv.disk")
    assert list(registry) == ["own", "module", "another", "other"]
    assert registry["own"] is seeding.content_key
    assert registry["module"] is seeding
    assert registry["other"] is registry["another"].flush  # type: ignore[attr-defined]
    assert "other" in registry
    assert "nothing" not in registry
    with pytest.raises(KeyError):
        registry["nothing"]


def test_what_cannot_be_loaded_is_told_only_where_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = found(monkeypatch, broken="mtlv.nowhere:thing")
    assert "broken" in registry
    with pytest.raises(
        ConfigError, match=r"entry point `broken` of another package in `mtlv.things`.*update"
    ):
        registry["broken"]


def test_names_are_listed_without_an_import() -> None:
    script = (
        "import sys; from mtlv import registries as r;"
        "print('stl' in r.ARCHITECTURES, list(r.OBJECTIVES)[0]);"
        "print(sorted(m for m in sys.modules if m.startswith(('mtlv.plan', 'mtlv.grouping', 'torch'))))"
    )
    root = Path(registries.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=root)
    assert done.stdout.splitlines() == ["True sum", "[]"], done.stderr
