"""The built-in passes as functions, made of the table that the Rust side has.

``headwater.hotspot`` and ``headwater.passes.hotspot`` are the same function. Given sets, a pass runs at once; given nodes
of a ``Flow``, it becomes a part of that flow.
"""

import keyword

from . import _headwater

_words = {}
_table = {}
_functions = {}


def _identifier(name):
    name = name.replace("-", "_").replace(" ", "_")
    return name + "_" if keyword.iskeyword(name) else name


def table():
    """The built-in passes by the name of their function: what each takes, its parameters and what it returns."""
    if not _table:
        for row in _headwater.passes():
            _table[_identifier(row["name"])] = row
    return _table


def names():
    """Names of the functions of all built-in passes."""
    return list(table())


def _word(kind):
    """What a kind is called."""
    if not _words:
        _words.update(_headwater.kind_words())
    return _words[kind]


def _gives(row, word):
    if word.startswith("argument "):
        port = row["inputs"][int(word.split()[1])][0]
        return f"a set of the view of ``{port}``"
    return _word(word)


def document(row):
    """The docstring of a pass: what it does, and its arguments with their units."""
    lines = [row["about"], ""]
    for port, kind in row["inputs"]:
        lines.append(f"{_identifier(port)}: {_word(kind)}.")
    if row["more"]:
        lines.append(f"*more: {_word(row['inputs'][-1][1])} each, as many as there are.")
    for name, default, about in row["parameters"]:
        lines.append(f"{_identifier(name)}: {about} (if not given, {default!r}).")
    lines += ["", "Returns " + " and ".join(_gives(row, word) for word in row["gives"]) + "."]
    return "\n".join(lines)


def arguments(row):
    """The arguments of a pass as they are in its signature."""
    parts = [_identifier(port) for port, _ in row["inputs"]]
    if row["more"]:
        parts.append("*more")
    parts += [f"{_identifier(name)}={default!r}" for name, default, _ in row["parameters"]]
    return ", ".join(parts)


def call(pass_name, inputs, parameters):
    """Runs a pass on sets, or adds it to the flow whose nodes are given."""
    for value in inputs:
        add = getattr(value, "_add", None)
        if add is not None:
            return add(pass_name, inputs, parameters)
    return _headwater.run_pass(pass_name, tuple(inputs), parameters)


def table_of(held, **parameters):
    """A set as a table: the pass ``table``."""
    return call("table", (held,), parameters)


def function(name, module=__name__):
    """The function of a pass."""
    made = _functions.get(name)
    if made is not None:
        return made
    row = table().get(name)
    if row is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    inputs = "".join(_identifier(port) + ", " for port, _ in row["inputs"])
    more = "*more, " if row["more"] else ""
    given = ", ".join(f"{parameter!r}: {_identifier(parameter)}" for parameter, _, _ in row["parameters"])
    source = f"def {name}({arguments(row)}):\n    return _call({row['name']!r}, ({inputs}{more}), {{{given}}})\n"
    scope = {"_call": call, "__name__": "headwater"}
    exec(source, scope)
    made = scope[name]
    made.__doc__ = document(row)
    _functions[name] = made
    return made


def __getattr__(name):
    return function(name)


def __dir__():
    return sorted(set(globals()) | set(names()))
