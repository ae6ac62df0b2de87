"""Choice of the next member of a search, by the validation results of the previous ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from mtlv.errors import ConfigError
from mtlv.reporting.metric_titles import metric_title
from mtlv.settings import value_at
from mtlv.suite.keep_models import validation_score

if TYPE_CHECKING:
    from mtlv.reporting.member_result import MemberResult
    from mtlv.settings import Member
    from mtlv.settings.suite_schema import SearchSettings

GRID = "grid"  # all, or the first, in order
SAMPLERS = {"random": "RandomSampler", "tpe": "TPESampler"}  # by name, of `optuna.samplers`
MAX_TRIES_PER_MEMBER = 20  # maximum requests per combination, on average, before the search ends


def search_members(
    search: SearchSettings, members: Sequence[Member], run: Callable[[int], float | None]
) -> None:
    """Run the members suggested by the search's sampler, each once.

    The sampler receives every result, so that equal results lead to equal trials: an interrupted search
    repeats the same trials, whose units are in the store.

    Args:
        search: the sampler, the values to combine, and the maximum number of trials.
        members: one for each combination.
        run: function that runs a member, by its number, and returns its result; None if it failed.

    Raises:
        ConfigError: the package is not installed.
    """
    most = min(search.trials or len(members), len(members))
    if search.sampler == GRID:
        for place in range(most):
            run(place)
        return
    optuna = import_optuna()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    values = {key: {json.dumps(value): value for value in choices} for key, choices in search.over.items()}
    numbers = {_combination(values, member): number for number, member in enumerate(members)}
    space = {
        key: optuna.distributions.CategoricalDistribution(list(choices)) for key, choices in values.items()
    }
    sampler = getattr(optuna.samplers, SAMPLERS[search.sampler])(seed=search.seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    known: dict[int, float | None] = {}
    for _ in range(MAX_TRIES_PER_MEMBER * len(members)):  # a sampler may suggest the same member repeatedly
        if len(known) >= most:
            return
        trial = study.ask(space)
        number = numbers.get(tuple(trial.params[key] for key in values))
        if number is not None and number not in known:
            known[number] = run(number)
        value = None if number is None else known[number]
        failed = optuna.trial.TrialState.FAIL
        study.tell(trial, value) if value is not None else study.tell(trial, state=failed)


def _combination(values: Mapping[str, Mapping[str, Any]], member: Member) -> tuple[str, ...]:
    """Return a member's value of each key, in the form used by the sampler."""
    return tuple(
        next((text for text, value in choices.items() if value_at(member.settings, key) == value), "")
        for key, choices in values.items()
    )


def import_optuna() -> Any:
    """Return the package of all samplers but `grid`.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        text = "`search.sampler` needs the package optuna: pip install 'mtlv[search]', or use grid"
        raise ConfigError([text]) from error
    return optuna


@dataclass(frozen=True)
class Trial:
    """A member of a search with its mean validation score over folds and seeds, for the kept weights."""

    name: str
    value: float
    figure: str
    runs: int


def trial(result: MemberResult) -> Trial:
    """Return a member's validation result. Test scores are not used."""
    values = [validation_score(outcome, result.resolved.tasks) for outcome in result.outcomes]
    figure = next(iter(result.outcomes[0].metrics.plan.as_dict()))
    return Trial(result.name, fmean(values), metric_title(figure), len(values))


def best_line(trials: Sequence[Trial]) -> str:
    """Return a line on the best trial of a search."""
    best = max(trials, key=lambda trial: trial.value)
    mean = f", mean of {best.runs} runs" if best.runs > 1 else ""
    return f"Best on validation of {len(trials)} trials: {best.name} ({best.figure} {best.value:.4f}{mean})"


def search_json(trials: Sequence[Trial]) -> str:
    """Return `search.json`: every trial by name, best first."""
    order = sorted(trials, key=lambda trial: -trial.value)
    content = [{"name": t.name, "validation": t.value, "figure": t.figure, "runs": t.runs} for t in order]
    return json.dumps(content, indent=1, ensure_ascii=False)
