"""BC5CDR, diseases: PubMed abstracts by sentences, in the form of the Cambridge language lab.

Reads `train.tsv`, `devel.tsv` and `test.tsv`: word, tab, tag; a blank line ends a sentence.
"""

from __future__ import annotations

from mtlv.data.conll import tagged
from mtlv.data.parts import from_github
from mtlv.data.source import Card
from mtlv.plan.task import Task

CARD = Card(
    name="bc5cdr_disease",
    title="BC5CDR disease, names of diseases in PubMed abstracts",
    address="https://github.com/cambridgeltl/MTL-Bioinformatics-2016",
    licence="CC BY 4.0 for the data, as its repository states",
    citation="Li J, Sun Y, Johnson RJ, et al. BioCreative V CDR task corpus: a resource for chemical "
    "disease relation extraction. Database 2016:baw068, 2016. This form: Crichton G et al, BMC "
    "Bioinformatics 18:368, 2017.",
    other_tasks=(
        Task(
            "BC5CDR disease",
            kind="tagging",
            source="bc5cdr_disease",
            classes=("Disease",),
            description="Names of diseases and symptoms in abstracts on the effects of chemicals.",
            main_metric="entity_f1",
        ),
    ),
    main_metric="entity_f1",
    downloads=from_github(
        "cambridgeltl/MTL-Bioinformatics-2016",
        "d62961c5750439aec6396f5703f3a1c03d97ebd3/data/BC5CDR-disease-IOB",
        {
            "train.tsv": "d630dafe7dd67e21350cc3278dbdcfadcccbb2b63d0fda83b2427853988e5ad9",
            "devel.tsv": "8c3af95475029c2100c2b7c0108b2715bc700ac198c7a21d587f11f1d06b17bd",
            "test.tsv": "a530bf9e17a4122b101b09cedd5f3cf8e6307d6a0093146c33b8de2e69ec0fa3",
        },
    ),
)

load = tagged(CARD)
