"""The strongly connected components of a graph of states, and which of them are fair.

Tarjan's algorithm (1972) with a stack of its own. A component is complete before any component that
leads to it; so what a component leads to is known when it is complete.
"""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.intrinsics import (
    ONE,
    alone,
    halves,
    inside,
    quarters,
    words,
)

ZERO = U(0)
CLOSED, WANTED, REACHES = U(r.CLOSED), U(r.WANTED), U(r.REACHES)


@alone
def is_fair(ctx, base, top):
    """Is each fair action disabled in some state of a component, or taken inside it? Its states are
    those on the stack from `base` on.
    """
    offsets, targets, classes = (
        words(ctx[r.G_OFFSETS]),
        halves(ctx[r.G_TARGETS]),
        quarters(ctx[r.G_CLASSES]),
    )
    numbers, stack, masks = halves(ctx[r.G_NUMBERS]), halves(ctx[r.G_STACK]), words(ctx[r.G_MASKS])
    count = ctx[r.G_MASK_WORDS]
    first = U(numbers[stack[base]])
    w = ZERO
    while w < count:
        left = words(ctx[r.G_ALL])[w]
        i = base
        while i < top and left != ZERO:
            state = U(stack[i])
            enabled = ZERO
            e, end = offsets[state], offsets[state + ONE]
            while e < end:
                target = U(targets[e])
                if target != state:
                    mask = masks[U(classes[e]) * count + w]
                    enabled |= mask
                    if mask & left:
                        number = U(numbers[target])
                        if first <= number and number < CLOSED:
                            left &= ~mask
                e += ONE
            left &= enabled
            i += ONE
        if left != ZERO:
            return False
        w += ONE
    return True


@alone
def close(ctx, base, top):
    """A component is complete: notes whether it is fair and of interest, and whether it leads to
    what is looked for.
    """
    offsets, targets = words(ctx[r.G_OFFSETS]), halves(ctx[r.G_TARGETS])
    flags, fair = quarters(ctx[r.G_FLAGS]), halves(ctx[r.G_FAIR])
    numbers, stack = halves(ctx[r.G_NUMBERS]), halves(ctx[r.G_STACK])
    met = ZERO
    i = base
    while i < top:
        met |= U(flags[stack[i]])
        i += ONE
    if ctx[r.G_FAIR] == ZERO:
        i = base
        while i < top and met & REACHES == ZERO:
            e, end = offsets[U(stack[i])], offsets[U(stack[i]) + ONE]
            while e < end:
                met |= U(flags[targets[e]]) & REACHES
                e += ONE
            i += ONE
        i = base
        while i < top:
            flags[stack[i]] = U(flags[stack[i]]) | met & REACHES
            i += ONE
    elif met & WANTED and is_fair(ctx, base, top):
        i = base
        while i < top:
            fair[stack[i]] = U(stack[base]) + ONE
            i += ONE
    i = base
    while i < top:
        numbers[stack[i]] = CLOSED
        i += ONE


@inside
def enter(ctx, state, depth, top, number):
    """A state that is met for the first time: onto both stacks."""
    halves(ctx[r.G_NUMBERS])[state] = number
    halves(ctx[r.G_STACK])[top] = state
    halves(ctx[r.G_FRAME_STATES])[depth] = state
    halves(ctx[r.G_FRAME_LOWS])[depth] = number
    words(ctx[r.G_FRAME_EDGES])[depth] = words(ctx[r.G_OFFSETS])[state]


def components(ctx):
    """All components of the states whose number is 0; those with the number CLOSED are left out."""
    offsets, targets = words(ctx[r.G_OFFSETS]), halves(ctx[r.G_TARGETS])
    numbers, stack = halves(ctx[r.G_NUMBERS]), halves(ctx[r.G_STACK])
    frame_states, frame_lows = halves(ctx[r.G_FRAME_STATES]), halves(ctx[r.G_FRAME_LOWS])
    frame_edges = words(ctx[r.G_FRAME_EDGES])
    n, met, top, root = ctx[r.G_STATES], ZERO, ZERO, ZERO
    while root < n:
        if U(numbers[root]) == ZERO:
            depth = ZERO
            met += ONE
            enter(ctx, root, depth, top, met)
            top += ONE
            going = True
            while going:
                state, low = U(frame_states[depth]), U(frame_lows[depth])
                e, end = frame_edges[depth], offsets[state + ONE]
                deeper = False
                while e < end and not deeper:
                    target = U(targets[e])
                    e += ONE
                    number = U(numbers[target])
                    if number == ZERO:
                        frame_edges[depth] = e
                        frame_lows[depth] = low
                        depth += ONE
                        met += ONE
                        enter(ctx, target, depth, top, met)
                        top += ONE
                        deeper = True
                    elif number < low:
                        low = number
                if deeper:
                    continue
                if low == U(numbers[state]):
                    base = top - ONE
                    while U(stack[base]) != state:
                        base -= ONE
                    close(ctx, base, top)
                    top = base
                if depth == ZERO:
                    going = False
                else:
                    depth -= ONE
                    if low < U(frame_lows[depth]):
                        frame_lows[depth] = low
        root += ONE
