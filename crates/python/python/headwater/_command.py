"""The command ``headwater`` that the wheel carries, with its collector, and recording with it."""

import os
import sys


def command():
    """Path of the command ``headwater`` that came with this package; of the one in PATH where none did."""
    beside = []
    # Scripts are installed beside the interpreter, or where pip's options say; the package's list of files says where.
    beside.append(os.path.join(os.path.dirname(sys.executable), "headwater"))
    if os.access(beside[0], os.X_OK) and os.path.exists(os.path.join(sys.prefix, "lib", "libheadwater_collector.so")):
        return beside[0]
    from importlib import metadata

    try:
        files = metadata.files("headwater") or []
    except metadata.PackageNotFoundError:
        files = []
    found = [str(f.locate()) for f in files if f.name == "headwater" and f.parent.name == "bin"]
    found = [os.path.realpath(f) for f in found if os.access(f, os.X_OK)]
    if found:
        return found[0]
    import shutil

    from ._headwater import Error

    path = shutil.which("headwater")
    if path is None:
        raise Error("the command headwater is not there; install the wheel of this package, or put the command into PATH")
    return path


def record(cmd, output=None, *, cwd=None, env=None):
    """Records one run of a command, as ``headwater record -- cmd``, and opens it.

    cmd is a line, split as a shell does, or a list of words: a launcher with the program, as ``mpirun -n 4 ./app``. output
    is the directory of the run; if not given, it is named after program, ranks and job. The program's output goes where
    that of this process goes. A program that fails is no error if it was recorded: its run says which ranks did not end.
    """
    import json
    import shlex
    import subprocess
    import tempfile

    from ._headwater import Error
    from ._open import open as open_run

    words = shlex.split(cmd) if isinstance(cmd, str) else [os.fspath(word) for word in cmd]
    if not words:
        raise Error("argument cmd: there is no command")
    with tempfile.TemporaryDirectory(prefix="headwater-") as place:
        recorded = os.path.join(place, "recorded.json")
        line = [command(), "--quiet", "record", f"--json={recorded}"]
        if output is not None:
            line += ["-o", os.fspath(output)]
        running = subprocess.Popen(line + ["--"] + words, cwd=cwd, env=env, stderr=subprocess.PIPE)
        ours = []
        try:
            # What the program says goes on as it comes; what the command says last is the message if it fails.
            for said in running.stderr:
                text = said.decode(errors="replace")
                if text.startswith("headwater: "):
                    ours.append(text[len("headwater: ") :].strip())
                sys.stderr.write(text)
            code = running.wait()
        except BaseException:
            # The command ends the job; nobody asked for its run any more.
            running.terminate()
            running.wait()
            raise
        if not os.path.exists(recorded):
            raise Error(ours[-1] if ours else f"{shlex.join(words)} ended with code {code}")
        with open(recorded) as file:
            directory = json.load(file)["run"]
    return open_run(os.path.join(cwd or "", directory))
