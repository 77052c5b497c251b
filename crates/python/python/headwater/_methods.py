"""Methods of the Rust side's classes that are easier said in Python: other libraries' tables, and what notebooks show."""

from . import _headwater


def version():
    """The version of this package."""
    return _headwater.VERSION


def to_polars(self):
    """As a polars ``DataFrame``: figures without a copy where the set is all of its view, words as categories of polars' own."""
    import polars

    return polars.DataFrame(self)


def to_pyarrow(self):
    """As a pyarrow ``Table``, without a copy where the set is all of its view; of a part of it the rows are copied once."""
    import pyarrow

    return pyarrow.table(self)


def to_pandas(self):
    """As a pandas ``DataFrame`` with Arrow's types: the buffers of ``to_pyarrow()``."""
    import pandas

    return to_pyarrow(self).to_pandas(types_mapper=pandas.ArrowDtype)


def draw(self):
    """The set's vertices and edges drawn: ranks side by side, time from the top down. ``save(path)`` writes it as SVG."""
    from . import _display

    return _display.path(self)


def heat_map(self, metric="time"):
    """A metric over ranks drawn: a row for each vertex, a column for each rank. ``save(path)`` writes it as SVG."""
    from . import _display

    return _display.heat_map(self, metric)


def _set_html(self):
    from . import _display

    return _display.set_html(self)


def _table_html(self):
    from . import _display

    return _display.table_html(self)


def _report_html(self):
    from . import _display

    return _display.report_html(self)


def _diagnosis_data(self):
    """What the JSON says."""
    import json

    return json.loads(self.json())


def _diagnosis_html(self):
    from . import _page

    return _page.framed(self)


def show(self, source=None):
    """Shows the page of the diagnosis: inside a notebook, or else in the browser.

    It is the page of ``headwater view``. A run shows its own diagnosis, ``diagnose(*runs).show()`` that of several scales.
    For the browser, the page is a file in the directory for temporary files, which only its user may read. If no browser
    can be opened, the address is printed. Source lines are those of ``text``.
    """
    from . import _page

    _page.show(_headwater.diagnose(self) if isinstance(self, _headwater.Run) else self, source)


for _kind in (_headwater.Set, _headwater.Table):
    _kind.to_polars = to_polars
    _kind.to_pyarrow = to_pyarrow
    _kind.to_pandas = to_pandas
_headwater.Set.draw = draw
_headwater.Set.heat_map = heat_map
_headwater.Set._repr_html_ = _set_html
_headwater.Table._repr_html_ = _table_html
_headwater.Report._repr_html_ = _report_html
_headwater.Diagnosis.data = property(_diagnosis_data)
_headwater.Diagnosis._repr_html_ = _diagnosis_html
for _kind in (_headwater.Diagnosis, _headwater.Run):
    _kind.show = show
