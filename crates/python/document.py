"""Writes docs/API.md and the stubs of passes and paradigms from the installed module: `cargo xtask api`.

`texts()` returns what the files must hold; a test compares it with what they hold.
"""

import inspect
import pathlib

import headwater as hw
from headwater import listing, paradigms, passes, perflow

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUBS = pathlib.Path("crates/python/python/headwater")

HEAD = """# The module `headwater` for Python

Made from the docstrings by `cargo xtask api`. [GUIDE.md](GUIDE.md) shows how it is used, [ANALYSES.md](ANALYSES.md) what the
paradigms say. Times are seconds, sizes bytes, shares parts of a whole from 0 to 1; what was not measured is NaN or None. What
is wrong raises `headwater.Error` with the words of the command line.
"""

#: Attributes of vertices that every run has, listed once: name, unit, what it is.
ATTRIBUTES = """## Attributes

`v["time"]` of a vertex or edge, `V["time"]` of all elements of a set; `V.attributes` lists those that there are.

| attribute | unit | what it is |
| --- | --- | --- |
| `name`, `type` | | callee or function, and what it is: `function`, `loop`, `branch`, `mpi-call`, `comp` … |
| `file`, `first_line`, `last_line`, `line` | | source lines; `line` is the hottest. `debug-info` is all of it in one |
| `module`, `function`, `parent`, `depth`, `site` | | where it is; `site` numbers places of the program, whatever call path leads there |
| `class` | | of an MPI call: `point-to-point`, `collective`, `wait`, `one-sided`, `file`, `start-or-end`, `other` |
| `time`, `total` | s | own time, and with what is inside; of all ranks and threads together in a top-down view |
| `busy`, `blocked`, `runq` | s | computing, asleep of that, ready without a core |
| `mpi`, `wait`, `longest` | s | inside MPI, waiting of that, the longest single call |
| `workers`, `before` | s | CPU time of threads that call no MPI; computing on the way to an MPI call |
| `count`, `bytes`, `sent` | 1, B, B | MPI calls, their bytes, what the rank sent of these |
| `rank`, `thread`, `vertex` | | of a parallel view: where it is, and the number of its place in the top-down view |
| counters | | as the run names them: `instructions`, `page_faults` … |

Edges have `type` (`intra-procedural`, `inter-procedural`, `inter-thread`, `inter-process`), `kind` (`data-flow`, `control-flow`,
`point-to-point`, `collective`, `mutex` …), and in a parallel view `count`, `bytes`, `time`, `wait`, `late_sender`, `late_receiver`.
"""


def _doc(thing, indent=""):
    text = inspect.getdoc(thing) or ""
    return "\n".join(indent + line if line else "" for line in text.splitlines())


def _arguments(thing):
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        text = thing.__text_signature__ or "()"
    text = text.replace("$self, ", "").replace("$self", "").replace("(self, ", "(").replace("(self)", "()")
    return text.replace(", /", "").replace("(/)", "()").replace("(cls, ", "(").replace("(cls)", "()")


def _members(kind):
    for name in sorted(vars(kind)):
        if name.startswith("_"):
            continue
        yield name, getattr(kind, name), vars(kind)[name]


def _class(name, kind):
    out = [f"### `{name}`", "", _doc(kind), ""]
    values, methods = [], []
    for member, thing, raw in _members(kind):
        if isinstance(raw, property) or inspect.isgetsetdescriptor(raw):
            values.append(f"- `{member}`: {_line(thing)}")
        elif callable(thing):
            methods.append(f"- `{member}{_arguments(thing)}`: {_line(thing)}")
    return out + values + methods + [""]


def _line(thing):
    text = _doc(thing)
    return "\n  ".join(line for line in text.splitlines()) if text else ""


def _functions(names, module):
    out = []
    for name in names:
        function = getattr(module, name)
        out += [f"### `{name}{_arguments(function)}`", "", _doc(function), ""]
    return out


def api():
    """docs/API.md."""
    out = [HEAD]
    out += ["## Runs", ""] + _functions(["open", "record", "diagnose", "analyse", "export", "formats", "command"], hw)
    out += _class("Run", hw.Run) + _class("Diagnosis", hw.Diagnosis) + _class("Report", hw.Report) + _class("Table", hw.Table)
    out += ["## Sets", ""] + _class("Set", hw.Set) + _class("Vertex", hw.Vertex) + _class("Edge", hw.Edge)
    out += [ATTRIBUTES]
    out += ["## Passes", "", _doc(passes), ""] + _functions(passes.names(), hw)
    out += ["## Paradigms", "", _doc(paradigms), ""] + _functions(paradigms.names(), paradigms) + _functions(["flow"], paradigms)
    out += ["## Dataflows", ""] + _class("Flow", hw.Flow) + _class("Node", hw.Node) + _class("Finding", hw.Finding)
    graphs = ["make", "from_arrow", "pairs", "subgraph_matching", "lowest_common_ancestor", "unit"]
    out += ["## Graphs", ""] + _functions(graphs, hw) + _class("Graph", hw.Graph) + _class("Pairs", hw.Pairs)
    out += ["## PerFlow", "", _doc(perflow), ""] + _class("PerFlow", hw.PerFlow)
    out += ["## Listings of the paper", "", _doc(listing), ""] + _functions(["python", "run"], listing)
    out += ["### `Error`", "", _doc(hw.Error), ""]
    return "\n".join(out).replace("\n\n\n", "\n\n").rstrip() + "\n"


_SETS = ("set", "top-down", "parallel", "made")


def _type(kind, of_set):
    if kind in _SETS or kind.startswith("argument "):
        return of_set
    return {"run": "Run", "table": "Table"}.get(kind, "Finding")


def _given(default):
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, (int, float)):
        return "float"
    return "str" if isinstance(default, str) else "Sequence[str]"


def _pass(name, row):
    """A pass as overloads: given its arguments, it returns the result at once; given a node for any of them, it returns a node."""
    kinds = [kind for _, kind in row["inputs"]]
    gives = [_type(word, "Set") for word in row["gives"]]

    def form(types, back):
        parts = [f"{passes._identifier(port)}: {type_}" for (port, _), type_ in zip(row["inputs"], types)]
        if row["more"]:
            parts.append(f"*more: {types[-1] if back is gives else either[-1]}")
        for parameter, default, _ in row["parameters"]:
            parts.append(f"{passes._identifier(parameter)}: {_given(default)} = {default!r}" if not isinstance(default, list) else f"{passes._identifier(parameter)}: {_given(default)} = ...")
        returns = back[0] if len(back) == 1 else f"Tuple[{', '.join(back)}]"
        return f"def {name}({', '.join(parts)}) -> {returns}"

    own = [_type(kind, "_Elements") for kind in kinds]
    either = [f"Union[{type_}, Node]" for type_ in own]
    doc = "\n".join("    " + line if line else "" for line in passes.document(row).splitlines())
    out = f'@overload\n{form(own, gives)}:\n    """{doc.strip()}\n    """\n'
    for at in range(len(kinds)):
        out += f"\n@overload\n{form(own[:at] + ['Node'] + either[at + 1 :], ['Node'] * len(gives))}: ...\n"
    return out


STUB_HEAD = '"""Made by `cargo xtask api` from the table of {of}."""\n\n'

OWN = """from typing import Sequence, Tuple, Union, overload

from . import listing as listing
from . import paradigms as paradigms
from . import passes as passes
from . import perflow as perflow
from ._command import command as command
from ._command import record as record
from ._graph import Graph as Graph
from ._graph import subgraph_matching as subgraph_matching
"""


def stub():
    """The stub of the package: its own names, and the functions of the passes."""
    rust = sorted(name for name in hw._OWN if getattr(getattr(hw, name), "__module__", "") in ("headwater", "headwater._headwater", None))
    rust = [name for name in rust if name not in ("Flow", "Node", "PerFlow", "Graph")]
    lines = [f"from ._headwater import {name} as {name}\n" for name in rust]
    lines += ["from ._headwater import _Elements\n", "from ._open import open as open\n"]
    lines += ["from .flow import Flow as Flow\n", "from .flow import Node as Node\n", "from .perflow import PerFlow as PerFlow\n"]
    head = STUB_HEAD.format(of="passes") + OWN + "".join(lines) + "\n__version__: str\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in hw.__all__) + "]\n\n"
    return head + "\n".join(_pass(name, row) for name, row in passes.table().items() if name not in hw._OWN)


_SETTINGS = {"scaling": "Optional[str]", "abnorm_threshold": "Optional[float]", "max_loop_depth": "Optional[int]"}


def paradigm_stub():
    """The stub of the paradigms."""
    out = STUB_HEAD.format(of="paradigms")
    out += "from typing import Dict, List, Optional, Tuple, Union\n\nfrom ._headwater import Report, Run, _Path\nfrom .flow import Flow\n\n"
    row = "Tuple[str, str, str, List[str]]"
    out += f"def table() -> Dict[str, {row}]: ...\ndef names() -> List[str]: ...\ndef flow(name: str, runs: Optional[int] = None) -> Flow: ...\ndef __dir__() -> List[str]: ...\n"
    out += f"def document(row: {row}) -> str: ...\ndef arguments(row: {row}) -> Tuple[List[str], List[str]]: ...\n"
    for name, row in paradigms.table().items():
        runs, settings = paradigms.arguments(row)
        parts = [part + ": Union[Run, _Path]" for part in runs] + ["*"] * (row[2] != "several")
        parts += [f"{setting}: {_SETTINGS[setting]} = None" for setting in settings]
        doc = "\n".join("    " + line if line else "" for line in paradigms.document(row).splitlines()).strip()
        out += f'\ndef {name}({", ".join(parts)}) -> Report:\n    """{doc}\n    """\n'
    return out


PASSES = """from typing import Any, Callable, Dict, List, Mapping, Sequence

def table() -> Dict[str, Dict[str, Any]]: ...
def names() -> List[str]: ...
def document(row: Mapping[str, Any]) -> str: ...
def arguments(row: Mapping[str, Any]) -> str: ...
def call(pass_name: str, inputs: Sequence[Any], parameters: Mapping[str, Any]) -> Any: ...
def table_of(held: Any, **parameters: Any) -> Any: ...
def function(name: str, module: str = "headwater.passes") -> Callable[..., Any]: ...
def __dir__() -> List[str]: ...

"""


def passes_stub():
    """The stub of the module of passes, whose functions are those of the package."""
    return STUB_HEAD.format(of="passes") + PASSES + "".join(f"from . import {name} as {name}\n" for name in passes.names() if name not in ("table",))


def texts():
    """The files, by their path from the root, and what they must hold."""
    return {
        pathlib.Path("docs/API.md"): api(),
        STUBS / "__init__.pyi": stub(),
        STUBS / "paradigms.pyi": paradigm_stub(),
        STUBS / "passes.pyi": passes_stub(),
    }


if __name__ == "__main__":
    for path, text in texts().items():
        (ROOT / path).write_text(text, encoding="utf-8")
        print(path)
