"""Words side by side with their pieces: what is whole looks different from what is split."""

from __future__ import annotations

from pathlib import Path

from mtlv.figures import canvas
from mtlv.figures.splittings import draw_splittings


def test_whole_and_split_words_differ(kept: list, tmp_path: Path) -> None:
    long = ["pneumono", *["ultra"] * 12]
    draw_splittings(
        ["hilar (2)", "x" * 80], [["hi", "lar"], long], [["hilar"], ["xx"]], tmp_path / "a.png", title="t"
    )
    texts = {text.get_text(): text for text in kept[0].axes[0].texts}
    assert texts["hi · lar"].get_color() == canvas.ORANGE
    assert texts["hilar"].get_color() == canvas.BLUE
    assert texts["hi · lar"].get_position()[0] < texts["hilar"].get_position()[0], "published first"
    assert texts["hi · lar"].get_position()[1] == texts["hilar (2)"].get_position()[1]
    assert all(len(text) <= 36 for text in texts)
