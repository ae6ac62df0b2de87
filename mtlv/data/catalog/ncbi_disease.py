"""NCBI disease: PubMed abstracts by sentences, in the form of the Cambridge language lab.

Reads `train.tsv`, `devel.tsv` and `test.tsv`: word, tab, tag; a blank line ends a sentence.
"""

from __future__ import annotations

from mtlv.data.conll import tagged
from mtlv.data.parts import from_github
from mtlv.data.source import Card
from mtlv.plan.task import Task

CARD = Card(
    name="ncbi_disease",
    title="NCBI disease, names of diseases in PubMed abstracts",
    address="https://github.com/cambridgeltl/MTL-Bioinformatics-2016",
    licence="CC BY 4.0 for the data, as its repository states",
    citation="Dogan RI, Leaman R, Lu Z. NCBI disease corpus: a resource for disease name recognition and "
    "concept normalization. J Biomed Inform 47:1-10, 2014. This form: Crichton G et al, BMC Bioinformatics "
    "18:368, 2017.",
    other_tasks=(
        Task(
            "NCBI disease",
            kind="tagging",
            source="ncbi_disease",
            classes=("Disease",),
            description="Names of diseases in abstracts of biomedical papers, many on heredity.",
            main_metric="entity_f1",
        ),
    ),
    main_metric="entity_f1",
    downloads=from_github(
        "cambridgeltl/MTL-Bioinformatics-2016",
        "954a98f80c443ea96cc4af742eb0f6a7c89c40a2/data/NCBI-disease-IOB",
        {
            "train.tsv": "58379baf4614b8d757d93dd7a21b202849ca99f9b9d71b49185523ff5443300c",
            "devel.tsv": "b4e1e7efcc2a35047bf2f3d281648357470e674f555d4a26a0049ac37d59cc61",
            "test.tsv": "8f088ce45dc4746592188f9e69de3d89d87f3bb8f0ed8c4a287d018123fa148d",
        },
    ),
)

load = tagged(CARD)
