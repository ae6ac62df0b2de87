"""NCBI disease: PubMed abstracts by sentences, in the form of the Cambridge language lab.

Reads `train.tsv`, `devel.tsv` and `test.tsv`: word, tab, tag; a blank line ends a sentence.
"""

from __future__ import annotations

from mtlv.data.conll import cambridge_card, tagged
from mtlv.plan.task import Task

CARD = cambridge_card(
    Task(
        "NCBI disease",
        kind="tagging",
        source="ncbi_disease",
        classes=("Disease",),
        description="Names of diseases in abstracts of biomedical papers, many on heredity.",
        main_metric="entity_f1",
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

load = tagged(CARD)
