"""Brokers that can be had here, started for as long as they are judged."""

from groupcheck.oracles.judge.brokers.kinds import KINDS
from groupcheck.oracles.judge.brokers.starting import Broker, start

__all__ = ["KINDS", "Broker", "start"]
