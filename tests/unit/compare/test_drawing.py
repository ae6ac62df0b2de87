from __future__ import annotations

from pathlib import Path

import pytest

from mtlv.compare import drawing
from mtlv.compare.drawing import Drawing, begin


def a_drawing(folder: Path, name: str, values: int = 3, width: int = 100) -> Drawing:
    spec = {
        "mark": "bar",
        "width": width,
        "height": width,
        "data": {"name": "rows", "values": [{"x": f"{name}{at}", "y": at} for at in range(values)]},
        "encoding": {"x": {"field": "x"}, "y": {"field": "y", "type": "quantitative"}},
    }
    return Drawing(spec, str(folder / f"{name}.svg"), str(folder / f"{name}.png"))


def test_several_processes_draw_the_same_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for folder, cores in (("one", 1), ("two", 2)):
        (tmp_path / folder).mkdir()
        monkeypatch.setattr(drawing, "_cores", lambda cores=cores: cores)
        begin([a_drawing(tmp_path / folder, f"f{at}") for at in range(4)]).finish()
    for at in range(4):
        for kind in ("svg", "png"):
            name = f"f{at}.{kind}"
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_what_another_process_could_not_draw_is_drawn_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(drawing, "_cores", lambda: 2)
    monkeypatch.setattr(drawing.sys, "executable", "/bin/false")
    begin([a_drawing(tmp_path, f"f{at}") for at in range(4)]).finish()
    assert len(list(tmp_path.glob("*.png"))) == 4


def test_work_is_shared_evenly(tmp_path: Path):
    drawings = [a_drawing(tmp_path, str(at), values=at * 500) for at in range(1, 8)]
    shares = drawing._shares(drawings, 2)
    assert sorted(one.svg for share in shares for one in share) == sorted(one.svg for one in drawings)
    first, second = (sum(one.effort for one in share) for share in shares)
    assert abs(first - second) <= min(one.effort for one in drawings)


def test_large_pictures_have_fewer_pixels():
    assert drawing._scale('<svg class="marks" width="760" height="400" viewBox="0 0 1 1">') == 2
    assert drawing._scale('<svg width="1200" height="1200">') == pytest.approx((2e6 / 1200**2) ** 0.5)
    assert drawing._scale('<svg width="9000" height="9000">') == 1
