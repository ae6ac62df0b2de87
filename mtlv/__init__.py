"""mtlv: which text tasks should be learned together, and in what order?

    corpus = mtlv.load("openi", path="indiana_reports.csv")
    groups = mtlv.cluster(corpus, encoder="minilm")
    result = mtlv.train(corpus, architecture="gmtl", groups=groups, epochs=10, learning_rate=2e-4)

Names are imported on first use. `docs/api.md` describes them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mtlv._version import __version__

if TYPE_CHECKING:
    from mtlv.api.classifier import TextClassifier
    from mtlv.api.comparison import ComparisonPage, compare
    from mtlv.api.corpus import Corpus, from_dataframe, from_dataset, load
    from mtlv.api.groups import TaskGroups, cluster
    from mtlv.api.model import Model, load_model
    from mtlv.api.result import Result
    from mtlv.api.training import SuiteRun, run, train

_NAMES = {
    "classifier": ("TextClassifier",),
    "comparison": ("ComparisonPage", "compare"),
    "corpus": ("Corpus", "from_dataframe", "from_dataset", "load"),
    "groups": ("TaskGroups", "cluster"),
    "model": ("Model", "load_model"),
    "result": ("Result",),
    "training": ("SuiteRun", "run", "train"),
}
_HOME = {name: f"mtlv.api.{module}" for module, names in _NAMES.items() for name in names}
_MODULES = ("errors", "events")

__all__ = [
    "ComparisonPage",
    "Corpus",
    "Model",
    "Result",
    "SuiteRun",
    "TaskGroups",
    "TextClassifier",
    "__version__",
    "cluster",
    "compare",
    "from_dataframe",
    "from_dataset",
    "load",
    "load_model",
    "run",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"mtlv.{name}")
    if name not in _HOME:
        raise AttributeError(f"module `mtlv` has no `{name}`")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, *_MODULES]
