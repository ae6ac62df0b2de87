"""Sentences about runs that were not trained to the end, and tasks that were not learned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf

from mtlv.evaluation.learned import Learning
from mtlv.formatting import list_first

MOST = 5  # tasks or runs named in a sentence
NAMED = 2  # tasks named in a cell
NO_TASK = "no task is predicted better than by a constant answer"
WORDS = "a bag of words (TF-IDF and a linear model per task)"
THRESHOLD = (
    "Ranked well, although the threshold does not fit (try `evaluation.threshold: per_task`, or more "
    "validation documents)"
)
NOTHING_IMPORTED = "Nothing was learned: every run predicts no better than a constant answer."
NOTHING = f"{NOTHING_IMPORTED[:-1]}; train longer."


def code(name: str) -> str:
    """Mark a name for terminals and pages."""
    return f"`{name}`"


def none_is_useful(name: str, best: Learning) -> str:
    """Return the answer if a bag of words is as good as the best run, which has this name."""
    score, words = best.beside or (0.0, 0.0)
    than = f"{WORDS} has {words:.3f}, the best run, “{name}”, {score:.3f}"
    return f"None of these models is worth using yet: {than}."


def next_step(best: Learning) -> str:
    """Return what to try if a bag of words is as good as the best run."""
    if best.tied:
        return "use the bag of words, or read more of the texts (`data.max_length`)"
    if not best.ended:
        return "train longer (`training.epochs`), because the validation metric still rises"
    if best.unlearned:
        return "raise the learning rate (`training.learning_rate`), or train longer (`training.epochs`)"
    return (
        "choose the learning rate on validation (`tune`), read more of the texts (`data.max_length`), or use "
        "a larger encoder"
    )


def beside_words(runs: Iterable[Learning]) -> str:
    """Return a sentence on the score of a bag of words; empty if it is not known."""
    words = max((run.beside[1] for run in runs if run.beside), default=None)
    return "" if words is None else f" {WORDS[0].upper()}{WORDS[1:]} has {words:.3f}."


def note(learning: Learning) -> str:
    """Return what is wrong with a run in a few words, for its row; empty if nothing is known to be."""
    parts = [] if learning.ended else ["not trained to the end"]
    if learning.nothing:
        parts.append("nothing learned")
    elif learning.unlearned:
        parts.append(f"not learned: {list_first([result.task.name for result in learning.unlearned], NAMED)}")
    parts += ["no better than a bag of words"] if learning.behind else []
    return "; ".join(parts)


def warnings(runs: Mapping[str, Learning], named: Callable[[str], str] = code) -> list[str]:
    """Describe what is wrong with runs by name, in a sentence for each rule; empty if nothing is known."""
    ends = [(name, learning.end) for name, learning in runs.items() if learning.end and not learning.ended]
    ends.sort(key=lambda item: -inf if item[1].rise is None else -item[1].rise)  # the least trained first
    rises = ["one epoch" if end.rise is None else f"validation {end.rise:+.3f}" for _, end in ends]
    going = [f"{named(name)} ({rise})" for (name, _), rise in zip(ends, rises, strict=True)]
    nothing = [named(name) for name, learning in runs.items() if learning.nothing]
    some = [
        f"{named(name)} ({list_first([named(result.task.name) for result in learning.unlearned], NAMED)})"
        for name, learning in runs.items()
        if learning.unlearned and not learning.nothing
    ]
    out = [f"Not trained to the end: {list_first(going, MOST)}."] if going else []
    if nothing and len(nothing) == len(runs):
        is_trained = any(learning.end for learning in runs.values())
        out.append(NOTHING if is_trained else NOTHING_IMPORTED)
    elif nothing:
        out.append(f"Nothing was learned by {list_first(nothing, MOST)}: {NO_TASK}.")
    if some:
        out.append(f"Not learned, as no better than a constant answer: {list_first(some, MOST)}.")
    ranked = [
        f"{named(name)} ({named(result.task.name)}, average precision {result.average_precision:.2f})"
        for name, learning in runs.items()
        for result in learning.unlearned
        if result.ranked  # only a threshold keeps it from being learned
    ]
    out += [f"{THRESHOLD}: {list_first(ranked, MOST)}."] if ranked else []
    behind = [
        f"{named(name)} ({learning.behind[0]:.3f} against {learning.behind[1]:.3f})"
        for name, learning in runs.items()
        if learning.behind
    ]
    return [*out, f"No better than {WORDS}: {list_first(behind, MOST)}."] if behind else out
