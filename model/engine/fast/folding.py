"""Which fields of a state are folded into one number, for an index that never looks at the log.

Of two fields side by side often few combinations occur: what a member and the coordinator know
follows from each other. A sample of the states shows which two give up most bits together; these
become one number, and so on, until no two gain more than a number costs to look up. How many
combinations there are in all is estimated from those that the sample shows once and twice (Chao
1984, Nonparametric estimation of the number of classes in a population), so that the sample is not
taken for everything. A wrong estimate is no loss: combinations are numbered as they are met, and
where there are more than there are numbers for, the node gets more bits, or is given up, and the
index is made again from the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from attrs import define

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.layout import Field, width_of
from groupcheck.model.engine.fast.store import Words

MOST_CELL_BITS = 22  # of the combinations of a node that are thinkable
MOST_COMBINATIONS = 1 << 15  # of a node, by the sample: a larger one it shows too badly
LEAST_GAIN = 2  # bits for which a node is worth while
SPARE_BITS = 1  # of a node's numbers, beyond those of the sample
SAMPLE, RUNS = 1 << 19, 1 << 11  # states of a sample, in so many pieces of the log


@define
class Node:
    """Two parts of a state that become one number."""

    # Each a place of the state, or behind all places a node.
    left: int
    right: int
    # Of its numbers.
    bits: int


@define
class Folding:
    """How states with some number of places become keys."""

    places: int
    nodes: list[Node]
    # Bits that each node has beyond what its maker gave it.
    spared: int = 0

    def spare(self, bits: int) -> None:
        """Gives each node so many more bits."""
        for node in self.nodes:
            node.bits += bits
        self.spared += bits

    @property
    def roots(self) -> list[int]:
        """The parts that no node takes in."""
        inside = {part for node in self.nodes for part in (node.left, node.right)}
        return [k for k in range(self.places + len(self.nodes)) if k not in inside]

    def cut(self, widths: Sequence[int]) -> None:
        """Gives up nodes whose tables would be too large, and those that they are part of."""
        kept: list[Node] = []
        now: dict[int, int] = {k: k for k in range(self.places)}
        for k, node in enumerate(self.nodes):
            if node.left in now and node.right in now:
                of_both = self.bits(node.left, widths) + self.bits(node.right, widths)
                if of_both <= MOST_CELL_BITS + 2 and node.bits < of_both:
                    now[self.places + k] = self.places + len(kept)
                    kept.append(Node(now[node.left], now[node.right], node.bits))
        self.nodes[:] = kept

    def bits(self, part: int, widths: Sequence[int]) -> int:
        """Bits of a part. `widths`: of the places."""
        return widths[part] if part < self.places else self.nodes[part - self.places].bits

    def key_bits(self, widths: Sequence[int]) -> int:
        return sum(self.bits(k, widths) for k in self.roots)

    def arrays(self, fields: Sequence[Field], words: int) -> tuple[Words, Words, int]:
        """Nodes and roots as the kernels read them, and how many cells there are. `fields`: of the
        places, in states of so many words.
        """
        nodes: list[int] = []
        cells = 0

        def where(part: int) -> tuple[int, int, int]:
            if part < self.places:
                f = fields[part]
                return f.word, f.shift, f.mask
            k = part - self.places
            return words + k, 0, (1 << self.nodes[k].bits) - 1

        widths = [f.width for f in fields]
        for node in self.nodes:
            right = self.bits(node.right, widths)
            nodes += [*where(node.left), *where(node.right), right, 1 << node.bits, cells]
            cells += 1 << (self.bits(node.left, widths) + right)
        roots: list[int] = []
        shift = 0
        for root in self.roots:
            roots += [*where(root), shift]
            shift += self.bits(root, widths)
        assert len(nodes) == r.NODE_WORDS * len(self.nodes)
        return np.array(nodes, np.uint64), np.array(roots, np.uint64), cells


def folding_of(columns: Sequence[Words], widths: Sequence[int]) -> Folding:
    """A folding for states like these. `columns`: of each place the numbers of its values;
    `widths`: the bits that they may take.
    """
    parts: dict[int, Words] = dict(enumerate(columns))
    bits = dict(enumerate(widths))
    folding = Folding(len(columns), [])
    joint: dict[tuple[int, int], int] = {}
    while True:
        gains = []
        for a, b in combinations(parts, 2):
            if bits[a] + bits[b] <= MOST_CELL_BITS:
                if (a, b) not in joint:
                    codes = (parts[a] << np.uint64(bits[b])) | parts[b]
                    joint[a, b] = _combinations(codes, bits[a] + bits[b])
                gain = bits[a] + bits[b] - width_of(joint[a, b]) - SPARE_BITS
                if joint[a, b] <= MOST_COMBINATIONS:
                    gains.append((gain, -bits[a] - bits[b], a, b))
        best = max(gains, default=(0, 0, 0, 0))
        if best[0] < LEAST_GAIN:
            return folding
        _, _, a, b = best
        node = len(columns) + len(folding.nodes)
        codes = (parts.pop(a) << np.uint64(bits[b])) | parts.pop(b)
        parts[node] = np.unique(codes, return_inverse=True)[1].astype(np.uint64)
        bits[node] = width_of(joint[a, b]) + SPARE_BITS
        folding.nodes.append(Node(a, b, bits[node]))


def _combinations(codes: Words, bits: int) -> int:
    """How many different numbers, of so many bits, there are where these are a sample."""
    times = np.bincount(codes.astype(np.int64), minlength=1 << bits)
    once, twice = int(np.count_nonzero(times == 1)), int(np.count_nonzero(times == 2))
    return int(np.count_nonzero(times)) + once * once // (2 * max(1, twice))


def sample_of(states: Words) -> Words:
    """Some of many states (states x words), in pieces of the log side by side."""
    if len(states) <= SAMPLE:
        return states
    piece = SAMPLE // RUNS
    firsts = np.linspace(0, len(states) - piece, RUNS).astype(int).tolist()
    return np.concatenate([states[first : first + piece] for first in firsts])
