"""Hallmarks of Cancer: PubMed abstracts with the ten hallmarks, at document level.

Reads `text/PMID.txt` and `labels/PMID.txt`, as a folder or as `hoc.tar.gz`, and the split lists of BLURB
(`blurb_split/{train,dev,test}_pmid.tsv`) next to them, if they exist. A document has a hallmark if at least
one of its sentences has it.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from mtlv.data.archives import documents
from mtlv.data.options import DataOptions
from mtlv.data.parts import read_split_lists
from mtlv.data.source import Card, Corpus, Download, Label, targets_of
from mtlv.data.tables.decoding import decode
from mtlv.errors import DataError

ARCHIVE = "hoc.tar.gz"

_LABELS = {
    "activating invasion and metastasis": "Cancer cells break away, grow into the tissue around them and "
    "settle in other organs.",
    "avoiding immune destruction": "Cancer cells hide from the immune system or weaken it, so that they are "
    "not killed.",
    "cellular energetics": "Cancer cells change how they gain energy, for example by burning glucose "
    "without oxygen.",
    "enabling replicative immortality": "Cancer cells divide without limit, for example because telomerase "
    "keeps their chromosome ends long.",
    "evading growth suppressors": "Cancer cells ignore the signals and checkpoints that would stop them "
    "from dividing.",
    "genomic instability and mutation": "Damage to DNA is not repaired, and mutations gather that drive the "
    "cancer.",
    "inducing angiogenesis": "A tumour makes new blood vessels grow, which bring it oxygen and food.",
    "resisting cell death": "Cancer cells escape apoptosis and other ways in which damaged cells die.",
    "sustaining proliferative signaling": "Cancer cells keep themselves dividing through growth factors, "
    "receptors or what lies downstream.",
    "tumor promoting inflammation": "Inflammation round a tumour supplies it with signals that help it to "
    "grow and spread.",
}

CARD = Card(
    name="hoc",
    title="Hallmarks of Cancer, 1,852 abstracts, ten hallmarks (document level)",
    address="https://github.com/sb895/Hallmarks-of-Cancer",
    licence="GPL-3.0, as its repository states",
    citation="Baker S, Silins I, Guo Y, et al. Automatic semantic classification of scientific literature "
    "according to the hallmarks of cancer. Bioinformatics 32(3):432-440, 2016.",
    labels=tuple(Label(name, description) for name, description in _LABELS.items()),
    main_metric="f1_micro",
    downloads=(
        Download(
            "https://github.com/sb895/Hallmarks-of-Cancer/archive/HEAD.tar.gz",
            ARCHIVE,
            max_bytes=200_000_000,
        ),
    ),
    by_hand="the split lists are part of BLURB (https://microsoft.github.io/BLURB/); put them in "
    "blurb_split/ next to hoc.tar.gz or the texts; otherwise mtlv splits the documents itself",
)


def load(path: Path, options: DataOptions) -> Corpus:  # noqa: ARG001
    """Load all documents, with the parts of the split lists if they are found.

    Raises:
        DataError: missing files, a text without labels, an unknown hallmark, or a list that does not match.
    """
    texts: dict[str, str] = {}
    labels: dict[str, set[str]] = {}
    for name, data in documents(path / ARCHIVE if (path / ARCHIVE).is_file() else path, _is_document):
        place = PurePosixPath(name)
        content = decode(data, str(place))
        if place.parts[-2] == "text":
            text = " ".join(content.split())
            same = texts.setdefault(place.stem, text) == text
        else:
            names = hallmarks(content, place.stem)
            same = labels.setdefault(place.stem, names) == names
        if not same:
            raise DataError(
                f"document `{place.stem}` has two different contents", got=str(place), then="keep one of them"
            )
    if not texts or texts.keys() != labels.keys():
        raise DataError(
            f"no complete Hallmarks of Cancer corpus in `{path}`",
            got=f"{len(texts)} texts, {len(labels)} label files",
            allowed="text/PMID.txt and labels/PMID.txt for every document",
            then="run `mtlv data fetch hoc`",
        )
    ids = sorted(texts)
    return Corpus(
        name=CARD.name,
        tasks=CARD.tasks(),
        ids=tuple(ids),
        texts=tuple(texts[id_] for id_ in ids),
        targets=targets_of([labels[id_] for id_ in ids], list(_LABELS)),
        parts=_parts(path if path.is_dir() else path.parent, ids),
    )


def hallmarks(content: str, document: str) -> set[str]:
    """Return the hallmarks of a label file: one field per sentence, each preceded by `<`.

    A field is empty, `NULL`, or paths (`hallmark--detail--...`) joined by `AND`, with or without a space
    after it.
    """
    names = set()
    for field in content.split("<"):
        for path in re.split(r"(?:^|\s)AND", field.strip()):
            name = path.split("--")[0].strip().lower()
            if name in ("", "null"):
                continue
            if name not in _LABELS:
                raise DataError(f"document `{document}` has an unknown hallmark", got=name)
            names.add(name)
    return names


def _is_document(name: str) -> bool:
    place = PurePosixPath(name)
    return len(place.parts) >= 2 and place.parts[-2] in ("text", "labels") and place.suffix == ".txt"


def _parts(folder: Path, ids: list[str]) -> tuple[str, ...] | None:
    """Return the part of each document by the split lists; None without lists."""
    # Next to the texts, or one level higher in an unpacked repository.
    places = [folder, *sorted(child for child in folder.iterdir() if child.is_dir())]
    folder = next((place for place in places if (place / "blurb_split").is_dir()), folder)
    lists = read_split_lists(folder, "pmid", ",\n")
    parts = {entry.removesuffix(".txt"): part for entry, part in lists.items()}
    if missing := [id_ for id_ in ids if parts and id_ not in parts]:
        raise DataError(
            f"the split lists in `{folder / 'blurb_split'}` leave documents out",
            got=f"{len(missing)}, such as {missing[0]}",
        )
    return tuple(parts[id_] for id_ in ids) if parts else None
