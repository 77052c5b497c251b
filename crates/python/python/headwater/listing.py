"""Listings in the notation of the PerFlow paper (Jin et al., PPoPP 2022), read as Python.

The paper's listings are Python but for some of the notation. ``python`` makes Python of a listing, ``run`` runs it with the
names of ``headwater.perflow``. This is all that is changed, and nothing of it knows any one listing:

- Line numbers at the beginning of all lines are taken away.
- A line that ends with an operator, or whose next line begins with one (``and``, ``or`` …), goes on there.
- Where the head of ``def``, ``for``, ``while``, ``if``, ``elif``, ``else`` … lacks its colon, it gets one.
- ``for (a, b) in (A, B)`` goes over ``headwater.pairs(A, B)``: of two runs the vertices that are the same place, of one
  graph each with each. (Python would take A apart, then B.)
- What a ``while`` tests holds as it is written: a name that it tests, that the statements right before it define by a
  variable which the loop moves on, and that the loop never sets itself, is worked out again at the end of each round.
  (In Listing 7 ``in_es`` are the edges of ``v``, also when ``v`` is another vertex. Python would keep the first one's.)

Names need no change: ``name`` and ``IN_EDGE`` are names of ``headwater.perflow``, and ``v[type]`` means the word, whose name
Python has for itself.
"""

import ast
import copy
import io
import re
import tokenize

_HEADS = {"def", "class", "for", "while", "if", "elif", "else", "try", "except", "finally", "with"}
_JOINS = {"and", "or", "in", "is", "+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "=", "|", "&"}
_NUMBER = re.compile(r"^\s*(\d+)(?: |$)")


def _without_numbers(lines):
    """The lines without their numbers, if all of them have one and they count up."""
    numbered = [_NUMBER.match(line) for line in lines if line.strip()]
    if not numbered or not all(numbered):
        return lines
    counted = [int(match.group(1)) for match in numbered]
    if counted != list(range(counted[0], counted[0] + len(counted))):
        return lines
    return [_NUMBER.sub("", line) for line in lines]


def _tokens(text):
    """The tokens of a line without its comment, as far as this is clear from the line alone."""
    out = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text.strip()).readline):
            if token.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING):
                out.append(token.string)
    except (tokenize.TokenError, IndentationError):
        # Brackets are open at its end.
        pass
    return out


def _depth(tokens):
    return sum(t in "([{" for t in tokens if len(t) == 1) - sum(t in ")]}" for t in tokens if len(t) == 1)


def _comment(line):
    """Where the comment of a line begins."""
    quote = None
    for at, sign in enumerate(line):
        if quote:
            quote = None if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign == "#":
            return at
    return len(line)


def _joined(lines):
    """Lines that go on in the next one put together; empty ones keep the count of lines."""
    out, at = [], 0
    while at < len(lines):
        line, empty = lines[at], 0
        while at + 1 < len(lines):
            tokens, following = _tokens(line), _tokens(lines[at + 1])
            if not tokens:
                break
            open_ = _depth(tokens) > 0
            all_of = tokens[-2:] == ["import", "*"]
            ends_open = tokens[-1] in _JOINS and not all_of
            goes_on = bool(following) and (ends_open or following[0] in _JOINS - {"*", "-", "+"})
            if not open_ and not goes_on:
                break
            line = line[: _comment(line)].rstrip() + " " + lines[at + 1].strip()
            at, empty = at + 1, empty + 1
        out.append(line)
        out.extend([""] * empty)
        at += 1
    return out


def _with_colon(line):
    """The line with the colon that its statement needs."""
    tokens, depth, has = _tokens(line), 0, False
    if not tokens or tokens[0] not in _HEADS:
        return line
    for token in tokens:
        depth += (token in "([{") - (token in ")]}") if len(token) == 1 else 0
        has = has or (token == ":" and depth == 0)
    if has:
        return line
    at = _comment(line)
    code = line[:at].rstrip()
    return code + ":" + (" " * bool(line[at:]) + line[at:])


class _Notation(ast.NodeTransformer):
    """What is valid Python and means something else."""

    def visit_For(self, node):
        self.generic_visit(node)
        pair = isinstance(node.target, ast.Tuple) and isinstance(node.iter, ast.Tuple)
        if pair and len(node.target.elts) == len(node.iter.elts) == 2:
            if not any(isinstance(e, (ast.Tuple, ast.List)) for e in node.iter.elts):
                function = ast.Name("pairs", ast.Load())
                node.iter = ast.copy_location(ast.Call(function, node.iter.elts, []), node.iter)
        return node

    def generic_visit(self, node):
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                for at, statement in enumerate(block):
                    if isinstance(statement, ast.While):
                        _keep(statement, block[:at])
        return node


def _names(node, context):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _keep(loop, before):
    """Definitions that the loop's test rests on, worked out again at its end."""
    tested, set_inside = _names(loop.test, ast.Load), set()
    for statement in loop.body:
        set_inside |= _names(statement, ast.Store)
    again = []
    for statement in reversed(before):
        simple = isinstance(statement, ast.Assign) and len(statement.targets) == 1
        if not simple or not isinstance(statement.targets[0], ast.Name):
            break
        name = statement.targets[0].id
        if name in tested and name not in set_inside and _names(statement.value, ast.Load) & set_inside:
            again.insert(0, copy.deepcopy(statement))
    loop.body.extend(again)


def tree(text):
    """The listing as a module of Python's."""
    lines = _joined(_without_numbers(text.splitlines()))
    module = ast.parse("\n".join(_with_colon(line) for line in lines) + "\n")
    return ast.fix_missing_locations(_Notation().visit(module))


def python(text):
    """The listing as Python."""
    return ast.unparse(tree(text)) + "\n"


def run(text, **names):
    """Runs a listing with the names of ``headwater.perflow`` and those given; returns the names that it defined."""
    from . import pairs, perflow

    scope = {"__name__": "listing", "pairs": pairs}
    scope.update({name: getattr(perflow, name) for name in perflow.__all__})
    scope.update(names)
    exec(compile(tree(text), "<listing>", "exec"), scope)
    return scope
