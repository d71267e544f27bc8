"""Products with weights in tiles (kernels/linear): against float64, and their speed.

    python3 check_linear.py DIRECTORY_OF_IMAGES [check] [time]

Bounds: decoded values are the reference's bit for bit (bf16: its rounding). A product in f32 is within 1e-5 of the sum of the
magnitudes of its terms, plus 2e-5 of the scales' sum of magnitudes where codes are offset (see tile_linear.cuh); in bf16 within
2 ** -8 more. A row's bits do not depend on the number of rows.
"""

import sys

import numpy as np
import torch
from driver import Kernels, time_us
from formats import FORMATS, dequantize, random_blocks

CEILING = 4260.0  # GB/s, a copy on an H200
SUPER = {"Q2_K": (2, 20), "Q3_K": (3, 18), "Q4_K": (4, 20), "Q5_K": (5, 20), "Q6_K": (6, 18), "IQ4_XS": (4, 10)}
PLAIN = {"Q4_0": (4, 8), "Q4_1": (4, 16), "Q5_0": (5, 8), "Q5_1": (5, 16), "Q8_0": (8, 8), "IQ4_NL": (4, 8)}


def tile_shape(name):
    """(columns, bytes) of a tile."""
    if name in SUPER:
        code, row = SUPER[name]
        return 256, 16 * (32 * code + row)
    code, row = PLAIN[name]
    return 128, 16 * (16 * code + row)


def up(a, b):
    return (a + b - 1) // b


def pack(k, name, blocks, rows, cols):
    tile_cols, tile_bytes = tile_shape(name)
    across, down = up(cols, tile_cols), up(rows, 16)
    tiles = torch.full((across * down * tile_bytes,), 0xFF, dtype=torch.uint8, device="cuda")
    k.launch(f"tile_pack_{name}", (across, down), 32, blocks, rows, cols, tiles)
    return tiles


def linear(k, name, tiles, rows, x, out, share, bias=None, first=0, tile_rows=None, overlap=True):
    x_rows, cols = x.shape
    per = tile_rows or (1 if x_rows <= 8 else 2)
    grid = (up(up(rows, 16), 8 // share), up(x_rows, 8 * per))
    k.launch(f"tile_linear_{name}_{per}", grid, 256, tiles, rows, cols, x, x_rows, bias, out, out.stride(0), first,
             int(out.dtype == torch.float32), share, overlap=overlap)


def gated(k, name, gates, ups, rows, x, out, act, share, tile_rows=None):
    x_rows, cols = x.shape
    per = tile_rows or (1 if x_rows <= 8 else 2)
    grid = (up(up(rows, 16), 4 // share), up(x_rows, 8 * per))
    k.launch(f"tile_gated_{name}_{per}", grid, 256, gates, ups, rows, cols, x, x_rows, out, act, share)


def activate(x, act):
    if act == 0:
        return torch.nn.functional.silu(x)
    return torch.nn.functional.gelu(x, approximate="tanh" if act == 1 else "none")


def check_format(k, name, rng):
    values, size, _ = FORMATS[name]
    worst = [0.0, 0.0, 0.0]
    shapes = [(1, 1), (7, 2), (33, 3), (100, 8), (250, 18)] if name in PLAIN else [(1, 1), (7, 2), (33, 3), (100, 5), (250, 9)]
    for rows, n_blocks in shapes:
        cols = n_blocks * values
        for case in ("plain", "zeros", "ones", "large", "tiny"):
            raw = random_blocks(name, rows * n_blocks, rng, case)
            w = torch.from_numpy(dequantize(name, raw).reshape(rows, cols)).cuda()
            blocks = torch.from_numpy(raw).cuda()
            tiles = pack(k, name, blocks, rows, cols)
            # Decoding, by rows of the matrix and by token.
            across, down = up(cols, tile_shape(name)[0]), up(rows, 16)
            for dtype, suffix in ((torch.float32, "float"), (torch.bfloat16, "bf16")):
                out = torch.full((rows, cols), float("nan"), dtype=dtype, device="cuda")
                k.launch(f"tile_rows_{name}_{suffix}", (across, down), 32, tiles, rows, cols, 0, out)
                assert torch.equal(out, w.to(dtype)), (name, rows, cols, case, suffix)
            if rows > 16:
                out = torch.full((rows - 16, cols), float("nan"), device="cuda")
                k.launch(f"tile_rows_{name}_float", (across, down - 1), 32, tiles, rows - 16, cols, 16, out)
                assert torch.equal(out, w[16:]), (name, "rows from 16 on")
            tokens = torch.from_numpy(rng.integers(0, rows, 9).astype(np.int32)).cuda()
            out = torch.full((9, cols), 5.0, device="cuda")
            k.launch(f"tile_embed_{name}", 9, 256, tiles, 0, rows, cols, tokens, 0.5, out)
            assert torch.equal(out, w[tokens.long()] * 0.5), (name, "embed")
            # Products.
            x = torch.from_numpy(rng.standard_normal((40, cols)).astype(np.float32)).cuda()
            x[:, rng.integers(0, cols)] *= 50
            x[3] = 0
            x = x.to(torch.bfloat16)
            exact = x.double() @ w.double().T
            terms = x.double().abs() @ w.double().abs().T
            block = w.reshape(rows, n_blocks, values).abs().amax(2, keepdim=True).expand(-1, -1, values).reshape(rows, cols)
            offset = x.double().abs() @ block.double().T
            bound = 1e-5 * terms + (2e-5 * offset if name not in ("Q8_0", "IQ4_NL", "IQ4_XS") else 0) + 1e-30
            bias = torch.randn(rows + 8, device="cuda") * exact.abs().max().float()
            for share in (1, 2, 4, 8):
                reference = None
                for x_rows in (1, 2, 7, 8, 9, 16, 17, 40):
                    out = torch.full((x_rows, rows + 16), 7.0, device="cuda")
                    linear(k, name, tiles, rows, x[:x_rows], out, share, None, 8)
                    assert (out[:, :8] == 7).all() and (out[:, 8 + rows :] == 7).all(), (name, "wrote beside its columns")
                    y = out[:, 8 : 8 + rows]
                    error = ((y.double() - exact[:x_rows]).abs() / bound[:x_rows]).max().item()
                    worst[0] = max(worst[0], error)
                    assert error <= 1, (name, rows, cols, case, share, x_rows, error)
                    reference = y if reference is None else reference
                    assert torch.equal(y[0], reference[0]), (name, "the number of rows changes a row")
                out = torch.full((16, rows + 8), 7.0, dtype=torch.bfloat16, device="cuda")
                linear(k, name, tiles, rows, x[:16], out, share, bias, 8)
                want = exact[:16] + bias[8:].double()
                error = ((out[:, 8:].double() - want).abs() / (bound[:16] + 2**-8 * want.abs() + 1e-30)).max().item()
                worst[1] = max(worst[1], error)
                assert error <= 1, (name, "bf16 and bias", error)
            if rows >= 32:
                n = rows // 2 // 16 * 16
                across = up(cols, tile_shape(name)[0])
                at = n // 16 * across * tile_shape(name)[1]
                scale = 1.0 if case != "large" else 2.0**-10
                xs = (x * scale).to(torch.bfloat16)
                exact, terms_s = xs.double() @ w.double().T, bound * scale
                for act in (0, 1, 2):
                    for share in (1, 2, 4):
                        for x_rows in (1, 8, 13, 17):
                            out = torch.full((x_rows, n), float("nan"), dtype=torch.bfloat16, device="cuda")
                            gated(k, name, tiles, tiles[at:], n, xs[:x_rows], out, act, share)
                            g, u = exact[:x_rows, :n], exact[:x_rows, n : 2 * n]
                            want = activate(g, act) * u
                            bg, bu = terms_s[:x_rows, :n], terms_s[:x_rows, n : 2 * n]
                            allowed = 2**-8 * want.abs() + 1.2 * bg * (u.abs() + bu) + bu * activate(g, act).abs() + 1e-5 * u.abs() * (g.abs() + 1) + 1e-30
                            error = ((out.double() - want).abs() / allowed).max().item()
                            worst[2] = max(worst[2], error)
                            assert error <= 1, (name, "gated", case, act, share, x_rows, error)
    torch.cuda.synchronize()
    print(f"{name:7s} error over bound: f32 {worst[0]:.3f}  bf16 + bias {worst[1]:.3f}  gated {worst[2]:.3f}", flush=True)


SHAPES = [("8B qkv", 6144, 4096), ("8B o", 4096, 4096), ("8B gate_up", 28672, 4096), ("8B down", 4096, 14336), ("8B head", 128256, 4096),
          ("0.6B qkv", 4096, 1024), ("0.6B down", 1024, 3072)]


def time_format(k, name, shapes, batches=(1, 8, 16)):
    values, size, _ = FORMATS[name]
    rng = np.random.default_rng(5)
    for label, rows, cols in shapes:
        tile_cols, tile_bytes = tile_shape(name)
        matrix = up(rows, 16) * up(cols, tile_cols) * tile_bytes
        copies = min(max(4, (400 << 20) // matrix + 1), 64)
        raw = torch.from_numpy(random_blocks(name, 4096, rng)).cuda()
        need = rows * cols // values
        raw = raw.repeat(up(need, 4096), 1)[:need].contiguous()
        tiles = [pack(k, name, raw, rows, cols)]
        tiles += [tiles[0].clone() for _ in range(copies - 1)]
        line = []
        for x_rows in batches:
            x = torch.randn(x_rows, cols, device="cuda").to(torch.bfloat16)
            out = torch.empty(x_rows, rows, dtype=torch.bfloat16, device="cuda")
            best = {}
            for share in (1, 2, 4, 8):
                if up(rows, 16) * share < 256:
                    continue
                best[share] = time_us(lambda: [linear(k, name, t, rows, x, out, share) for t in tiles], copies)
            share = min(best, key=best.get)
            rate = matrix / best[share] / 1e3
            others = " ".join(f"{s}:{t:.1f}" for s, t in best.items())
            line.append(f"b{x_rows} {best[share]:6.1f} us {rate:5.0f} GB/s {100 * rate / CEILING:3.0f}% ({others})")
        if label == "8B gate_up":
            n, half = rows // 2, matrix // 2
            x = torch.randn(1, cols, device="cuda").to(torch.bfloat16)
            out = torch.empty(1, n, dtype=torch.bfloat16, device="cuda")
            t = {s: time_us(lambda: [gated(k, name, t, t[half:], n, x, out, 0, s) for t in tiles], copies) for s in (1, 2, 4)}
            line.append("gated " + " ".join(f"{s}:{v:.1f}" for s, v in t.items()))
        print(f"{name:7s}{label:11s} floor {matrix / CEILING / 1e3:5.1f}  " + "  ".join(line), flush=True)
        del tiles


if __name__ == "__main__":
    kernels = Kernels(sys.argv[1])
    wanted = sys.argv[2:] or ["check", "time"]
    names = [name for name in wanted if name in FORMATS] or list(FORMATS)
    if "check" in wanted:
        for name in names:
            check_format(kernels, name, np.random.default_rng(sum(map(ord, name))))
    if "time" in wanted:
        for name in names:
            time_format(kernels, name, SHAPES if name in ("Q8_0", "Q4_K") else SHAPES[3:4])
