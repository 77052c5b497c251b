"""What notebooks show: tables as HTML, ways through a run and heat maps of ranks as SVG."""

from . import _headwater, passes

_ROWS = 20
_FONT = "font-family:ui-sans-serif,system-ui,sans-serif;font-size:12px"


def escaped(text):
    """Text for HTML and SVG."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


class Drawing(str):
    """A drawing as SVG; notebooks show it."""

    def _repr_svg_(self):
        return str(self)

    def __repr__(self):
        return f"<Drawing of {len(self)} characters of SVG>"

    def save(self, path):
        """Writes it into a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)


def seconds(x):
    """Seconds with three figures and the unit that fits."""
    for unit, least in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(x) >= least:
            value = x / least
            digits = max(0, 2 - len(str(int(abs(value)))) + 1)
            return f"{value:.{digits}f} {unit}"
    return f"{x * 1e9:.0f} ns" if x else "0 s"


def _shown(value, unit):
    if value is None or value != value:
        return "–"
    if isinstance(value, str):
        return value
    if unit == "seconds":
        return seconds(value)
    if unit == "share":
        return f"{100 * value:.1f} %"
    if unit == "ratio":
        return f"{value:.2f}"
    if unit == "bytes":
        for word in ("B", "KiB", "MiB", "GiB"):
            if abs(value) < 1024 or word == "GiB":
                return f"{value:.0f} {word}" if word == "B" else f"{value:.1f} {word}"
            value /= 1024
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def table_html(table, rows=_ROWS):
    """A table as HTML."""
    columns, held = table.columns, table.rows
    words = [any(isinstance(row[name], str) for row in held) for name, _, _ in columns]
    cell = "padding:2px 10px;border:none;white-space:nowrap;"
    side = ["text-align:left;" if w else "text-align:right;" for w in words]
    out = [f'<table style="{_FONT};border-collapse:collapse">']
    if table.title:
        out.append(f'<caption style="text-align:left;font-weight:bold;padding:4px 10px">{escaped(table.title)}</caption>')
    heads = (f'<th style="{cell}{s}border-bottom:1px solid #888">{escaped(title)}</th>' for (_, title, _), s in zip(columns, side))
    out.append("<thead><tr>" + "".join(heads) + "</tr></thead><tbody>")
    for row in held[:rows]:
        cells = (f'<td style="{cell}{s}">{escaped(_shown(row[name], unit))}</td>' for (name, _, unit), s in zip(columns, side))
        out.append("<tr>" + "".join(cells) + "</tr>")
    out.append("</tbody></table>")
    if len(held) > rows:
        out.append(f'<div style="{_FONT};color:#777;padding:2px 10px">… and {len(held) - rows} more</div>')
    if table.note:
        out.append(f'<div style="{_FONT};color:#777;padding:2px 10px;max-width:60em">{escaped(table.note)}</div>')
    return "".join(out)


def report_html(report):
    """A report as HTML: its notes and tables."""
    out = [f'<div style="{_FONT};font-weight:bold;font-size:14px">{escaped(report.paradigm)}</div>']
    out += [f'<div style="{_FONT};padding:2px 10px">{escaped(note)}</div>' for note in report.notes]
    return "".join(out + [table_html(table) for table in report.sections])


_USUAL = ("name", "type", "debug-info", "rank", "thread", "time", "wait", "count", "bytes")
_ADDED = ("excess", "late_ranks", "reason", "on_path", "imbalance", "community", "component", "cluster")


def set_html(held):
    """A set as HTML: the first vertices, or edges, with the attributes that are looked at most."""
    head = f'<div style="{_FONT};color:#777">{escaped(_counted(held))}</div>'
    if len(held.vertices):
        known = held.attributes
        usual = [a for a in _USUAL + _ADDED if a in known or a == "debug-info"]
        # What was added last is last, and is what the user looks for.
        if known and known[-1] not in usual and not known[-1].startswith(("before_", "after_")):
            usual.append(known[-1])
        if not usual:
            return head
        part = held.vertices
        shown = passes.table_of(part.top(_ROWS), attributes=[a for a in usual if _any(part.top(_ROWS), a)], title="")
        return head + table_html(shown)
    if len(held.edges):
        part = held.edges.top(_ROWS)
        wanted = ["src", "dst"] + [a for a in ("type", "kind", "count", "wait") if a in part.attributes]
        return head + table_html(passes.table_of(part, attributes=wanted, title=""))
    return head


def _any(part, attribute):
    if attribute == "debug-info":
        return any(v.location for v in part)
    return any(value is not None and value == value for value in part[attribute])


def _counted(held):
    parts = [f"{len(held.vertices):,} vertices"] if len(held.vertices) else []
    parts += [f"{len(held.edges):,} edges"] if len(held.edges) else []
    of = f" of {held.run_name} ({held.kind} view)" if held.run_name else ""
    return (" and ".join(parts) or "an empty set") + of


def _svg(width, height, body):
    return Drawing(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>{body}</svg>'
    )


_BOX, _GAP, _TALL, _STEP = 200, 30, 36, 64
_FEW = 60


def path(held):
    """A set's vertices and edges as SVG: ranks side by side, what is earlier in the way of the edges above."""
    # Of a set that is far too large to be drawn only the beginning is looked at.
    vertices, edges = list(held.vertices.top(_FEW)), list(held.edges.top(8 * _FEW))
    more = len(held.vertices) - len(vertices)
    known = set(vertices)
    for edge in edges:
        for end in (edge.src, edge.dst):
            if end not in known:
                known.add(end)
                vertices.append(end)
    left = max(more, len(vertices) - _FEW)
    vertices = vertices[:_FEW]
    index = {vertex: at for at, vertex in enumerate(vertices)}
    ends = [(index[e.src], index[e.dst], e) for e in edges if e.src in index and e.dst in index]
    lane_of = _lanes(vertices)
    level = _levels(lane_of, ends)
    at = {i: (lane_of[i] * (_BOX + _GAP) + _GAP, row * _STEP + 34) for i, row in enumerate(level)}
    lanes = sorted({(lane_of[i], _lane_name(v)) for i, v in enumerate(vertices)})
    width = (len(lanes) or 1) * (_BOX + _GAP) + _GAP
    height = max((y for _, y in at.values()), default=0) + _TALL + 24
    out = ['<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#b4380b"/></marker><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#666"/></marker></defs>']
    for lane, name in lanes:
        out.append(f'<text x="{lane * (_BOX + _GAP) + _GAP + _BOX // 2}" y="18" text-anchor="middle" fill="#555">{escaped(name)}</text>')
    for src, dst, edge in ends:
        out.append(_line(at[src], at[dst], edge))
    most = max((_time(v) for v in vertices), default=0.0)
    for i, vertex in enumerate(vertices):
        out.append(_box(at[i], vertex, most))
    if left:
        out.append(f'<text x="{_GAP}" y="{height - 6}" fill="#777">… and {left} vertices more</text>')
    return _svg(width, height, "".join(out))


def _time(vertex):
    value = vertex["time"] if "time" in vertex.keys() else 0.0
    return value if isinstance(value, float) and value == value else 0.0


def _lane_name(vertex):
    if "rank" not in vertex.keys():
        return ""
    thread = vertex["thread"] if "thread" in vertex.keys() else 0.0
    return f"rank {vertex['rank']:.0f}" + (f", thread {thread:.0f}" if thread == thread and thread else "")


def _lanes(vertices):
    def key(vertex):
        keys = vertex.keys()
        figures = [vertex[k] for k in ("rank", "thread") if k in keys]
        return tuple(x if x == x else 0.0 for x in figures)

    order = {k: i for i, k in enumerate(sorted({key(v) for v in vertices}))}
    return [order[key(v)] for v in vertices]


def _levels(lanes, ends):
    """How far below the first each vertex is, one of a lane in each row; edges that go back in a circle do not count."""
    n = len(lanes)
    level = [0] * n
    for _ in range(2 * n):
        changed = False
        for src, dst, _ in ends:
            if src != dst and level[src] >= level[dst] and level[src] < 2 * n:
                level[dst], changed = level[src] + 1, True
        taken = {}
        for i in range(n):
            if taken.setdefault((lanes[i], level[i]), i) != i:
                level[i], changed = level[i] + 1, True
        if not changed:
            break
    # Where it never settles, in a circle, two may still want one place.
    taken = set()
    for i in range(n):
        while (lanes[i], level[i]) in taken:
            level[i] += 1
        taken.add((lanes[i], level[i]))
    # In a circle levels grow without end: put them close together again.
    order = {v: i for i, v in enumerate(sorted(set(level)))}
    return [order[v] for v in level]


def _line(start, end, edge):
    between = "type" in edge.keys() and edge["type"] in ("inter-process", "inter-thread")
    wait = edge["wait"] if "wait" in edge.keys() else float("nan")
    waited = wait == wait and wait > 0
    color, tip = ("#b4380b", "tip") if waited else ("#666", "end")
    x1, x2 = start[0] + _BOX // 2, end[0] + _BOX // 2
    down = end[1] > start[1]
    y1, y2 = (start[1] + _TALL, end[1]) if down else (start[1], end[1] + _TALL)
    middle = (y1 + y2) // 2
    dash = "" if between else ' stroke-dasharray="4 3"'
    said = f"{edge['kind']}" if "kind" in edge.keys() else ""
    if waited:
        said += f", waited {seconds(wait)}"
    label = ""
    if waited:
        at = f'x="{(x1 + x2) // 2 + 4}" y="{middle + 4}"'
        # White behind it, as not all that shows SVG knows in which order to paint.
        for style in ('stroke="#fff" stroke-width="4"', f'fill="{color}"'):
            label += f"<text {at} {style}>{escaped(seconds(wait))}</text>"
    return f'<g><title>{escaped(said)}</title><path d="M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}" fill="none" stroke="{color}"{dash} marker-end="url(#{tip})"/>{label}</g>'


def _box(place, vertex, most):
    x, y = place
    share = _time(vertex) / most if most > 0 else 0.0
    name, where = _called(vertex), vertex.location or ""
    time = seconds(_time(vertex)) if "time" in vertex.keys() else ""
    middle = x + _BOX // 2
    below = f"{_cut(where, 22)}  {time}".strip()
    return (
        f'<g><title>{escaped(f"{name} {where} {time}")}</title><rect x="{x}" y="{y}" width="{_BOX}" height="{_TALL}" rx="5" fill="{_shade(share)}" stroke="#888"/>'
        f'<text x="{middle}" y="{y + 15}" text-anchor="middle" font-weight="bold" fill="{_ink(share)}">{escaped(_cut(name, 28))}</text>'
        f'<text x="{middle}" y="{y + 29}" text-anchor="middle" fill="{_ink(share)}">{escaped(below)}</text></g>'
    )


def _called(vertex):
    """What a vertex is called: its name, or its type, or else its number."""
    known = vertex.keys()
    words = (vertex[word] for word in ("name", "type") if word in known)
    return next((word for word in words if isinstance(word, str) and word), f"vertex {vertex.index}")


def _cut(text, most):
    return text if len(text) <= most else text[: most - 1] + "…"


def _shade(share):
    """From white to a dark orange, the paper's colour saturation for the severity of hotspots."""
    share = min(max(share, 0.0), 1.0)
    ends = ((255, 250, 244), (253, 174, 97), (178, 56, 11))
    low, high, part = (ends[0], ends[1], share * 2) if share < 0.5 else (ends[1], ends[2], share * 2 - 1)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(low, high))


def _ink(share):
    return "#fff" if share > 0.75 else "#222"


#: Columns of a heat map at the most: more would be too narrow to distinguish.
_COLUMNS = 256


def _columns(ranks):
    """Ranks of each column of a heat map, first and last: alike many in all of them."""
    each = -(-ranks // _COLUMNS) or 1
    return [(first, min(first + each, ranks) - 1) for first in range(0, ranks, each)]


def heat_map(held, metric):
    """A metric of vertices over ranks as SVG: each row by its own largest figure would hide which matter, so one scale.

    Where there are more ranks than columns, a column is several ranks, and shows the largest figure among them.
    """
    part = held.vertices.top(_FEW)
    columns = _columns(held.ranks)
    rows = [[max(figures[first : last + 1]) for first, last in columns] for figures in part.over_ranks(metric)]
    vertices, left = list(part), len(held.vertices) - len(part)
    most = max((max(row) for row in rows if row), default=0.0)
    size = max(4, min(28, 900 // max(len(columns), 1)))
    names = [_cut(f"{_called(v)}  {v.location or ''}".strip(), 44) for v in vertices]
    tall, label = 18, 24 + 6 * max((len(name) for name in names), default=0)
    width, height = label + len(columns) * size + 130, len(rows) * tall + 64 + 16 * bool(left)
    unit = _headwater.unit(metric)
    formatted = (lambda x: seconds(x)) if unit == "s" else (lambda x: _shown(x, "bytes" if unit == "B" else ""))
    each = columns[0][1] + 1 if columns else 1
    by = "by rank" if each == 1 else f"by rank: the largest of {each} ranks in each column"
    out = [f'<text x="{label}" y="14" fill="#555">{escaped(metric)} {by}</text>']
    for row, (name, figures) in enumerate(zip(names, rows)):
        y = 24 + row * tall
        out.append(f'<text x="{label - 8}" y="{y + 13}" text-anchor="end">{escaped(name)}</text>')
        for at, figure in enumerate(figures):
            fill = _shade(figure / most if most > 0 else 0.0)
            said = escaped(f"{_ranks(columns[at])}: {formatted(figure)}")
            out.append(f'<rect x="{label + at * size}" y="{y}" width="{size}" height="{tall - 1}" fill="{fill}"><title>{said}</title></rect>')
    y = 24 + len(rows) * tall
    every = max(1, -(-40 // size), len(columns) // 16)
    for at in range(0, len(columns), every):
        out.append(f'<text x="{label + at * size + size / 2:.0f}" y="{y + 14}" text-anchor="middle" fill="#555">{columns[at][0]}</text>')
    if left:
        out.append(f'<text x="{label}" y="{y + 32}" fill="#777">… and {left} vertices more</text>')
    # The scale.
    x = label + len(columns) * size + 20
    for step in range(20):
        out.append(f'<rect x="{x}" y="{24 + step * 4}" width="14" height="4" fill="{_shade(1 - step / 19)}"/>')
    out.append(f'<text x="{x + 20}" y="33">{escaped(formatted(most))}</text><text x="{x + 20}" y="105">0</text>')
    return _svg(width, max(height, 124), "".join(out))


def _ranks(column):
    first, last = column
    return f"rank {first}" if first == last else f"ranks {first} to {last}"
