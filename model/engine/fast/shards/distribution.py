"""How the work of a distributed search was spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import asdict

from groupcheck.model.engine.fast.shards.manifests import LevelCost


def distribution(
    costs: Sequence[LevelCost], sizes: Sequence[int], store: str, retries: int
) -> Mapping[str, Any]:
    """As plain JSON. `sizes`: states of each shard; `store`: its URI as it may be shown."""
    return {
        "shards": len(sizes),
        "store": store,
        "handed_over_at_level": costs[0].level if costs else None,
        "states_per_shard": list(sizes),
        "skew": max(sizes) * len(sizes) / max(1, sum(sizes)),
        "retries": retries,
        "bytes_exchanged": sum(c.written for c in costs),
        "levels": [asdict(c) for c in costs],
    }


def in_words(spread: Mapping[str, Any]) -> str:
    """The same in words."""
    levels = spread["levels"]
    if not levels:
        return f"{spread['shards']} shards, no level was completed over them"
    seconds = sum(c["seconds"] for c in levels)
    rate = sum(c["states"] for c in levels) / max(seconds, 1e-3)
    return (
        f"from level {spread['handed_over_at_level']} on over {spread['shards']} shards"
        f" (skew {spread['skew']:.2f}): {rate:,.0f} states/s,"
        f" {spread['bytes_exchanged'] / 2**20:,.0f} MiB written, {spread['retries']} calls"
        f" repeated, longest level {max(c['seconds'] for c in levels):.1f} s"
    )
