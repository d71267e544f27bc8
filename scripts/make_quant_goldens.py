#!/usr/bin/env python3
"""Makes tests/data/quant/goldens.safetensors: random blocks of every stored type, and what they decode to.

For each type `<TYPE>.blocks` (u8, [blocks, bytes of a block]) and `<TYPE>.values` (f32, [blocks, values of a block]), the values as
`gguf.quants.dequantize` gives them. Codes are random bytes; the f16 scales take turns being ordinary, zero of either sign, the
smallest and largest denormals, the largest finite values and infinite, so that every block's arithmetic is met at its ends.

Run with the packages of scripts/requirements-goldens.txt:  python scripts/make_quant_goldens.py
"""

import importlib.metadata
import pathlib

import gguf
import numpy
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import save_file

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "quant" / "goldens.safetensors"

# Where a block's f16 scales lie, and how many blocks to make.
SCALES = {
    Type.Q4_0: ([0], 40), Type.Q4_1: ([0, 2], 40), Type.Q5_0: ([0], 40), Type.Q5_1: ([0, 2], 40), Type.Q8_0: ([0], 40),
    Type.IQ4_NL: ([0], 40), Type.Q2_K: ([80, 82], 14), Type.Q3_K: ([108], 14), Type.Q4_K: ([0, 2], 14), Type.Q5_K: ([0, 2], 14),
    Type.Q6_K: ([208], 14), Type.IQ4_XS: ([0], 14),
}
EXTREMES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x7BFF, 0xFBFF, 0x7C00]
HALVES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0xC248, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00]
SINGLES = [0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x3F800000, 0xC0490FDB, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000]


def blocks_of(kind, offsets, count, rng):
    size = gguf.GGML_QUANT_SIZES[kind][1]
    blocks = rng.integers(0, 256, (count, size), dtype=numpy.uint8)
    for index, block in enumerate(blocks):
        for turn, offset in enumerate(offsets):
            ordinary = rng.normal(0, 0.02, 1).astype("<f2").view("<u2")[0]
            # Every second block is ordinary; the second scale of a block meets the extremes out of step with the first.
            extreme = EXTREMES[(index // 2 * (1 + 2 * turn)) % len(EXTREMES)]
            scale = ordinary if index % 2 == 0 else extreme
            block[offset : offset + 2] = numpy.array([scale], dtype="<u2").view(numpy.uint8)
    return blocks


def plain(bits, kind, rng):
    """Elements of a type without blocks: chosen ones, then random ones that are numbers."""
    width = {"<u4": 4, "<u2": 2}[kind]
    chosen = numpy.array(bits, dtype=kind)
    drawn = rng.normal(0, 1, 53).astype("<f4").view("<u4")
    drawn = drawn.astype("<u4") if width == 4 else (drawn >> 16).astype("<u2")
    return numpy.concatenate([chosen, drawn]).view(numpy.uint8).reshape(-1, width)


def main():
    rng = numpy.random.default_rng(20)
    arrays = {}
    stored = {kind: blocks_of(kind, offsets, count, rng) for kind, (offsets, count) in SCALES.items()}
    stored[Type.F32] = plain(SINGLES, "<u4", rng)
    stored[Type.BF16] = plain([single >> 16 for single in SINGLES], "<u2", rng)
    stored[Type.F16] = plain(HALVES, "<u2", rng)
    for kind, blocks in stored.items():
        with numpy.errstate(all="ignore"):
            native = {Type.F32: "<f4", Type.F16: "<f2"}.get(kind)
            values = gguf.quants.dequantize(blocks.view(native) if native else blocks, kind)
        arrays[f"{kind.name}.blocks"] = blocks
        arrays[f"{kind.name}.values"] = numpy.ascontiguousarray(values, dtype="<f4")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    save_file(arrays, OUT, metadata={"gguf": importlib.metadata.version("gguf"), "numpy": numpy.__version__})
    print(f"{OUT}: {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
