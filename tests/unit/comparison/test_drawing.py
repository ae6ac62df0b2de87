from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any

import pytest
import vl_convert

from mtlv.comparison import drawing, vega
from mtlv.comparison.drawing import draw, load_vl_convert
from mtlv.errors import TrackingError

MADE_BY = "1.9.0.post1"  # version of vl-convert that page/vega.js.gz is from


def a_spec(name: str) -> dict[str, Any]:
    return {
        "mark": "bar",
        "width": 100,
        "config": {"font": vega.FILE_FONT},
        "data": {"name": "rows", "values": [{"x": name, "y": 1}]},
        "encoding": {"x": {"field": "x"}, "y": {"field": "y", "type": "quantitative"}},
    }


@pytest.mark.parametrize("name", ["heart", "α ≥ 3 → −1", "心臓"])
def test_a_figure_is_drawn_with_its_texts(name: str):
    picture = draw(a_spec(name))
    assert f">{name}</text>" in picture.svg
    assert picture.png.startswith(b"\x89PNG")


def test_nothing_is_loaded_from_elsewhere():
    spec = a_spec("heart") | {"data": {"url": "https://example.org/rows.json"}}
    with pytest.raises(ValueError, match="example"):
        draw(spec)


def test_large_pictures_have_fewer_pixels():
    assert drawing._scale('<svg class="marks" width="760" height="400" viewBox="0 0 1 1">') == 2
    assert drawing._scale('<svg width="1200" height="1200">') == pytest.approx((2e6 / 1200**2) ** 0.5)
    assert drawing._scale('<svg width="9000" height="9000">') == 1


def test_a_missing_package_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    load_vl_convert.cache_clear()
    with pytest.raises(TrackingError, match=r"pip install 'mtlv\[figures\]'"):
        load_vl_convert()


@pytest.mark.skipif(version("vl-convert-python") != MADE_BY, reason=f"the library is that of {MADE_BY}")
def test_the_library_of_pages_is_that_of_drawn_figures():
    assert vega.library() == vl_convert.javascript_bundle(vl_version=vega.VERSION)
