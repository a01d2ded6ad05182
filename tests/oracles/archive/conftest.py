"""Generated logs and the archive that an undisturbed job makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from groupcheck.oracles.archive.on_spark import replay_on
from groupcheck.oracles.archive.pipeline import update
from groupcheck.oracles.generate.dialects import DIALECTS
from groupcheck.oracles.generate.files import Order, generate
from groupcheck.oracles.spark.session import OnDemand


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs in every dialect, some packed."""
    folder = tmp_path_factory.mktemp("generated")
    brokers = tuple(name for name in DIALECTS if name != "requests")
    generate(folder / "plain", Order(groups=24, size=3 << 20, files=12, dialects=brokers, runs=1))
    generate(
        folder / "packed",
        Order(
            groups=2,
            size=200_000,
            files=2,
            dialects=("requests", "java-4"),
            seed=1,
            packed=True,
            runs=1,
        ),
    )
    return folder


@pytest.fixture(scope="module")
def spark() -> Iterator[OnDemand]:
    with OnDemand("local[2]") as late:
        yield late


@pytest.fixture(scope="module")
def archive(spark: OnDemand, generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated logs, replayed undisturbed."""
    folder = tmp_path_factory.mktemp("archive")
    update(str(folder), [generated], replay_on(spark, str(folder)))
    return folder
