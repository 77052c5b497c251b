"""Exports are what the command writes, byte for byte."""

import subprocess

import headwater as hw
import pytest


def command(format, tmp_path, *words):
    out = tmp_path / "out"
    subprocess.run([hw.command(), "export", format, "-o", out, *map(str, words)], check=True, capture_output=True)
    return out.read_bytes()


@pytest.mark.parametrize("format", [name for name, _, _ in hw.formats()])
def test_a_format_is_the_file_of_the_command(format, both, tmp_path):
    runs = both if format == "extra-p" else both[-1:]
    made = hw.export(format, *runs)
    assert made == command(format, tmp_path, *(run.path for run in runs))
    assert hw.export(format, *(run.path for run in runs)) == made


def test_a_part_can_be_chosen(run, tmp_path):
    some = hw.export("graphml", run, view="parallel", ranks="0", vertices=5)
    assert some == command("graphml", tmp_path, run.path, "--view", "parallel", "--ranks", "0", "--vertices", "5")
    sites = hw.export("csv", run, analysis="mpi-profile", table="time_by_site")
    assert sites.startswith(b"site,") or b"MPI_" in sites


@pytest.mark.parametrize(
    "arguments, said",
    [
        (dict(format="nothing"), "nothing"),
        (dict(format="speedscope", view="parallel"), "view"),
        (dict(format="graphml", view="sideways"), "argument view: there is no sideways; there are top-down, parallel"),
        (dict(format="folded", ranks="x"), "argument ranks"),
        (dict(format="csv", table="nothing"), "nothing"),
        (dict(format="csv", analysis="nothing"), "nothing"),
    ],
)
def test_what_cannot_be_is_said(arguments, said, run):
    with pytest.raises(hw.Error) as raised:
        hw.export(arguments.pop("format"), run, **arguments)
    assert said in str(raised.value)


def test_runs_are_needed():
    with pytest.raises(hw.Error):
        hw.export("speedscope")
