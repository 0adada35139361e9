"""What the runner's configuration refuses."""

import pytest
from pydantic import ValidationError

from swetrials.records.config import RunnerConfig


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:8000", "https://example.com/prefix"])
def test_endpoints(endpoint: str) -> None:
    assert RunnerConfig(endpoint=endpoint).endpoint == endpoint


@pytest.mark.parametrize(
    "endpoint", ["localhost:8000", "ftp://x", "http://", "", "http://x y", "http://[x", "http://x\n", "http://x:99999"]
)
def test_endpoints_that_are_none(endpoint: str) -> None:
    with pytest.raises(ValidationError, match="endpoint"):
        RunnerConfig(endpoint=endpoint)


def test_an_endpoint_never_carries_a_secret_into_the_records() -> None:
    with pytest.raises(ValidationError, match="api_key"):
        RunnerConfig(endpoint="https://me:hunter2@example.com")


def test_the_key_is_not_shown() -> None:
    assert "hunter2" not in repr(RunnerConfig.model_validate({"api_key": "hunter2"}))


@pytest.mark.parametrize("key", ["hunter2\n", "hünter2-and-more", "hunter2\0", "two hunters"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(key: str) -> None:
    with pytest.raises(ValidationError, match="no HTTP header") as raised:
        RunnerConfig.model_validate({"api_key": key})
    assert "nter" not in raised.value.errors(include_input=False)[0]["msg"]


@pytest.mark.parametrize("model", ["", " ", "-x", "a b", "[1m]", "x" * 101])
def test_models_that_could_not_name_a_folder(model: str) -> None:
    with pytest.raises(ValidationError):
        RunnerConfig(model=model)


@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_bypassing_permissions_needs_a_sandbox(sandbox: str) -> None:
    with pytest.raises(ValidationError, match="needs environment: bubblewrap"):
        RunnerConfig.model_validate({"permission_mode": "bypassPermissions", "sandbox": sandbox})
    assert RunnerConfig(permission_mode="bypassPermissions", sandbox="bubblewrap")
    assert RunnerConfig(permission_mode="bypassPermissions", environment="bubblewrap")


@pytest.mark.parametrize(
    ("given", "environment", "sandbox"),
    [
        ({}, "auto", "auto"),
        ({"environment": "host"}, "host", "none"),
        ({"environment": "bubblewrap"}, "bubblewrap", "bubblewrap"),
        ({"sandbox": "none"}, "host", "none"),
        ({"sandbox": "bubblewrap"}, "bubblewrap", "bubblewrap"),
        ({"sandbox": "auto", "environment": "host"}, "host", "none"),
        ({"sandbox": "none", "environment": "auto"}, "host", "none"),
        ({"sandbox": "none", "environment": "host"}, "host", "none"),
        ({"environment": "mine:Cell"}, "mine:Cell", "auto"),
    ],
)
def test_sandbox_is_an_older_name_of_environment(given: dict[str, str], environment: str, sandbox: str) -> None:
    config = RunnerConfig.model_validate(given)
    assert (config.environment, config.sandbox) == (environment, sandbox)
    assert RunnerConfig.model_validate(config.model_dump()) == config


@pytest.mark.parametrize(
    ("sandbox", "environment"), [("none", "bubblewrap"), ("bubblewrap", "host"), ("none", "mine:Cell")]
)
def test_two_names_that_differ_are_refused(sandbox: str, environment: str) -> None:
    with pytest.raises(ValidationError, match=f"environment: {environment} and sandbox: {sandbox} differ"):
        RunnerConfig.model_validate({"sandbox": sandbox, "environment": environment})


@pytest.mark.parametrize(
    "given", [{"environment": ""}, {"sandbox": "docker"}, {"sandbox": ["none"]}, {"environment": None}]
)
def test_what_is_no_environment_is_told_by_its_own_key(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as told:
        RunnerConfig.model_validate(given)
    assert [error["loc"] for error in told.value.errors()] == [tuple(given)]


@pytest.mark.parametrize(
    "limits",
    [
        {"timeout_seconds": 0},
        {"timeout_seconds": float("inf")},
        {"idle_timeout_seconds": -1},
        {"auto_compact_fraction": 1.1},
        {"max_budget_usd": 0},
        {"max_turns": 0},
        {"concurrency": 0},
        {"repeats": 0},
        {"count": 0},
    ],
)
def test_limits_without_meaning(limits: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        RunnerConfig.model_validate(limits)


@pytest.mark.parametrize("resources", ['{"vllm_qwen": 1, "CPU": 0.5}', {"vllm_qwen": 1, "CPU": 0.5}])
def test_resources_are_json_in_a_flag_and_a_mapping_in_a_file(resources: object) -> None:
    config = RunnerConfig.model_validate({"ray_resources": resources})
    assert config.ray_resources == {"vllm_qwen": 1.0, "CPU": 0.5}


@pytest.mark.parametrize("resources", ["vllm_qwen", "[1]", '{"": 1}', {"gpu_box": 0}, {"CPU": 1.5}, {"memory": 1}])
def test_resources_that_no_machine_can_set_aside(resources: object) -> None:
    with pytest.raises(ValidationError, match="ray_resources"):
        RunnerConfig.model_validate({"ray_resources": resources})


@pytest.mark.parametrize("address", ["", "10.0.0.1", "10.0.0.1:", ":6379", "ray://10.0.0.1:10001", "local"])
def test_a_cluster_is_named_by_host_and_port(address: str) -> None:
    with pytest.raises(ValidationError, match="ray_address"):
        RunnerConfig(ray_address=address)
    assert RunnerConfig(ray_address="[::1]:6379").ray_address == "[::1]:6379"
