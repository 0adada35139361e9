"""Files that a test runner, or what starts it, loads by itself from a checkout.

pytest: its documentation on configuration files and on ``conftest.py``. Python: the modules ``site`` and ``importlib``
(compiled files, `PEP 552 <https://peps.python.org/pep-0552/>`_: an unchecked one is run whatever its source says;
entry points of a distribution on ``sys.path``, which is how pytest finds plugins; an extension is found before the
source beside it). setuptools: ``setup.py`` is run where the task's setup installs the project. pipenv: ``.env`` holds
variables of all that it runs. npm: ``.npmrc`` can name the shell
of scripts and the options of Node. Whether the task's own runner is the one that loads a file is not asked.
"""

import re

_BY_NAME = {
    "pytest": r"conftest\.py|\.?pytest\.(ini|toml)|tox\.ini|setup\.cfg|pyproject\.toml",
    "Python": r"(site|user)customize\.py|.+\.pth|.+\.(py[co]|so|pyd)|pyvenv\.cfg",
    "setuptools": r"setup\.py",
    "hatch": r"hatch\.toml|hatch_build\.py",
    "pipenv": r"Pipfile|\.env",
    "uv": r"uv\.toml|\.python-version",
    "poetry": r"poetry\.toml",
    "coverage": r"\.coveragerc",
    "nox": r"noxfile\.py",
    "Node": r".+\.node",
    "npm": r"package\.json|\.npmrc",
    "bun": r"bunfig\.toml",
    "yarn": r"\.yarnrc(\.yml)?|\.pnp\.(cjs|loader\.mjs)",
    "pnpm": r"pnpm-workspace\.yaml|\.pnpmfile\.[cm]?js",
    "jest": r"jest\.(config|setup|preset)\..+|jest-preset\..+",
    "vitest": r"(vitest|vite)\.(config|workspace)\..+|vitest\.setup\..+",
    "mocha": r"\.mocharc(\..+)?|mocha\.opts",
    "babel": r"babel\.config\..+|\.babelrc(\..+)?|\.swcrc",
    "TypeScript": r"tsconfig.*\.json",
    "make": r"(GNU)?[Mm]akefile|.+\.mk",
    "just": r"\.?[Jj]ustfile",
    "task": r"[Tt]askfile(\.dist)?\.ya?ml",
    "go": r"go\.(mod|work)",
}
_BY_FOLDER = {
    "Python": r"__pycache__|site-packages|dist-packages|\.?venv|.+\.(egg|dist)-info|.+\.egg",
    "Node": r"node_modules",
    "yarn": r"\.yarn",
    "tox": r"\.tox",
    "nox": r"\.nox",
}
_NAMES = {runner: re.compile(pattern) for runner, pattern in _BY_NAME.items()}
_FOLDERS = {runner: re.compile(pattern) for runner, pattern in _BY_FOLDER.items()}


def loaded_by(path: str) -> str | None:
    """Return the program that loads a file of a repository by itself; ``None``: none that is known.

    A link that has the name of such a folder counts as the folder.
    """
    *folders, name = path.split("/")
    for runner, pattern in _NAMES.items():
        if pattern.fullmatch(name):
            return runner
    for runner, pattern in _FOLDERS.items():
        if any(pattern.fullmatch(part) for part in (*folders, name)):
            return runner
    return None
