"""The server runs in its host's asyncio loop; so do its tests."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
