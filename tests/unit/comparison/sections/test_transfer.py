"""The section on transfers: its matrix, and the best partner of each target."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape

import pytest
from drawing import block, svg
from looking import findings, marks
from made_transfers import MISSING, a_matrix
from stilt_tables import PUBMEDBERT, published

from mtlv.comparison.blocks import FigureBlock, Section, TableBlock, TextBlock
from mtlv.comparison.page import page_html
from mtlv.comparison.sections.answer import answer_of
from mtlv.comparison.sections.transfer import transfer_section
from mtlv.comparison.sections.transfer.matrix import reach
from mtlv.evaluation.transfer import LEARNED_WITH, Transfers, effects, points


def words(figure):
    return [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg(figure))]


def test_the_matrix_has_all_numbers_and_names():
    transfers = a_matrix()
    section = transfer_section(transfers)
    figure = block(section, "transfer_matrix")
    rows = {(row["source"], row["target"]): row for row in figure.rows}
    assert len(rows) == 6 * 7
    for cell in effects(transfers):
        row = rows[cell.source, cell.target]
        assert (row["difference"], row["low"], row["high"]) == (cell.mean, cell.low, cell.high)
        assert (row["verdict"], row["p_holm"], row["n"]) == (cell.verdict, cell.p_holm, 3)
    assert rows[MISSING]["kind"] == "not measured"
    assert rows["ddi", "ddi"]["kind"] == "same"
    shown = words(figure)
    assert {points(cell.mean) for cell in effects(transfers)} <= set(shown)
    assert shown.count("–") == 6
    assert {"baseline", "intermediate task", "target", *transfers.names} <= set(shown)


def test_the_scale_is_symmetric_and_one_for_all_rows():
    section = transfer_section(a_matrix())
    layers = block(section, "transfer_matrix").spec["hconcat"][1]["layer"]
    scale = layers[1]["encoding"]["color"]["scale"]
    low, middle, high = scale["domain"]
    assert (low, middle, scale["type"]) == (-high, 0, "sqrt")
    assert high == pytest.approx(100 * max(abs(cell.mean) for cell in effects(a_matrix())))
    tiny = Transfers(("t",), ("s",), {"t": {(0, 0): 0.5}}, {("s", "t"): {(0, 0): 0.5}})
    assert reach(effects(tiny)) == reach(()) == 0.01


def test_only_differences_that_help_or_harm_are_bold():
    transfers = a_matrix()
    shown = svg(block(transfer_section(transfers), "transfer_matrix"))
    bold = [unescape(text) for text in re.findall(r'<text[^>]*font-weight="bold"[^>]*>([^<]*)</text>', shown)]
    shown_effects = [cell for cell in effects(transfers) if cell.verdict in ("helps", "harms")]
    assert 0 < len(shown_effects) < len(effects(transfers))
    assert sorted(set(bold) & {points(cell.mean) for cell in effects(transfers)}) == sorted(
        {points(cell.mean) for cell in shown_effects}
    )


def test_means_alone_make_a_slanted_matrix():
    section = transfer_section(published(PUBMEDBERT))
    assert [block.id for block in section.blocks if isinstance(block, (FigureBlock, TableBlock))] == [
        "transfer_matrix",
        "transfer_partners",
    ]
    assert 'font-style="italic"' in svg(block(section, "transfer_matrix"))
    shown = words(block(section, "transfer_matrix"))
    assert {"−3.5", "+10.4", "84.6"} <= set(shown)
    assert "no verdicts" in findings(section)
    rows = {row["target"]: row for row in block(section, "transfer_partners").rows}
    assert (rows["PubMedQA"]["partner"], rows["PubMedQA"]["follows"]) == ("BioASQ", "too few pairs to say")


def test_the_table_has_the_best_partner_of_each_target():
    transfers = a_matrix()
    table = block(transfer_section(transfers), "transfer_partners")
    assert [row["target"] for row in table.rows] == list(transfers.targets)
    for row in table.rows:
        best = max(
            (cell for cell in effects(transfers) if cell.target == row["target"]), key=lambda cell: cell.mean
        )
        assert (row["partner"], row["difference"]) == (best.source, best.mean)
        assert row["interval"] == f"{points(best.low)} to {points(best.high)}"
    assert all(column.key in table.rows[0] for column in table.columns)


def test_pairs_speak_of_partners_and_have_ids_of_their_own():
    section = transfer_section(a_matrix(wording=LEARNED_WITH), of="minilm", number=2)
    assert (section.id, section.title) == ("pairs_2", "Pairs of tasks: minilm")
    assert "intermediate" not in json.dumps([section.intro, findings(section)])
    assert "learned with" in words(block(section, "pairs_2_matrix"))
    assert block(section, "pairs_2_partners").title == "The best partner of each target"


def test_what_no_partner_helps_is_said():
    alone = {(0, seed): 0.5 for seed in range(3)}
    after = {("s", "t"): {(0, 0): 0.4, (0, 1): 0.6, (0, 2): 0.5}}
    section = transfer_section(Transfers(("t",), ("s",), {"t": alone}, after))
    assert "No intermediate task helps t." in findings(section)
    assert block(section, "transfer_partners").rows[0]["follows"] == "no partner helps"


def test_transfers_are_the_answer_if_there_is_no_other():
    section, pairs = transfer_section(a_matrix()), transfer_section(a_matrix(wording=LEARNED_WITH), number=2)
    assert answer_of([section]) == section.blocks[0].text
    assert answer_of([section]).startswith("Largest gain: ")
    assert answer_of([section, pairs]) == (
        f"Transfer: {section.blocks[0].text} Pairs of tasks: {pairs.blocks[0].text}"
    )
    answer = Section("answer", "", "", [TextBlock("Learn all together.", "answer")])
    assert answer_of([section, answer]) == "Learn all together."


def test_nothing_measured_is_no_section():
    assert transfer_section(Transfers(("t",), ("s",), {}, {})) is None


def test_blocks_keep_what_every_block_keeps():
    for transfers in (a_matrix(), a_matrix(11, wording=LEARNED_WITH), published(PUBMEDBERT)):
        for one in transfer_section(transfers).blocks:
            if isinstance(one, (FigureBlock, TableBlock)):
                json.dumps([dict(row) for row in one.rows], allow_nan=False)
                assert one.caption.endswith(".")
            if isinstance(one, FigureBlock):
                assert "data" not in one.spec
                assert all("tooltip" in view["encoding"] for view in marks(dict(one.spec)))


def test_names_with_markup_stay_names(comparison_of):
    name = "<script>alert(1)</script>"
    alone = {(0, seed): 0.5 + 0.1 * seed for seed in range(3)}
    after = {("s", name): {(0, 0): 0.6, (0, 1): 0.71, (0, 2): 0.8}}
    section = transfer_section(Transfers((name,), ("s",), {name: alone}, after))
    assert name in words(block(section, "transfer_matrix"))
    assert name not in page_html(comparison_of(runs=1, children=1), [section])


def test_what_was_not_learned_is_named_and_in_no_claim():
    transfers = a_matrix()
    lost = next(cell for cell in effects(transfers) if cell.verdict == "helps").source
    section = transfer_section(replace(transfers, unlearned=frozenset({lost})))
    assert f"Not learned: {lost}; no better than a constant answer" in section.blocks[1].text
    assert lost not in section.blocks[0].text
    cells = [row for row in block(section, "transfer_matrix").rows if row["kind"] == "measured"]
    assert {row["verdict"] for row in cells if lost in (row["source"], row["target"])} == {"unknown"}
    rows = {row["target"]: row for row in block(section, "transfer_partners").rows}
    assert (rows[lost]["partner"], rows[lost]["follows"]) == (None, "not learned")
