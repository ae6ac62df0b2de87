"""The report: one page, nothing outside it, nothing from data as markup."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from mtlv.reporting import html_report
from mtlv.reporting.html_report import ReportFigure, ReportInput, TaskLine, report_html
from mtlv.reporting.suite_table import SuiteMember, make_rows

EVIL = "<script>alert(1)</script>\"'&"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(50)


class Page(HTMLParser):
    """Tags with their attributes, text, and a check that what is opened is closed."""

    VOID = ("meta", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.open = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def says(self, words):
        return words in " ".join(" ".join(self.text).split())


def rows(name="gmtl"):
    return make_rows(
        [
            SuiteMember(name, ({"f1_macro": 0.75}, {"f1_macro": 0.77})),
            SuiteMember("stl", ({"f1_macro": 0.7},)),
        ]
    )


def task(name="Opacity", **changes):
    others = {"precision": 0.8, "recall": 0.7, "average_precision": 0.6}
    return TaskLine(name, **{"support": 20, "main": 0.9, "others": others, **changes})


GMTL = "grouped multi-task learning: one model for each group of tasks"


def make(**changes):
    plain = {"title": "t", "architecture": GMTL, "encoder": "minilm", "dataset": "openi"}
    return report_html(ReportInput(**{**plain, "tasks": [task()], "rows": rows(), **changes}))


@pytest.fixture
def png(tmp_path):
    path = tmp_path / f"{'x' * 5}.png"
    path.write_bytes(PNG)
    return path


def test_it_tells_what_was_run_and_measured():
    page = Page(
        make(documents={"train": 2500, "test": 800}, folds=4, seeds=2, settings={"training.epochs": 10})
    )
    assert page.says(
        "Grouped multi-task learning: one model for each group of tasks, with the encoder minilm, on 1"
    )
    assert page.says("task of openi (2,500 train, 800 test documents), over 4 folds x 2 seeds.")
    assert page.says("0.7600 ± 0.0141")
    assert page.says("Thresholds were fitted only on validation documents.")
    assert page.says("training.epochs")
    assert page.says("Opacity")


def test_groups_and_their_stability():
    page = Page(
        make(groups=[["a", "b"], ["c"]], groups_reason="k = 2, why", stability={"l2 scaling": 0.1, "seed": 1})
    )
    assert page.says("a, b")
    assert page.says("k = 2, why")
    assert page.says("The grouping is not stable when one setting changes: l2 scaling (0.10).")
    assert page.says("l2 scaling 0.10, seed 1.00")
    assert not Page(make()).says("not stable")


def test_thresholds_are_mentioned_only_where_a_task_has_one():
    assert not Page(make(thresholds=False)).says("Thresholds")


def test_generated_documents_are_called_so():
    page = Page(make(generated=True))
    assert page.says("The documents are generated: these metrics say nothing about real reports.")
    assert page.says("the generated corpus openi")
    assert not Page(make()).says("generated")


def test_nothing_from_data_becomes_markup(png):
    changes = dict.fromkeys(("title", "architecture", "encoder", "dataset", "groups_reason", "created"), EVIL)
    html = make(
        **changes,
        tasks=[task(EVIL, group=EVIL)],
        rows=rows(EVIL),
        groups=[[EVIL]],
        stability={EVIL: 0.1},
        pictures=[ReportFigure(EVIL, png, EVIL)],
        settings={EVIL: EVIL},
        warnings=[EVIL, "$body ${title} {x}"],
        versions={EVIL: EVIL},
        machine={EVIL + "2": EVIL},
        documents={EVIL: 1},
    )
    page = Page(html)
    assert "<script" not in html
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "iframe", "object", "link", "a"})
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert page.says("$body ${title} {x}")


def test_nothing_is_fetched(png):
    html = make(pictures=[ReportFigure("elbow", png)])
    assert "http://" not in html
    assert "https://" not in html
    assert "url(" not in html
    sources = [attributes["src"] for _, attributes in Page(html).tags if "src" in attributes]
    assert sources
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "default-src 'none'" in html


def test_pictures_that_would_make_it_too_large_are_named(png, tmp_path, monkeypatch):
    large = tmp_path / "large.png"
    large.write_bytes(PNG + bytes(html_report.PICTURES))
    html = make(pictures=[ReportFigure("large", large), ReportFigure("small", png)])
    assert len(html) < 5_000_000
    assert Page(html).says("large: see large.png , too large for this page.")
    assert html.count("<img") == 1


def test_an_empty_report_is_a_page():
    page = Page(make(tasks=[], rows=[], architecture="my own"))
    assert page.says("My own, with the encoder minilm, on 0 tasks of openi, one fold and one seed.")


def test_bars_stay_in_their_cells():
    html = make(tasks=[task(main=1.0), task("b", main=0.0, main_std=0.1)])
    assert "width:100.0%" in html
    assert "width:0.0%" in html


def test_tasks_with_other_figures_have_a_table_of_their_own():
    other = task("Relations", others={"accuracy": 0.5}, judged_by="f1_micro_positive", counted="documents")
    page = Page(make(tasks=[task(), other]))
    assert page.says("task positive F1 precision recall average precision Opacity")
    assert page.says("task documents F1 micro positive accuracy Relations")
