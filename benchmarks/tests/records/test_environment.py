"""What a dataset may ask for of an environment, and how each mistake is answered."""

from collections.abc import Mapping

import pytest
from pydantic import ValidationError

from swetrials.records.environment import EnvironmentSpec


def test_the_keys_of_the_manual_are_understood() -> None:
    spec = EnvironmentSpec.model_validate(
        {
            "python": "3.12",
            "node": "22",
            "setup": ["uv pip install -e .", ["make", "deps"]],
            "setup_inputs": ["requirements/*.txt", "tools/**/versions.json"],
            "setup_secrets": ["UV_INDEX_URL"],
            "env": {"TZ": "UTC", "EMPTY": ""},
            "network": "registries",
            "registries": ["Packages.example:8443"],
            "memory_gb": 8,
        }
    )
    assert spec.setup == (("uv", "pip", "install", "-e", "."), ("make", "deps"))
    assert spec.registries == ("packages.example:8443",)
    assert spec.prepares


@pytest.mark.parametrize("asked", [{}, {"env": {"TZ": "UTC"}}, {"node": "22"}, {"network": "open"}])
def test_what_needs_no_preparation(asked: Mapping[str, object]) -> None:
    assert not EnvironmentSpec.model_validate(asked).prepares


SETUP = {"setup": ["make deps"]}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"python": "--version"}, "not a version"),
        ({"python": "3.12; id"}, "not a version"),
        ({"node": "lts/*"}, "not a version"),
        ({"setup": ["--help"]}, "'--help' is not a program"),
        ({"setup": [["", "x"]]}, "'' is not a program"),
        ({"setup": ["a && b"]}, "no shell reads"),
        ({"env": {"--setenv": "x"}}, "not the name of a variable"),
        ({"env": {"PATH": "/x"}}, "set by the harness itself"),
        ({"env": {"VIRTUAL_ENV": "/x"}}, "set by the harness itself"),
        ({"env": {"LD_PRELOAD": "/x"}}, "set by the harness itself"),
        ({"env": {"A": "x\0y"}}, "NUL"),
        ({**SETUP, "setup_secrets": ["-e"]}, "not the name of a variable"),
        ({**SETUP, "setup_secrets": ["TOKEN_X"], "env": {"TOKEN_X": "1"}}, "TOKEN_X is in env, too"),
        ({**SETUP, "setup_secrets": ["TOKEN_X", "TOKEN_X"]}, "named twice"),
        ({"setup_secrets": ["TOKEN_X"]}, "are for setup"),
        ({"setup_inputs": ["x"]}, "are for setup"),
        ({**SETUP, "setup_inputs": ["/etc/passwd"]}, "not a pattern"),
        ({**SETUP, "setup_inputs": ["../x"]}, "not a pattern"),
        ({**SETUP, "setup_inputs": [".git/config"]}, "not a pattern"),
        ({**SETUP, "setup_inputs": ["--x"]}, "not a pattern"),
        ({**SETUP, "setup_inputs": ["x", "x"]}, "named twice"),
        ({"registries": ["packages.example"]}, "network: registries"),
        ({"network": "registries", "registries": ["--x"]}, "not the name of a host"),
        ({"network": "registries", "registries": ["http://a"]}, "not the name of a host"),
        ({"network": "registries", "registries": ["a.example", "A.example"]}, "named twice"),
        ({"network": "none"}, "model"),
        ({"memory_gb": 0}, "greater than 0"),
    ],
)
def test_a_mistake_is_named(asked: Mapping[str, object], said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        EnvironmentSpec.model_validate(asked)
    assert said in str(refused.value)
