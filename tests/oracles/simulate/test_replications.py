"""Replications in several processes, as far as they are done, and how long a run lasts."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.processes import parallel
from groupcheck.oracles.simulate import Setup, compare, distribution, simulate, with_settings
from groupcheck.oracles.simulate import replications as replicated
from groupcheck.oracles.simulate.progress import progress_line
from groupcheck.oracles.simulate.replications import Progress
from groupcheck.oracles.simulate.simulation import LEAST_S, lasting

SMALL = [Setup(variant=v, members=4, partitions=4) for v in ("classic", "cooperative")]


def test_the_number_of_processes_changes_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = compare(SMALL, 3, seed=5)
    monkeypatch.setattr(parallel, "WORTH_S", 0.0)
    assert compare(SMALL, 3, seed=5, workers=2) == alone


def _ends(number: int) -> int:
    if number == 1:
        os._exit(1)
    if number == 2:
        raise UserError("what", where="where")
    return number


@pytest.mark.parametrize(("task", "error"), [(1, OutageError), (2, UserError)])
def test_a_process_that_ends_or_fails_is_an_error(
    task: int, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "WORTH_S", 0.0)
    with pytest.raises(error):
        list(parallel.results(_ends, [0, 3, task], 2, lambda number: number))


def _until_interrupted(count: int) -> Any:
    """In place of `results`: Ctrl-C after so many runs, which are not done in their order."""

    def results(
        run: Any, tasks: Sequence[Setup], workers: int, here: Any
    ) -> Iterator[tuple[int, Any]]:
        for k in [1, 0, *range(2, len(tasks))][:count]:
            yield k, run(tasks[k])
        raise KeyboardInterrupt

    return results


def test_after_ctrl_c_the_whole_replications_are_the_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = compare(SMALL, 2).rows
    monkeypatch.setattr(replicated, "results", _until_interrupted(5))
    assert compare(SMALL, 20, least=1).rows == whole
    with pytest.raises(KeyboardInterrupt):
        compare(SMALL, 20)
    with pytest.raises(KeyboardInterrupt):
        compare(SMALL, 20, least=3)
    asked = ["simulate", "--members", "4", "--compare", "classic,cooperative", "--json"]
    assert cli.run([*asked, "--replications", "8"]) == 3
    said = json.loads(capsys.readouterr().out)
    assert (said["verdict"], said["replications"]) == ("unknown", 2)
    assert said["reason"].startswith("interrupted after 2 of 8 replications")


@pytest.mark.parametrize(("command", "least"), [("advise", 2), ("curve initial-delay --at 3s", 1)])
def test_advice_and_curves_end_early_as_well(
    command: str,
    least: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [*command.split(), "--members", "2"]
    counted: list[int] = []

    def results(run: Any, tasks: Sequence[Setup], workers: int, here: Any) -> Iterator[Any]:
        seeds = sorted({one.seed for one in tasks})
        counted.append(len(seeds))
        for k, task in enumerate(tasks):
            if task.seed == seeds[least]:
                raise KeyboardInterrupt
            yield k, run(task)

    monkeypatch.setattr(replicated, "results", results)
    assert cli.run([*words, "--json"]) == 3
    said = json.loads(capsys.readouterr().out)
    assert (said["verdict"], said["replications"]) == ("unknown", least)
    assert counted[0] > least
    assert cli.run(words) == 3
    unknown = f"Unknown: interrupted after {least} of "
    shown = capsys.readouterr().out.splitlines()
    assert [k for k, line in enumerate(shown) if line.startswith(unknown)] in ([0], [3]), shown


def test_a_run_that_is_alone_ends_between_two_events_after_ctrl_c() -> None:
    heard: list[Progress] = []

    def interrupts(progress: Progress) -> None:
        heard.append(progress)
        if len(heard) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    long = Setup(members=20, partitions=20, scenario="rolling-restart")
    found = compare([long], least=1, report=interrupts)
    (result,) = found.rows[0].results
    assert result.cut and result.settled_ms is None and result.ended_ms < 300_000
    assert found.verdict == "unknown" and found.reason.startswith("interrupted after")
    assert 0 < heard[1].done < 1 and signal.getsignal(signal.SIGINT) == before


def test_a_first_figure_comes_early() -> None:
    heard: list[Progress] = []
    compare(SMALL, 3, report=heard.append)
    known = [(one.done, len(one.results[0])) for one in heard if one.done == int(one.done)]
    assert known == [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (6, 3)]
    assert progress_line(3, 6, 10.0, "pause 3 s") == "run 4 of 6, about 10 s left; pause 3 s"
    assert progress_line(0, 6, 0.0) == "run 1 of 6"


# -- how long a run lasts, and what it says then


def test_a_run_that_stops_before_the_group_rests_is_unknown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["simulate", "--scenario", "rolling-restart", "--members", "4", "--seconds", "12s"]
    assert cli.run(asked) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "Unknown: the group did not come to rest within 12 s of virtual time" in said
    assert "until the group rests unknown" in said and "never" not in said
    assert cli.run([*asked, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["verdict"] == "unknown"
    # A group that rests between two restarts has not come to rest.
    found = simulate(Setup(members=2, partitions=2, scenario="rolling-restart", seconds=13))
    assert found.settled_ms is None


def test_the_default_is_long_enough_for_the_scenario() -> None:
    assert lasting(Setup()).seconds == LEAST_S
    for setup in (
        Setup(members=3, scenario="rolling-restart").with_(restart_ms=2_000_000),
        Setup(members=3, scenario="slow-message").with_(stall_ms=distribution("constant:2h")),
        Setup(members=3, scenario="crash").with_(session_timeout_ms=3_000_000),
    ):
        found = simulate(setup)
        assert found.settled_ms is not None and not found.cut, setup
        assert found.settled_ms > 1000 * LEAST_S


def test_a_rolling_restart_restarts_all_members_by_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    setup = Setup(members=5, partitions=5, scenario="rolling-restart")
    every = simulate(setup)
    assert every.rounds == 2 * 5
    assert every.measures == simulate(setup.with_(changed_members=5)).measures
    assert simulate(setup.with_(changed_members=1)).rounds == 2
    asked = ["simulate", "--scenario", "rolling-restart", "--members", "5", "--json"]
    assert cli.run(asked) == 0
    assert json.loads(capsys.readouterr().out)["assumptions"]["changed_members"] == 5


# -- units


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"session_timeout_ms": "30s"}, "session_timeout_ms", 30_000),
        ({"session.timeout.ms": "30000ms"}, "session_timeout_ms", 30_000),
        ({"group.initial.rebalance.delay.ms": "0.5m"}, "initial_rebalance_delay_ms", 30_000),
        ({"rebalance.timeout.ms": "1h"}, "max_poll_interval_ms", 3_600_000),
        ({"group_age_s": "2h"}, "group_age_s", 7_200),
        ({"pause_every_s": "500ms"}, "pause_every_s", 0.5),
        ({"stall_ms": "uniform:5m,600s"}, "stall_ms", distribution("uniform:300000,600000")),
        ({"network_ms": "2s"}, "network_ms", distribution(2_000)),
    ],
)
def test_a_time_may_have_a_unit(given: dict[str, str], name: str, value: object) -> None:
    assert getattr(with_settings(given), name) == value


@pytest.mark.parametrize(
    "given", [{"records_per_s": "3s"}, {"bytes_per_ms": "3ms"}, {"network_ms": "lognormal:3,1s"}]
)
def test_what_is_no_time_has_none(given: dict[str, str]) -> None:
    with pytest.raises(UserError):
        with_settings(given)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("curve initial-delay --at 3x", "'3x' is neither a time such as 30s, nor a number of ms"),
        ("curve session-ratio --at 3s", "'3s' is not a number"),
        ("curve sesion-ratio", "Did you mean session-ratio?"),
        ("simulate --scenario rolling-restrat", "Did you mean rolling-restart?"),
        ("simulate --seconds soon", "'soon' is no time"),
        ("advise --replications 1", "1 is not in the range 2<=x<=1000"),
        ("simulate --set session.timeout.ms=1 --set session_timeout_ms=2", "is given twice"),
    ],
)
def test_what_is_mistyped_is_named(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(words.split()) == 2
    assert said in capsys.readouterr().err
