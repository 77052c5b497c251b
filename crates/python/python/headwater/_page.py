"""The page of a diagnosis: in a frame inside a notebook, or as a file in the browser."""

import os
import pathlib
import sys
import tempfile
import webbrowser

from . import _display

#: Height of the page inside a notebook, pixels.
_HEIGHT = 720

#: What says that there is a display, as `headwater view` asks.
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def framed(diagnosis, source=None):
    """The page in a frame, and the text report below it.

    The frame is a sandbox: the page's script runs, but cannot reach the notebook. A notebook that is not trusted shows no
    frames, so there the text report remains.
    """
    page = diagnosis.page(source)
    # The page has many double quotes, and few others.
    attribute = page.replace("&", "&amp;").replace("'", "&#39;")
    text = _display.escaped(diagnosis.text(source=source))
    return (
        f"<iframe title='Diagnosis' sandbox='allow-scripts allow-downloads' srcdoc='{attribute}' "
        f"style='width:100%;height:{_HEIGHT}px;border:1px solid #888'></iframe>"
        f"<details><summary>Text report</summary><pre>{text}</pre></details>"
    )


def _notebook():
    """IPython, if this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def show(diagnosis, source=None):
    """Shows the page where the user is."""
    if _notebook():
        from IPython.display import HTML, display

        display(HTML(framed(diagnosis, source)))
        return
    page = diagnosis.page(source)
    # Only its user may read such a file.
    descriptor, path = tempfile.mkstemp(prefix="headwater-", suffix=".html")
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(page)
    address = pathlib.Path(path).as_uri()
    if not _opened(address):
        print(address)


def _opened(address):
    """Whether a browser opens it. A browser in the terminal would run no script."""
    graphical = sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in _DISPLAYS)
    return graphical and webbrowser.open(address)
