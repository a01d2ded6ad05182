"""For `make nightly`: every scope that a variant calls executed or conformed is executed again, row
by row. Exits with 1 unless all rows agree and every outcome was seen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from groupcheck.model.variants import load, names
from groupcheck.oracles.conform.conformance import conform
from groupcheck.oracles.conform.row_comparison import Conformance
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.show.text import as_plain


def executed() -> Iterator[Conformance]:
    """What became of each scope."""
    with Driver(long_run=True) as driver:
        for name in names():
            for scope in (*load(name).executed, *load(name).conformed):
                yield conform(name, kafka=driver.version, driver=driver, **scope)


if __name__ == "__main__":
    differ = 0
    for one in executed():
        print(as_plain(one.view()), flush=True)
        differ += one.verdict != "agrees"
    sys.exit(bool(differ))
