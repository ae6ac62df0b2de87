"""Stages: who starts from what, what is trained once, and that nothing held out is seen early."""

from __future__ import annotations

from pathlib import Path

import pytest
from listening import Watcher
from made_up import sources_of
from memory_tracker import MemoryTracker

from mtlv.errors import ConfigError, PlanError, TrackingError
from mtlv.events import ignore
from mtlv.plan import HeadSpec, ModelSpec
from mtlv.planning.check import check_suite
from mtlv.planning.resolve import ResolvedMember, resolve_all
from mtlv.planning.stages import match
from mtlv.settings import Suite
from mtlv.settings.schema import StageSettings
from mtlv.store.local import Store
from mtlv.suite.export import export
from mtlv.suite.run import SuiteResult, run_suite
from mtlv.units.input_cache import InputCache

TWO = """
seed: [0, 1]
runs:
  - {name: refined, architecture: mtl}
  - {name: tuned, stages: [{name: refine, architecture: mtl}, {name: tune, architecture: stl}]}
  - {name: single, architecture: stl}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Suite, SuiteResult, Watcher, MemoryTracker]:
    suite = sources_of(tmp_path_factory.mktemp("stages"), more=TWO, changes=("store.keep_weights=false",))
    watcher, tracker = Watcher(), MemoryTracker()
    return suite, run_suite(suite, watcher, tracker), watcher, tracker


def resolved_of(suite: Suite) -> list[ResolvedMember]:
    return resolve_all(InputCache(Store(Path(suite.members[0].settings.store.uri))), suite.members)


def test_what_several_start_from_is_trained_once_for_each_seed(ran: tuple) -> None:
    suite, result, watcher, _ = ran
    assert not result.failed
    assert len(watcher.trained) == 2 * (1 + 3 + 3)
    assert len(watcher.ended) == len(set(watcher.ended)) == watcher.announced == len(watcher.trained)
    assert not watcher.found
    refined, tuned, _ = resolved_of(suite)
    assert [job.unit.key for job in refined.jobs] == [
        job.unit.key for child in tuned.children for job in child.earlier
    ]


def test_a_second_run_trains_nothing(ran: tuple) -> None:
    watcher = Watcher()
    again = run_suite(ran[0], watcher, MemoryTracker())
    assert watcher.trained == []
    assert len(watcher.found) == watcher.announced == 14
    assert again.rows == ran[1].rows


def test_a_start_makes_another_unit_of_the_same_model(ran: tuple) -> None:
    _, tuned, single = resolved_of(ran[0])
    for one, two in zip(tuned.children, single.children, strict=True):
        for after, alone in zip(one.jobs, two.jobs, strict=True):
            assert after.unit.model == alone.unit.model
            assert after.unit.key != alone.unit.key
            assert after.unit.draw_seed("order") == alone.unit.draw_seed("order")


def test_weights_that_others_start_from_are_kept_whatever_the_settings_say(ran: tuple) -> None:
    suite = ran[0]
    store = Store(Path(suite.members[0].settings.store.uri))
    starts = {job.unit.key for each in resolved_of(suite) for child in each.children for job in child.earlier}
    kept = {path.name for path in store.units.iterdir() if store.weights(path.name)}
    assert kept == starts
    with pytest.raises(TrackingError, match=r"were not kept .* `mtlv run .* --if-exists rerun`"):
        export(suite, Path("out"), stage="tune", unit=resolved_of(suite)[1].children[0].jobs[0].name)


def test_a_start_whose_weights_are_gone_is_trained_again(tmp_path: Path) -> None:
    alone = sources_of(tmp_path, more="architecture: mtl", changes=("store.keep_weights=false",))
    run_suite(alone, ignore, MemoryTracker())
    both = sources_of(tmp_path, more=TWO.replace("[0, 1]", "0"), changes=("store.keep_weights=false",))
    watcher = Watcher()
    run_suite(both, watcher, MemoryTracker())
    assert any(name.startswith("refined") for name in watcher.trained)


def test_the_cost_of_earlier_stages_is_told_by_itself(ran: tuple) -> None:
    _, result, _, tracker = ran
    refined, tuned, _ = result.members
    for one, two in zip(refined.outcomes, tuned.outcomes, strict=True):
        assert two.costs["time/earlier_stages_seconds"] == one.costs["time/train_seconds"]
        assert "time/earlier_stages_seconds" not in one.costs
    run = next(r for r in tracker.runs.values() if r.spec.kind == "suite member" and r.spec.name == "tuned")
    assert run.spec.params["stages"] == "refine > tune"
    assert run.spec.params["stages.refine.architecture.name"] == "mtl"
    assert "Preceded by stage refine" in run.spec.description


def test_training_moves_on_from_the_weights_of_the_stage_before(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    still = "{name: tune, architecture: stl, training: {learning_rate: 1e-12, weight_decay: 0}}"
    suite = sources_of(tmp_path, more=f"stages: [{{name: refine, architecture: mtl}}, {still}]")
    run_suite(suite, ignore, MemoryTracker())
    store = Store(tmp_path / "store")
    for job in resolved_of(suite)[0].children[0].jobs:
        before, after = (load_file(str(store.weights(key))) for key in (job.start_job.unit.key, job.unit.key))
        encoder = [name for name in after if name.startswith("encoder.")]
        assert encoder
        assert all(after[name].allclose(before[name], atol=1e-6) for name in encoder)


def test_each_model_starts_from_the_one_with_its_tasks_and_takes_over_what_is_asked(tmp_path: Path) -> None:
    tune = "{name: tune, architecture: stl, start: {from: refine, carry: encoder_and_heads}}"
    stages = f"stages: [{{name: refine, architecture: stl}}, {tune}]"
    (member,) = resolved_of(sources_of(tmp_path, more=stages))
    (child,) = member.children
    assert len(child.jobs) > 1
    for job in child.jobs:
        assert job.start_job is not None
        assert job.start_job.unit.model.tasks == job.unit.model.tasks
        assert job.carry == "encoder_and_heads"


def test_heads_of_other_layers_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    def planned(carry: str) -> list[ResolvedMember]:
        first = "{name: first, architecture: {name: mtl, head_layers: 2}}"
        second = f"{{name: second, architecture: mtl, start: {{from: first, carry: {carry}}}}}"
        return resolved_of(sources_of(tmp_path, more=f"stages: [{first}, {second}]"))

    assert planned("encoder")
    with pytest.raises(
        PlanError, match=r"heads of stage `first`.* other layers \(got 1 for .*, 2 before\); give"
    ):
        planned("encoder_and_heads")


def test_an_earlier_stage_sees_no_text_that_a_later_one_holds_out(ran: tuple) -> None:
    suite = ran[0]
    cache = InputCache()
    corpus = cache.corpus(suite.members[0].settings.data)
    for member in resolve_all(cache, suite.members):
        for child in member.children:
            held = {corpus.texts[row] for part in ("validation", "test") for row in child.fold.part(part)}
            for job in child.earlier:
                assert held.isdisjoint(corpus.texts[row] for row in job.fold.train)


def test_another_source_leaves_a_unit_as_it_was(tmp_path: Path) -> None:
    changes = ("tasks=[conll]", "encoder.features=cls")
    keys = []
    for names in (("conll", "biosses"), ("conll", "biosses", "chemprot")):
        suite = sources_of(tmp_path, *names, more="architecture: stl", changes=changes)
        (job,) = resolved_of(suite)[0].jobs
        keys.append((job.unit.data, job.unit.train))
    assert keys[0] == keys[1]


def test_transfers_share_their_first_stages_with_the_baselines(tmp_path: Path) -> None:
    suite = sources_of(tmp_path, more="transfer: {seeds: [0, 1]}", changes=("training.epochs=1",))
    members = resolved_of(suite)
    assert len({job.unit.key for member in members for job in member.jobs}) == 2 * (3 + 3 * 2)
    watcher, tracker = Watcher(), MemoryTracker()
    result = run_suite(suite, watcher, tracker)
    assert not result.failed
    assert len(watcher.trained) == 2 * (3 + 3 * 2)
    learned = {run.tags["mtlv.learned"] for run in tracker.runs.values() if run.spec.kind == "suite member"}
    assert '[["conll"], ["biosses"]]' in learned
    assert '[["conll"]]' in learned


def test_check_counts_what_members_share_once(ran: tuple, tmp_path: Path) -> None:
    found = check_suite(ran[0])
    assert [member.units for member in found.members] == [2, 2 + 6, 6]
    assert found.units == len(ran[2].trained)
    transfers = sources_of(tmp_path, more="transfer: {seeds: [0, 1]}")
    assert check_suite(transfers).units == 2 * (3 + 3 * 2)
    assert "  stage tune, from stage refine" in [f"  {line}" for line in found.members[1].lines]


class TestMatch:
    """Which model a stage starts from."""

    A, B, BOTH = (ModelSpec((HeadSpec(tasks),)) for tasks in (("a",), ("b",), ("a", "b")))

    @pytest.mark.parametrize(
        ("how", "models", "found"),
        [
            ("auto", (BOTH,), 0),
            ("auto", (A, B), 1),
            ("auto", (A,), 0),
            ("tasks", (A, B), 1),
            ("tasks", (A, BOTH), 1),
            ("only", (A,), 0),
        ],
    )
    def test_it_is_found(self, how: str, models: tuple, found: int) -> None:
        assert match(self.stage(how), self.B, models) == found

    @pytest.mark.parametrize(("how", "models"), [("only", (A, B)), ("tasks", (A,)), ("tasks", (B, BOTH))])
    def test_none_or_several_are_refused(self, how: str, models: tuple) -> None:
        with pytest.raises(Exception, match="stage `then` starts from"):
            match(self.stage(how), self.B, models)

    def stage(self, how: str) -> StageSettings:
        from types import SimpleNamespace

        return SimpleNamespace(name="then", start=SimpleNamespace(stage="first", match=how))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("tasks: [conl]", "`tasks` names no task and no data set `conl`.*did you mean `conll`"),
        (
            "stages: [{name: a, architecture: stl}, {name: b, architecture: mtl}]",
            "stage `b` starts from the model that learned .* of stage `a`, which has 0",
        ),
        ("stages: [{name: a, tasks: [x]}, {name: b}]", "`tasks` names no task and no data set `x`"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_trains(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_suite(sources_of(tmp_path, more=more))
