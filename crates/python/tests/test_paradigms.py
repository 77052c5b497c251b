"""Paradigms and the diagnosis give what the command gives, byte for byte."""

import os
import subprocess

import headwater as hw
import pytest

from conftest import TESTBED

#: Programs of the testbed: uneven work in C, a lock between threads, and work in Fortran that does not shrink.
PROGRAMS = ["bins", "noshrink", "zeus"]


def command(*words):
    """What the command prints where nobody says how wide it may be."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    line = [hw.command(), *map(str, words)]
    return subprocess.run(line, check=True, stdout=subprocess.PIPE, env=environment).stdout.decode()


@pytest.fixture(scope="module")
def opened(recorded):
    """The runs of each program, opened together."""
    return {program: hw.open(*runs.values()) for program, runs in recorded.items()}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", hw.paradigms.names())
def test_the_json_is_that_of_the_command(name, program, opened, recorded):
    word, _, takes, _ = hw.paradigms.table()[name]
    given = list(recorded[program].values())[-1 if takes == "one" else 0 :]
    said = command("analyse", word, "--json", *given)
    runs = opened[program][-len(given) :]
    assert getattr(hw.paradigms, name)(*runs).json() == said
    assert hw.analyse(word, *given).json() == said


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_diagnosis_is_that_of_the_command(program, opened, recorded):
    given = list(recorded[program].values())
    diagnosis = hw.diagnose(*given)
    assert diagnosis.json() == command("diagnose", "--json", *given) == hw.diagnose(*opened[program]).json()
    assert str(diagnosis) == command("diagnose", *given)
    assert diagnosis.data["causes"] and f"{len(diagnosis.data['causes'])} causes" in repr(diagnosis)


def test_a_directory_of_runs_means_all_of_them_by_their_ranks(directories, tmp_path):
    for ranks, path in directories.items():
        (tmp_path / f"{9 - ranks}").symlink_to(path)
    opened = hw.open(tmp_path)
    assert [run.ranks for run in opened] == sorted(directories)
    assert hw.diagnose(tmp_path).json() == hw.diagnose(*directories.values()).json() == hw.diagnose(*opened).json()


def test_a_diagnosis_shows_lines_of_source_where_they_may_be_shown(directories, tmp_path):
    diagnosis, line = hw.diagnose(directories[2], directories[4]), "x[i] = 0.3 * x[i + 1] + 0.7 * x[i];"
    assert line in str(diagnosis)
    assert line in diagnosis.text(source=[TESTBED]) and line not in diagnosis.text(source=[tmp_path])
    given = directories[2], directories[4]
    assert diagnosis.text(source=[tmp_path]) == command("diagnose", "--source", tmp_path, *given)
    assert diagnosis.text(source=[]) == command("diagnose", "--no-source", *given)
    with pytest.raises(TypeError):
        diagnosis.text(source=str(TESTBED))


def test_settings_are_those_of_the_command(both, directories):
    given = list(directories.values())
    loose = ["--abnorm-threshold", "9", "--scaling", "weak"]
    diagnosis = hw.diagnose(*both, abnorm_threshold=9.0, scaling="weak")
    assert diagnosis.json() == command("diagnose", "--json", *loose, *given) != hw.diagnose(*both).json()
    assert diagnosis.text(top=1) == command("diagnose", *loose, "--top", 1, *given)
    ours = hw.paradigms.scalability(*both, abnorm_threshold=9.0, scaling="weak")
    assert ours.json() == command("analyse", "scalability", "--json", *loose, *given)
    assert hw.paradigms.efficiencies(*both, scaling="weak").json() == command("analyse", "efficiencies", "--json", "--scaling", "weak", *given)


def test_runs_keep_the_depth_that_they_were_opened_with(directories):
    run = hw.open(directories[4], max_loop_depth=1)
    said = command("analyse", "critical-path", "--json", "--max-loop-depth", 1, directories[4])
    assert hw.paradigms.critical_path(run).json() == said
    assert hw.paradigms.critical_path(hw.open(directories[4]), max_loop_depth=1).json() == said
    flat = command("diagnose", "--json", "--max-loop-depth", 1, directories[4])
    assert hw.diagnose(run).json() == flat == hw.diagnose(directories[4], max_loop_depth=1).json()
    with pytest.raises(hw.Error, match="different max_loop_depth"):
        hw.paradigms.scalability(run, hw.open(directories[2]))


def test_runs_are_found_wherever_python_goes(directories, tmp_path, monkeypatch):
    monkeypatch.chdir(directories[4].parent)
    run, name = hw.open(directories[4].name), directories[2].name
    monkeypatch.chdir(tmp_path)
    assert run.path == directories[4]
    assert hw.diagnose(directories[2], run).json() == hw.diagnose(*directories.values()).json()
    with pytest.raises(hw.Error, match=f"^{name}"):
        hw.open(name)


def test_a_paradigm_is_a_flow(run):
    flow = hw.paradigms.flow("communication")
    assert list(flow.inputs) == ["run1"] and "breakdown" in str(flow)
    report = hw.paradigms.communication(run)
    assert [section.name for section in report.sections] == flow.outputs
    results = flow.run(run1=run)["hotspots"]
    assert results.rows == report["hotspots"].rows and "communication of zeus" in str(report)


def test_a_flow_of_a_paradigm_is_for_the_runs_that_it_takes():
    assert list(hw.paradigms.flow("differential").inputs) == ["run1", "run2"]
    assert list(hw.paradigms.flow("causal").inputs) == ["run1"]
    assert len(hw.paradigms.flow("scalability", 3).inputs) == 3
    for name, runs in (("differential", 3), ("differential", 1), ("causal", 2), ("scalability", 0)):
        with pytest.raises(hw.Error, match=f"{runs} were given"):
            hw.paradigms.flow(name, runs)
