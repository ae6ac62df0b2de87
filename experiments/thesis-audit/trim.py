"""Leave out the word vectors of an encoder that no text of a corpus uses, to save a processor time.

    python experiments/thesis-audit/trim.py FOLDER data.path=FOLDER_OR_FILE
    python experiments/thesis-audit/run.py encoder.name=FOLDER data.path=FOLDER_OR_FILE

More than half of minilm's weights are word vectors, and AdamW steps through all of them for every batch. The
texts get the same tokens and the encoder computes the same from them (this is checked before it ends).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from mtlv.data import catalog
from mtlv.models.encoder import Encoder, load_encoder
from mtlv.running.workbench import Workbench
from mtlv.settings import load_suite

HERE = Path(__file__).parent
KEPT = 104  # BERT's special tokens have ids up to 103, and stay where they are


def trim(encoder: Encoder, texts: Sequence[str], folder: Path) -> Encoder:
    """Write `encoder` with the word vectors that `texts` use into `folder`, and load it from there.

    Raises:
        ValueError: the smaller encoder gives other tokens or vectors.
    """
    used = set(chain.from_iterable(encoder.tokenizer(list(texts), verbose=False)["input_ids"]))
    rows = [*range(KEPT), *sorted(token for token in used if token >= KEPT)]
    place = {old: new for new, old in enumerate(rows)}
    folder.mkdir(parents=True, exist_ok=True)
    encoder.tokenizer.save_pretrained(folder)
    _trim_tokenizer(folder, encoder, place)
    old = encoder.module.get_input_embeddings()
    new = torch.nn.Embedding.from_pretrained(old.weight[rows].clone(), padding_idx=old.padding_idx)
    encoder.module.set_input_embeddings(new)
    encoder.module.config.vocab_size = len(rows)
    encoder.module.save_pretrained(folder)
    encoder.module.set_input_embeddings(old)
    encoder.module.config.vocab_size = len(old.weight)
    found = load_encoder(str(folder))
    _check(encoder, found, texts, place)
    return found


def _trim_tokenizer(folder: Path, encoder: Encoder, place: dict[int, int]) -> None:
    content: dict[str, Any] = json.loads(encoder.tokenizer.backend_tokenizer.to_str())
    vocabulary = content["model"]["vocab"]
    kept = {word: place[number] for word, number in vocabulary.items() if number in place}
    content["model"]["vocab"] = dict(sorted(kept.items(), key=lambda item: item[1]))
    (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    (folder / "vocab.txt").unlink(missing_ok=True)


def _check(old: Encoder, new: Encoder, texts: Sequence[str], place: dict[int, int]) -> None:
    # Greedy longest match: leaving out pieces that were never the longest match changes nothing.
    before, after = (e.tokenizer(list(texts), verbose=False)["input_ids"] for e in (old, new))
    if [[place[token] for token in ids] for ids in before] != after:
        raise ValueError("the smaller vocabulary gives other tokens")
    sample = list(texts[:8])
    vectors = []
    for encoder in (old, new):
        inputs = encoder.tokenizer(sample, truncation=True, max_length=64, padding=True, return_tensors="pt")
        with torch.inference_mode():
            vectors.append(encoder.module.eval()(**inputs).last_hidden_state)
    if not torch.equal(*vectors):
        raise ValueError("the smaller encoder gives other vectors")


def texts_of(arguments: Sequence[str]) -> tuple[Encoder, list[str]]:
    """The encoder of `config.yml` and all texts that the audit gives it."""
    settings = load_suite(HERE / "config.yml", arguments).members[0].settings
    corpus = Workbench().corpus(settings.data)
    labels = [word for task in corpus.tasks for word in (task.name, task.description)]
    codes = [label.code for label in catalog.card(settings.data.name).labels]
    return load_encoder(settings.encoder.name), [*corpus.texts, *labels, *codes]


def main(arguments: list[str] | None = None) -> None:
    """The command; see the module's first lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("changes", nargs="*", help="key=value, laid over config.yml")
    given = parser.parse_args(arguments)
    encoder, texts = texts_of(given.changes)
    small = trim(encoder, texts, given.folder)
    print(f"{len(encoder.tokenizer)} word vectors became {len(small.tokenizer)}")


if __name__ == "__main__":
    main()
