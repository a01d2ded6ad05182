"""The picture of docs/simulate.md of a lag as time: a group that is 6,600 s behind has a sick host,
natively and with the asynchronous coordinator, beside what an article's two pictures show.

    python docs/generate/lag_pictures.py docs/lag.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

from groupcheck.model.engine.values import unremembered
from groupcheck.oracles.simulate import Setup, with_settings
from groupcheck.oracles.simulate.lag import course
from groupcheck.oracles.simulate.simulation import begun
from groupcheck.oracles.simulate.uses.plots import fixed, saved

BACKLOG_S = 6_600
ASSUMED = {"backlog_s": BACKLOG_S, "records_per_s": 50, "shared_spare": 0.143}
MINUTES, EACH_S = 40, 10
# Variant -> its title, and how high the lag rises in the article's picture (s).
PANELS = {"classic": ("native", 7_000), "async_server": ("asynchronous", 6_760)}


def lags(variant: str, members: int = 300) -> list[tuple[float, float]]:
    """The mean lag and that of the worst partition, in s, each `EACH_S` seconds."""
    setup = Setup(
        variant=variant,
        scenario="sick-host",
        members=members,
        partitions=members,
        assumptions=with_settings(ASSUMED),
    )
    times = [1000.0 * s for s in range(0, 60 * MINUTES + 1, EACH_S)]
    with unremembered():
        group = begun(setup)
        group.clock.run(times[-1])
    told = course(group.observer.turns, members, times, setup.assumptions)
    return [(mean / 1000, most / 1000) for mean, most in told]


def drawn() -> bytes:
    from matplotlib.figure import Figure

    with fixed():
        figure = Figure(figsize=(10, 3.6), layout="tight")
        for at, (variant, (title, top)) in enumerate(PANELS.items()):
            axes = figure.add_subplot(1, 2, at + 1)
            told = lags(variant)
            minutes = [k * EACH_S / 60 for k in range(len(told))]
            axes.plot(minutes, [most for _, most in told], label="ours, worst partition")
            axes.plot(minutes, [mean for mean, _ in told], label="ours, mean")
            for level in (BACKLOG_S, top):
                axes.axhline(level, color="grey", linestyle="--", linewidth=0.8)
            axes.annotate(f"article: up to {top:,} s", (MINUTES, top), ha="right", va="bottom")
            axes.set_ylim(6_200, 7_100)
            axes.set_title(title, fontsize=10)
            axes.set_xlabel("minutes since a host fell sick")
            axes.set_ylabel("lag (s)")
            axes.legend(fontsize=8, loc="lower left")
        return saved(figure, "svg")


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(drawn())
