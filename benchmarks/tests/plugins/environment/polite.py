"""An environment of somebody else's: this machine, where commands let others go first."""

from dataclasses import replace

from swetrials import Check, Host


class Polite(Host):
    kind = "polite"
    engine = "nice"

    def __init__(self, private, programs):
        super().__init__()

    def checks(self):
        yield Check("environment", "warning", "polite: the agent can read whatever you can")

    def command(self, argv, view, **terms):
        made = super().command(argv, view, **terms)
        return replace(made, argv=("nice", "-n", "5", *made.argv))


class Half:
    kind = "half"
