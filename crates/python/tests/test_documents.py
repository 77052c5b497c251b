"""The reference and the stubs say what is there."""

import ast
import importlib.util
import inspect
import pathlib

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


def test_the_stub_of_the_rust_side_names_what_it_has():
    tree = ast.parse((CRATE / "python/headwater/_headwater.pyi").read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name not in ("Error", "Flow"):
            told = {f.name for f in node.body if isinstance(f, ast.FunctionDef) and not f.name.startswith("_")}
            assert told == {name for name, _, _ in document._members(getattr(hw, node.name))}, node.name
        elif isinstance(node, ast.FunctionDef):
            named = [a.arg for a in node.args.args + node.args.kwonlyargs]
            parameters = inspect.signature(getattr(hw, node.name)).parameters.values()
            has = [p.name for p in parameters if p.kind != p.VAR_POSITIONAL]
            assert named == has, node.name


def test_the_package_is_typed_and_documented():
    place = pathlib.Path(hw.__file__).parent
    assert (place / "py.typed").exists() and (place / "__init__.pyi").exists()
    for path in [*place.glob("*.pyi")]:
        ast.parse(path.read_text())
    assert hw.__version__
