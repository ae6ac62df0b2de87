"""`mtlv predict`: predict texts with the trained model of a run."""

from __future__ import annotations

import argparse

from mtlv.cli.terminal import OK, complain, console, say
from mtlv.formatting import many


def predict(args: argparse.Namespace) -> int:
    """Predict texts with the trained model of a run."""
    from mtlv.errors import DataError
    from mtlv.serving.texts import from_file, given

    if bool(args.texts) == (args.file is not None):
        what = "both texts and `--file` were given" if args.texts else "no text was given"
        raise DataError(what, then="give the text after the run, or a file: `--file reports.txt`")
    if args.file is None:
        texts = given(args.texts, text_pair=args.pair, words=args.words, mentions=args.mentions)
    else:
        typed = [name for name in ("pair", "words", "mentions") if getattr(args, name)]
        if typed:
            then = "a file has it in a column: docs/serving.md"
            raise DataError(f"both `--file` and `--{typed[0]}` were given", then=then)
        texts = from_file(args.file, args.column)
    from mtlv.serving.answers import check_target, write_answers

    out = None if args.out is None else check_target(args.out, args.file)
    from mtlv.serving.predict import ModelQuery, predict_texts

    place = ModelQuery(args.run, args.uri, args.experiment)
    answers = predict_texts(place, texts, tasks=args.task, device=args.device)
    for note in answers.found.notes:
        complain(f"note: {note}")
    if out is not None:
        write_answers(answers, out)
        say(f"{out}: {many(len(texts), 'text')}, {many(len(answers.found.tasks), 'task')}")
        return OK
    from mtlv.display.tables import table

    table(console(), answers.header, answers.rows, title=answers.origin, left=answers.text_columns)
    return OK
