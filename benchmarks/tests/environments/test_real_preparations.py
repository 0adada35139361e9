"""Preparations with real package managers: Python with a compiled extension, and Node."""

import shutil
import sys
from pathlib import Path

import pytest

from environments.preparing import Bench, commit, held
from swetrials.environments.bubblewrap import Bubblewrap, probe

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not isinstance(probe(), Bubblewrap), reason="bubblewrap does not work here"),
]

OURS = f"{sys.version_info.major}.{sys.version_info.minor}"

COMPILED = {
    ".gitignore": "__pycache__/\n",
    "pyproject.toml": '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n',
    "setup.py": (
        "from setuptools import Extension, setup\n"
        "setup(name='subject', version='1', package_dir={'': 'src'}, packages=['subject'],\n"
        "      ext_modules=[Extension('subject.fast', ['src/subject/fast.c'])])\n"
    ),
    "src/subject/__init__.py": "",
    "src/subject/fast.c": (
        "#include <Python.h>\n"
        'static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fast", NULL, -1, NULL};\n'
        "PyMODINIT_FUNC PyInit_fast(void) {\n"
        "    PyObject *made = PyModule_Create(&module);\n"
        '    PyModule_AddIntConstant(made, "answer", 42);\n'
        "    return made;\n"
        "}\n"
    ),
}


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler")
@pytest.mark.parametrize(("python", "install"), [("3", "uv pip install -e ."), (OURS, "python -m pip install -q -e .")])
def test_an_editable_install_with_a_compiled_extension(tmp_path: Path, python: str, install: str) -> None:
    bench = Bench.at(tmp_path)
    source = bench.source(commit(bench.repo, COMPILED), python=python, setup=[install])
    script = (
        "python -c 'import subject.fast as f, sys; print(f.answer, f.__file__, sys.version_info[:2])'; "
        "git status --short; rm src/subject/*.so; echo >> src/subject/__init__.py"
    )
    first, said, patch = held(bench, source, script)
    assert first.stored is not None and first.stored.record.changed == ()
    assert any(name.endswith(".so") for name in first.stored.record.files)
    words = said.split()
    assert words[0] == "42" and words[1].startswith("/workspace/subject/src/subject/fast")
    assert f"({python.replace('.', ', ')}" in said and len(said.splitlines()) == 1
    assert patch.count("diff --git") == 1 and "__init__.py" in patch
    again, said_again, _ = held(bench, source, script)
    assert (again.new, said_again) == (False, said)


@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm")
def test_node_modules_are_a_layer(tmp_path: Path) -> None:
    bench = Bench.at(tmp_path)
    files = {
        "package.json": '{"name": "subject", "version": "1.0.0", "dependencies": {"left-pad": "1.3.0"}}',
        "index.js": "console.log(require('left-pad')('7', 3, '0'))\n",
    }
    source = bench.source(commit(bench.repo, files), node="20", setup=["npm install --no-audit --no-fund"])
    script = "node index.js; echo 'module.exports = () => \"spoilt\"' > node_modules/left-pad/index.js; node index.js"
    first, said, patch = held(bench, source, script)
    assert said.split() == ["007", "spoilt"]
    assert patch == ""
    assert (
        first.stored is not None
        and "node_modules" in first.stored.record.folders
        and set(first.stored.record.tools) == {"node", "npm"}
    )
    assert held(bench, source, script)[1] == said
