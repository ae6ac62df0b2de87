"""BC5CDR, diseases: PubMed abstracts by sentences, in the form of the Cambridge language lab.

Reads `train.tsv`, `devel.tsv` and `test.tsv`: word, tab, tag; a blank line ends a sentence.
"""

from __future__ import annotations

from mtlv.data.conll import cambridge_card, tagged
from mtlv.plan.task import Task

CARD = cambridge_card(
    Task(
        "BC5CDR disease",
        kind="tagging",
        source="bc5cdr_disease",
        classes=("Disease",),
        description="Names of diseases and symptoms in abstracts on the effects of chemicals.",
        main_metric="entity_f1",
    ),
    title="BC5CDR disease, names of diseases in PubMed abstracts",
    citation="Li J, Sun Y, Johnson RJ, et al. BioCreative V CDR task corpus: a resource for chemical "
    "disease relation extraction. Database 2016:baw068, 2016.",
    folder="d62961c5750439aec6396f5703f3a1c03d97ebd3/data/BC5CDR-disease-IOB",
    sha256=(
        "d630dafe7dd67e21350cc3278dbdcfadcccbb2b63d0fda83b2427853988e5ad9",
        "8c3af95475029c2100c2b7c0108b2715bc700ac198c7a21d587f11f1d06b17bd",
        "a530bf9e17a4122b101b09cedd5f3cf8e6307d6a0093146c33b8de2e69ec0fa3",
    ),
)

load = tagged(CARD)
