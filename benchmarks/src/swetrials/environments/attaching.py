"""Putting what was prepared into an attempt's folders, so that nothing of it is shared that can be written."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from swetrials.environments.base import Layer, View
from swetrials.environments.checkout_changes import Made, exclude
from swetrials.environments.overlay import new_layer
from swetrials.environments.setting_up import VENV
from swetrials.workspace.processes import LaunchError

_LAYERS = "layers"
"""The folder of an attempt's for what is written into its layers."""


def attached(view: View, *, venv: Path | None, checkout: Path, made: Made, copied: bool) -> View:
    """Return a view with layers over prepared folders; prepared files are copied into its checkout.

    What is in the way in the checkout stays, and the prepared file or folder is left out. Of a folder that is in the
    checkout as well, both are seen, the checkout's first.

    Args:
        view: the attempt's.
        venv: a virtual environment.
        checkout: what setup made in a checkout, at the same places.
        made: its folders and files.
        copied: copy the folders, where no overlay can be laid over them.

    Raises:
        LayerError: a folder has to be copied, and cannot be.
        OSError: a file cannot be copied.
    """
    outside, inside = view.outside.checkout, view.inside.checkout
    own = view.outside.root / _LAYERS
    layers = [new_layer(venv, own / VENV, view.inside.root / VENV, copied=copied)] if venv else []
    for number, name in enumerate(made.folders):
        if _is_free(outside, name, for_folder=True):
            layer = new_layer(checkout / name, own / str(number), inside / name, copied=copied)
            _move_into(outside / name, layer)
            layers.append(layer)
    for name in made.files:
        if _is_free(outside, name):
            (outside / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / name, outside / name, follow_symlinks=False)
    exclude(outside, made.names)
    return replace(view, layers=(*view.layers, *layers), prepared=(*view.prepared, *made.names))


def require_in_place(view: View) -> None:
    """Make sure that prepared folders still lie in the checkout where they were put, before a further command starts.

    The one before it may have moved a folder above, and have put a link there: the start of the next one, which makes
    the place where a layer is laid, would follow it out of the checkout.

    Raises:
        LaunchError: one does not.
    """
    checkout, inside = view.outside.checkout, view.inside.checkout
    names = (str(layer.inside.relative_to(inside)) for layer in view.layers if layer.inside.is_relative_to(inside))
    for name in names:
        if not all(way.is_dir() and not way.is_symlink() for way in (*_ways(checkout, name), checkout / name)):
            raise LaunchError(f"a command before it has put something else in the place of {name}, which was prepared")


def _is_free(checkout: Path, name: str, *, for_folder: bool = False) -> bool:
    """Whether nothing is in the way of a prepared path. A link on the way would lead the copy out of the checkout."""
    if any(way.is_symlink() or (way.exists() and not way.is_dir()) for way in _ways(checkout, name)):
        return False
    place = checkout / name
    return not os.path.lexists(place) or (for_folder and place.is_dir() and not place.is_symlink())


def _ways(checkout: Path, name: str) -> Iterator[Path]:
    way = checkout
    for part in Path(name).parts[:-1]:
        way /= part
        yield way


def _move_into(folder: Path, layer: Layer) -> None:
    """Move what is in a checkout's folder into its layer, which will cover it, and leave an empty folder.

    Raises:
        OSError: it cannot be moved.
    """
    folder.mkdir(parents=True, exist_ok=True)
    into = layer.merged if layer.copied else layer.own / "upper"
    shutil.copytree(folder, into, symlinks=True, dirs_exist_ok=True)
    for entry in list(folder.iterdir()):
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
