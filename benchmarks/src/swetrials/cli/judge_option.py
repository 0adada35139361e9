"""The option that chooses among several judges, the same wherever scores are read."""

from typing import Annotated

import typer

JudgeChosen = Annotated[
    str | None,
    typer.Option(
        "--judge",
        help="Take this judge's scores, such as codex/MODEL; the beginning will do. Default: each trial's first judge.",
        metavar="NAME",
    ),
]
