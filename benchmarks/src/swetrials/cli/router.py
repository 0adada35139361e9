"""``router``: what the router knows of models. Each of its commands has a file of its own."""

from swetrials.cli.lean import TableGroup, command_group
from swetrials.cli.table import ROUTER


class _Router(TableGroup):
    sections = ROUTER


app = command_group("What the router knows of models.", _Router)
