"""The comparison page as a reader has it: opened from disk, in a real browser, with the network cut off."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import mtlv
from mtlv.comparison.blocks import Baseline, FigureBlock, GroupsBlock, Section
from mtlv.comparison.data_page import write_data_page
from mtlv.comparison.files import visible
from mtlv.comparison.page import page_data, page_html
from mtlv.comparison.sections import each_section
from mtlv.data.report import CorpusCheck
from mtlv.data.splits import make_folds
from mtlv.evaluation.compared_runs import Comparison, mean_and_sd

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit" / "helpers"))
from comparisons import a_comparison

expect = pytest.importorskip(
    "playwright.sync_api", reason="Playwright is not installed (extra `test`)"
).expect
expect.set_options(timeout=60_000)  # milliseconds: machines that test are busy

DRAWN = "html[data-drawn=yes]"
MARKUP = "<script>alert(1)</script>"  # a task of the made-up comparison
WARNING = "Read <b>this</b> of `data.<b>folds</b>` first."


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return a_comparison(warnings=(WARNING,))


@pytest.fixture(scope="module")
def page_file(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "compare.html"
    path.write_text(page_html(comparison, list(each_section(comparison))), encoding="utf-8")
    return path


@pytest.fixture
def open_page(browser) -> Iterator[Callable]:
    """Opens a file without network; when the test ends, nothing may have been asked, said or left behind."""
    contexts, asked, said = [], [], []

    def open_file(path: Path, *, folded: bool = False, is_drawn: bool = True, **options):
        context = browser.new_context(**({"viewport": {"width": 1400, "height": 900}} | options))
        context.set_offline(True)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: message.type == "error" and said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(path.as_uri())
        if is_drawn:
            page.wait_for_selector(DRAWN, state="attached", timeout=120_000)
        if is_drawn and not folded:
            page.evaluate("for (const fold of document.querySelectorAll('details.fold')) fold.open = true")
            page.wait_for_timeout(100)
            page.wait_for_selector(DRAWN, state="attached", timeout=60_000)
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.startswith(("file:", "about:"))] == []
    assert len([url for url in asked if url.startswith("file:")]) <= 2 * len(contexts)
    assert said == []


def settled(page) -> None:
    page.wait_for_selector(DRAWN, state="attached", timeout=60_000)


def column(page, key: str) -> list[str]:
    return page.locator(f"#table-overview tbody [data-key={key}]").all_inner_texts()


def number(text: str) -> float:
    return float(re.match(r"[−+\d.,]+", text)[0].replace("−", "-").replace(",", ""))


def task_rows(page) -> list[tuple[str, str]]:
    """(run, task) of the rows of the table of tasks."""
    rows = page.locator("#table-tasks tbody tr")
    return [
        (row.get_attribute("data-run"), row.locator("[data-key=task]").inner_text()) for row in rows.all()
    ]


def test_the_numbers_are_those_of_the_runs(open_page, page_file: Path, comparison: Comparison):
    page = open_page(page_file)
    for key in ("f1_macro", "f1_micro", "subset_accuracy"):
        expected = []
        for run in comparison.runs:
            mean, sd = mean_and_sd(run.values(f"test/{key}"))
            expected.append(f"{mean:.3f} ± {sd:.3f}")
        assert column(page, key) == expected
    best = page.locator("#table-overview [data-key=f1_macro] strong").all_inner_texts()
    assert best == [max(f"{mean_and_sd(run.values('test/f1_macro'))[0]:.3f}" for run in comparison.runs)]


def test_every_section_and_figure_is_drawn(open_page, page_file: Path, comparison: Comparison):
    page = open_page(page_file)
    expected = list(each_section(comparison))
    expect(page.locator("main > section")).to_have_count(len(expected))
    assert page.locator(".contents a").all_inner_texts() == [section.title for section in expected]
    drawn = [block for section in expected for block in section.blocks if isinstance(block, FigureBlock)]
    assert page.locator("figure").count() == len(drawn) > 10
    for block in drawn:
        figure = page.locator(f"#figure-{block.id}")
        assert figure.locator("svg").first.bounding_box()["height"] > 60, block.id
        assert block.caption in figure.get_by_role("img").first.get_attribute("aria-label")


def test_groups_are_chips_and_many_tasks_are_folded(open_page, tmp_path: Path, comparison: Comparison):
    rows = [{"group": "1", "colour": "#5A66D6", "task": f"Task {n} {MARKUP}"} for n in range(20)]
    rows.append({"group": "2", "colour": "#AF5B0A", "task": "Letters" * 20})
    section = Section("answer", "The answer", "", [GroupsBlock("answer_groups", "The groups", rows)])
    path = tmp_path / "compare.html"
    path.write_text(page_html(comparison, [section]), encoding="utf-8")
    page = open_page(path, viewport={"width": 390, "height": 800})
    assert page.locator(".group > b").all_inner_texts() == ["1", "2"]
    expect(page.locator(".task:visible")).to_have_count(13)
    page.get_by_text("8 tasks more").click()
    expect(page.locator(".task:visible")).to_have_count(21)
    assert page.locator(".task").nth(19).inner_text() == rows[19]["task"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_texts_of_documents_are_read_on_a_phone_and_on_paper(open_page, page_file: Path):
    page = open_page(page_file, viewport={"width": 390, "height": 800})
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    table = page.locator("#table-errors_labels")
    assert table.locator(".scroll").evaluate("(box) => box.scrollWidth <= box.clientWidth")
    text, document = (table.locator(f"tbody tr:first-child [data-key={key}]") for key in ("text", "document"))
    assert text.bounding_box()["y"] > document.bounding_box()["y"]
    assert document.evaluate("(cell) => getComputedStyle(cell, '::before').content") == '"document: "'
    page.emulate_media(media="print")
    assert text.bounding_box()["y"] > document.bounding_box()["y"]
    assert page.locator("#table-tasks thead button").first.evaluate(
        "(button) => [button, button.closest('thead')].map((node) => getComputedStyle(node)).map("
        "(style) => style.display === 'contents' || style.breakInside === 'avoid').every(Boolean)"
    ), "the head of a table is repeated on each sheet"


def test_the_page_of_a_corpus_fits_a_phone(open_page, tmp_path: Path):
    corpus = mtlv.load("synthetic", documents=90).documents
    checked = CorpusCheck(corpus, make_folds(corpus), lengths=np.full(90, 20))
    page = open_page(write_data_page(tmp_path, [checked]), viewport={"width": 390, "height": 800})
    assert page.locator("h1").inner_text() == "Data: synthetic"
    assert page.locator("figure h3").all_inner_texts() == [
        "Tokens of the documents",
        "Documents of each label",
        "Map of the documents",
    ]
    for box in page.locator("figure svg:visible").all():
        assert box.bounding_box()["width"] <= 390
    panels = page.locator("#figure-documents_1 svg .mark-symbol.role-mark:not(:empty)")
    assert panels.count() == len(corpus.tasks)
    page.locator("[data-menu=tasks]").click()
    page.get_by_role("checkbox", name=corpus.names[0]).uncheck()
    expect(panels).to_have_count(len(corpus.tasks) - 1)


def test_sorting_by_mouse_and_by_keyboard(open_page, page_file: Path):
    page = open_page(page_file)
    head = page.locator("#table-overview th", has_text="F1 macro")
    before = [number(text) for text in column(page, "f1_macro")]
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert [number(text) for text in column(page, "f1_macro")] == sorted(before, reverse=True)
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert [number(text) for text in column(page, "f1_macro")] == sorted(before)


def test_a_run_that_is_off_leaves_rows_and_marks(open_page, page_file: Path, comparison: Comparison):
    page = open_page(page_file)
    name = comparison.runs[2].name
    legend = page.locator("#figure-curves_val_f1_macro svg")
    expect(legend).to_contain_text(name)
    page.get_by_role("button", name=name, exact=True).click()
    settled(page)
    expect(page.locator("tr[data-run=r2]")).to_have_count(0)
    expect(page.locator("#table-overview tbody tr")).to_have_count(3)
    expect(legend).not_to_contain_text(name)
    assert page.locator(".chip[data-run=r2]").get_attribute("aria-pressed") == "false"
    page.keyboard.press("Space")  # the focus stayed on the switch
    settled(page)
    expect(page.locator("#table-overview tbody tr")).to_have_count(4)
    expect(legend).to_contain_text(name)


@pytest.mark.slow
def test_all_and_no_runs(open_page, page_file: Path):
    page = open_page(page_file)
    page.locator("[data-menu=runs]").click()
    page.get_by_role("button", name="None", exact=True).click()
    settled(page)
    expect(page.locator("tr[data-run]")).to_have_count(0)
    expect(page.locator("#table-overview").get_by_text("Nothing to show")).to_be_visible()
    assert page.locator("#figure-curves_val_f1_macro svg").is_hidden()
    page.get_by_role("button", name="All", exact=True).click()
    settled(page)
    expect(page.locator("#table-overview tbody tr")).to_have_count(4)
    expect(page.locator("#figure-curves_val_f1_macro svg")).to_be_visible()
    page.keyboard.press("Escape")
    assert page.locator("#panel-runs").is_hidden()


@pytest.mark.slow
def test_tasks_can_be_filtered(open_page, page_file: Path, comparison: Comparison):
    page = open_page(page_file)
    wanted = comparison.tasks[2].name
    assert {task for _, task in task_rows(page)} == {task.name for task in comparison.tasks}
    page.locator("[data-menu=tasks]").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="None", exact=True).click()
    notes = page.locator("#panel-tasks .note")
    expect(notes.first).to_have_attribute("title", "positive test documents")
    page.locator("#panel-tasks").get_by_label(wanted).check()
    settled(page)
    assert task_rows(page) == [(run.key, wanted) for run in comparison.runs]
    labels = page.locator("#figure-tasks_f1 svg").text_content()
    assert wanted in labels
    assert comparison.tasks[0].name not in labels


@pytest.mark.slow
def test_the_baseline_sets_the_differences(open_page, page_file: Path, comparison: Comparison):
    page = open_page(page_file)
    page.get_by_label("Baseline", exact=True).select_option("r1")
    settled(page)
    for row in page.locator("#table-tasks tbody tr").all():
        run, task = row.get_attribute("data-run"), row.locator("[data-key=task]").inner_text()
        own = mean_and_sd(comparison.run(run).of_task(task))[0]
        other = mean_and_sd(comparison.run("r1").of_task(task))[0]
        assert number(row.locator("[data-key=delta]").inner_text()) == pytest.approx(own - other, abs=6e-4)


@pytest.mark.slow
def test_hovering_shows_values(open_page, page_file: Path, comparison: Comparison):
    page = open_page(page_file)
    points = page.locator("#figure-curves_val_f1_macro svg .mark-symbol.role-mark path")
    points.first.scroll_into_view_if_needed()
    points.last.hover()
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    text = tooltip.inner_text()
    assert any(run.name in text for run in comparison.runs)
    assert re.search(r"0\.\d{2,}", text)


def test_markup_in_names_shows_as_text(open_page, page_file: Path):
    page = open_page(page_file)  # a dialog would be reported
    expect(page.locator("#table-tasks").get_by_text(MARKUP)).to_have_count(4)
    assert page.locator(".warnings li").all_inner_texts() == [WARNING.replace("`", "")]
    assert page.locator(".warnings code").all_inner_texts() == ["data.<b>folds</b>"]
    expect(page.locator("header b")).to_have_count(0)
    page.locator("[data-menu=tasks]").click()
    expect(page.locator("#panel-tasks").get_by_text(MARKUP)).to_be_visible()
    assert "<b>no</b>" in page.locator(".document .text").first.inner_text()


@pytest.mark.slow
def test_two_runs_disagree(open_page, page_file: Path, comparison: Comparison):
    page = open_page(page_file)
    first, second = (page.get_by_label(f"{which} run", exact=True) for which in ("first", "second"))
    first.select_option("r3")
    second.select_option("r1")
    row = page.locator(".document tbody tr").first
    document, task = (
        page.locator(".document h4").first.inner_text().split()[0],
        row.locator("th").inner_text(),
    )
    for cell, key in zip(row.locator(".value").all_inner_texts(), ("r3", "r1"), strict=True):
        scores = [child.test for child in comparison.run(key).children]
        values = [score.tasks[task].outputs[score.ids.index(document)] for score in scores]
        assert float(cell) == pytest.approx(sum(values) / len(values), abs=0.006)
    second.select_option("r3")
    expect(page.get_by_text("Choose two different runs")).to_be_visible()


@pytest.mark.slow
def test_the_numbers_of_a_figure_without_a_mouse(open_page, page_file: Path):
    page = open_page(page_file)
    page.locator("#figure-tasks_f1 .below summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#figure-tasks_f1 details tbody tr")).to_have_count(24)  # runs x tasks


@pytest.mark.slow
def test_everything_is_reached_by_the_tab_key(open_page, page_file: Path):
    page = open_page(page_file)
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the contents"
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id === 'main'")
    unreachable = page.evaluate(
        """[...document.querySelectorAll("button, select, input, summary, a")]
        .filter((node) => node.tabIndex < 0).length"""
    )
    assert unreachable == 0


@pytest.mark.slow
def test_dark_by_choice_and_by_system(open_page, page_file: Path, screenshots: Path):
    ground = "getComputedStyle(document.body).backgroundColor"
    page = open_page(page_file, color_scheme="dark")
    dark = page.evaluate(ground)
    page.screenshot(path=screenshots / "compare-dark.png", full_page=True)
    button = page.get_by_role("button", name="Theme")
    button.click()
    assert page.evaluate(ground) == "rgb(255, 255, 255)" != dark
    button.click()
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ground) == dark
    label = page.locator("#figure-curves_val_f1_macro svg .role-axis-label text").first
    assert (
        page.evaluate("(node) => getComputedStyle(node).fill", label.element_handle()) == "rgb(163, 173, 183)"
    )


@pytest.mark.slow
def test_on_paper(open_page, page_file: Path, screenshots: Path):
    page = open_page(page_file, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator(".toolbar").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.locator("tbody tr").count() == page.locator("tbody tr:visible").count() > 10
    page.screenshot(path=screenshots / "compare-print.png", full_page=True)
    every = sheets(page.pdf(path=screenshots / "compare.pdf", format="A4"))
    page.add_style_tag(content="#answer ~ section { display: none }")
    answer = sheets(page.pdf(path=screenshots / "compare-answer.pdf", format="A4"))
    assert answer <= 2, "the answer and its pictures"
    page.add_style_tag(content="#answer, header { display: none } #answer ~ section { display: block }")
    assert every == answer + sheets(page.pdf(format="A4")), "the appendix begins on a new page"


def sheets(pdf: bytes) -> int:
    """The number of pages."""
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_paper_waits_for_figures(open_page, page_file: Path):
    """Those that were not drawn yet are drawn before the first sheet is printed."""
    page = open_page(page_file, is_drawn=False)
    page.wait_for_selector("figure svg", state="attached", timeout=60_000)  # the library has been read
    missing = (
        "[...document.querySelectorAll('figure .plot')].filter(plot => !plot.querySelector('svg')).length"
    )
    page.evaluate(f"addEventListener('afterprint', () => {{ window.missing = {missing}; }})")
    assert page.evaluate(missing) > 5
    page.pdf(format="A4")
    assert page.evaluate("window.missing") == 0


@pytest.mark.slow
def test_conclusions_are_read_at_first_and_the_rest_is_folded(open_page, page_file: Path, screenshots: Path):
    page = open_page(page_file, folded=True)
    page.screenshot(path=screenshots / "compare-folded.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollHeight") < 12_000
    assert page.locator("#table-answer").is_visible()
    assert page.locator("#figure-cost svg").is_visible()
    assert page.locator("#tasks .finding").is_visible()
    table = page.locator("#table-overview")
    assert table.is_hidden()
    page.locator("#overview > .fold > summary").click()
    assert table.is_visible()
    assert "F1 of each task · Gain over" in page.locator("#tasks > .fold > summary").inner_text()
    page.get_by_role("link", name="Tasks").click()
    figure = page.locator("#figure-tasks_gain svg")
    figure.wait_for(state="visible")
    page.wait_for_timeout(1000)  # the figure gets the width of the page
    assert figure.bounding_box()["width"] > 300
    assert page.locator("#table-groups").is_hidden()


def test_the_first_screen_has_pictures(open_page, page_file: Path, screenshots: Path):
    page = open_page(page_file, folded=True, viewport={"width": 1400, "height": 900})
    settled(page)
    page.screenshot(path=screenshots / "compare-first-screen.png")
    for figure in ("answer_gain", "answer_cost"):
        box = page.locator(f"#figure-{figure} svg").first.bounding_box()
        assert box["y"] + box["height"] < 900
    before = "node => { const r = document.createRange(); r.setStart(document.body, 0); r.setEndBefore(node);"
    main = before.replace("document.body", "document.querySelector('main')") + " return r.toString(); }"
    keys = page.locator("#answer > .keys")
    assert len(keys.evaluate(main).split()) <= 60
    assert keys.bounding_box()["y"] < 420
    below = page.locator("#answer > .scope, .warnings").evaluate_all(
        "notes => notes.map(note => note.compareDocumentPosition(document.querySelector('#answer > .keys')))"
    )
    assert below == [2, 2], "notes follow the pictures"


def test_what_is_not_known_is_not_shown(open_page, tmp_path: Path):
    """The standard deviation of a run that was measured once."""
    once = a_comparison(runs=2, children=1, tasks=3)
    (tmp_path / "once.html").write_text(page_html(once, list(each_section(once))), encoding="utf-8")
    page = open_page(tmp_path / "once.html")
    tooltip = page.locator("#vg-tooltip-element.visible")
    for figure in ("cost", "overview_f1"):
        point = page.locator(f"#figure-{figure} svg .mark-symbol.role-mark path").first
        point.scroll_into_view_if_needed()
        point.hover(force=True)
        tooltip.wait_for()
        assert once.runs[0].name in tooltip.inner_text() or once.runs[1].name in tooltip.inner_text()
        assert not re.search(r"null|NaN|undefined|standard deviation", tooltip.inner_text())
        page.mouse.move(0, 0)
    assert not re.search(r"\b(null|NaN|undefined)\b", page.locator("main").inner_text())


def test_the_address_has_the_switches(open_page, page_file: Path):
    page = open_page(page_file, folded=True)
    pressed = page.locator(".chip[aria-pressed=true]")
    before = pressed.count()
    page.locator(".chip").nth(1).click()
    page.locator("#baseline").select_option(index=2)
    assert "runs=" in page.evaluate("location.hash")
    assert "baseline=2" in page.evaluate("location.hash")
    page.reload()
    expect(pressed).to_have_count(before - 1)
    assert page.locator("#baseline").evaluate("(box) => box.selectedIndex") == 2
    page.locator("#baseline").select_option(index=0)
    page.locator(".chip").nth(1).click()
    assert page.evaluate("location.hash") in ("", "#")


def test_a_number_of_groups_is_chosen_and_names_follow_the_zoom(open_page, page_file: Path):
    page = open_page(page_file)
    figure = page.locator("#figure-groups_maps")
    slider, words = figure.get_by_role("slider"), figure.locator("output")
    slider.fill("1")
    assert "k=1" in page.evaluate("location.hash")
    expect(words).to_contain_text("Trained with these groups")  # by a run of all tasks together
    expect(figure.locator(".chosen .group").first).to_be_visible()
    slider.fill("2")
    expect(words).to_contain_text("No run was trained with these groups")
    page.reload()
    settled(page)
    expect(words).to_contain_text("k = 2.")
    slider.fill("0")
    assert "k=" not in page.evaluate("location.hash")
    settled(page)
    distance = "figure => { const box = n => n.getBoundingClientRect();" + (
        " const dots = [...figure.querySelectorAll('.mark-symbol path')].map(box).filter(b => b.width);"
        " const texts = [...figure.querySelectorAll('.mark-text text')].filter(n => n.textContent.trim());"
        " const names = texts.map(box);"
        " const away = (n, d) => Math.hypot(Math.max(n.left - d.right, d.left - n.right, 0),"
        " Math.max(n.top - d.bottom, d.top - n.bottom, 0));"
        " return names.map(n => Math.min(...dots.map(d => away(n, d)))); }"
    )
    near = max(figure.evaluate(distance))
    for _ in range(2):
        figure.get_by_role("button", name="Zoom in").click()
        page.wait_for_timeout(300)
        settled(page)
    assert max(figure.evaluate(distance)) <= near + 5


@pytest.mark.slow
def test_paper_shows_what_is_folded_and_the_screen_folds_it_again(open_page, page_file: Path):
    page = open_page(page_file, folded=True)
    closed = page.locator("details.fold:not([open])")
    before = closed.count()
    assert before > 3
    page.emulate_media(media="print")
    expect(closed).to_have_count(0)
    page.emulate_media(media="screen")
    expect(closed).to_have_count(before)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_is_wider_than_the_screen(open_page, page_file: Path, screenshots: Path, width: int):
    page = open_page(page_file, viewport={"width": width, "height": 900})
    page.locator("#figure-tasks_gain .below summary").click()  # numbers, a wide table
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.screenshot(path=screenshots / f"compare-{width}.png", full_page=True)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 390])
def test_tables_that_go_on_have_a_shadow_at_their_edge(open_page, page_file: Path, width: int):
    page = open_page(page_file, viewport={"width": width, "height": 900})
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    measure = """[...document.querySelectorAll("table")].map((table) => {
        const box = table.closest(".scroll");
        return [box.scrollWidth > box.clientWidth + 2, box.parentNode.classList.contains("more")];
    })"""
    right = False
    for _ in range(60):  # a busy machine draws late
        page.wait_for_timeout(500)
        shades = page.evaluate(measure)
        right = [True, True] in shades and all(goes_on == shaded for goes_on, shaded in shades)
        if right:
            break
    assert right, shades
    numbers = page.locator("#figure-cost details .scroll").bounding_box()
    assert numbers["width"] == page.locator("#figure-cost").bounding_box()["width"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["src", "srcdoc"])
def test_inside_the_trackers_sandbox(open_page, page_file: Path, tmp_path: Path, how: str):
    (tmp_path / "compare.html").write_text(page_file.read_text())
    source = "'compare.html'" if how == "src" else json.dumps(page_file.read_text()).replace("<", "\\u003c")
    (tmp_path / "outer.html").write_text(
        "<!doctype html><html data-drawn=yes><meta charset=utf-8>"
        "<iframe sandbox='allow-scripts' style='width: 1200px; height: 800px'></iframe>"
        f"<script>document.querySelector('iframe').{how} = {source}</script>"
    )
    page = open_page(tmp_path / "outer.html")
    inner = page.frame_locator("iframe")
    inner.locator(DRAWN).wait_for(state="attached", timeout=60_000)
    expect(inner.locator("#table-overview tbody tr")).to_have_count(4)
    inner.locator(".chip").first.click()
    expect(inner.locator("#table-overview tbody tr")).to_have_count(3)
    inner.get_by_role("link", name="Tasks").click()
    title = inner.locator("#title-tasks")
    for _ in range(50):  # the page scrolls smoothly, on a busy machine slowly
        page.wait_for_timeout(100)
        if title.bounding_box()["y"] < 400:
            break
    assert title.bounding_box()["y"] < 400
    expect(inner.get_by_role("button", name="PNG")).to_have_count(0)  # a sandbox refuses downloads


@pytest.mark.slow
def test_files_can_be_saved(open_page, page_file: Path, tmp_path: Path):
    page = open_page(page_file)
    for kind, begin in (("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b"run,")):
        with page.expect_download() as event:
            page.locator("#figure-curves_val_f1_macro").get_by_role("button", name=kind).click()
        assert event.value.suggested_filename == f"curves_val_f1_macro.{kind.lower()}"
        event.value.save_as(tmp_path / "saved")
        assert (tmp_path / "saved").read_bytes().startswith(begin)
    with page.expect_download() as event:
        page.locator("#table-overview").get_by_role("button", name="CSV").click()
    assert event.value.suggested_filename == "overview.csv"
    event.value.save_as(tmp_path / "saved")
    rows = list(csv.DictReader((tmp_path / "saved").read_text().splitlines()))
    assert len(rows) == page.locator("#table-overview tbody tr").count() > 1


def test_tables_are_copied_as_latex(open_page, page_file: Path, comparison: Comparison):
    page = open_page(page_file)
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard',"
        " { value: { writeText: (text) => { window.copied = text; } } })"
    )
    page.locator("#table-overview").get_by_role("button", name="LaTeX").click()
    lines = page.evaluate("window.copied").splitlines()
    mean, sd = mean_and_sd(comparison.runs[0].values("test/f1_macro"))
    assert f"{mean:.3f} $\\pm$ {sd:.3f}" in lines[lines.index("\\midrule") + 1]
    assert lines.index("\\bottomrule") - lines.index("\\midrule") - 1 == len(comparison.runs)
    assert lines[0] == "\\begin{table}"
    assert len({line.replace("\\&", "").count(" & ") for line in lines if line.endswith("\\\\")}) == 1


def test_without_javascript_the_page_says_where_the_numbers_are(browser, page_file: Path):
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert "comparison.json" in page.locator("body").inner_text()
    context.close()


@pytest.mark.slow
def test_many_runs_are_searched(open_page, tmp_path: Path):
    comparison = a_comparison(runs=14, children=1, tasks=3)
    path = tmp_path / "compare.html"
    path.write_text(page_html(comparison, list(each_section(comparison))), encoding="utf-8")
    page = open_page(path)
    expect(page.locator(".chip")).to_have_count(12)
    page.locator("[data-menu=runs]").click()
    page.get_by_label("Search runs").fill("lr=1")
    page.get_by_role("button", name="Only those found").click()
    settled(page)
    assert page.locator(".chip").all_inner_texts() == [run.name for run in comparison.runs[12:]]
    expect(page.locator("#table-overview tbody tr")).to_have_count(2)


def test_the_page_of_one_run_has_no_switches_for_runs(open_page, tmp_path: Path, browser):
    alone = a_comparison(runs=1)
    (tmp_path / "one.html").write_text(page_html(alone, list(each_section(alone))), encoding="utf-8")
    page = open_page(tmp_path / "one.html", folded=True)
    assert page.locator("#baseline, [data-menu=runs], .chip").count() == 0
    expect(page.locator("[data-menu=tasks]")).to_be_visible()
    assert page.locator("section > details.fold").count() == 1
    assert page.locator("#settings details.fold").count() == 1, "all but the settings is open"
    assert page.locator("th[data-key=name]").count() == 0
    assert page.locator("#table-tasks tbody tr").count() > 0
    widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]


def test_page_and_files_have_one_rule(browser, comparison: Comparison):
    """rows.js and rows.py on the same rows, with the numbers equal to the last bit."""
    rows = [
        {"run": run.key, "task": task.name, "f1": mean_and_sd(run.of_task(task.name))[0], "by": at % 2}
        for run in comparison.runs
        for at, task in enumerate(comparison.tasks)
    ]
    rows += [
        {"run": "r0", "other": "r1", "f1": 0.5},
        {"run": None, "f1": 1},
        {"task": None},
        {"run": "r2", "f1": None},
    ]
    script = files("mtlv.comparison").joinpath("page", "rows.js").read_text()
    call = f"""([packed, rule, runs, tasks, baseline]) => {{ {script}
        return visible(unpacked(packed), rule, new Set(runs), new Set(tasks), baseline); }}"""
    page = browser.new_page()
    for baseline in (None, Baseline("f1", ("task",)), Baseline("f1", ("task", "by"))):
        figure = FigureBlock("f", "", "", {}, rows, baseline)
        section = type(next(each_section(comparison)))("s", "", "", [figure])
        block = page_data(comparison, [section])["sections"][0]["blocks"][0]
        for runs, tasks, key in (
            ("r0 r1 r2 r3", 6, "r0"),
            ("r1 r3", 2, "r0"),
            ("r2", 0, "r3"),
            ("", 6, "r1"),
        ):
            names = [task.name for task in comparison.tasks[:tasks]]
            found = page.evaluate(call, [block["packed"], block["baseline"], runs.split(), names, key])
            expected = visible(figure, runs.split(), names, key)
            fields = {field for row in rows for field in row} | ({"delta"} if baseline else set())
            assert [{f: row.get(f) for f in fields} for row in found] == [
                {f: row.get(f) for f in fields} for row in expected
            ]
    page.close()


@pytest.mark.slow
def test_conclusions_give_way_while_the_switches_say_otherwise(
    open_page, page_file: Path, comparison: Comparison
):
    page = open_page(page_file)
    note, said, chips = (page.locator(place) for place in ("#answer .scope", "#answer .words", ".chip"))
    expect(note).to_be_hidden()
    macro = {run.name: mean_and_sd(run.values("test/f1_macro"))[0] for run in comparison.runs}
    first, second = sorted(macro, key=macro.__getitem__, reverse=True)[:2]
    chips.get_by_text(first, exact=True).click()
    expect(note).to_be_visible()
    expect(said.first).to_be_hidden()
    expect(page.locator("#tasks .finding")).to_be_hidden()
    name = next(run.name for run in comparison.runs if run.key == comparison.baseline)
    assert f"all {len(comparison.runs)} runs" in note.inner_text()
    assert f"“{name}” as the baseline" in note.inner_text()
    assert f"“{second}” has the highest macro F1, {macro[second]:.3f}." in note.inner_text()
    page.locator("[data-menu=runs]").click()
    page.get_by_role("button", name="None", exact=True).click()
    assert note.inner_text().startswith("No run with a score is switched on.")
    page.keyboard.press("Escape")
    note.get_by_role("button", name="Show all").click()
    expect(note).to_be_hidden()
    expect(said.first).to_be_visible()
    other = next(run.key for run in comparison.runs if run.key != comparison.baseline)
    page.locator("#baseline").select_option(other)
    expect(note).to_be_visible()
    note.get_by_role("button", name="Show all").click()
    assert page.locator("#baseline").input_value() == comparison.baseline


@pytest.mark.slow
def test_a_control_is_not_called_the_best_of_what_is_switched_on(
    open_page, tmp_path: Path, comparison: Comparison
):
    macro = {run.name: mean_and_sd(run.values("test/f1_macro"))[0] for run in comparison.runs}
    first, second, third = sorted(macro, key=macro.__getitem__, reverse=True)[:3]
    runs = tuple(
        replace(run, params=run.params | {"grouping.method": "random"}) if run.name == second else run
        for run in comparison.runs
    )
    controlled = replace(comparison, runs=runs)
    (tmp_path / "control.html").write_text(
        page_html(controlled, list(each_section(controlled))), encoding="utf-8"
    )
    page = open_page(tmp_path / "control.html")
    page.locator(".chip").get_by_text(first, exact=True).click()
    assert f"“{third}” has the highest macro F1" in page.locator("#answer .scope").inner_text()
