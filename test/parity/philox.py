"""The trainer's random numbers, implemented a second time in numpy.

Philox4x32-10 keyed as runtime/core/Philox.h says: a value depends on seed,
stream (FNV-1a of a name), step and element index only. Written from the paper
and that header, sharing no code with the runtime, so that a slip in either
shows as a difference.
"""

import numpy as np


def stream_of(name):
    value = 2166136261
    for byte in name.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


def philox(seed, blocks, stream, step):
    """Random uint32 [len(blocks), 4] of the given uint64 block numbers."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    c0, c1 = blocks & low, blocks >> half
    c2 = np.full_like(blocks, stream)
    c3 = np.full_like(blocks, step)
    k0, k1 = seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c0
        p1 = np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = ((p1 >> half) ^ c1 ^ np.uint64(k0), p1 & low,
                          (p0 >> half) ^ c3 ^ np.uint64(k1), p0 & low)
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1)


def bits(count, seed, stream, step):
    blocks = np.arange((count + 3) // 4, dtype=np.uint64)
    return philox(seed, blocks, stream, step)


def uniform01(count, seed, stream, step=0):
    """Float32 in [0, 1) with 24 bits."""
    words = bits(count, seed, stream, step).reshape(-1)[:count]
    return ((words >> np.uint64(8)).astype(np.float32)
            * np.float32(2.0 ** -24))


def dropout_mask(shape, ratio, seed, name, step):
    """What dropout multiplies by: 0 or 1/(1-ratio), float32."""
    ratio = np.float32(ratio)
    keep = np.float32(1) / (np.float32(1) - ratio)
    u = uniform01(int(np.prod(shape)), seed, stream_of(name), step)
    return np.where(u >= ratio, keep, np.float32(0)).reshape(shape)


def uniform(shape, low, high, seed, name, step=0):
    """Uniform from low to high, float32: a parameter's initial value, or noise of a step."""
    low, high = np.float32(low), np.float32(high)
    u = uniform01(int(np.prod(shape)), seed, stream_of(name), step)
    return (low + u * (high - low)).reshape(shape)


def normal(shape, mean, deviation, seed, name, step=0):
    """The same of a normal distribution, by Box-Muller, two values per two words."""
    count = int(np.prod(shape))
    words = bits(count, seed, stream_of(name), step).astype(np.float64)
    radius = np.sqrt(-2.0 * np.log((words[:, 0::2] + 1.0) * 2.0 ** -32))
    angle = 2.0 * np.pi * words[:, 1::2] * 2.0 ** -32
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=2)
    values = pairs.reshape(-1)[:count]
    return (mean + deviation * values).astype(np.float32).reshape(shape)
