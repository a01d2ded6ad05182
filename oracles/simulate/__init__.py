"""Timed simulation: what a rebalance costs, in seconds that members stand still.

    from groupcheck.oracles.simulate import Setup, compare, simulate

    result = simulate(Setup(variant="classic", scenario="scale-out", members=300, partitions=300))
    result.longest_pause_ms, result.settled_ms, result.rounds, result.lag.recovered_ms

    setups = [Setup(variant=v, members=300, partitions=300) for v in ("classic", "async_server")]
    both = compare(setups, replications=8, seed=1)
    both.ratio("longest_pause_ms", 1)        # Interval(mean, low, high, ...)

The protocol is the model's: its own rules fire, over its own slots, in thousands of members; no
second model of it exists here. What is added is time: `assumptions` says how long everything takes,
`scenarios` what happens, `drives` when each rule fires. All values (`Setup`, `Result`,
`Assumptions`, `Comparison`) are frozen attrs, equal setups give equal results, and
`Result.measures` has the figures by name.

Where things are: `world` (slots and rules), `clock`, `thread` and `processes` (what the two sides
of any group do), `parts` and `running` (a classic group: steps cut where a message travels) with
`coordinator`, `members` and `plan` (one plan instead of all), `consumer` (a group of KIP-848),
`observer` and `lag` (what is measured), `simulation` (one run), `compare`, `intervals` and
`sensitivity` (many), `kinds` (where each input comes from) and `article` (what others measured).

SimPy or another library of processes would have nothing to do: an event is one call of one
function, and what a process does next is for the rules to say. What a search leaves open, a
simulation must choose: a leader is drawn, and an assignor of `model/assignors` makes the plan of a
round at once. Tests cut small runs at moments without messages: the plain semantics fires the same
rules in some order, reaches the same state, and all promises hold there.
"""

from groupcheck.oracles.simulate.assumptions import Assumptions, documented, with_settings
from groupcheck.oracles.simulate.compare import Comparison, SetupResults, compare
from groupcheck.oracles.simulate.distributions import Distribution, distribution
from groupcheck.oracles.simulate.intervals import Interval
from groupcheck.oracles.simulate.lag import Lag
from groupcheck.oracles.simulate.scenarios import SCENARIOS, Action, Course, Scenario
from groupcheck.oracles.simulate.setup import Result, Setup
from groupcheck.oracles.simulate.simulation import simulate

__all__ = [
    "SCENARIOS",
    "Action",
    "Assumptions",
    "Comparison",
    "Course",
    "Distribution",
    "Interval",
    "Lag",
    "Result",
    "Scenario",
    "Setup",
    "SetupResults",
    "compare",
    "distribution",
    "documented",
    "simulate",
    "with_settings",
]
