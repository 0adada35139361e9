"""Which registries a command may reach, out of what uv, pip and npm are configured with."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from swetrials.environments.registries import RegistrySettings, proxy_variables, registry_settings


def settings(folder: Path, *named: str, **variables: str) -> RegistrySettings:
    return registry_settings(named, {"PATH": str(folder), **variables}, folder / "home", folder / "etc")


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_nothing_is_allowed_where_nothing_is_configured(tmp_path: Path) -> None:
    assert settings(tmp_path) == RegistrySettings(frozenset(), {}, ())


def test_a_dataset_adds_hosts_with_a_port_and_without(tmp_path: Path) -> None:
    assert settings(tmp_path, "Packages.example", "b.example:8443").hosts == {"packages.example", "b.example:8443"}


@pytest.mark.parametrize(
    ("variables", "hosts", "passed"),
    [
        (
            {
                "PIP_INDEX_URL": "https://a.example/simple",
                "PIP_EXTRA_INDEX_URL": "http://b.example:80/x http://c.example:81/",
            },
            {"a.example", "b.example", "c.example:81"},
            {
                "PIP_INDEX_URL": "https://a.example/simple",
                "PIP_EXTRA_INDEX_URL": "http://b.example:80/x http://c.example:81/",
            },
        ),
        (
            {
                "UV_INDEX_URL": "https://old.example",
                "UV_DEFAULT_INDEX": "https://a.example",
                "UV_INDEX": "own=https://b.example:443/",
            },
            {"a.example", "b.example"},
            {"UV_DEFAULT_INDEX": "https://a.example", "UV_INDEX": "own=https://b.example:443/"},
        ),
        (
            {"npm_config_REGISTRY": "https://a.example/npm/"},
            {"a.example"},
            {"NPM_CONFIG_REGISTRY": "https://a.example/npm/"},
        ),
        ({"PIP_EXTRA_INDEX_URL": "file:///opt/wheels"}, set(), {"PIP_EXTRA_INDEX_URL": "file:///opt/wheels"}),
    ],
)
def test_variables_name_them(
    tmp_path: Path, variables: Mapping[str, str], hosts: set[str], passed: Mapping[str, str]
) -> None:
    found = settings(tmp_path, **variables)
    assert found.hosts == hosts
    assert found.variables == passed
    assert found.left_out == ()


def test_files_name_them_and_the_users_win(tmp_path: Path) -> None:
    write(
        tmp_path / "etc/pip.conf",
        "[global]\nindex-url = https://machine.example/\nextra-index-url =\n  https://x.example/\n  https://y.example\n",
    )
    write(
        tmp_path / "home/.config/pip/pip.conf",
        "[global]\nindex_url = https://user.example/\n[install]\nindex-url = https://install.example/\n",
    )
    write(
        tmp_path / "etc/uv/uv.toml",
        'index-url = "https://uv-machine.example"\n[pip]\nextra-index-url = ["https://z.example"]\n',
    )
    write(
        tmp_path / "home/.config/uv/uv.toml",
        '[[index]]\nurl = "https://uv-user.example"\ndefault = true\n[[index]]\nurl = "https://w.example"\n',
    )
    write(tmp_path / "etc/npmrc", "registry=https://npm-machine.example/\n")
    write(
        tmp_path / "home/.npmrc",
        '; mine\nregistry = "https://${NPM_HOST}/"\n@own:registry=https://scope.example/\n//npm-user.example/:_authToken=secret\n',
    )
    found = settings(tmp_path, NPM_HOST="npm-user.example")
    assert found.variables == {
        "PIP_INDEX_URL": "https://user.example/",
        "PIP_EXTRA_INDEX_URL": "https://x.example/ https://y.example https://install.example/",
        "UV_DEFAULT_INDEX": "https://uv-user.example",
        "UV_INDEX": "https://z.example https://w.example",
        "NPM_CONFIG_REGISTRY": "https://npm-user.example/",
    }
    of_pip = {"user.example", "install.example", "x.example", "y.example"}
    of_uv = {"uv-user.example", "z.example", "w.example"}
    assert found.hosts == of_pip | of_uv | {"npm-user.example", "scope.example"}
    assert found.left_out == (f"{tmp_path / 'home/.npmrc'}: npm's registry of one scope is not passed on",)


@pytest.mark.parametrize(
    "address", ["https://me:hidden@a.example/simple", "https://hidden@a.example", "https://a.example/?k=hidden"]
)
def test_credentials_are_not_passed(tmp_path: Path, address: str) -> None:
    write(tmp_path / "home/.npmrc", f"registry={address}\n")
    found = settings(tmp_path, UV_INDEX=f"own={address} https://b.example", PIP_INDEX_URL=address)
    assert found.hosts == {"a.example", "b.example"}
    assert found.variables == {"UV_INDEX": "https://b.example"}
    assert len(found.left_out) == 3
    assert all("with credentials in its address is not passed on" in line for line in found.left_out)
    assert "hidden" not in repr(found)


@pytest.mark.parametrize("host", ["localhost", "localhost:3141", "127.0.0.1:80"])
def test_loopback_of_the_machine_is_not_reached(tmp_path: Path, host: str) -> None:
    found = settings(tmp_path, host, PIP_INDEX_URL=f"http://{host}/simple")
    assert (found.hosts, found.variables) == (frozenset(), {})
    assert [line.partition(":")[0] for line in found.left_out] == ["PIP_INDEX_URL", "environment.registries"]


def test_other_files_may_be_named(tmp_path: Path) -> None:
    write(tmp_path / "home/.config/pip/pip.conf", "[global]\nindex-url = https://no.example/\n")
    write(tmp_path / "home/.config/uv/uv.toml", 'index-url = "https://no.example"\n')
    write(tmp_path / "home/.npmrc", "registry=https://no.example/\n")
    write(tmp_path / "uv.toml", 'index-url = "https://uv.example"\n')
    write(tmp_path / "npmrc", "registry=https://npm.example/\n")
    found = settings(
        tmp_path,
        PIP_CONFIG_FILE="/dev/null",
        UV_CONFIG_FILE=str(tmp_path / "uv.toml"),
        npm_config_userconfig=str(tmp_path / "npmrc"),
    )
    assert found.hosts == {"uv.example", "npm.example"}


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        (b"\xff\xfe\x00", True),
        (b"index-url = [", True),
        (b"[global\nindex-url", True),
        (b"[[index]]\nurl = 3\n", False),
        (b"[index]\nurl = 3\n", False),
    ],
)
def test_a_file_that_cannot_be_read_is_told_and_stops_nothing(tmp_path: Path, text: bytes, broken: bool) -> None:
    for file in (tmp_path / "etc/pip.conf", tmp_path / "etc/uv/uv.toml", tmp_path / "home/.npmrc"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
    found = settings(tmp_path, PIP_INDEX_URL="https://a.example", UV_INDEX="nonsense https://[x")
    assert found.hosts == {"a.example"}
    assert all("\n" not in line for line in found.left_out)
    assert sum("is no address of http" in line for line in found.left_out) == 1
    assert any(str(tmp_path) in line for line in found.left_out) is broken


def test_tools_are_led_to_the_proxy_but_not_for_loopback() -> None:
    told = proxy_variables("http://x:secret@127.0.0.1:4711")
    assert {told[name] for name in ("HTTP_PROXY", "https_proxy", "PIP_PROXY")} == {"http://x:secret@127.0.0.1:4711"}
    assert told["NO_PROXY"] == told["no_proxy"] == "127.0.0.1,localhost,::1"
