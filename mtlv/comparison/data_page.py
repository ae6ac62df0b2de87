"""The page of `mtlv data check --figures`: lengths of texts, counts of labels, and a map of the documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtlv.comparison.blocks import FigureBlock, Section
from mtlv.comparison.page import page_html
from mtlv.comparison.parts.channels import GREY, PANELS, dots, label, number, small_multiples, task_axis, tip
from mtlv.data.report import CorpusCheck
from mtlv.data.source import PARTS
from mtlv.errors import DataError
from mtlv.evaluation.compared_runs import Comparison, TaskInfo
from mtlv.figures.palette import RUNS

PAGE = "data.html"
SAMPLE = 2_000  # maximum documents of the map
EXCERPT = 200  # maximum characters of a text
WORD = r"\w+"  # also of one letter
TOPICS = 50  # dimensions that the map is made of
TAIL = 99.5  # percent of the documents whose lengths have bars of their own
PANEL = 160, 160  # width and height of a panel in pixels
SHORT, LONG = "up to max_length", "longer"
ALL, LEFT_OUT = "all", "left out"  # in place of a part: without a split; in no part, such as repeats
COLOURS = {"train": RUNS[0], "validation": RUNS[2], "test": RUNS[1], LEFT_OUT: GREY, ALL: RUNS[0]}
COLOURS |= {SHORT: RUNS[0], LONG: RUNS[1]}
LENGTHS = (
    "{:.1%} of the documents ({:,} of {:,}) are longer than `data.max_length`, {} tokens (line). Special "
    "tokens are counted. The last bar also has all longer documents."
)
COUNTS = (
    "Number of documents with each label (or class, type of entity, quarter of the numbers), most frequent "
    "first. Documents in no part, such as repeats, are left out."
)
MAP = (
    "{:,} documents, near each other if their words are similar; distances between far points, and sizes of "
    "clusters, mean nothing. In the panel of a label, its documents have the colour of their part, and all "
    f"others are grey. By t-SNE of a latent semantic analysis (TF-IDF in {TOPICS} dimensions). Most frequent "
    f"labels first, at most {PANELS} at once; filter tasks to see others."
)
Label = tuple[dict[str, Any], NDArray[np.bool_]]
"""Fields of a label (or class, type of entity, quarter of the numbers), and whether documents [N] have it."""


def write_data_page(folder: Path, checks: Sequence[CorpusCheck], *, with_texts: bool = True) -> Path:
    """Write `data.html`, with a section for each corpus, and return its path.

    Args:
        folder: where to write.
        checks: the corpora.
        with_texts: whether the map shows how the text of a document begins.

    Raises:
        DataError: the page cannot be written.
    """
    title = "Data: " + ", ".join(dict.fromkeys(check.corpus.name for check in checks))
    names = dict.fromkeys(name for check in checks for name in check.corpus.names)
    tasks = tuple(TaskInfo(name, support=np.nan) for name in names)
    sections = [_section(check, place, EXCERPT * with_texts) for place, check in enumerate(checks, 1)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page = page_html(Comparison(title, (), tasks, ""), sections)
        (folder / PAGE).write_text(page, encoding="utf-8", newline="")
    except OSError as error:
        then = "choose another folder with `--figures`"
        raise DataError(f"the page cannot be written to {folder}", got=error.strerror, then=then) from error
    return folder / PAGE


def _section(check: CorpusCheck, place: int, excerpt: int) -> Section:
    """Return the section of a corpus; `place` makes its names unique on the page."""
    corpus, strata = check.corpus, check.corpus.strata(absent=False)
    frequent = sorted(strata, key=lambda name: -strata[name].sum())
    tasks = {name: {"task": name} for name in corpus.names}  # of labels; classes have other names
    labels = [({"label": n, "order": at, **tasks.get(n, {})}, strata[n]) for at, n in enumerate(frequent)]
    parts = np.full(len(corpus), LEFT_OUT if check.folds else ALL, dtype=object)
    for part in PARTS if check.folds else ():
        parts[check.folds[0].part(part)] = part
    present = [name for name in COLOURS if name in set(parts)]
    blocks = [] if check.lengths is None else [_lengths(f"lengths_{place}", check.lengths, check.max_length)]
    blocks.append(_counts(f"labels_{place}", labels, parts, present))
    sample = np.sort(np.random.default_rng(0).permutation(len(corpus))[:SAMPLE])
    columns = [corpus.texts, *filter(None, [corpus.seconds])]
    texts = [" ".join(column[row] for column in columns) for row in sample]
    points = project_documents(texts)
    if points is not None:
        documents = [
            {"document": corpus.ids[row], "text": text[:excerpt] or None, "part": parts[row], "x": x, "y": y}
            for row, text, (x, y) in zip(sample, texts, points.round(4).tolist(), strict=True)
        ]
        of_sample = [(fields, flags[sample]) for fields, flags in labels]
        blocks.append(_map(f"documents_{place}", documents, of_sample, present))
    intro = f"{len(corpus):,} documents" + (", in the parts of the first fold." if check.folds else ".")
    return Section(f"data_{place}", corpus.name, intro, blocks)


def _lengths(id: str, lengths: NDArray[np.int64], limit: int) -> FigureBlock:
    """Return the histogram of the tokens of each document [N]."""
    last, is_longer = max(limit, int(np.percentile(lengths, TAIL, method="higher"))), lengths > limit
    tokens, counts = np.unique(np.minimum(lengths, last), return_counts=True)
    rows = [
        {"tokens": at, "documents": count, "length": LONG if at > limit else SHORT}
        for at, count in zip(tokens.tolist(), counts.tolist(), strict=True)
    ]
    bins = {"bin": {"maxbins": 50, "minstep": 1, "extent": [0, last]}}
    total = number("documents", aggregate="sum", title="documents")
    bars = {
        "x": number("tokens", title="tokens", axis={"grid": False, "labelSeparation": 8}, **bins),
        "y": total,
        "color": _colours("length", (SHORT, LONG)),
        "tooltip": [tip("tokens") | bins, total, tip("length")],
    }
    line = {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5},
        "encoding": {"x": {"datum": limit + 0.5, "type": "quantitative"}},
    }
    spec = {"width": "container", "height": 240, "layer": [{"mark": "bar", "encoding": bars}, line]}
    caption = LENGTHS.format(is_longer.mean(), is_longer.sum(), len(lengths), limit)
    return FigureBlock(id, "Tokens of the documents", caption, spec, rows)


def _counts(id: str, labels: Sequence[Label], parts: NDArray[Any], present: Sequence[str]) -> FigureBlock:
    """Return the bars of the documents with each label, by part [N]."""
    rows = [
        fields | {"part": part, "documents": int(flags[parts == part].sum())}
        for fields, flags in labels
        for part in present
    ]
    most = max([1, *(int(flags.sum()) for _, flags in labels)])
    total = number("documents", aggregate="sum", title=f"documents (of {len(parts):,})")
    x = total | {"axis": {"tickCount": 6}, "scale": {"domainMax": 1.25 * most}}  # room for the numbers
    tips = [tip("label"), tip("part"), tip("documents", "", ",d")]
    bars = {"mark": "bar", "encoding": {"color": _colours("part", present), "tooltip": tips}}
    text = {"type": "text", "align": "left", "dx": 4, "fontSize": 11}
    totals = {"mark": text, "encoding": {"text": total | {"format": ",d"}}}
    axes = {"x": x, "y": label("label", sort={"field": "order", "op": "min"}, axis=task_axis())}
    spec = {"width": "container", "height": {"step": 20}, "encoding": axes, "layer": [bars, totals]}
    return FigureBlock(id, "Documents of each label", COUNTS, spec, rows)


def _map(
    id: str, documents: Sequence[dict[str, Any]], labels: Sequence[Label], present: Sequence[str]
) -> FigureBlock:
    """Return a panel for each label with its documents, over all of them."""
    rows = [fields | documents[n] for fields, flags in labels for n in np.flatnonzero(flags).tolist()]
    # Very short lines with gaps: a browser draws all documents of a panel as one element.
    lines = [{"x": x, "y": of["y"]} for of in documents for x in (of["x"], of["x"] + 5e-4, None)]
    everywhere = {
        "data": {"values": lines},
        "mark": {"type": "line", "strokeCap": "round", "strokeWidth": 2, "color": GREY, "opacity": 0.45},
        "encoding": {"order": {"value": None}},
    }
    tips = [tip(field) for field in ("label", "document", "part", "text")]
    of_label = {"mark": dots(9), "encoding": {"color": _colours("part", present), "tooltip": tips}}
    axes = {at: number(at, axis=None, scale={"domain": [-0.02, 1.02], "nice": False}) for at in ("x", "y")}
    spec = small_multiples({"encoding": axes, "layer": [everywhere, of_label]}, "label", PANEL, columns=6)
    return FigureBlock(id, "Map of the documents", MAP.format(len(documents)), spec, rows, wide=True)


def project_documents(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Return a point [N, 2] in the unit square for each text, near those of texts with similar words.

    TF-IDF, truncated singular value decomposition (latent semantic analysis: Deerwester et al., JASIS 41,
    1990), then t-SNE (van der Maaten and Hinton, JMLR 9, 2008). The result is deterministic. None for fewer
    than 4 different texts, or words that two texts share.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.manifold import TSNE

    try:
        words = TfidfVectorizer(sublinear_tf=True, min_df=2, token_pattern=WORD).fit_transform(texts)
    except ValueError:  # no word is in two texts
        return None
    if min(words.shape) < 4:
        return None
    topics = TruncatedSVD(min(TOPICS, *words.shape), random_state=0).fit_transform(words)
    if len(np.unique(topics.round(6), axis=0)) < 4:  # t-SNE fails if all are equal
        return None
    nearest = min(30, (len(texts) - 1) / 3)
    points = TSNE(metric="cosine", perplexity=nearest, random_state=0).fit_transform(topics)
    low = points.min(axis=0)
    return (points - low) / (points.max(axis=0) - low)


def _colours(field: str, names: Sequence[str]) -> dict[str, Any]:
    scale = {"domain": names, "range": [COLOURS[name] for name in names]}
    return label(field, title=None, scale=scale, legend={"orient": "top", "columns": len(names)})
