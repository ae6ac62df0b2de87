"""A BERT with random weights, to measure speed without a hub: python benchmarks/random_encoder.py FOLDER

By default, the size is that of BERT-base, with 30,522 rows of word embeddings. The vocabulary is that of
`tiny`, trained on generated reports or on Open-I. Its outputs are useless, but its cost is the same.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import harness  # noqa: F401 # puts the checkout on the path

from mtlv.data import catalog
from mtlv.data.options import DataOptions
from mtlv.models.tiny import build_tiny

VOCABULARY = 30_522


def main() -> None:
    """Write the encoder and its tokenizer."""
    import torch
    from transformers import BertConfig, BertModel

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="output; limits for GPUs apply if its path has `bert-base`")
    parser.add_argument("--data", type=Path, help="Open-I's CSV; default: generated reports")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    args = parser.parse_args()
    texts = catalog.load("openi" if args.data else "synthetic", DataOptions(path=args.data)).texts
    _, tokenizer = build_tiny(texts)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=args.width,
        num_hidden_layers=args.layers,
        num_attention_heads=max(1, args.width // 64),
        intermediate_size=4 * args.width,
        pad_token_id=tokenizer.pad_token_id,
    )
    BertModel(config).save_pretrained(args.folder)
    tokenizer.save_pretrained(args.folder)
    print(f"{args.folder}: {args.layers} layers of {args.width}")


if __name__ == "__main__":
    main()
