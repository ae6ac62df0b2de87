"""Groups of tasks: a partition by every method, from the training part alone, with their stability."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from vector_sources import Bench, of_two_sources, tampered, view

from mtlv.errors import GroupingError
from mtlv.grouping import group, scale
from mtlv.planning.groups import SEEDS, grouping_spec, task_groups
from mtlv.planning.task_vectors import (
    VectorSource,
    document_centroid,
    label_cooccurrence,
    label_count,
    label_description,
    label_name,
)
from mtlv.registries import GROUPINGS
from mtlv.training.embed import embed_texts
from mtlv.units.input_cache import InputCache


@pytest.fixture(scope="module", autouse=True)
def narrow_tiny():
    """Nothing is trained, and which groups differ depends on the vectors of the real one."""


@pytest.fixture(scope="module")
def cache():
    return Bench()


def features_for(method):
    return "label_count" if method in ("kde", "meanshift") else "label_description"


def overrides_for(method, names):
    out = [f"grouping.method={method}", f"grouping.features={features_for(method)}"]
    if method == "given":
        out.append(f"grouping.groups=[[{', '.join(names[:2])}], [{', '.join(names[2:])}]]")
    if method in ("kmedoids", "kmeans", "agglomerative", "random", "random_even"):
        out.append("grouping.k=3")
    return out


@pytest.mark.parametrize("method", [name for name in GROUPINGS if GROUPINGS[name].search is None])
def test_every_method_puts_every_task_in_one_group(cache, method, tmp_path):
    names = cache.corpus(view(cache).settings.data).names
    overrides = overrides_for(method, names)
    if method == "parents":
        rows = [f'"{name}",top {place % 2}' for place, name in enumerate(names)]
        (tmp_path / "p.csv").write_text("\n".join(["label,parent", *rows]), encoding="utf-8")
        overrides.append(f"data.parents={tmp_path / 'p.csv'}")
    found = task_groups(view(cache, *overrides))
    assert sorted(task for group in found.groups for task in group) == sorted(names)
    assert all(found.groups)
    assert found.reason
    if method in ("kmedoids", "kmeans", "agglomerative", "random", "random_even"):
        assert found.grouping.k == 3
        assert (found.elbow is not None) == (method != "random_even")
    else:
        assert found.elbow is None
    if method == "parents":
        assert [set(group) for group in found.groups] == [{*names[::2]}, {*names[1::2]}]


def test_auto_takes_the_elbows_k(cache):
    found = task_groups(view(cache, "grouping.k_max=5"))
    assert found.grouping.k == found.elbow.recommended
    assert found.elbow.k == (1, 2, 3, 4, 5)
    assert found.reason == found.elbow.reason
    other = 2 if found.grouping.k != 2 else 3
    set_by_hand = task_groups(view(cache, "grouping.k_max=5", f"grouping.k={other}"))
    assert set_by_hand.grouping.k == other
    assert set_by_hand.reason == f"k = {other} is set; the elbow recommends {found.grouping.k}"


def test_tasks_of_equal_vectors_are_one_group_for_the_reason_that_is_true(cache):
    """Scaled to length 1 every count is 1."""
    found = task_groups(view(cache, "grouping.features=label_count", "grouping.scaling=l2"))
    assert found.grouping.k == 1
    tasks = len(found.names)
    assert tasks > 2
    assert found.reason == f"k = 1: the vectors of all {tasks} tasks are equal, so nothing tells them apart."


def test_stability_is_the_agreement_with_each_change_of_the_recipe(cache):
    """None of these groupings is the same as another recipe's, so that each change shows."""
    seen = view(cache, "grouping.k=5", "grouping.algorithm=alternate", "grouping.features=label_name")
    found, spec = task_groups(seen), grouping_spec(seen.settings, seen.corpus.tasks)
    names = seen.corpus.names
    whole, bare = seen.embed(names), replace(seen, special_tokens=False).embed(names)
    others = {f"scaling {how}": group(whole, replace(spec, scaling=how), k=5) for how in ("l2", "none")}
    others["without special tokens"] = group(bare, spec, k=5)
    for seed in range(1, SEEDS + 1):
        other = replace(spec, init="random", restarts=1, seed=seed)
        others[f"seed {seed}"] = group(whole, other, k=5)
    expected = {
        name: adjusted_rand_score(found.grouping.labels, other.labels) for name, other in others.items()
    }
    assert found.stability == pytest.approx(expected)
    assert max(expected.values()) < 1
    assert len(set(expected.values())) > 3
    counts = task_groups(view(cache, "grouping.k=3", "grouping.features=label_count"))
    assert not any("special tokens" in name for name in counts.stability)
    assert task_groups(view(cache, "grouping.k=9")).stability == {}, "every grouping into 9 is the same"


def test_names_of_labels_are_embedded_and_no_codes(cache):
    """A corpus whose folders are C01, C02, ... must not be grouped by the likeness of these codes."""
    seen = view(cache, "grouping.features=label_name")
    names = seen.corpus.names
    encoder = cache.encoder(seen.settings.encoder, seen.settings.data)

    def embedded(texts, special=True):
        return embed_texts(encoder, texts, special_tokens=special, max_length=seen.settings.data.max_length)

    codes = tuple(f"C{number:02d}" for number in range(1, len(names) + 1))
    found = label_name.compute(seen)
    np.testing.assert_allclose(found, embedded(names), atol=1e-5)
    assert np.abs(found - embedded(codes)).max() > 0.1
    bare = label_name.compute(replace(seen, special_tokens=False))
    np.testing.assert_allclose(bare, embedded(names, special=False), atol=1e-5)
    shown = task_groups(seen)
    assert shown.vectors == pytest.approx(scale(found, "minmax"), abs=1e-5)
    told = label_description.compute(seen)
    np.testing.assert_allclose(told, embedded([task.description for task in seen.corpus.tasks]), atol=1e-5)


def test_it_is_said_once_that_descriptions_are_missing():
    told = []
    cache = Bench(note=told.append)
    seen = view(cache)
    label_description.compute(seen)
    assert told == []
    corpus = cache.corpus(seen.settings.data)
    cache.replaced = replace(
        corpus, tasks=tuple(replace(task, description=task.name) for task in corpus.tasks)
    )
    label_description.compute(view(cache, "grouping.features=label_count"))
    assert told == [], "no groups follow: they are only compared"
    for special in (True, False):
        label_description.compute(replace(seen, special_tokens=special))
    (said,) = told
    assert "`data.descriptions` has no descriptions" in said


OF_DOCUMENTS = ("document_centroid", "label_count", "label_cooccurrence")


@pytest.mark.parametrize("features", OF_DOCUMENTS)
@pytest.mark.parametrize("method", ["kmedoids", "agglomerative"])
def test_groups_come_from_training_documents_alone(cache, features, method):
    seen = view(cache, f"grouping.features={features}", f"grouping.method={method}", "grouping.k=3")
    wanted = task_groups(seen)
    other = Bench()
    other.replaced = tampered(seen.corpus, seen.fold.train)
    # `tiny` takes its vocabulary from all texts, as a pretrained encoder brings its own: it stays the same.
    encoder = cache.encoder(seen.settings.encoder, seen.settings.data)
    other.encoder = lambda *args: encoder
    found = task_groups(replace(seen, cache=other))
    assert found.groups == wanted.groups
    assert np.array_equal(found.vectors, wanted.vectors)
    assert found.stability == wanted.stability


def test_document_centroids_are_means_over_training_documents(cache):
    seen = view(cache)
    corpus, train = seen.corpus, seen.fold.train
    vectors = seen.embed(corpus.texts)
    found = document_centroid.compute(seen)
    assert found.shape == (len(corpus.names), vectors.shape[1])
    for row, name in enumerate(corpus.names):
        bearing = [vectors[i] for i in train if corpus.targets[name][i]]
        np.testing.assert_allclose(found[row], sum(bearing) / len(bearing), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("most", "wanted"), [(89, 1), (90, 0)])
def test_the_vectors_of_many_texts_are_announced_once(monkeypatch, most, wanted):
    monkeypatch.setattr("mtlv.planning.task_vectors.MANY", most)
    notes: list[str] = []
    cache = InputCache(note=notes.append)
    for _ in range(2):
        seen = view(cache, "grouping.features=document_centroid")
        document_centroid.compute(seen)
    assert notes == ["computing the vectors of 90 texts with special tokens"] * wanted


def test_label_counts_by_hand(cache):
    seen = view(cache)
    wanted = [sum(int(seen.corpus.targets[name][i]) for i in seen.fold.train) for name in seen.corpus.names]
    assert label_count.compute(seen)[:, 0].tolist() == wanted


def test_labels_of_three_topics_are_found(cache, monkeypatch):
    seen = view(cache, "grouping.features=label_cooccurrence", "grouping.k=3", "grouping.scaling=l2")
    rng, names = np.random.default_rng(0), seen.corpus.names
    topics = rng.integers(3, size=len(seen.corpus))
    rates = np.where(topics[:, None] == np.arange(len(names)) % 3, 0.7, 0.05)
    targets = dict(zip(names, (rng.random(rates.shape) < rates).astype(np.int8).T, strict=True))
    targets[names[-1]][:] = 0  # a label without positives is correlated with none
    other = Bench()
    other.replaced = replace(seen.corpus, targets=targets)
    vectors = np.eye(3)[topics] + 0.3 * rng.normal(size=(len(topics), 3))
    monkeypatch.setattr(VectorSource, "embed", lambda *_: vectors)
    found = task_groups(replace(seen, cache=other))
    assert found.vectors.shape == (len(names), len(names))
    groups = {
        frozenset(names.index(name) % 3 for name in group if name != names[-1]) for group in found.groups
    }
    assert groups == {frozenset([0]), frozenset([1]), frozenset([2])}


def test_cooccurrence_is_the_correlation_of_training_documents(cache):
    seen = view(cache)
    found, (one, two) = label_cooccurrence.compute(seen), seen.corpus.names[:2]
    columns = [seen.corpus.targets[name][seen.fold.train] for name in (one, two)]
    assert found[0, 1] == pytest.approx(np.corrcoef(*columns)[0, 1])
    assert np.diag(found).tolist() == pytest.approx([1] * len(found))


def test_features_of_the_same_documents_refuse_several_data_sets(cache, monkeypatch):
    seen = of_two_sources(cache, monkeypatch)
    with pytest.raises(GroupingError, match=r"\(got tasks of a, b\); set `grouping.features: "):
        label_cooccurrence.compute(seen)
    with pytest.raises(GroupingError, match=r"\(got tasks of a, b\)"):
        label_cooccurrence.fits(seen.corpus.tasks)


def test_descriptions_are_needed_where_they_are_clustered(cache):
    seen = view(cache)
    bare = Bench()
    tasks = (replace(seen.corpus.tasks[0], description=""), *seen.corpus.tasks[1:])
    bare.replaced = replace(seen.corpus, tasks=tasks)
    with pytest.raises(GroupingError, match=r"got none for Enlarged heart.*data\.descriptions"):
        task_groups(replace(seen, cache=bare))
