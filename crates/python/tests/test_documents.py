"""The reference and the stubs say what is there."""

import ast
import importlib.util
import inspect
import os
import pathlib
import subprocess
import sys

import headwater as hw
import pytest

CRATE = pathlib.Path(__file__).resolve().parents[1]
specification = importlib.util.spec_from_file_location("document", CRATE / "document.py")
document = importlib.util.module_from_spec(specification)
specification.loader.exec_module(document)


@pytest.mark.parametrize("path", list(document.texts()), ids=str)
def test_what_is_made_from_docstrings_is_current(path):
    held = (document.ROOT / path).read_text(encoding="utf-8")
    assert held == document.texts()[path], f"{path} is not current; type: cargo xtask api"


def test_everything_has_a_docstring():
    bare = [name for name in hw.__all__ if not inspect.getdoc(getattr(hw, name))]
    for kind in (hw.Run, hw.Set, hw.Vertex, hw.Edge, hw.Table, hw.Report, hw.Flow, hw.Node, hw.PerFlow, hw.Graph):
        bare += [f"{kind.__name__}.{n}" for n, thing, _ in document._members(kind) if callable(thing) and not inspect.getdoc(thing)]
    assert bare == []


def checked(*words):
    """What mypy, or the tool of its with that name, says of the installed package."""
    done = subprocess.run([sys.executable, "-m", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=CRATE / "tests", env={**os.environ, "MYPY_CACHE_DIR": os.devnull})
    return done.returncode, done.stdout.decode()


def test_the_stubs_say_what_is_there():
    """Names, arguments and their defaults, of all modules."""
    code, said = checked("mypy.stubtest", "headwater", "--mypy-config-file", "mypy.ini", "--allowlist", "stubs.txt", "--concise")
    assert code == 0, said


def test_types_are_those_of_the_stubs():
    code, said = checked("mypy", "--config-file", "mypy.ini", "typed.py")
    assert code == 0, said


def test_the_package_is_typed_and_documented():
    place = pathlib.Path(hw.__file__).parent
    assert (place / "py.typed").exists() and (place / "__init__.pyi").exists()
    for path in [*place.glob("*.pyi")]:
        ast.parse(path.read_text())
    assert hw.__version__


def test_scalability_analysis_takes_a_user_fewer_lines_than_the_paper_counts():
    """The guide's block with a backtracking pass of the user's own, and the number of lines that it says it has."""
    guide = (document.ROOT / "docs/GUIDE.md").read_text()
    section = guide.split("## 2.")[1].split("## 3.")[0]
    block = section.split("```python\n")[1].split("```")[0]
    lines = [line for line in block.splitlines() if line.strip()]
    assert "def backtracking" in block and "flow.run(" in block
    assert len(lines) <= 27 and f"here they are {len(lines)}," in section
