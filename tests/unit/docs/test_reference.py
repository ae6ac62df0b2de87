"""The reference that the site makes from the code has everything that is there."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from mtlv.cli import COMMANDS
from mtlv.data import catalog
from mtlv.registries import ARCHITECTURES, BALANCERS, FEATURES, GROUPINGS, OBJECTIVES, OPTIMIZERS
from mtlv.settings.draft import SUITE_KEYS, known_keys

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    made = runpy.run_path(str(DOCS / "make_reference.py"))["PAGES"]
    return {name: page() for name, page in made.items()}


def test_every_key_has_its_default_meaning_and_values(pages):
    page = pages["reference/config"]
    assert page.count("{confval}") == len(known_keys()) + len(SUITE_KEYS)
    for key in (*known_keys(), *SUITE_KEYS):
        entry = page.partition(f"{{confval}} {key}\n")[2].partition("````")[0]
        assert entry.startswith(":default: `"), key
        assert len(entry.split("\n\n")[1]) > 10 or key.startswith("evaluation.grid."), key
    assert "**`evaluation.grid`**: Candidate thresholds: from start to stop, both included" in page
    epochs = page.partition("{confval} training.epochs\n")[2].partition("````")[0].split("\n\n")
    assert epochs[:2] == [":default: `10`", "Passes of each model over its training documents."]
    assert epochs[2].strip().startswith("*Allowed:* a whole number")
    assert "*Allowed:* `minmax`, `l2`, `none`" in page
    assert "```yaml\nmatrix:\n  architecture: [stl, mtl, gmtl, gmhl]\n" in page


def test_every_choice_is_listed(pages):
    page = pages["reference/choices"]
    for names in (ARCHITECTURES, GROUPINGS, FEATURES, OBJECTIVES, BALANCERS, OPTIMIZERS, catalog.names()):
        assert all(f"| `{name}` |" in page for name in names)
    assert (
        "| `random` | random groups of the sizes that kmedoids, or best, finds: the control for any claim | "
        in page
    )
    assert "| `hdbscan` | HDBSCAN: dense regions of vectors | no |" in page
    assert "| `label_count` | the number of training documents with each label | vectors | no |" in page
    assert "| `mean` | their mean |" in page


def test_every_command_is_there_with_its_arguments(pages):
    page = pages["reference/options"]
    assert all(f"## `mtlv {command}`" in page for command in COMMANDS)
    compare = page.partition("## `mtlv compare`")[2].partition("\n## ")[0]
    assert "`--last N`\n: only the newest N runs" in compare
    assert "`--no-log`\n" in compare


def test_every_page_is_made_for_one_that_is_there(pages):
    assert all((DOCS / f"{name}.md").exists() for name in pages)
    assert all(made.strip() for made in pages.values())
    listed = (DOCS / "index.md").read_text(encoding="utf-8")
    assert all(f"({page.name})" in listed for page in DOCS.glob("*.md") if page.name != "index.md")
