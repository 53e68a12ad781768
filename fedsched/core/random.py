"""Random numbers in kernels: splitmix64 applied to counters, in streams or one at a time.

A stream is an array of one number, its counter; each draw advances the counter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Stream = NDArray[np.uint64]  # one number: the counter

STEP = np.uint64(0x9E3779B97F4A7C15)
MIX_A = np.uint64(0xBF58476D1CE4E5B9)
MIX_B = np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
UNIT = 2.0**-53


@inlined
def mixed(z: np.uint64) -> np.uint64:
    """Return 64 bits that splitmix64 scrambles from a counter."""
    z = (z ^ (z >> S30)) * MIX_A
    z = (z ^ (z >> S27)) * MIX_B
    return z ^ (z >> S31)


@inlined
def unit(z: np.uint64) -> float:
    """Return scrambled bits converted to a number in [0, 1)."""
    return np.float64(z >> S11) * UNIT


@inlined
def random_bits(seed: int, generation: int, index: int) -> np.uint64:
    """Return 64 random bits; the same seed, generation and index always give the same bits."""
    z = mixed(np.uint64(seed) + STEP)
    z = mixed((z ^ np.uint64(generation)) + STEP)
    return mixed((z ^ np.uint64(index)) + STEP)


@kernel
def begin_stream(stream: Stream, seed: int, generation: int, index: int) -> None:
    """Set a stream's counter to its start, which depends only on the seed, generation and index."""
    stream[0] = random_bits(seed, generation, index)


@inlined
def uniform(stream: Stream) -> float:
    """Return the stream's next random number, uniform in [0, 1), and advance the stream."""
    stream[0] += STEP
    return unit(mixed(stream[0]))


@inlined
def below(stream: Stream, bound: int) -> int:
    """Return the stream's next random whole number, uniform in 0..bound − 1, and advance the stream."""
    return int(uniform(stream) * bound)
