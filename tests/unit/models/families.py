"""Fifteen families of encoders, tiny and random, each with a tokenizer as its own are."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from mtlv.models.tiny import build_tiny

WORDS = ("heart", "lung", "bone", "large", "small", "clear")
LABELS = ("heart", "lung")
H, HEADS, L = 32, 4, 9  # no two equal: shapes tell attention's probabilities from vectors
SIZES = {"hidden_size": H, "num_hidden_layers": 2, "num_attention_heads": HEADS, "intermediate_size": 48}
SHORT = {"max_position_embeddings": 64}
BERT_RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob")


@dataclass(frozen=True)
class Family:
    """How one is made.

    Args:
        config: name of its class in Transformers.
        marks: what its tokenizer puts around texts; see `tokenizer_of`.
        sizes: of the model.
        rates: what its config calls the rates of dropout.
        causal: whether tokens see only those before them.
        unused: what a name holds of weights that nothing uses here, as Longformer's for global attention.
    """

    config: str
    marks: str = "bert"
    sizes: dict[str, Any] = field(default_factory=lambda: SIZES | SHORT)
    rates: tuple[str, ...] = BERT_RATES
    causal: bool = False
    unused: str = "-"


FAMILIES = {
    "bert": Family("BertConfig"),
    "roberta": Family("RobertaConfig", "roberta"),
    "xlm-roberta": Family("XLMRobertaConfig", "roberta"),
    "electra": Family("ElectraConfig", sizes=SIZES | {"embedding_size": 24}),
    "distilbert": Family(
        "DistilBertConfig",
        sizes={"dim": H, "n_layers": 2, "n_heads": HEADS, "hidden_dim": 48},
        rates=("dropout", "attention_dropout"),
    ),
    "mpnet": Family("MPNetConfig", "roberta"),
    "deberta-v2": Family(
        "DebertaV2Config",
        sizes=SIZES
        | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False},
    ),
    "modernbert": Family(
        "ModernBertConfig",
        sizes=SIZES | {"local_attention": 8},
        rates=("attention_dropout", "embedding_dropout", "mlp_dropout"),
    ),
    "albert": Family("AlbertConfig", sizes=SIZES | {"embedding_size": 24}),
    "longformer": Family(
        "LongformerConfig", "roberta", SIZES | SHORT | {"attention_window": 4}, unused="_global."
    ),
    "nomic-bert": Family("NomicBertConfig"),
    "eurobert": Family("EuroBertConfig", "roberta", rates=("attention_dropout",)),
    "t5": Family(
        "T5Config",
        "t5",
        {"d_model": H, "num_layers": 2, "num_heads": HEADS, "d_ff": 48, "d_kv": 8},
        rates=("dropout_rate",),
    ),
    "gpt2": Family(
        "GPT2Config",
        "gpt2",
        {"n_embd": H, "n_layer": 2, "n_head": HEADS, "n_positions": 64},
        rates=("attn_pdrop", "embd_pdrop", "resid_pdrop"),
        causal=True,
    ),
    "qwen3": Family(
        "Qwen3Config",
        "gpt2",
        SIZES | SHORT | {"num_key_value_heads": 2, "head_dim": 8},
        rates=("attention_dropout",),
        causal=True,
    ),
}
CAUSAL = [name for name, family in FAMILIES.items() if family.causal]
SPECIAL = {
    "roberta": {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>"},
    "t5": {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"},
    "gpt2": {"eos": "<|endoftext|>"},
}


def made_up_texts() -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 8))) for _ in range(40)]


@cache
def tokenizer_of(marks: str) -> Any:
    """[CLS] A [SEP]; <s> A </s>; A </s>; or A alone, without a token that pads."""
    if marks == "bert":
        return build_tiny(made_up_texts())[1]
    special = SPECIAL[marks]
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core.train_from_iterator(
        made_up_texts(),
        trainers.BpeTrainer(vocab_size=300, special_tokens=list(special.values()), initial_alphabet=alphabet),
    )
    processor: Any = processors.ByteLevel(trim_offsets=False)
    if marks == "roberta":
        processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    if marks == "t5":
        processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)])
    core.post_processor = processor
    named = {f"{key}_token": token for key, token in special.items()}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=core, **named)


def config_of(name: str, rate: float = 0.0) -> Any:
    family = FAMILIES[name]
    tokenizer = tokenizer_of(family.marks)
    ids = {key: getattr(tokenizer, key) for key in ("pad_token_id", "bos_token_id", "eos_token_id")}
    rates = dict.fromkeys(family.rates, rate)
    make = getattr(transformers, family.config)
    return make(vocab_size=len(tokenizer), **family.sizes, **ids, **rates)
