"""Many cases of one kind, of which a quick run of the tests takes the first."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest


def first_is_quick(
    names: str | tuple[str, ...], cases: Sequence[Any], ids: Callable[[Any], str] | None = None
) -> pytest.MarkDecorator:
    """Parametrise a test: ``make test`` runs the first case, ``make test-all`` the others as well.

    It is for tests that start a process for each case, and do the same with it.
    """
    first, *others = cases
    several = not isinstance(names, str)
    rest = [pytest.param(*(case if several else (case,)), marks=pytest.mark.slow) for case in others]
    return pytest.mark.parametrize(names, [first, *rest], ids=ids)
