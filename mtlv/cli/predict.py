"""`mtlv predict`: ask the trained model of a run about texts."""

from __future__ import annotations

import argparse

from mtlv.cli.terminal import OK, console, say
from mtlv.formatting import many


def predict(args: argparse.Namespace) -> int:
    """Ask a run's trained model about texts."""
    from mtlv.errors import DataError
    from mtlv.serving.texts import from_file, given

    if bool(args.texts) == (args.file is not None):
        what = "texts were given and `--file` too" if args.texts else "no text was given"
        raise DataError(what, then="write the text behind the run, or name a file: `--file reports.txt`")
    if args.file is None:
        texts = given(args.texts, text_pair=args.pair, words=args.words, mentions=args.mentions)
    else:
        texts = from_file(args.file, args.column)
    from mtlv.serving.answers import check_target, write_answers

    out = None if args.out is None else check_target(args.out)
    from mtlv.serving.predict import ModelQuery, predict_texts

    place = ModelQuery(args.run, args.uri, args.experiment)
    answers = predict_texts(place, texts, tasks=args.task, device=args.device)
    if out is not None:
        write_answers(answers, out)
        say(f"{out}: {many(len(texts), 'text')}, {many(len(answers.found.tasks), 'task')}")
        return OK
    from mtlv.display.tables import table

    table(console(), answers.header, answers.rows, title=answers.origin, left=answers.text_columns)
    return OK
