"""Runs the analyses of docs/GUIDE.md and puts what they say, and draw, into it: `cargo xtask guide`.

Each block of Python runs in the directory of the recorded runs, all in one namespace; the block of text that follows it is
what it prints. Drawings that it saves go to docs/guide/.
"""

import contextlib
import io
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/GUIDE.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(\n```text\n.*?```\n)?", re.S)


def renewed(text, directory):
    """The guide with what its blocks print now."""
    scope = {"__name__": "guide"}

    def run(match):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(match.group(1), "docs/GUIDE.md", "exec"), scope)
        out = "\n".join(line.rstrip() for line in said.getvalue().replace(f"{directory}/", "").splitlines())
        result = f"\n```text\n{out.strip()}\n```\n" if out.strip() else ""
        return f"```python\n{match.group(1)}```\n{result}"

    return BLOCK.sub(run, text)


if __name__ == "__main__":
    directory = pathlib.Path(sys.argv[1]).resolve()
    os.chdir(directory)
    text = renewed(GUIDE.read_text(encoding="utf-8"), directory)
    GUIDE.write_text(text, encoding="utf-8")
    (ROOT / "docs/guide").mkdir(exist_ok=True)
    for drawing in directory.glob("*.svg"):
        (ROOT / "docs/guide" / drawing.name).write_text(drawing.read_text(encoding="utf-8"), encoding="utf-8")
