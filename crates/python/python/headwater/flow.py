"""Dataflows: passes joined to an analysis that is checked as a whole, runs lazily and is cached."""

import os

from . import _headwater, passes


class Node:
    """Something that flows in a ``Flow``: an input or the result of a pass. Passes take nodes as they take sets."""

    def __init__(self, flow, link):
        self.flow = flow
        self._link = link

    @property
    def kind(self):
        """What it is, as far as that is known before running: run, set, top-down, parallel, made or table."""
        return self.flow._flow.kind(self._link)

    @property
    def value(self):
        """What it is: runs what is needed for it and was not run before. Inputs must have been given."""
        return self.flow.values([self])[0]

    def _add(self, name, inputs, parameters):
        return self.flow._pass(name, inputs, parameters)

    def __or__(self, other):
        return passes.call("union", (self, other), {})

    def __and__(self, other):
        return passes.call("intersection", (self, other), {})

    def __sub__(self, other):
        return passes.call("difference", (self, other), {})

    def __invert__(self):
        return passes.call("complement", (self,), {})

    def __repr__(self):
        return f"<Node %{self._link[0]} of {self.flow.name}>"


class Flow:
    """A dataflow of passes.

        flow = hw.Flow("uneven loops")
        run = flow.input("run")
        loops = hw.filter(hw.vertices(run), where="type == 'loop'")
        flow.output("uneven", hw.imbalance(hw.hotspot(loops, n=20)))
        found = flow.run(run=hw.open("app.16"))["uneven"]

    Nothing runs before a value is asked for; then only what is needed for it, side by side where passes do not need each
    other, and nothing twice: the results of up to eight runs are cached until ``forget``. Every step can be looked at by
    ``node.value``, if the inputs have values.
    """

    def __init__(self, name="dataflow"):
        self._flow = _headwater.Flow(name)

    @classmethod
    def _of(cls, flow):
        made = cls.__new__(cls)
        made._flow = flow
        return made

    @property
    def name(self):
        """Its name."""
        return self._flow.name

    def input(self, name, value=None, *, kind=None):
        """Adds what the flow needs; with a value, that is what it is if nothing else is given. No two inputs have one name.

        kind is run, set, top-down, parallel, made or table; if not given, that of the value, or a run.
        """
        return Node(self, (self._flow.input(name, kind, value), 0))

    def _links(self, user, nodes):
        links = []
        for node in nodes:
            if not isinstance(node, Node):
                # What is no node yet comes in by an input of its own.
                n = len(self._flow)
                while f"value {n}" in self.inputs:
                    n += 1
                node = self.input(f"value {n}", node)
            if node.flow is not self:
                raise _headwater.Error(
                    f"{user}: an argument is of the dataflow {node.flow.name}, and this is another, {self.name}"
                )
            links.append(node._link)
        return links

    def _pass(self, name, inputs, parameters):
        node, gives = self._flow.add(name, self._links(f"pass {name}", inputs), parameters)
        nodes = tuple(Node(self, (node, output)) for output in range(gives))
        return nodes[0] if gives == 1 else nodes

    def apply(self, function, *nodes, gives=1, name=None, cached=True):
        """Adds a function of Python's as a pass: it takes sets and returns one set, or a tuple of ``gives`` sets.

        Whatever can be called is a function: also a method, or what ``functools.partial`` made. A list of vertices and edges
        is a set too. The function must give the same of the same sets unless cached is false. It runs where the flow runs,
        and may use passes itself.
        """
        name = name or _name(function)
        arguments, more = _arguments(function, len(nodes))
        links = self._links(f"pass {name}", nodes)
        node = self._flow.add_function(name, function, arguments, more, gives, cached, links)
        made = tuple(Node(self, (node, output)) for output in range(gives))
        return made[0] if gives == 1 else made

    def repeat(self, body, *nodes, most=200):
        """Adds a flow, or a function of one set, that is run on its own result until the result no longer changes, ``most`` times at the most.

        The flow's first inputs are given anew each time, as many as it has outputs; the others stay. If it still changed the
        last time, that result is used, and running warns of it (``RuntimeWarning``).
        """
        if not isinstance(body, Flow):
            function, body = body, Flow(_name(body))
            inputs = [body.input(f"V{i + 1}", kind="set") for i in range(len(nodes))]
            body.output("V1", body.apply(function, *inputs))
        node = self._flow.repeat(body._flow, self._links(f"pass repeat {body.name}", nodes), most)
        made = tuple(Node(self, (node, output)) for output in range(len(body._flow.output_names())))
        return made[0] if len(made) == 1 else made

    def connect(self, node, argument, source):
        """Puts another node in the place of an argument, by its number from 0 on."""
        if not isinstance(node, Node):
            raise _headwater.Error(f"connect: the result of a pass of the dataflow {self.name} is needed, and not {type(node).__name__}")
        (number, _), link = self._links(f"connect, argument {argument}", [node, source])
        self._flow.connect(number, argument, link)

    def output(self, name, node):
        """Makes a node an output of the flow, with a name. No two outputs have the same name."""
        (link,) = self._links(f"output {name}", [node])
        self._flow.output(name, link)

    @property
    def inputs(self):
        """Names of its inputs with their kinds."""
        return dict(self._flow.inputs_needed())

    @property
    def outputs(self):
        """Names of the outputs."""
        return self._flow.output_names()

    def check(self):
        """Checks the flow as a whole: arguments, kinds, parameters, circles. Running does so too, before anything runs."""
        self._flow.check()

    def run(self, *outputs, progress=None, **inputs):
        """Runs what some outputs need, or all, and returns them by name. Inputs are given by name.

        progress is called with (pass, state, done, of), where state is begins, done or known; True prints it in lines on
        standard error. Ctrl-C ends the run within a second, also within a pass; results that are complete remain cached.
        """
        return self._flow.run(list(outputs) or None, inputs, _told(progress))

    def values(self, nodes, *, progress=None, **inputs):
        """Runs what some nodes need, and returns their values."""
        return self._flow.values(self._links("the dataflow", nodes), inputs, _told(progress))

    def forget(self):
        """Frees the cached results and their runs."""
        self._flow.forget()

    def json(self):
        """The flow as JSON. Python functions are in it by name, with a number if another one has the same name."""
        return self._flow.json()

    def save(self, path):
        """Writes the flow as JSON, or drawn where the path ends in .svg."""
        text = self.svg() if os.fspath(path).endswith(".svg") else self.json()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    @classmethod
    def load(cls, path, functions=()):
        """Reads a flow that was saved; functions of Python's that it uses are given again, as to ``from_json``."""
        with open(path, encoding="utf-8") as file:
            return cls.from_json(file.read(), functions)

    @classmethod
    def from_json(cls, text, functions=()):
        """Reads a flow from JSON; functions of Python's that it uses are given again, each by itself or as (function, number of
        sets it returns). Where several have one name, as all lambdas have, they are given by the names that the JSON has for
        them: ``{"<lambda>": first, "<lambda> 2": second}``. How many sets they return, and whether these are cached, was saved.
        """
        saved = _headwater.Flow.functions_of(text)
        if not isinstance(functions, dict):
            functions = _by_name(functions, {name for name, _, _ in saved})
        own = []
        for name, gives, cached in saved:
            if name not in functions:
                there = ", ".join(name for name, _, _ in saved)
                raise _headwater.Error(f"argument functions: the saved dataflow needs the function {name}, which is not given; its functions are {there}")
            function = functions[name]
            function, returned = function if isinstance(function, tuple) else (function, gives)
            arguments, more = _arguments(function, None)
            own.append((name, function, arguments, more, returned, cached))
        return cls._of(_headwater.Flow.from_json(text, own))

    def svg(self):
        """The flow drawn, from its inputs at the top to its outputs."""
        return self._flow.svg()

    def _repr_svg_(self):
        return self.svg()

    def __len__(self):
        return len(self._flow)

    def __str__(self):
        return str(self._flow)

    def __repr__(self):
        return f"<Flow {self.name}: {len(self)} nodes>"


def _by_name(functions, wanted):
    """Functions, or (function, number of sets), by the function's name, which of those that are wanted is that of one alone."""
    found = {}
    for given in functions:
        name = _name(given[0] if isinstance(given, tuple) else given)
        if name in found and name in wanted:
            raise _headwater.Error(
                f"argument functions: several have the name {name}; give them by their names in the saved dataflow, as {{name: function}}"
            )
        found[name] = given
    return found


def _name(function):
    """The name of a function; of what ``functools.partial`` made, that of the function in it."""
    if not callable(function):
        raise _headwater.Error(f"argument function: a function of sets is needed, and not {type(function).__name__}")
    inner = getattr(function, "func", function)
    return getattr(function, "__name__", None) or getattr(inner, "__name__", None) or type(function).__name__


def _arguments(function, given):
    """Names of the arguments of a function for sets, for messages, and whether the last may come several times."""
    import inspect

    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        # Some built-in functions have no signature.
        return [f"V{i + 1}" for i in range(given or 1)], given is None
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in places]
    rest = [p.name for p in parameters if p.kind == p.VAR_POSITIONAL]
    if given is not None:
        # Arguments with a value of their own need not be given.
        needed = sum(p.default is p.empty for p in places)
        if given > len(names) and not rest:
            raise _headwater.Error(f"pass {_name(function)} takes {len(names)} sets, and {given} are given")
        names = (names + rest)[: max(given, needed)]
    elif rest:
        names += rest
    return names, bool(rest)


def _told(progress):
    if progress is True:
        import sys

        def progress(name, state, done, of):
            if state == "done":
                print(f"headwater: {name} ({done} of {of})", file=sys.stderr)

    return progress or None
