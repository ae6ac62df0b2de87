"""EBM-NLP: abstracts of clinical trials by sentences, with participants, interventions and outcomes (PICO).

Reads `train.txt`, `dev.txt` and `test.txt` of SciBERT's repository: word, `NN`, `O`, tag, separated by
spaces. There are no `B-` tags, so adjacent spans of one type are one span. Missing files are reported
in the notes; their documents are not drawn from the other files.
"""

from __future__ import annotations

from mtlv.data.conll import tagged
from mtlv.data.parts import from_github
from mtlv.data.source import Card
from mtlv.plan.task import Task

CARD = Card.of_task(
    Task(
        "EBM-NLP PICO",
        kind="tagging",
        source="ebmnlp",
        classes=("PAR", "INT", "OUT"),
        description="Words on the participants, interventions and outcomes of a clinical trial.",
        main_metric="word_f1_macro",
    ),
    title="EBM-NLP, participants, interventions and outcomes in abstracts of clinical trials",
    address="https://github.com/bepnye/EBM-NLP",
    licence="not stated for the corpus; Apache-2.0 for SciBERT's repository, which has this form",
    citation="Nye B, Li JJ, Patel R, et al. A corpus with multi-level annotations of patients, "
    "interventions and outcomes to support language processing for medical literature. Proc. ACL 2018, "
    "197-207.",
    downloads=from_github(
        "allenai/scibert",
        "24cd5151297514977b9bd535f84e12b38964321b/data/pico/ebmnlp",
        {
            "dev.txt": "1a27890b3597e2a19ebdec7a0646c694524614d64d04b7ce9e960b9ca0e576c8",
            "test.txt": "dd1c6bc2340ce4531c05eb94e812afd73d6630bbddb5d8c8932aa328f46401bb",
        },
    ),
    by_hand="train.txt has no known working address: look next to dev.txt in "
    "https://github.com/allenai/scibert (data/pico/ebmnlp) and put it next to the others",
)

load = tagged(CARD)
