"""The matrix as a picture: its numbers, its hatches, its colours."""

from __future__ import annotations

import numpy as np
import pytest
from made_transfers import MISSING, a_matrix
from matplotlib.colors import to_rgb
from stilt_tables import NAMES, PUBMEDBERT, published

from mtlv.evaluation.transfer import INTERMEDIATE, LEARNED_WITH, Transfers, effects, points
from mtlv.figures.transfer_matrix import APART, HATCHES, draw_transfer, name_lines, reach
from mtlv.figures.transfer_matrix import MISSING as GREY


@pytest.fixture
def drawn(figure_of):
    return figure_of(draw_transfer)


def texts(figure):
    return {text.get_position(): text.get_text() for text in figure.axes[0].texts}


def hatched(figure):
    """(column, row) of the boxes with a hatch."""
    return {
        (round(box.get_x() + box.get_width() / 2), round(box.get_y() + box.get_height() / 2)): box.get_hatch()
        for box in figure.axes[0].patches
        if box.get_hatch()
    }


def test_numbers_stand_in_their_cells_and_baselines_apart(drawn):
    transfers = a_matrix()
    shown = texts(drawn(transfers))
    for cell in effects(transfers):
        place = (transfers.sources.index(cell.source), transfers.targets.index(cell.target))
        assert shown[place] == points(cell.mean)
    for at, target in enumerate(transfers.targets):
        assert shown[at, at] == "–"
        assert shown[-APART, at] == f"{100 * np.mean(list(transfers.baseline[target].values())):.1f}"


def test_cells_whose_interval_holds_zero_are_hatched_and_no_others(drawn):
    transfers = a_matrix(11)
    found = hatched(drawn(transfers))
    for cell in effects(transfers):
        place = (transfers.sources.index(cell.source), transfers.targets.index(cell.target))
        assert found.get(place) == HATCHES.get(cell.verdict)
    assert set(found.values()) == {HATCHES["neutral"]}


def test_a_missing_cell_is_grey_without_number(drawn):
    transfers = a_matrix()
    source, target = MISSING
    place = (transfers.sources.index(source), transfers.targets.index(target))
    figure = drawn(transfers)
    assert place not in texts(figure)
    grey = [box for box in figure.axes[0].patches if box.get_facecolor()[:3] == to_rgb(GREY)]
    assert [(box.get_x() + 0.5, box.get_y() + 0.5) for box in grey] == [place]


def test_the_published_table_is_drawn_and_dotted(drawn):
    figure = drawn(published(PUBMEDBERT))
    shown, found = texts(figure), hatched(figure)
    at = NAMES.index
    assert shown[at("BC2GM"), at("DDI")] == "−3.5"
    assert shown[at("BioASQ"), at("PubMedQA")] == "+10.4"
    assert shown[-APART, at("BC5-disease")] == "84.6"
    assert len(found) == 110
    assert set(found.values()) == {HATCHES["unknown"]}


def luminance(colour):
    """Relative luminance (WCAG 2)."""
    rgb = np.asarray(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722)


def test_numbers_stand_out_from_their_cells(drawn):
    for text in drawn(a_matrix(11)).axes[0].texts:
        ground = text.get_bbox_patch()
        cell = "white" if ground is None else ground.get_facecolor()
        light, dark = sorted([luminance(cell), luminance(text.get_color())], reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 3.5


def test_the_scale_is_symmetric_and_never_narrower_than_a_point(drawn):
    labels = [label.get_text() for label in drawn(a_matrix()).axes[1].get_yticklabels()]
    assert labels[0] == labels[-1].replace("+", "−")
    assert labels[2] == "0.0"
    alone = {"t": {(0, 0): 0.5}}
    tiny = Transfers(("t",), ("s",), alone, {("s", "t"): {(0, 0): 0.5}})
    assert reach(effects(tiny)) == reach(()) == 0.01
    assert texts(drawn(tiny))[0, 0] == "0.0"


@pytest.mark.parametrize(("tasks", "wording"), [(2, LEARNED_WITH), (6, INTERMEDIATE), (11, LEARNED_WITH)])
def test_names_and_words_stay_on_the_page(drawn, tasks, wording):
    figure = drawn(a_matrix(tasks, wording=wording), "A title that is rather long for so small a matrix")
    axes = figure.axes[0]
    assert axes.get_xlabel() == wording.columns
    for text in [*axes.get_yticklabels(), *axes.get_xticklabels(), *axes.texts, figure._suptitle]:
        box = text.get_window_extent()
        assert box.x0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y1 <= figure.bbox.y1 + 1


def test_long_names_break_at_underscores():
    assert name_lines("hallmarks_of_cancer_long_name", 24) == "hallmarks_of_cancer_\nlong_name"
    assert name_lines("hallmarks_of_cancer_long_name", 18) == "hallmarks_of_\ncancer_long_name"
    assert name_lines("bc5cdr_disease", 18) == "bc5cdr_disease"


def test_the_rule_and_the_number_of_seeds_stand_below(drawn):
    told = drawn(a_matrix()).legends[0].get_title().get_text().replace("\n", " ")
    assert "in points, 3 seeds in each cell" in told
    assert "fewer than 3 pairs" in told
    assert "…" not in told
