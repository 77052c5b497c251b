"""Paradigms give what the command gives, byte for byte."""

import subprocess

import headwater as hw
import pytest


@pytest.mark.parametrize("name", hw.paradigms.names())
def test_the_json_is_that_of_the_command(name, both, directories):
    command, _, takes = hw.paradigms.table()[name]
    wanted = {"one": [4], "two": [2, 4], "several": [2, 4]}[takes]
    given = [directories[ranks] for ranks in wanted]
    line = [hw.command(), "analyse", command, "--json"] + [str(path) for path in given]
    said = subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout.decode()
    runs = [run for run in both if run.ranks in wanted]
    assert getattr(hw.paradigms, name)(*runs).json() == said
    assert hw.analyse(command, *given).json() == said


def test_a_diagnosis_is_that_of_the_command(directories):
    given = [directories[2], directories[4]]
    line = [hw.command(), "diagnose", "--json"] + [str(path) for path in given]
    said = subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout.decode()
    diagnosis = hw.diagnose(*given)
    assert diagnosis.json() == said and diagnosis.data["causes"] is not None and str(diagnosis)


def test_a_paradigm_is_a_flow(run):
    flow = hw.paradigms.flow("communication")
    assert list(flow.inputs) == ["run1"] and "breakdown" in str(flow)
    report = hw.paradigms.communication(run)
    assert [section.name for section in report.sections] == flow.outputs
    told = flow.run(run1=run)["hotspots"]
    assert told.rows == report["hotspots"].rows and "communication of zeus" in str(report)
