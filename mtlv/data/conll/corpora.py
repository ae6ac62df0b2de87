"""Corpora of the catalog in CoNLL files, each with one tagging task; and the user's own files.

Most read `train.tsv`, `devel.tsv` (or `dev.tsv`) and `test.tsv`: word, tab, tag, and a blank line after each
sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mtlv.data.conll import tagged_corpus
from mtlv.data.options import DataOptions
from mtlv.data.parts import from_github
from mtlv.data.source import Card, Corpus
from mtlv.plan.task import Task

CAMBRIDGE = "cambridgeltl/MTL-Bioinformatics-2016"  # on GitHub


@dataclass(frozen=True)
class ConllCorpus:
    """A corpus with `CARD` and `load`, as modules of the catalog have; for `untyped` see `tagged_corpus`."""

    CARD: Card
    untyped: str = "entity"

    def load(self, path: Path, options: DataOptions) -> Corpus:
        """Read the corpus; see `tagged_corpus`."""
        return tagged_corpus(self.CARD, path, untyped=self.untyped, columns=options.columns)


def _cambridge(
    task: Task, *, title: str, citation: str, folder: str, sha256: tuple[str, str, str]
) -> ConllCorpus:
    """Return a corpus in the form of the Cambridge language lab (Crichton et al. 2017).

    `folder` is a commit and a folder of the lab's repository, with `train.tsv`, `devel.tsv` and `test.tsv`,
    of which `sha256` are the checksums.
    """
    files = dict(zip(("train.tsv", "devel.tsv", "test.tsv"), sha256, strict=True))
    card = Card.of_task(
        task,
        title=title,
        address=f"https://github.com/{CAMBRIDGE}",
        licence="CC BY 4.0 for the data, as its repository states",
        citation=f"{citation} This form: Crichton G et al, BMC Bioinformatics 18:368, 2017.",
        downloads=from_github(CAMBRIDGE, folder, files),
    )
    return ConllCorpus(card)


def _entities(name: str, source: str, type_: str, description: str) -> Task:
    """Return the task of finding entities of one type."""
    return Task(name, "tagging", source, (type_,), description=description, main_metric="entity_f1")


conll = ConllCorpus(
    Card(
        name="conll",
        title="CoNLL files of your own (a word and its tag a line)",
        address="your files, named by `data.path`",
        licence="yours",
        citation="none: the documents are yours",
        main_metric="entity_f1",
    )
)
"""`data.path` is a file, or a folder with a file for each part; the classes are the types in the data."""

bc2gm = _cambridge(
    _entities("BC2GM gene", "bc2gm", "GENE", "Names of genes and gene products in sentences from abstracts."),
    title="BC2GM, names of genes in PubMed abstracts",
    citation="Smith L, Tanabe LK, Ando RJ, et al. Overview of BioCreative II gene mention recognition. "
    "Genome Biol 9(Suppl 2):S2, 2008.",
    folder="954a98f80c443ea96cc4af742eb0f6a7c89c40a2/data/BC2GM-IOB",
    sha256=(
        "46e17f4e1509483b82c03f27d6f0214020f738fb71704356fb3445eb824ab38d",
        "33a94577aa22f1e70ec9e02781a05baa4e1390e866d28bf2b344888e4e3d4103",
        "30d7a4f571ca8ed22a044528063ba5d0388d666d8b8b329733d6927e5fb30764",
    ),
)

BC5CDR = (
    "Li J, Sun Y, Johnson RJ, et al. BioCreative V CDR task corpus: a resource for chemical disease relation "
    "extraction. Database 2016:baw068, 2016."
)
bc5cdr_chem = _cambridge(
    _entities(
        "BC5CDR chemical",
        "bc5cdr_chem",
        "Chemical",
        "Names of chemicals and drugs in abstracts of biomedical papers.",
    ),
    title="BC5CDR chemical, names of chemicals in PubMed abstracts",
    citation=BC5CDR,
    folder="d62961c5750439aec6396f5703f3a1c03d97ebd3/data/BC5CDR-chem-IOB",
    sha256=(
        "165c4cd2efadd0caf1bb8f3c6bcd3acca199446bb3d55eb06d9137114c9a0b2d",
        "3f1df5cfcff95735663ffc37121fd3687e82b1e9a019bec0480491502652721b",
        "6fce42139a9d819151eff3ab8cb0eda6fbf861fd17d4cfe6be2123f010a3b6c5",
    ),
)
bc5cdr_disease = _cambridge(
    _entities(
        "BC5CDR disease",
        "bc5cdr_disease",
        "Disease",
        "Names of diseases and symptoms in abstracts on the effects of chemicals.",
    ),
    title="BC5CDR disease, names of diseases in PubMed abstracts",
    citation=BC5CDR,
    folder="d62961c5750439aec6396f5703f3a1c03d97ebd3/data/BC5CDR-disease-IOB",
    sha256=(
        "d630dafe7dd67e21350cc3278dbdcfadcccbb2b63d0fda83b2427853988e5ad9",
        "8c3af95475029c2100c2b7c0108b2715bc700ac198c7a21d587f11f1d06b17bd",
        "a530bf9e17a4122b101b09cedd5f3cf8e6307d6a0093146c33b8de2e69ec0fa3",
    ),
)

ncbi_disease = _cambridge(
    _entities(
        "NCBI disease",
        "ncbi_disease",
        "Disease",
        "Names of diseases in abstracts of biomedical papers, many on heredity.",
    ),
    title="NCBI disease, names of diseases in PubMed abstracts",
    citation="Dogan RI, Leaman R, Lu Z. NCBI disease corpus: a resource for disease name recognition and "
    "concept normalization. J Biomed Inform 47:1-10, 2014.",
    folder="954a98f80c443ea96cc4af742eb0f6a7c89c40a2/data/NCBI-disease-IOB",
    sha256=(
        "58379baf4614b8d757d93dd7a21b202849ca99f9b9d71b49185523ff5443300c",
        "b4e1e7efcc2a35047bf2f3d281648357470e674f555d4a26a0049ac37d59cc61",
        "8f088ce45dc4746592188f9e69de3d89d87f3bb8f0ed8c4a287d018123fa148d",
    ),
)

# The five types of entities are merged, as in BLURB; tags are bare `B`, `I` or `O`.
jnlpba = ConllCorpus(
    Card.of_task(
        _entities(
            "JNLPBA entity",
            "jnlpba",
            "Entity",
            "Names of proteins, DNA, RNA, cell types and cell lines in abstracts on human blood cells.",
        ),
        title="JNLPBA, names of molecules and cells in PubMed abstracts, types merged",
        address="https://github.com/spyysalo/jnlpba",
        licence="GENIA licence; annotations CC BY 3.0",
        citation="Collier N, Kim JD. Introduction to the bio-entity recognition task at JNLPBA. Proc. JNLPBA "
        "2004, 73-78. This form: Gu Y et al. Domain-specific language model pretraining for biomedical "
        "natural language processing. ACM Trans Comput Healthc 3(1):2, 2022.",
        by_hand="the scripts of BLURB (https://microsoft.github.io/BLURB/) make train.tsv, dev.tsv and "
        "test.tsv; put them in one folder",
    ),
    untyped="Entity",
)
