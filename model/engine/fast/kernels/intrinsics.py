"""The operations that numba does not offer: pointers from addresses, prefetch, bit gathering and
counting, for words of 64 bits.
"""

from __future__ import annotations

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy import uint64

from groupcheck.model.engine.fast.kernels import processor
from groupcheck.model.engine.fast.kernels.outer_alone import outer_alone

_OPTIONS = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "error_model": "numpy",
    "nogil": True,
}
_INSIDE = {**_OPTIONS, "forceinline": True}
ONE, FULL, ALL = uint64(1), uint64(0xFFFFFFFF), uint64(0xFFFFFFFFFFFFFFFF)
_WORD = ir.IntType(64)


def alone(function):
    """Compiles a function with no Python inside, so that its object code stands alone."""
    return njit(**_OPTIONS)(function)


def alone_for(signature, function):
    """The same, compiled at once for one signature: the name of its symbol, and its object code."""
    with outer_alone(function.__name__):
        compiled = next(iter(njit(signature, **_OPTIONS)(function).overloads.values()))
    return compiled.fndesc.llvm_func_name, compiled.library._get_compiled_object()


def _pointer(bits, numba_type):
    def made(typingctx, address):
        def generate(context, builder, signature, args):
            return builder.inttoptr(args[0], ir.IntType(bits).as_pointer())

        return types.CPointer(numba_type)(types.uint64), generate

    return intrinsic(made)


words, halves, quarters = (
    _pointer(64, types.uint64),
    _pointer(32, types.uint32),
    _pointer(16, types.uint16),
)


@intrinsic
def prefetch(typingctx, address):
    """Starts loading the cache line at an address."""

    def generate(context, builder, signature, args):
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        hint = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")
        builder.call(hint, [builder.inttoptr(args[0], byte), number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


@intrinsic
def lanes_with(typingctx, bucket, value):
    """Which of the eight 32-bit numbers at an address (a multiple of 32) equal a value, as bits."""

    def generate(context, builder, signature, args):
        half = ir.IntType(32)
        eight = ir.VectorType(half, 8)
        load = builder.load(builder.inttoptr(args[0], eight.as_pointer()))
        load.align = 32
        wanted = ir.Constant(eight, ir.Undefined)
        for lane in range(8):
            wanted = builder.insert_element(wanted, builder.trunc(args[1], half), half(lane))
        found = builder.icmp_unsigned("==", load, wanted)
        return builder.zext(builder.bitcast(found, ir.IntType(8)), _WORD)

    return types.uint64(types.uint64, types.uint64), generate


def _claiming(bits):
    def made(typingctx, address, value):
        def generate(context, builder, signature, args):
            kind = ir.IntType(bits)
            place = builder.inttoptr(args[0], kind.as_pointer())
            number = args[1] if bits == 64 else builder.trunc(args[1], kind)
            done = builder.cmpxchg(place, kind(0), number, "acq_rel", "acquire")
            return builder.extract_value(done, 1)

        return types.boolean(types.uint64, types.uint64), generate

    return intrinsic(made)


# Puts a number of 32 bits, or a word, where 0 stands, in one step for all threads; False if
# something else stood there by then.
claimed, claimed_word = _claiming(32), _claiming(64)


@intrinsic
def fetched(typingctx, address, more):
    """The number at an address, to which something is added, in one step for all threads."""

    def generate(context, builder, signature, args):
        place = builder.inttoptr(args[0], _WORD.as_pointer())
        return builder.atomic_rmw("add", place, args[1], "acq_rel")

    return types.uint64(types.uint64, types.uint64), generate


def _publishing(bits):
    def made(typingctx, address, value):
        def generate(context, builder, signature, args):
            kind = ir.IntType(bits)
            number = args[1] if bits == 64 else builder.trunc(args[1], kind)
            place = builder.inttoptr(args[0], kind.as_pointer())
            builder.store_atomic(number, place, "release", bits // 8)
            return context.get_dummy_value()

        return types.void(types.uint64, types.uint64), generate

    return intrinsic(made)


# Writes a number after all that was written before, as other threads see it.
publish, publish_half = _publishing(64), _publishing(32)


@intrinsic
def trailing_zeros(typingctx, x):
    """How many zero bits stand below the lowest set one; x is not 0."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def _pext(typingctx, x, mask):
    def generate(context, builder, signature, args):
        instruction = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_WORD, [_WORD, _WORD]), "llvm.x86.bmi.pext.64"
        )
        return builder.call(instruction, args)

    return types.uint64(types.uint64, types.uint64), generate


@alone
def _gather_by_runs(x, mask):
    """The bits of x under the mask, side by side at the low end: run by run, for processors without
    the instruction.
    """
    out = uint64(0)
    at = uint64(0)
    while mask != uint64(0):
        low = trailing_zeros(mask)
        mask >>= low
        x >>= low
        if mask == ALL:
            return x
        size = trailing_zeros(~mask)
        out |= (x & ((ONE << size) - ONE)) << at
        at += size
        mask >>= size
        x >>= size
    return out


@alone
def _gather_by_instruction(x, mask):
    return _pext(x, mask)


def _has_quick_pext() -> bool:
    """BMI2, where it is not emulated by microcode (AMD before Zen 3)."""
    slow = {"znver1", "znver2", "bdver4"}
    return "+bmi2" in processor.features().split(",") and processor.name() not in slow


gather = _gather_by_instruction if _has_quick_pext() else _gather_by_runs


@alone
def mix(x):
    """Murmur's finalizer: spreads the bits of a word over the whole word. 0 stays 0."""
    x ^= x >> uint64(33)
    x *= uint64(0xFF51AFD7ED558CCD)
    x ^= x >> uint64(33)
    x *= uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> uint64(33))


@alone
def scattered(x, unused):
    """A word with its `unused` upper bits 0, its bits spread over the upper ones of the answer,
    whose `unused` lower bits are 0.

    No two words give the same answer (every step can be undone): a part of it that is known from
    elsewhere need not be kept (Cleary 1984).
    """
    x ^= x >> uint64(23)
    x = (x * uint64(0xFF51AFD7ED558CCD)) << unused
    x ^= ((x >> uint64(23)) >> unused) << unused
    return x * uint64(0xC4CEB9FE1A85EC53)


@alone
def home(h, size):
    """0 .. size-1 from the upper half of a hash; size need not be a power of two."""
    return ((h >> uint64(32)) * size) >> uint64(32)


def inside(function):
    """The same, and made part of every function that calls it."""
    return njit(**_INSIDE)(function)
