from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from mtlv.comparison import drawing
from mtlv.comparison.drawing import DrawingPool
from mtlv.errors import TrackingError
from mtlv.processes import Connection


def a_spec(name: str, values: int = 3, width: int = 100) -> dict[str, Any]:
    return {
        "mark": "bar",
        "width": width,
        "height": width,
        "config": {"font": '"Liberation Sans", Arial, sans-serif'},
        "data": {"name": "rows", "values": [{"x": f"{name}{at}", "y": at} for at in range(values)]},
        "encoding": {"x": {"field": "x"}, "y": {"field": "y", "type": "quantitative"}},
    }


@pytest.fixture(scope="module")
def pool() -> Iterator[DrawingPool]:
    with DrawingPool(2) as pool:
        yield pool


def test_pictures_come_in_the_order_in_which_they_were_asked_for(pool: DrawingPool):
    specs = [a_spec(f"f{at}", values=values) for at, values in enumerate((2, 40, 3, 20))]
    pictures = [begun.result() for begun in pool.draw(specs)]
    for at, picture in enumerate(pictures):
        assert f">f{at}0</text>" in picture.svg
        assert picture.png.startswith(b"\x89PNG")


def test_several_processes_draw_the_same_as_one(pool: DrawingPool):
    specs = [a_spec(f"f{at}") for at in range(4)]
    with DrawingPool(1) as one:
        alone = [begun.result() for begun in one.draw(specs)]
    assert [begun.result() for begun in pool.draw(specs)] == alone


def test_what_another_process_could_not_draw_is_drawn_here(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with DrawingPool(2) as pool:
        pictures = [begun.result() for begun in pool.draw([a_spec(f"f{at}") for at in range(4)])]
    assert all(picture.png.startswith(b"\x89PNG") for picture in pictures)


def test_a_wrong_specification_is_told_and_others_are_drawn():
    with DrawingPool(1) as pool:
        wrong, right = pool.draw([{"data": {"values": []}, "mark": 3}, a_spec("f")])
        assert right.result().svg
        with pytest.raises(ValueError, match="Vega"):
            wrong.result()


def test_a_figure_that_takes_too_long_is_told_and_others_are_drawn(monkeypatch: pytest.MonkeyPatch):
    named = {"title": {"text": "A figure"}}
    with DrawingPool(2) as pool:
        assert all(begun.result() for begun in pool.draw([a_spec("f"), a_spec("g")]))  # both are warm
        monkeypatch.setattr(drawing, "PATIENCE", 0.2)
        (slow,) = pool.draw([a_spec("f", values=300_000) | named])
        with pytest.raises(
            TrackingError, match=r"figure `A figure` cannot be drawn .*allowed: 0 seconds and 4 GB"
        ):
            slow.result()
        monkeypatch.undo()
        (other,) = pool.draw([a_spec("g")])
        assert other.result().svg


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are told by Linux")
def test_processes_have_a_limit_of_memory():
    with DrawingPool(1) as pool:
        (begun,) = pool.draw([a_spec("f")])
        assert begun.result().svg
        limits = Path(f"/proc/{pool._free[0].process.pid}/limits").read_text()
    assert re.search(rf"Max data size +{drawing.MEMORY} ", limits)


def test_no_process_outlives_its_pool():
    with DrawingPool(2) as pool:
        processes = list(pool._free)
        pool.draw([a_spec(f"f{at}") for at in range(4)])
    assert all(process.process.poll() is not None for process in processes)


@pytest.mark.parametrize("text", ["Herz-Kreislauf", "naïve ≥ 3 → −1", "αβγ", "привет", "“mtl” · k=3 …"])
def test_common_letters_are_in_the_bundled_font(text: str):
    assert not drawing.BEYOND.search(text)


@pytest.mark.parametrize("text", ["心臓", "Հայերեն", "✓", "عربي"])
def test_other_letters_bring_the_fonts_of_the_system(text: str, monkeypatch: pytest.MonkeyPatch):
    added: list[bool] = []
    monkeypatch.setattr(drawing, "_add_system_fonts", lambda: added.append(True))
    specs, answers = BytesIO(pickle.dumps(a_spec("Herz")) + pickle.dumps(a_spec(text))), BytesIO()
    drawing._serve(Connection(specs, answers))
    assert added == [True]
    answers.seek(0)
    assert [pickle.load(answers)[0].count(text) > 0 for _ in range(2)] == [False, True]


def test_large_pictures_have_fewer_pixels():
    assert drawing._scale('<svg class="marks" width="760" height="400" viewBox="0 0 1 1">') == 2
    assert drawing._scale('<svg width="1200" height="1200">') == pytest.approx((2e6 / 1200**2) ** 0.5)
    assert drawing._scale('<svg width="9000" height="9000">') == 1
