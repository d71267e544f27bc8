"""Stored formats, decoded in plain numpy from their descriptions in src/weights/quant: the reference of the kernel tests.

Run as a program it compares itself with the `gguf` package, bit for bit, on random blocks.
"""

import numpy as np

IQ4_LEVELS = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)

# Name: (values of a block, bytes of a block, where its f16 fields lie).
FORMATS = {
    "Q4_0": (32, 18, [0]),
    "Q4_1": (32, 20, [0, 2]),
    "Q5_0": (32, 22, [0]),
    "Q5_1": (32, 24, [0, 2]),
    "Q8_0": (32, 34, [0]),
    "IQ4_NL": (32, 18, [0]),
    "Q2_K": (256, 84, [80, 82]),
    "Q3_K": (256, 110, [108]),
    "Q4_K": (256, 144, [0, 2]),
    "Q5_K": (256, 176, [0, 2]),
    "Q6_K": (256, 210, [208]),
    "IQ4_XS": (256, 136, [0]),
}


def half(b, at):
    return np.ascontiguousarray(b[:, at : at + 2]).view(np.float16).astype(np.float32)


def nibbles(codes):
    return np.concatenate([codes & 15, codes >> 4], axis=1).astype(np.int32)


def bits(b, at, count):
    return np.unpackbits(np.ascontiguousarray(b[:, at : at + count]), axis=1, bitorder="little").astype(np.int32)


def two_bits(codes):
    """Codes of Q2_K: byte 32h + l holds values 128h + l, + 32, + 64, + 96."""
    c = codes.reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1) & 3
    return c.reshape(-1, 256).astype(np.int32)


def scales_and_minimums(p):
    """[blocks, 8] each, from the 12 bytes of Q4_K and Q5_K."""
    low, mid, high = p[:, 0:4], p[:, 4:8], p[:, 8:12]
    scale = np.concatenate([low & 63, high & 15 | low >> 6 << 4], axis=1)
    minimum = np.concatenate([mid & 63, high >> 4 | mid >> 6 << 4], axis=1)
    return scale.astype(np.float32), minimum.astype(np.float32)


def four_bits_of_64(codes):
    """Byte 32h + l holds value 64h + l low and 64h + 32 + l high."""
    c = codes.reshape(-1, 4, 1, 32) >> np.array([0, 4], np.uint8).reshape(1, 1, 2, 1) & 15
    return c.reshape(-1, 256).astype(np.int32)


def spread(scale, values):
    return np.repeat(scale, values, axis=1)


def dequantize(name, blocks):
    """[n, bytes of a block] uint8 to [n, values of a block] float32, products in the order of the formulas."""
    b, f = blocks, np.float32
    if name == "Q4_0":
        return (nibbles(b[:, 2:18]) - 8).astype(f) * half(b, 0)
    if name == "Q4_1":
        return nibbles(b[:, 4:20]).astype(f) * half(b, 0) + half(b, 2)
    if name == "Q5_0":
        return ((nibbles(b[:, 6:22]) | bits(b, 2, 4) << 4) - 16).astype(f) * half(b, 0)
    if name == "Q5_1":
        return (nibbles(b[:, 8:24]) | bits(b, 4, 4) << 4).astype(f) * half(b, 0) + half(b, 2)
    if name == "Q8_0":
        return b[:, 2:34].view(np.int8).astype(f) * half(b, 0)
    if name == "IQ4_NL":
        return half(b, 0) * IQ4_LEVELS[nibbles(b[:, 2:18])]
    if name == "Q2_K":
        scale, minimum = half(b, 80) * (b[:, :16] & 15).astype(f), half(b, 82) * (b[:, :16] >> 4).astype(f)
        return spread(scale, 16) * two_bits(b[:, 16:80]).astype(f) - spread(minimum, 16)
    if name == "Q3_K":
        s = b[:, 96:108]
        low = np.concatenate([s[:, :8] & 15, s[:, :8] >> 4], axis=1)
        high = np.concatenate([s[:, 8:12] >> shift & 3 for shift in (0, 2, 4, 6)], axis=1)
        scale = half(b, 108) * ((low | high << 4).astype(np.int32) - 32).astype(f)
        third = (b[:, None, :32] >> np.arange(8, dtype=np.uint8).reshape(1, 8, 1) & 1).reshape(-1, 256).astype(np.int32)
        return spread(scale, 16) * (two_bits(b[:, 32:96]) + 4 * third - 4).astype(f)
    if name in ("Q4_K", "Q5_K"):
        scale, minimum = scales_and_minimums(b[:, 4:16])
        code = four_bits_of_64(b[:, -128:])
        if name == "Q5_K":
            fifth = b[:, None, 16:48] >> np.arange(8, dtype=np.uint8).reshape(1, 8, 1) & 1
            code = code | fifth.reshape(-1, 256).astype(np.int32) << 4
        return spread(half(b, 0) * scale, 32) * code.astype(f) - spread(half(b, 2) * minimum, 32)
    if name == "Q6_K":
        low = (b[:, :128].reshape(-1, 2, 1, 64) >> np.array([0, 4], np.uint8).reshape(1, 1, 2, 1) & 15).reshape(-1, 256)
        code = (low.astype(np.int32) | two_bits(b[:, 128:192]) << 4) - 32
        return spread(half(b, 208) * b[:, 192:208].view(np.int8).astype(f), 16) * code.astype(f)
    if name == "IQ4_XS":
        low = (b[:, 4:8].reshape(-1, 4, 1) >> np.array([0, 4], np.uint8) & 15).reshape(-1, 8).astype(np.int32)
        high = np.ascontiguousarray(b[:, 2:4]).view(np.uint16).astype(np.int32) >> 2 * np.arange(8) & 3
        scale = half(b, 0) * ((low | high << 4) - 32).astype(f)
        codes = b[:, 8:].reshape(-1, 8, 16)
        code = np.concatenate([codes & 15, codes >> 4], axis=2).reshape(-1, 256)
        return spread(scale, 32) * IQ4_LEVELS[code]
    raise ValueError(name)


def random_blocks(name, n, rng, case="plain"):
    """Blocks of random codes and scales. Cases: plain; zeros; large (scales near the top of f16's range of the sum); tiny (subnormal)."""
    values, size, halves = FORMATS[name]
    b = rng.integers(0, 256, (n, size), dtype=np.uint8)
    if case == "zeros":
        b[:] = 0
    if case == "ones":
        b[:] = 255
    for at in halves:
        scale = {"plain": 0.01, "zeros": 0.0, "ones": 0.01, "large": 3000.0, "tiny": 1e-7}[case]
        d = (rng.uniform(0.2, 1.0, n) * rng.choice([-1.0, 1.0], n) * scale).astype(np.float16)
        b[:, at : at + 2] = d.view(np.uint8).reshape(n, 2)
    return b


if __name__ == "__main__":
    import gguf

    for name in FORMATS:
        for case in ("plain", "zeros", "ones", "large", "tiny"):
            blocks = random_blocks(name, 200, np.random.default_rng(7), case)
            expected = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name])
            assert np.array_equal(dequantize(name, blocks).view(np.uint32) & 0x7FFFFFFF, expected.reshape(200, -1).view(np.uint32) & 0x7FFFFFFF), (name, case)
    print("all formats agree with the gguf package")
