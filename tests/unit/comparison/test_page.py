from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable

import pytest

from mtlv.comparison import vega
from mtlv.comparison.blocks import (
    Disagreement,
    DocumentRow,
    FigureBlock,
    Section,
    TableBlock,
    TableColumn,
    TextBlock,
)
from mtlv.comparison.page import embedded, packed, page_html
from mtlv.evaluation.comparison import Comparison

NASTY = "</script><script>alert(1)</script> <!-- & \u2028 ' \""


def all_blocks() -> Section:
    columns = [TableColumn("name", NASTY, "text"), TableColumn("f1", "F1")]
    rows = [{"run": "r0", "name": NASTY, "f1": 0.25}]
    spec = {"mark": "bar", "encoding": {"y": {"field": "f1", "type": "quantitative"}}, "width": "container"}
    documents = {("r0", "r1"): [DocumentRow(NASTY, 0.5, [(NASTY, 0.5, 1.0, True)])]}
    return Section(
        "all",
        NASTY,
        NASTY,
        [
            TextBlock(NASTY, "warning"),
            TableBlock("table", NASTY, NASTY, columns, rows),
            FigureBlock("figure", NASTY, NASTY, spec, rows),
            Disagreement("documents", NASTY, NASTY, documents, {NASTY: NASTY}, NASTY),
        ],
    )


@pytest.fixture(scope="module")
def html(comparison_of: Callable[..., Comparison]) -> str:
    comparison = comparison_of(runs=2, title=NASTY, warnings=(NASTY,))
    return page_html(comparison, [all_blocks()])


def data_of(html: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


def test_no_text_becomes_markup(html: str):
    page = html.replace(vega.bundle(), "")
    assert len(re.findall(r"<script", page)) == 3
    assert page.count("</script") == 3
    assert "<!-- &" not in page
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in page  # the title


def test_all_texts_arrive_as_they_are(html: str):
    section = data_of(html)["sections"][0]
    text, table, figure, disagreement = section["blocks"]
    assert section["title"] == text["text"] == table["caption"] == figure["title"] == NASTY
    assert disagreement["pairs"][0]["documents"][0]["scores"] == [[NASTY, 0.5, 1.0, True]]
    assert disagreement["texts"] == {NASTY: NASTY}


def test_only_the_two_scripts_of_the_page_may_run(html: str):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)[1]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", html, re.S)
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    assert re.findall(r"'sha256-([^']+)'", policy) == digests
    assert "\r" not in html  # a browser would read it as another character, and digests would differ


def test_nothing_outside_is_named(html: str):
    page = html.replace(vega.bundle(), "")
    assert not re.search(r'<link|<img|<iframe|src="|@import|url\(', page)


def test_embedded_json_is_strict():
    assert embedded({"a": "</script>&\u2028"}) == '{"a":"\\u003c/script\\u003e\\u0026\\u2028"}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded({"a": float("nan")})


def test_packed_rows_keep_every_value():
    rows = [{"a": "x", "b": 1}, {"a": "x", "b": None}, {"a": "y", "c": float("inf")}, {"a": "x"}]
    out = packed(rows)
    assert out["count"] == 4
    assert out["columns"]["a"] == {"texts": ["x", "y"], "places": [0, 0, 1, 0]}
    assert out["columns"]["b"] == [1, None, None, None]
    assert out["columns"]["c"] == [None] * 4
