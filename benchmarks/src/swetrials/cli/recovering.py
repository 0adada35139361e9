"""What a killed run had spent, put into its records before a command reads them."""

from contextlib import suppress
from pathlib import Path

from swetrials.errors import KnownError
from swetrials.store.results import has_no_end, trial_folders


def recover_below(tree: Path) -> None:
    """Put into the records at or below a folder what killed runs had spent there, as ``summarize`` does.

    Every command that reads trials comes through here first. A run at work keeps its records. Those of a tree that
    cannot be written stay as they are, and this process reads them as they would be. Nothing is loaded for a tree in
    which every trial has ended.
    """
    cut = {folder.path.parent for folder in trial_folders(tree, lambda error: None) if has_no_end(folder)}
    if not cut:
        return
    from swetrials.pricing.repricing import default_book
    from swetrials.store.project import find_project
    from swetrials.trials.recovery import recover_idle

    with suppress(KnownError):
        prices = default_book(find_project().config)
        for scope in sorted(cut):
            recover_idle(scope, prices)
