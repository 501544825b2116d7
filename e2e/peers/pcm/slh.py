"""Verification of SLH-DSA-SHA2-128s (FIPS 205), pure and with an empty context, for hybrid log keys (pcm-cs.md 3.5)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

N, LAYERS, HEIGHT, FORS_HEIGHT, FORS_TREES, CHAINS = 16, 7, 9, 12, 14, 35
LENGTH = N * (1 + FORS_TREES * (1 + FORS_HEIGHT) + LAYERS * (HEIGHT + CHAINS))
WOTS_HASH, WOTS_PK, TREE, FORS_TREE, FORS_ROOTS = range(5)
Hash = Callable[..., bytes]

def digits(data: bytes, bits: int, count: int) -> list[int]:
    number = int.from_bytes(data, "big") >> (8 * len(data) - bits * count)
    return [number >> bits * (count - 1 - at) & (1 << bits) - 1 for at in range(count)]

def climb(hashed: Callable[[int, int, bytes], bytes], index: int, node: bytes, path: bytes) -> bytes:
    """From a node at `index` of the lowest level up to the root, by the siblings in `path`."""
    for level in range(len(path) // N):
        sibling = path[level * N : (level + 1) * N]
        pair = sibling + node if index & 1 else node + sibling
        index >>= 1
        node = hashed(level + 1, index, pair)
    return node

def holds(key: bytes, signature: bytes, message: bytes) -> bool:
    if len(key) != 32 or len(signature) != LENGTH: return False
    seed, root = key[:N], key[N:]
    start = hashlib.sha256(seed + bytes(64 - N))

    def tweak(layer: int, tree: int, kind: int, words: tuple[int, int, int], data: bytes) -> bytes:
        state = start.copy()
        address = bytes([layer]) + tree.to_bytes(8, "big") + bytes([kind]) + b"".join(w.to_bytes(4, "big") for w in words)
        state.update(address + data)
        return state.digest()[:N]

    randomizer, rest = signature[:N], signature[N:]
    inner = hashlib.sha256(randomizer + seed + root + b"\0\0" + message).digest()
    mask = hashlib.sha256(randomizer + seed + inner + bytes(4)).digest()[:30]
    tree = int.from_bytes(mask[21:28], "big") & (1 << 54) - 1
    leaf = int.from_bytes(mask[28:30], "big") & (1 << HEIGHT) - 1

    roots = b""
    for number, index in enumerate(digits(mask[:21], FORS_HEIGHT, FORS_TREES)):
        part, rest = rest[: N * (1 + FORS_HEIGHT)], rest[N * (1 + FORS_HEIGHT) :]
        at = (number << FORS_HEIGHT) + index
        node = tweak(0, tree, FORS_TREE, (leaf, 0, at), part[:N])
        roots += climb(lambda level, place, pair: tweak(0, tree, FORS_TREE, (leaf, level, place), pair), at, node, part[N:])
    node = tweak(0, tree, FORS_ROOTS, (leaf, 0, 0), roots)

    for layer in range(LAYERS):
        steps = digits(node, 4, 32)
        steps += digits((sum(15 - step for step in steps) << 4).to_bytes(2, "big"), 4, 3)
        ends = b""
        for chain, step in enumerate(steps):
            value, rest = rest[:N], rest[N:]
            for at in range(step, 15): value = tweak(layer, tree, WOTS_HASH, (leaf, chain, at), value)
            ends += value
        node = tweak(layer, tree, WOTS_PK, (leaf, 0, 0), ends)
        path, rest = rest[: N * HEIGHT], rest[N * HEIGHT :]
        here, there = layer, tree
        node = climb(lambda level, place, pair: tweak(here, there, TREE, (0, level, place), pair), leaf, node, path)
        leaf, tree = tree & (1 << HEIGHT) - 1, tree >> HEIGHT
    return node == root
