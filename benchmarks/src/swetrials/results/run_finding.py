"""Which two runs somebody means by the names of two models."""

from pathlib import Path

from swetrials.errors import KnownError
from swetrials.records.slug import model_slug
from swetrials.store.results import subfolders


class RunNameError(KnownError):
    """A name stands for no run, or for several; the message lists what there is."""


def find_runs(first: str, second: str, tree: Path) -> tuple[Path, Path]:
    """Return the folders of two runs.

    Args:
        first: the folder of a run, or the name of a model in the tree.
        second: likewise.
        tree: a results tree, ``<model>/<agent>/<skill>/<scope>``.

    Where a model has several runs, those over one scope are meant, and of several again those of one agent and skill.

    Raises:
        RunNameError: there is no such model, or several pairs of runs could be meant.
    """
    firsts, seconds = _runs(first, tree), _runs(second, tree)
    pairs = [(one, other) for one in firsts for other in seconds]
    for told_by in (slice(-1, None), slice(-3, None)):
        if len(pairs) > 1:
            pairs = [(one, other) for one, other in pairs if one.parts[told_by] == other.parts[told_by]]
    if len(pairs) == 1:
        return pairs[0]
    folders = ", ".join(str(run) for run in dict.fromkeys((*firsts, *seconds)))
    raise RunNameError(f"{first} and {second} could be several of these runs; give two of the folders: {folders}")


def _runs(name: str, tree: Path) -> list[Path]:
    if name and Path(name).is_dir():
        return [Path(name)]
    models = [child.name for child in subfolders(tree)]
    try:
        meant = [model for model in models if model == name] or [
            model for model in models if model_slug(model) == model_slug(name)
        ]
    except ValueError:
        meant = []
    runs = [
        run
        for model in meant
        for agent in subfolders(tree / model)
        for skill in subfolders(agent)
        for run in subfolders(skill)
    ]
    if not runs:
        there = ", ".join(models) or "none"
        raise RunNameError(
            f"{name or repr(name)} is neither the folder of a run nor a model in {tree} (--tree); there are: {there}"
        )
    return runs
