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
from mtlv.data.targets import TARGETS
from mtlv.errors import DataError
from mtlv.evaluation.compared_runs import Comparison, TaskInfo
from mtlv.figures.palette import RUNS

PAGE = "data.html"
SAMPLE = 2_000  # maximum documents of the map
EXCERPT = 200  # maximum characters of a text
TOPICS = 50  # dimensions that the map is made of
TAIL = 99.5  # percent of the documents whose lengths have bars of their own
PANEL = 150, 150  # width and height of a panel in pixels
SHORT, LONG = "up to max_length", "longer"
ALL, LEFT_OUT = "all", "left out"  # in place of a part: without a split; in no part, such as repeats
COLOURS = {"train": RUNS[0], "validation": RUNS[2], "test": RUNS[1], LEFT_OUT: GREY, ALL: RUNS[0]}
COLOURS |= {SHORT: RUNS[0], LONG: RUNS[1]}
COUNTS = (
    "Number of documents with each label (or class, type of entity, quarter of the numbers), most frequent "
    "first. Documents in no part, such as repeats, are left out."
)
MAP = (
    "{:,} documents, near each other if their words are similar; distances between far points, and sizes of "
    "clusters, mean nothing. In the panel of a label, its documents have the colour of their part, and all "
    "others are grey. By t-SNE of a latent semantic analysis (TF-IDF in {} dimensions). "
    f"Most frequent labels first, at most {PANELS} at once; filter tasks to see others."
)
Label = tuple[str, str, NDArray[np.bool_]]
"""Task, name, and flags [N] of the documents that have the label, class, type of entity or quarter."""


def write_data_page(folder: Path, checks: Sequence[CorpusCheck], *, with_texts: bool = True) -> Path:
    """Write `data.html`, with a section for each corpus, and return its path.

    Args:
        folder: where to write.
        checks: the corpora.
        with_texts: whether the map shows how the text of a document begins.

    Raises:
        DataError: the page cannot be written.
    """
    tasks = {
        task.name: TaskInfo(task.name, task.kind, support=np.nan) for c in checks for task in c.corpus.tasks
    }
    title = "Data: " + ", ".join(dict.fromkeys(check.corpus.name for check in checks))
    sections = [_section(check, place or "", with_texts=with_texts) for place, check in enumerate(checks)]
    page = page_html(Comparison(title, (), tuple(tasks.values()), ""), sections)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PAGE).write_text(page, encoding="utf-8", newline="")
    except OSError as error:
        then = "choose another folder with `--figures`"
        raise DataError(f"the page cannot be written to {folder}", got=error.strerror, then=then) from error
    return folder / PAGE


def _section(check: CorpusCheck, place: int | str, *, with_texts: bool) -> Section:
    corpus = check.corpus
    targets = {task.name: TARGETS[task.kind] for task in corpus.tasks if TARGETS[task.kind].has_targets}
    labels = [
        (task.name, name, flags)
        for task in corpus.tasks
        if task.name in targets
        for name, flags in targets[task.name].strata(task, corpus.targets[task.name]).items()
    ]
    labels.sort(key=lambda label: -label[2].sum())
    parts = np.full(len(corpus), LEFT_OUT if check.fold else ALL, dtype=object)
    for part in PARTS if check.fold else ():
        parts[check.fold.part(part)] = part
    blocks = [] if check.lengths is None else [_lengths(f"lengths{place}", check.lengths, check.max_length)]
    if labels:
        blocks.append(_counts(f"labels{place}", labels, parts))
        blocks += _map(f"documents{place}", check, labels, parts, with_texts=with_texts)
    intro = f"{len(corpus):,} documents. Their parts are those of the first fold."
    return Section(f"data{place}", corpus.name, intro, blocks)


def _lengths(id: str, lengths: NDArray[np.int64], limit: int) -> FigureBlock:
    """Return the histogram of tokens per document [N]."""
    last, beyond = max(limit, int(np.percentile(lengths, TAIL))), int((lengths > limit).sum())
    tokens, counts = np.unique(np.minimum(lengths, last), return_counts=True)
    rows = [
        {"tokens": at, "documents": count, "length": LONG if at > limit else SHORT}
        for at, count in zip(tokens.tolist(), counts.tolist(), strict=True)
    ]
    caption = (
        f"{beyond / len(lengths):.1%} of the documents ({beyond:,} of {len(lengths):,}) are longer than "
        f"`data.max_length`, {limit} tokens (line). Special tokens are counted."
        + (f" The last bar also has all documents of more than {last} tokens." if max(lengths) > last else "")
    )
    bins = {"bin": {"maxbins": 50, "minstep": 1}}
    bars = {
        "x": number("tokens", title="tokens", axis={"grid": False, "labelSeparation": 8}, **bins),
        "y": number("documents", aggregate="sum", title="documents"),
        "color": _colours("length", [SHORT, LONG]),
        "tooltip": [
            tip("tokens", "", "d") | bins,
            tip("documents", "", ",d") | {"aggregate": "sum"},
            tip("length"),
        ],
    }
    line = {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5},
        "encoding": {"x": {"datum": limit, "type": "quantitative"}},
    }
    spec = {"width": "container", "height": 240, "layer": [{"mark": "bar", "encoding": bars}, line]}
    return FigureBlock(id, "Tokens of the documents", caption, spec, rows)


def _counts(id: str, labels: Sequence[Label], parts: NDArray[Any]) -> FigureBlock:
    """Return the bars of the documents of each label by part [N]."""
    rows: list[dict[str, Any]] = []
    for order, (task, name, flags) in enumerate(labels):
        of_label = {"task": task, "label": name, "order": order}
        counts = {part: int(flags[parts == part].sum()) for part in _present(parts)}
        rows += [of_label | {"part": part, "documents": count} for part, count in counts.items()]
        rows[-1] |= {"all": int(flags.sum()), "share": float(flags.mean())}
    most = max(flags.sum() for *_, flags in labels)
    scale = {"domainMax": 1.25 * max(1, int(most))}  # with room for the numbers
    bars = {
        "x": number("documents", title="documents", scale=scale),
        "color": _colours("part", _present(parts)),
        "tooltip": [tip("label"), tip("part"), tip("documents", "", ",d")],
    }
    totals = {"x": number("all"), "text": number("all", format=",d")}
    totals["tooltip"] = [tip("label"), tip("all", "documents", ",d"), tip("share", "share of all", ".1%")]
    spec = {
        "width": "container",
        "height": {"step": 20},
        "encoding": {"y": label("label", sort={"field": "order", "op": "min"}, axis=task_axis())},
        "layer": [
            {"mark": {"type": "bar", "height": {"band": 0.7}}, "encoding": bars},
            {"mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 11}, "encoding": totals},
        ],
    }
    return FigureBlock(id, "Documents of each label", COUNTS, spec, rows, is_key=True)


def _map(
    id: str, check: CorpusCheck, labels: Sequence[Label], parts: NDArray[Any], *, with_texts: bool
) -> list[FigureBlock]:
    """Return the map of the documents; [] if they share no words."""
    corpus = check.corpus
    sample = np.sort(np.random.default_rng(0).permutation(len(corpus))[:SAMPLE])
    texts = [
        " ".join(filter(None, (corpus.texts[row], corpus.seconds and corpus.seconds[row]))) for row in sample
    ]
    points = project_documents(texts)
    if points is None:
        return []
    places = [{"x": round(x, 4), "y": round(y, 4)} for x, y in points.tolist()]
    rows: list[dict[str, Any]] = []
    for order, (task, name, flags) in enumerate(labels):
        has = np.flatnonzero(flags[sample]).tolist()
        panel = {"task": task, "label": name, "order": order}
        for n in has:
            row = panel | places[n] | {"document": corpus.ids[sample[n]], "part": parts[sample[n]]}
            rows.append(row | ({"text": texts[n][:EXCERPT]} if with_texts else {}))
    # A line with gaps: one element of the page for all documents, which are in each panel
    far = [
        point
        for place in places
        for point in (place, place | {"x": place["x"] + 5e-4}, {"x": None, "y": None})
    ]
    everywhere = {
        "data": {"values": far},
        "mark": {"type": "line", "strokeCap": "round", "strokeWidth": 2, "color": GREY, "opacity": 0.35},
        "encoding": {"order": {"value": None}},
    }
    tips = [tip("label"), tip("document"), tip("part"), *([tip("text")] if with_texts else [])]
    of_label = {"color": _colours("part", _present(parts)), "tooltip": tips}
    axes = {at: number(at, axis=None, scale={"domain": [-0.02, 1.02], "nice": False}) for at in ("x", "y")}
    layers = [everywhere, {"mark": dots(9), "encoding": of_label}]
    spec = small_multiples({"encoding": axes, "layer": layers}, "label", PANEL, columns=6)
    caption = MAP.format(len(sample), min(TOPICS, len(sample)))
    return [FigureBlock(id, "Map of the documents", caption, spec, rows, wide=True)]


def project_documents(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Return a point [N, 2] in the unit square for each text, near those of texts with similar words.

    TF-IDF, truncated singular value decomposition (latent semantic analysis: Deerwester et al., JASIS 41,
    1990), then t-SNE (van der Maaten and Hinton, JMLR 9, 2008). The result is deterministic. None for fewer
    than 4 texts, or words, that are shared.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.manifold import TSNE

    try:
        words = TfidfVectorizer(sublinear_tf=True, min_df=2, token_pattern=r"\w+").fit_transform(texts)
    except ValueError:  # no word is in two texts
        return None
    if min(words.shape) < 4:
        return None
    topics = TruncatedSVD(min(TOPICS, *words.shape), random_state=0).fit_transform(words)
    perplexity = min(30, (len(texts) - 1) / 3)
    points = TSNE(metric="cosine", perplexity=perplexity, random_state=0).fit_transform(topics)
    low = points.min(axis=0)
    return (points - low) / (points.max(axis=0) - low)


def _present(parts: NDArray[Any]) -> list[str]:
    """Return the names that documents have, in the order of `COLOURS`."""
    return [name for name in COLOURS if (parts == name).any()]


def _colours(field: str, names: Sequence[str]) -> dict[str, Any]:
    scale = {"domain": names, "range": [COLOURS[name] for name in names]}
    return label(field, title=None, scale=scale, legend={"orient": "top", "columns": len(names)})
