"""Inputs that the members of a suite share, read once: corpora, splits, encoders, tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mtlv.data.folds import folds_digest
from mtlv.data.masking import need_mask_token
from mtlv.data.relations import INPUTS, show_all
from mtlv.data.source import Corpus
from mtlv.data.splits import DIVIDING
from mtlv.data.targets import TARGETS, targets_with
from mtlv.data.texts.lazy import chain_lazily
from mtlv.data.tokens import in_chunks, join_tokens, tokenize_documents
from mtlv.data.windowed import WindowLayout
from mtlv.errors import DataError
from mtlv.models.aliases import TINY
from mtlv.models.causal import need_seeing
from mtlv.models.encoder import check_length, load_encoder
from mtlv.models.encoder_config import tokenizer_key
from mtlv.models.own_vocabulary import JUDGED, with_random_weights, with_vocabulary
from mtlv.models.published_head import with_published_head
from mtlv.models.vocabulary import with_tokens
from mtlv.models.wordpiece import fertility, splittings
from mtlv.plan import Scores, Task, select_tasks
from mtlv.plan.splitting import Splitting
from mtlv.plan.tagging import SCHEMES
from mtlv.seeding import content_key
from mtlv.settings.data_schema import DataSettings
from mtlv.store.local import Store
from mtlv.store.split_file import load_folds, save_folds
from mtlv.store.token_cache import TokenCache
from mtlv.units.bag_of_words import bag_of_words_scores
from mtlv.units.corpora import Corpora
from mtlv.units.inputs import UnitInputs
from mtlv.units.model import marked_entities
from mtlv.units.predictions import match_predictions

if TYPE_CHECKING:
    from pathlib import Path

    from mtlv.data.folds import Fold
    from mtlv.data.tokens import Tokens
    from mtlv.models.encoder import Encoder
    from mtlv.models.fast.frozen_cache import FrozenCache
    from mtlv.settings.schema import EncoderSettings, Settings

ROOM = 2**30  # bytes for outputs of frozen layers: enough for 10,000 documents of 70 tokens at H = 384
SPLIT_KEYS = ("test_share", "validation_share", "folds", "scheme", "repeats")


class InputCache(Corpora):
    """Corpora, encoders and tokens of one process. Returned objects are shared: do not modify them.

    Args:
        store: store of splits and tokens; without one, each process computes them again.
        warn: receives warnings about damaged files.
        note: receives notes about what takes long.
        corpora: corpora that are read already.
    """

    def __init__(
        self,
        store: Store | None = None,
        warn: Callable[[str], None] = lambda _: None,
        note: Callable[[str], None] = lambda _: None,
        corpora: Corpora | None = None,
    ) -> None:
        super().__init__(corpora)
        self.store, self.warn, self.note = store, warn, note
        self.token_cache = None if store is None else TokenCache(store.tokens, warn)

    def tasks(self, settings: Settings) -> tuple[Task, ...]:
        """Return the tasks to learn."""
        return select_tasks(self.corpus(settings.data).tasks, settings.tasks)

    def splits(self, data: DataSettings) -> tuple[Fold, ...]:
        """Return the splits of a corpus: computed once, kept in the store, equal for all members."""
        if self.store is None:
            return super().splits(data)
        key, folder = ("stored splits", data.model_dump_json()), self.store.splits
        return self.once(key, lambda: self._stored_splits(data, folder))

    def folds_digest(self, data: DataSettings) -> str:
        """Return a digest of the ids in each part of each fold."""
        key = ("folds digest", data.model_dump_json())
        return self.once(key, lambda: folds_digest(self.corpus(data), self.folds(data)))

    def _stored_splits(self, data: DataSettings, folder: Path) -> tuple[Fold, ...]:
        corpus = self.corpus(data)
        scheme = {key: getattr(data, key) for key in SPLIT_KEYS}
        documents = [[source.digest, source.groups] for source in (corpus, *corpus.members)]
        path = folder / f"{content_key([DIVIDING, documents, data.split_seed, scheme])}.json"
        folds = None
        while folds is None:  # the file may be damaged
            if not path.exists():
                save_folds(path, corpus, super().splits(data))
            folds = load_folds(path, self.warn)
        return folds

    def encoder(self, spec: EncoderSettings, data: DataSettings) -> Encoder:
        """Return an encoder before training, with the tokens that mark entities in the corpus.

        If texts are learned, it has its published head for masked words.

        Raises:
            EncoderError: it cannot be loaded, or the texts do not give its vocabulary.
        """
        shown = self._tokens_of_mentions(data)
        encoder = initial = self._initial(spec, data)
        if shown:
            encoder = self.once(("grown", initial.digest, shown), lambda: with_tokens(initial, shown))
        if spec.weights == "random" or not self._untargeted(data):
            return encoder
        has_vocabulary, revision = spec.vocabulary is not None, spec.revision
        key = ("head", spec.name, revision, encoder.digest)
        return self.once(key, lambda: with_published_head(encoder, revision, own_vocabulary=has_vocabulary))

    def _untargeted(self, data: DataSettings) -> list[str]:
        """Return the names of the data sets whose texts are learned."""
        corpus = self.corpus(data)
        return [member.name for member in corpus.members or (corpus,) if member.masked]

    def _initial(self, spec: EncoderSettings, data: DataSettings) -> Encoder:
        encoder, vocabulary = self._load_encoder(spec.name, spec.revision, data), spec.vocabulary
        if vocabulary is not None:
            texts = self._texts(vocabulary.sources, data)
            key = ("vocabulary", encoder.digest, vocabulary, content_key(texts))
            size, lowercase, old = vocabulary.size, vocabulary.lowercase, encoder
            encoder = self.once(key, lambda: with_vocabulary(old, texts, size, lowercase=lowercase))
        if spec.weights == "random":
            sized = encoder
            encoder = self.once(("random", sized.digest), lambda: with_random_weights(sized))
        return encoder

    def _texts(self, sources: Sequence[str] | None, data: DataSettings) -> Sequence[str]:
        """Return the texts of these sources; None: of those without targets, or else of all."""
        corpus = self.corpus(data)
        members = corpus.members or (corpus,)
        names = sources or self._untargeted(data) or [member.name for member in members]
        return chain_lazily([member.all_texts for member in members if member.name in names])

    def fertility(self, settings: Settings) -> Mapping[str, float]:
        """Return how the encoder splits the words of texts that are learned; empty if there are none."""
        names, encoder = self._untargeted(settings.data), self.encoder(settings.encoder, settings.data)
        if not names or not encoder.tokenizer.is_fast:
            return {}
        texts = self._texts(names, settings.data)[:JUDGED]
        key = ("splitting", encoder.digest, content_key(texts))
        return self.once(key, lambda: fertility(encoder.tokenizer, texts))

    def word_pieces(self, settings: Settings) -> tuple[Splitting, ...]:
        """Return words with their pieces in the published vocabulary and the own one; () without one."""
        spec, data = settings.encoder, settings.data
        if spec.vocabulary is None:
            return ()
        texts = self._texts(spec.vocabulary.sources, data)[:JUDGED]
        old, new = self._load_encoder(spec.name, spec.revision, data), self.encoder(spec, data)
        key = ("splittings", old.digest, new.digest, content_key(texts))
        return self.once(key, lambda: splittings(old.tokenizer, new.tokenizer, texts))

    def _tokens_of_mentions(self, data: DataSettings) -> tuple[str, ...]:
        corpus = self.corpus(data)
        marked = [member.mentions for member in corpus.members or (corpus,) if member.mentions is not None]
        return INPUTS[data.mentions].tokens([row for rows in marked for row in rows])

    def _load_encoder(self, name: str, revision: str | None, data: DataSettings) -> Encoder:
        """Return a pretrained encoder; the corpus is used only for `tiny`."""
        corpus = self.corpus(data) if name == TINY else None
        texts: Sequence[str] = () if corpus is None else corpus.all_texts
        key = ("encoder", name, revision, corpus and corpus.digest)
        return self.once(key, lambda: load_encoder(name, texts=texts, revision=revision))

    def tokens(self, encoder: Encoder, data: DataSettings) -> Tokens:
        """Return the token ids of the corpus."""
        corpus = self.corpus(data)
        how = _how(data)
        key = ("tokens", encoder.digest, corpus.digest, repr(how))
        return self.once(key, lambda: tokens_of(encoder, corpus, **how, kept=self.token_cache))

    def inputs(self, settings: Settings) -> UnitInputs:
        """Return all inputs of a unit of this member.

        Raises:
            EncoderError: heads would use tokens of a causal encoder that do not attend to the text, or hidden
                words have no mask token.
            DataError: predictions cannot be read, see `match_predictions`.
        """
        encoder = self.encoder(settings.encoder, settings.data)
        hidden = not all(TARGETS[task.kind].has_targets for task in self.tasks(settings))
        if encoder.causal:
            related = bool(marked_entities(self.corpus(settings.data)))
            need_seeing(
                encoder.name,
                features=settings.encoder.features,
                relation_features=settings.heads.relation_features if related else "document",
                tagged=any(TARGETS[task.kind].by_word for task in self.tasks(settings)),
                hidden=hidden,
            )
        if hidden:
            need_mask_token(encoder.tokenizer, encoder.name)
        targets = targets_with(SCHEMES[settings.heads.tagging_scheme])
        below = self.below(encoder, settings) if settings.encoder.frozen_layers else None
        corpus, tokens = self.corpus(settings.data), self.tokens(encoder, settings.data)
        imported = None
        if settings.predictions is not None:
            key = ("predictions", settings.predictions, settings.data.model_dump_json(), settings.tasks)
            imported = self.once(key, lambda: match_predictions(self, settings))
        return UnitInputs(corpus, tokens, encoder, targets, below, predictions=imported)

    def bag_of_words(self, settings: Settings, fold: Fold) -> tuple[Scores, Scores] | None:
        """Return the validation and test scores of a bag of words, see `mtlv.units.bag_of_words`."""
        names = tuple(task.name for task in self.tasks(settings))
        key = ("bag of words", settings.data.model_dump_json(), names, fold.index)
        return self.once(key, lambda: bag_of_words_scores(self.inputs(settings), names, fold))

    def inputs_key(self, settings: Settings) -> tuple[str, ...]:
        """Return a key that is equal for members with the same inputs."""
        encoder = self.encoder(settings.encoder, settings.data)
        choices = (settings.heads.tagging_scheme, settings.encoder.frozen_layers, settings.training.precision)
        how = repr((_how(settings.data), settings.predictions))
        return encoder.digest, self.corpus(settings.data).digest, how, *map(str, choices)

    def below(self, encoder: Encoder, settings: Settings, precision: str | None = None) -> FrozenCache:
        """Return the outputs of frozen layers, equal in all units and stages: these layers never train.

        Args:
            encoder: the published encoder.
            settings: settings with the number of frozen layers.
            precision: in which they are computed; None is that of training.
        """
        from mtlv.models.fast.frozen_cache import FrozenCache

        precision = precision or settings.training.precision
        key = ("below", encoder.digest, settings.encoder.frozen_layers, precision)
        return self.once(key, lambda: FrozenCache(ROOM))


def _how(data: DataSettings) -> dict[str, Any]:
    """Return the `data` settings that affect the reading of texts, as arguments of `tokens_of`."""
    keys = ("max_length", "mentions", "window", "window_overlap", "window_pooling")
    of_source = {one.called: one.max_length for one in data.each_source}
    return {key: getattr(data, key) for key in keys} | {"of_source": of_source}


def tokens_of(
    encoder: Encoder,
    corpus: Corpus,
    max_length: int,
    mentions: str = "original",
    window: int | None = None,
    window_overlap: int | None = None,
    window_pooling: str | None = None,
    of_source: Mapping[str, int] = MappingProxyType({}),
    kept: TokenCache | None = None,
) -> Tokens:
    """Return the token ids of a corpus; the sources of a joined corpus are tokenised separately.

    Args:
        encoder: encoder whose tokenizer has the tokens that mark entities.
        corpus: N documents.
        max_length: maximum number of tokens.
        mentions: format of marked entities, one of `mtlv.data.relations.INPUTS`.
        window: words in a window, if all tasks have one target per word; None does not split documents.
        window_overlap: words that adjacent windows share; None is a third of a window. Tokens, of windows
            that are pooled; None is 0.
        window_pooling: whether long single texts without marked entities are cut into windows of
            `max_length` tokens; None truncates them.
        of_source: maximum length of each source that sets its own, by name.
        kept: cache of tokens on disk; None tokenises immediately.
    """
    if corpus.members:
        lengths = [of_source.get(member.name, max_length) for member in corpus.members]
        members = zip(corpus.members, lengths, strict=True)
        return join_tokens(
            [
                tokens_of(
                    encoder, member, length, mentions, window, window_overlap, window_pooling, kept=kept
                )
                for member, length in members
            ]
        )
    check_length(encoder, max_length)
    cuts = None if window is None else _cuts(corpus, window, window_overlap)
    longest, used = max_length, None if cuts is None else [window, window_overlap]
    how: dict[str, object] = {"max_length": max_length, "mentions": mentions, "window": used}
    overlap = (window_overlap or 0) if window_pooling and corpus.is_of_single_texts else None
    how |= {} if overlap is None else {"pooled": overlap}
    if not corpus.targeted:  # whole texts, however long, which are cut when they are read
        longest, mentions, overlap, how = 2**31 - 1, "original", None, {"whole": True}

    def make() -> Iterator[Tokens]:
        return _tokenise(encoder, corpus, longest, mentions, cuts, overlap)

    if kept is None:
        tokens = join_tokens([*make()])
    else:
        tokens = kept.once(corpus, tokenizer_key(encoder.tokenizer), how, make)
    if not corpus.targeted:
        return in_chunks(tokens, max_length)
    if not len(tokens):
        raise DataError(f"corpus `{corpus.name}` has no tokens")
    return replace(tokens, cuts=cuts)


def _tokenise(
    encoder: Encoder,
    corpus: Corpus,
    max_length: int,
    mentions: str,
    cuts: WindowLayout | None,
    overlap: int | None,
) -> Iterator[Tokens]:
    texts: Sequence[str] = corpus.texts
    places = None
    if corpus.mentions is not None:
        texts, places = show_all(INPUTS[mentions], corpus.texts, corpus.mentions)
    return tokenize_documents(
        (corpus.words if cuts is None else cuts.words(corpus.words or ())) or texts,
        encoder.tokenizer,
        max_length=max_length,
        pad=encoder.tokenizer.pad_token_id,
        seconds=corpus.seconds,
        mentions=places,
        overlap=overlap,
    )


def _cuts(corpus: Corpus, size: int, overlap: int | None) -> WindowLayout | None:
    """Return the windows of documents that consist of words, if all tasks have one target per word."""
    if corpus.words is None or not all(TARGETS[task.kind].by_word for task in corpus.tasks):
        return None
    return WindowLayout.of(
        map(len, corpus.words), size=size, overlap=size // 3 if overlap is None else overlap
    )
