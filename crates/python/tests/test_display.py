"""What notebooks show."""

import xml.etree.ElementTree as tree

import headwater as hw


def test_sets_tables_and_reports_are_tables(run):
    for shown in (run.V, run.E, hw.paradigms.communication(run), hw.paradigms.communication(run)["hotspots"]):
        html = shown._repr_html_()
        assert "<table" in html and html.count("<tr") == html.count("</tr>")
    assert "an empty set" in run.V.filter(name="no such")._repr_html_()
    escaped = hw.make([{"name": "a<b>&c"}])._repr_html_()
    assert "a&lt;b&gt;&amp;c" in escaped


def test_ways_and_heat_maps_are_svg(run):
    late = hw.imbalance(run.parallel).top(3)
    way = hw.backtracking(late)
    for drawing in (way.draw(), run.V.sort_by("time").top(5).heat_map(), run.V.top(0).heat_map(), run.V.top(0).draw()):
        tree.fromstring(drawing._repr_svg_())
    tree.fromstring(hw.paradigms.flow("causal")._repr_svg_())


def test_a_walk_that_goes_in_a_circle_is_drawn():
    circle = hw.make([{"name": "a"}, {"name": "b"}], [(0, 1, {}), (1, 0, {})])
    tree.fromstring(circle.draw())
