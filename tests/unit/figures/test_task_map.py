"""The map: every name readable, none over another or the edge, whatever the number of tasks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from mtlv.figures import label_placement
from mtlv.figures.palette import GROUPS
from mtlv.figures.task_map import MARKERS, draw_map, map_figure, project

WORDS = [
    "granulomatous",
    "disease",
    "thoracic",
    "lung",
    "vertebrae",
    "opacity",
    "Catheters",
    "hypo",
    "of",
    "é",
]


def tasks(count: int, seed: int = 0, spread: float = 1.0):
    rng = np.random.default_rng(seed)
    names = [" ".join(rng.choice(WORDS, size=rng.integers(1, 5))) + f" {item}" for item in range(count)]
    labels = np.minimum(np.arange(count), rng.integers(0, 5, size=count)).tolist()
    labels = [sorted(set(labels)).index(label) for label in labels]
    return spread * rng.standard_t(2, size=(count, 12)), names, labels


def overlaps(boxes: np.ndarray) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i in range(len(boxes))
        for j in range(i)
        if min(boxes[i][2], boxes[j][2]) > max(boxes[i][0], boxes[j][0])
        and min(boxes[i][3], boxes[j][3]) > max(boxes[i][1], boxes[j][1])
    ]


def measured(figure, texts):
    figure.draw_without_rendering()
    boxes = np.array([text.get_window_extent().extents for text in texts])
    return boxes, figure.axes[0].get_window_extent().extents


@pytest.mark.parametrize("count", [1, 2, 3, 19, 23, 40])
def test_no_name_overlaps_another_or_the_edge(count):
    vectors, names, labels = tasks(count, seed=count)
    figure, texts = map_figure(vectors, names, labels, title="Map")
    boxes, area = measured(figure, texts)
    assert len(texts) == count
    assert [text.get_text().replace("\n", " ") for text in texts] == names
    assert overlaps(boxes) == []
    assert (boxes[:, :2] > area[:2]).all()
    assert (boxes[:, 2:] < area[2:]).all()


@pytest.mark.parametrize("vectors", [np.zeros((16, 4)), np.arange(16.0)[:, None]])
def test_tasks_in_one_place_or_on_a_line_are_readable_too(vectors):
    _, names, labels = tasks(16)
    boxes, _ = measured(*map_figure(vectors, names, labels, title="Map"))
    assert overlaps(boxes) == []


def test_no_name_covers_a_point():
    vectors, names, labels = tasks(23, seed=4)
    figure, texts = map_figure(vectors, names, labels, title="Map")
    boxes, _ = measured(figure, texts)
    points = figure.axes[0].transData.transform(project(vectors)[0])
    inside = (points[:, None] > boxes[None, :, :2]).all(axis=2) & (points[:, None] < boxes[None, :, 2:]).all(
        axis=2
    )
    assert not inside.any()


def test_the_projection_is_a_pca_whose_largest_loadings_are_positive():
    vectors, _, _ = tasks(19)
    centred = vectors - vectors.mean(axis=0)
    _, values, loadings = np.linalg.svd(centred, full_matrices=False)
    loadings *= np.sign(loadings[np.arange(len(loadings)), np.abs(loadings).argmax(axis=1)])[:, None]
    found, shares = project(vectors)
    assert found == pytest.approx(centred @ loadings[:2].T)
    assert shares == pytest.approx((values**2 / (values**2).sum())[:2])


@pytest.mark.parametrize("vectors", [[[1.0, 2.0]], [1.0], np.full((3, 2), 0.1)])
def test_tasks_without_differences_are_all_in_the_middle(vectors):
    found, shares = project(vectors)
    assert found.tolist() == [[0.0, 0.0]] * len(vectors)
    assert shares == (0.0, 0.0)


def test_tasks_on_a_line_have_one_component():
    found, shares = project([3.0, 1.0, 2.0])
    assert found.tolist() == [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]
    assert shares == (1.0, 0.0)


def test_the_axes_name_the_projection_and_its_share():
    vectors, names, labels = tasks(19)
    figure, _ = map_figure(vectors, names, labels, title="Map")
    share = PCA(2).fit(vectors).explained_variance_ratio_[0]
    assert figure.axes[0].get_xlabel() == f"First principal component ({share:.0%} of the variance)"


def test_groups_differ_in_colour_and_shape():
    looks = {(GROUPS[group % len(GROUPS)], MARKERS[group % len(MARKERS)]) for group in range(110)}
    assert len(looks) == 110


def test_medoids_are_bold_and_named_in_the_legend(tmp_path):
    vectors, names, labels = tasks(19)
    medoids = [labels.index(group) for group in range(max(labels) + 1)]
    figure, texts = map_figure(vectors, names, labels, title="Map", medoids=medoids)
    assert [item for item, text in enumerate(texts) if text.get_weight() == "bold"] == medoids
    legend = [text.get_text().replace("\n", " ") for text in figure.legends[0].get_texts()]
    assert legend[0].startswith(f"Group 1 ({labels.count(0)}): {names[medoids[0]][:10]}")


def test_the_same_map_is_the_same_file(tmp_path):
    vectors, names, labels = tasks(12)
    one = draw_map(vectors, names, labels, tmp_path / "a" / "1.png", title="Map").read_bytes()
    assert draw_map(vectors, names, labels, tmp_path / "a" / "2.png", title="Map").read_bytes() == one


def test_names_that_do_not_fit_are_not_placed():
    points, sizes = np.full((3, 2), 50.0), np.full((3, 2), 60.0)
    scene = label_placement.Scene(points, sizes, area=(0, 0, 100, 100), marker=2, gap=1)
    assert label_placement.place(scene) is None


def test_of_a_thousand_tasks_the_medoids_are_named():
    vectors, names, _ = tasks(1000)
    labels = (np.arange(1000) % 12).tolist()
    figure, texts = map_figure(vectors, names, labels, title="Map", medoids=list(range(12)))
    boxes, _ = measured(figure, texts)
    assert [text.get_text().replace("\n", " ") for text in texts] == names[:12]
    assert overlaps(boxes) == []
    assert "names of 12 of 1,000 tasks" in figure.get_suptitle().replace("\n", " ")
    drawn = [line for line in figure.axes[0].lines if line.get_linestyle() == "None"]
    assert sum(len(line.get_xdata()) for line in drawn) == 1000
