"""`mtlv predict`: predict texts with the trained model of a run."""

from __future__ import annotations

import argparse

from mtlv.cli.terminal import OK, complain, console, say
from mtlv.formatting import many


def predict(args: argparse.Namespace) -> int:
    """Predict texts with the trained model of a run."""
    from mtlv.data.conll import conll_path
    from mtlv.data.tables.rows import Table, read_table
    from mtlv.errors import DataError
    from mtlv.serving.answers import check_target, write_answers
    from mtlv.serving.predict import load_plan, predict_texts
    from mtlv.serving.texts import from_arguments, from_sentences, from_table

    if bool(args.texts) == (args.file is not None):
        what = "both texts and `--file` were given" if args.texts else "no text was given"
        raise DataError(what, then="give the text after the run, or a file: `--file reports.txt`")
    out = None if args.out is None else check_target(args.out, args.file)
    place = {"uri": args.uri, "experiment": args.experiment, "device": args.device}
    if args.file is None:
        texts = from_arguments(args.texts, text_pair=args.pair, words=args.words, mentions=args.mentions)
        plan = load_plan(args.run, **place)
    else:
        _need_no_options(args)
        # The file is read before the model, which takes longer.
        read = from_sentences(args.file) if conll_path(args.file) else read_table(args.file)
        plan = load_plan(args.run, **place)
        named = plan.description.columns
        texts = from_table(read, args.column, named) if isinstance(read, Table) else read
    how = {name: getattr(args, name) for name in ("calibrated", "abstain", "explain")}
    answers = predict_texts(plan, texts, tasks=args.task, **how)
    for note in answers.prediction.notes:
        complain(f"note: {note}")
    if out is not None:
        write_answers(answers, out)
        say(f"{out}: {many(len(texts), 'text')}, {many(len(answers.prediction.tasks), 'task')}")
        return OK
    from mtlv.display.tables import table

    table(console(), answers.header, answers.rows, title=answers.origin, left=answers.text_columns)
    return OK


def _need_no_options(args: argparse.Namespace) -> None:
    """Raise an error for options of texts, which a file has in columns."""
    from mtlv.errors import DataError

    for option in ("pair", "words", "mentions"):
        if getattr(args, option):
            then = "a file has it in a column: docs/serving.md"
            raise DataError(f"both `--file` and `--{option}` were given", then=then)
