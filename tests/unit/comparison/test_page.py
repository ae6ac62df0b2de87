from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean

import pytest
from mixed import a_mixed_comparison

from mtlv.comparison import page as page_module
from mtlv.comparison import vega
from mtlv.comparison.blocks import (
    Baseline,
    Disagreement,
    DocumentRow,
    FigureBlock,
    GroupsBlock,
    Section,
    TableBlock,
    TableColumn,
    TextBlock,
)
from mtlv.comparison.page import compress, pack_rows, page_data, page_html
from mtlv.comparison.sections import each_section
from mtlv.evaluation.compared_runs import Comparison

NASTY = "</script><script>alert(1)</script> <!-- & \u2028 ' \""


def all_blocks() -> Section:
    columns = [TableColumn("name", NASTY, "text"), TableColumn("f1", "F1")]
    groups = [{"group": "1", "colour": "#5A66D6", "task": NASTY}]
    rows = [{"run": "r0", "name": NASTY, "f1": 0.25}]
    spec = {"mark": "bar", "encoding": {"y": {"field": "f1", "type": "quantitative"}}, "width": "container"}
    documents = {("r0", "r1"): [DocumentRow(NASTY, 0.5, [(NASTY, 0.5, 1.0, True)])]}
    return Section(
        "all",
        NASTY,
        NASTY,
        [
            TextBlock(NASTY, "warning"),
            GroupsBlock("groups", NASTY, groups),
            TableBlock("table", NASTY, NASTY, columns, rows),
            FigureBlock("figure", NASTY, NASTY, spec, rows),
            Disagreement("documents", NASTY, NASTY, documents, {NASTY: NASTY}, NASTY),
        ],
    )


@pytest.fixture(scope="module")
def html(comparison_of: Callable[..., Comparison]) -> str:
    comparison = comparison_of(runs=2, title=NASTY, warnings=(NASTY,))
    return page_html(comparison, [all_blocks()])


def unzipped(html: str, id: str) -> str:
    inside = re.search(f'<script type="text/plain" id="{id}">([A-Za-z0-9+/=]+)</script>', html)[1]
    return gzip.decompress(base64.b64decode(inside)).decode()


def data_of(html: str) -> dict:
    return json.loads(unzipped(html, "data"))


def test_no_text_becomes_markup(html: str):
    assert len(re.findall(r"<script", html)) == 3
    assert html.count("</script") == 3
    assert "<!-- &" not in html
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in html  # the title


def test_all_texts_arrive_as_they_are(html: str):
    section = data_of(html)["sections"][0]
    text, groups, table, figure, disagreement = section["blocks"]
    assert section["title"] == text["text"] == groups["title"] == table["caption"] == figure["title"] == NASTY
    assert disagreement["pairs"][0]["documents"][0]["scores"] == [[NASTY, 0.5, 1.0, True]]
    assert disagreement["texts"] == {NASTY: NASTY}


def test_only_the_two_scripts_of_the_page_may_run(html: str):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)[1]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    scripts = [unzipped(html, "library"), *re.findall(r"<script>(.*?)</script>", html, re.S)]
    assert scripts[0] == vega.library()
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    assert re.findall(r"'sha256-([^']+)'", policy) == digests
    assert "\r" not in html  # a browser would read it as another character, and digests would differ


def test_nothing_outside_is_named(html: str):
    assert not re.search(r'<link|<img|<iframe|src="|@import|url\(', html)


def test_data_are_strict_json(comparison_of: Callable[..., Comparison]):
    block = TableBlock("table", "", "", [], [], Baseline("f1", (float("nan"),)))
    with pytest.raises(ValueError, match="not JSON compliant"):
        page_html(comparison_of(runs=2), [Section("all", "", "", [block])])


def test_menu_of_tasks_says_what_their_numbers_count():
    tasks = page_data(a_mixed_comparison(), [])["tasks"]
    counts = {task["name"]: task["counts"] for task in tasks}
    assert counts == {"heart": "positive test documents"} | dict.fromkeys(
        ("relation", "similarity", "drugs"), "test documents"
    )


def test_packed_text_is_the_same_every_time():
    assert compress("Größe") == compress("Größe")
    assert gzip.decompress(base64.b64decode(compress("Größe"))).decode() == "Größe"


def test_a_page_of_four_runs_is_half_a_megabyte(comparison_of: Callable[..., Comparison]):
    comparison = comparison_of(runs=4, children=3, tasks=9)
    weight = len(page_html(comparison, list(each_section(comparison))).encode())
    packed_library = len(compress(vega.library()))
    assert weight - packed_library < 150_000  # bytes: the page without Vega
    assert weight < 600_000


def test_packed_rows_keep_every_value():
    rows = [{"a": "x", "b": 1}, {"a": "x", "b": None}, {"a": "y", "c": float("inf")}, {"a": "x"}]
    out = pack_rows(rows)
    assert out["count"] == 4
    assert out["columns"]["a"] == {"texts": ["x", "y"], "places": [0, 0, 1, 0]}
    assert out["columns"]["b"] == [1, None, None, None]
    assert out["columns"]["c"] == [None] * 4


def test_a_note_is_on_top_and_its_html_is_text(comparison_of: Callable[..., Comparison]) -> None:
    note = "# Why\n\n| k | F1 |\n| --- | --- |\n| 3 | 0.9 |\n\n<script>a()</script> [a](javascript:a) *well*"
    comparison = replace(comparison_of(), note=note)
    page = page_html(comparison, list(each_section(comparison)))
    on_top = page.partition('<aside id="note"')[2].partition("</aside>")[0]
    assert "<h1>Why</h1>" in on_top
    assert "<td>0.9</td>" in on_top
    assert "<em>well</em>" in on_top
    assert "<script" not in on_top
    assert "href" not in on_top
    assert '<aside id="note"' not in page_html(replace(comparison, note=" "), [])


def test_runs_that_learned_nothing_have_no_score_beside_a_choice(
    comparison_of: Callable[..., Comparison], monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = comparison_of(runs=3)
    scores = [run["score"] for run in page_data(comparison, [])["runs"]]
    assert scores == [pytest.approx(fmean(run.mains)) for run in comparison.runs]
    monkeypatch.setattr(page_module, "learned_nothing", lambda comparison: [comparison.runs[1]])
    assert [run["score"] for run in page_data(comparison, [])["runs"]] == [scores[0], None, scores[2]]
