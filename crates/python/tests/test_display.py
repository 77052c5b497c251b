"""What notebooks show."""

import html.parser
import pathlib
import stat
import urllib.parse
import urllib.request
import webbrowser
import xml.etree.ElementTree as tree

import headwater as hw
from headwater import _display


def test_sets_tables_and_reports_are_tables(run):
    for shown in (run.V, run.E, hw.paradigms.communication(run), hw.paradigms.communication(run)["hotspots"]):
        html = shown._repr_html_()
        assert "<table" in html and html.count("<tr") == html.count("</tr>")
    assert "an empty set" in run.V.filter(name="no such")._repr_html_()
    escaped = hw.make([{"name": "a<b>&c"}])._repr_html_()
    assert "a&lt;b&gt;&amp;c" in escaped


def test_names_cannot_drive_a_terminal():
    made = hw.make([{"name": "evil\x1b[2J\x07\u202e"}])
    for shown in (made, made[0]):
        assert "evil\\u001b[2J\\u0007\\u202e" in repr(shown)


def test_ways_and_heat_maps_are_svg(run):
    late = hw.imbalance(run.parallel).top(3)
    way = hw.backtracking(late)
    for drawing in (way.draw(), run.V.sort_by("time").top(5).heat_map(), run.V.top(0).heat_map(), run.V.top(0).draw()):
        tree.fromstring(drawing._repr_svg_())
    tree.fromstring(hw.paradigms.flow("causal")._repr_svg_())


def test_a_walk_that_goes_in_a_circle_is_drawn():
    circle = hw.make([{"name": "a"}, {"name": "b"}], [(0, 1, {}), (1, 0, {})])
    tree.fromstring(circle.draw())


class Ranks:
    """A set of vertices of a run on more ranks than a test records."""

    def __init__(self, vertices, ranks):
        self.held, self.ranks, self.vertices = vertices, ranks, self

    def top(self, n):
        return Ranks(self.held.top(n), self.ranks)

    def over_ranks(self, metric):
        return [[float(rank) for rank in range(self.ranks)] for _ in self.held]

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return len(self.held)


def test_a_heat_map_of_many_ranks_says_that_columns_are_several():
    many = hw.make([{"name": f"place {i}", "type": "loop"} for i in range(70)])
    few, lots = (str(_display.heat_map(Ranks(many, ranks), "time")) for ranks in (8, 100_000))
    assert "time by rank<" in few and "rank 7: 7.00 s" in few
    assert "the largest of 391 ranks in each column" in lots and "ranks 0 to 390: 390 s" in lots and "99999" in lots
    assert "… and 10 vertices more" in lots and len(lots) < 4_000_000
    tree.fromstring(lots)


def test_a_drawing_of_much_says_what_is_left_out():
    chain = hw.make([{"name": f"v{i}"} for i in range(500)], [(i, i + 1, {}) for i in range(499)])
    assert "… and 440 vertices more" in chain.draw()


def test_what_has_no_name_is_shown_by_its_number():
    assert "1 vertices" in hw.make([{}])._repr_html_()
    assert "vertex 0" in str(hw.make([{"time": 1.0}]).draw())


class Frames(html.parser.HTMLParser):
    """The attributes of frames in a piece of HTML."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "iframe":
            self.found.append(dict(attributes))


def test_a_notebook_shows_the_page_in_a_sandbox(both):
    diagnosis = hw.diagnose(*both)
    shown = diagnosis._repr_html_()
    [frame] = Frames(shown).found
    assert frame["srcdoc"] == diagnosis.page()
    assert frame["sandbox"].split() == ["allow-scripts", "allow-downloads"]
    assert str(diagnosis).splitlines()[0] in shown.replace("&gt;", ">").replace("&lt;", "<")


def test_elsewhere_the_page_is_a_private_file(run, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: not opened.append(address))
    monkeypatch.setenv("DISPLAY", ":0")
    hw.diagnose(run).show()
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    run.show(source=[])
    printed = capsys.readouterr().out.split()
    assert len(opened) == len(printed) == 1
    for address in opened + printed:
        file = pathlib.Path(urllib.request.url2pathname(urllib.parse.urlparse(address).path))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text().startswith("<!doctype html>")
