"""What `pip install` gives: the command, its collector, and an import that costs little."""

import os
import subprocess
import sys

import headwater as hw


def test_the_command_is_installed_and_finds_its_collector():
    path = hw.command()
    assert path.startswith(sys.prefix)
    said = subprocess.run([path, "doctor", "--json"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode()
    assert os.path.realpath(f"{sys.prefix}/lib/libheadwater_collector.so") in said
    assert hw.__version__ in subprocess.check_output([path, "--version"]).decode()


def test_an_import_brings_in_nothing_large():
    code = "import sys, headwater; print(' '.join(m for m in ('numpy', 'pandas', 'polars', 'pyarrow', 'inspect', 'json', 'subprocess') if m in sys.modules))"
    assert subprocess.check_output([sys.executable, "-S", "-c", code.replace("import sys", f"import sys; sys.path[:0] = {sys.path!r}; import sys")]).decode().strip() == ""


def test_recording_tells_what_is_wrong(tmp_path):
    for cmd, said in (([], "argument cmd"), ("/no/such/program", "/no/such/program")):
        try:
            hw.record(cmd, tmp_path / "run")
        except hw.Error as error:
            assert said in str(error)
        else:
            raise AssertionError("it was recorded")
    try:
        hw.perflow.PerFlow().run(bin="./b.out", cmd="mpirun -n 4 ./a.out")
    except hw.Error as error:
        assert "./b.out" in str(error) and "argument" in str(error)
    else:
        raise AssertionError("it ran")
