"""Balancers of losses beside random factors (`training.objective: random`), their control."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mtlv.evaluation.compared_runs import ComparedRun
from mtlv.evaluation.pairs import alike
from mtlv.registries import BALANCERS

OBJECTIVE_KEYS = "training.objective."
MAY_DIFFER = (OBJECTIVE_KEYS, "store.", "tracking.", "execution.")


def has_random_factors(run: ComparedRun) -> bool:
    """Return whether the losses of a run have random factors; a model with one loss has none."""
    return _balancer(run).random and _balances(run)


def describe_factors(
    ranked: Sequence[ComparedRun],
    others: Sequence[ComparedRun],
    better: Callable[[ComparedRun, ComparedRun], str],
) -> str:
    """Say whether the best run with a balancer is better than random factors; empty without a balancer.

    Args:
        ranked: the runs that learned something, best first.
        others: all runs; a control among them that is not ranked is not compared.
        better: function of a run and its control that says whether the run is better.
    """
    ours = [run for run in ranked if not (_balancer(run).plain or _balancer(run).random) and _balances(run)]
    if not ours:
        return ""
    controls = [run for run in ranked if has_random_factors(run)]
    pairs = ((run, other) for run in ours for other in controls if alike(run, other, MAY_DIFFER))
    run, control = next(pairs, (ours[0], None))
    similar = [other for other in others if alike(run, other, MAY_DIFFER)]
    if control is None and any(map(has_random_factors, similar)):
        return ""
    if control is None:
        return (
            f" “{run.name}” is compared with no random factors: add a run with `training.objective: random`."
        )
    return f" “{run.name}” is {better(run, control)} random factors (“{control.name}”)."


def _balancer(run: ComparedRun) -> Any:
    name = run.params.get(f"{OBJECTIVE_KEYS}name", "sum")
    return BALANCERS[name if name in BALANCERS else "sum"]


def _balances(run: ComparedRun) -> bool:
    per_head = run.params.get(f"{OBJECTIVE_KEYS}per", "task") == "head"
    return any((len(heads) if per_head else sum(map(len, heads))) > 1 for heads in run.plan)
