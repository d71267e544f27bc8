// tile_linear: products of few rows of bf16 activations with a weight in tiles (tiles.cuh), bound by reading the weight.
//   out[r][first + n] = sum over k of weight[n][k] * x[r][k] (+ bias[first + n])
// tile_gated: the same for gate rows and as many up rows, n_rows each, with act(gate) * up as the result; `gates` and `ups` are tiles
//   out[r][n] = act(gate[n] · x[r]) * (up[n] · x[r]), bf16
//   x: [x_rows][cols], 8 bytes' alignment, cols a multiple of 32 · out_f32: `out` is f32, else bf16
//   block 256: `share` warps, a power of two up to 8 (gated: 4), take every share-th tile of 16 rows of the weight
//   grid (ceil(n_rows / 16) / (8 / share), rows of x / (8 * X)), rounded up, gated: / (4 / share); X as in the kernel's name
//   reads the weight once for every 8 * X rows of x; a row's bits depend on `share` but not on the other rows of x or their number
//   floor: bytes of the tiles / HBM bandwidth
//
// Numerics: the tensor cores multiply x by the codes themselves, which bf16 holds exactly, and add in f32; a sum of 32 values (16, where
// a format has scales for as many) is then multiplied by its scale in f32. Codes become numbers by setting them into the mantissa of
// 128. What that makes them too large by is taken off by starting a sum with minus as much times the sum of x, from the tensor cores as
// well; minimums use the same sum.
#include "../rows/activation.cuh"
#include "tiles.cuh"

namespace {
constexpr int WARPS = 8;

// d = a b + c. Registers of `a` are rows g and g + 8 of a lane's first pair of columns, then of its second.
__device__ __forceinline__ void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, uint2 b, const float (&c)[4])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b.x), "r"(b.y), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

// Adds the products of one tile.
template <int T, int X>
__device__ __forceinline__ void add_tile(const Share<T> &share, const bf16 *const (&x)[X], int first, int cols, float (&sums)[X][4])
{
    using L = Layout<T>;
    constexpr unsigned LESS = 0xc300c300u | (unsigned)Format<T>::least * 0x00010001u;
    const float zero[4] = {};
    float scaled[X][4] = {}, lowered[X][4] = {};
    each<L::BLOCKS>([&](auto block) {
        constexpr int B = decltype(block)::value;
        // Columns that only the tile has have scale zero: any finite x will do.
        int col = first + 32 * B < cols ? first + 32 * B : 0;
        uint2 b[X][2];
        float base[X][2][4];
#pragma unroll
        for (int i = 0; i < X; i++) {
            b[i][0] = *reinterpret_cast<const uint2 *>(x[i] + col);
            b[i][1] = *reinterpret_cast<const uint2 *>(x[i] + col + 16);
            if constexpr (L::shifted) {
                multiply(base[i][0], LESS, LESS, LESS, LESS, b[i][0], zero);
                if constexpr (L::by_16)
                    multiply(base[i][1], LESS, LESS, LESS, LESS, b[i][1], zero);
                else
                    multiply(base[i][1], LESS, LESS, LESS, LESS, b[i][1], base[i][0]);
            } else {
#pragma unroll
                for (int c = 0; c < 4; c++)
                    base[i][0][c] = base[i][1][c] = 0.f;
            }
        }
        unsigned up[4], low[4];
        share.template pairs<B, 0>(up);
        share.template pairs<B, 1>(low);
        if constexpr (L::by_16) {
            each<2>([&](auto half) {
                constexpr int H = decltype(half)::value;
                float scales[2] = {share.template scale<B, H, 0>(), share.template scale<B, H, 1>()};
                [[maybe_unused]] float least[2];
                if constexpr (L::minimums)
                    least[0] = share.template minimum<B, H, 0>(), least[1] = share.template minimum<B, H, 1>();
#pragma unroll
                for (int i = 0; i < X; i++) {
                    float part[4];
                    multiply(part, up[2 * H], low[2 * H], up[2 * H + 1], low[2 * H + 1], b[i][H], base[i][H]);
#pragma unroll
                    for (int c = 0; c < 4; c++) {
                        scaled[i][c] = fmaf(scales[c / 2], part[c], scaled[i][c]);
                        if constexpr (L::minimums)
                            lowered[i][c] = fmaf(least[c / 2], base[i][H][c], lowered[i][c]);
                    }
                }
            });
        } else {
            float scales[2] = {share.template scale<B, 0, 0>(), share.template scale<B, 0, 1>()};
            [[maybe_unused]] float least[2];
            if constexpr (L::minimums)
                least[0] = share.template minimum<B, 0, 0>(), least[1] = share.template minimum<B, 0, 1>();
#pragma unroll
            for (int i = 0; i < X; i++) {
                float part[4];
                multiply(part, up[0], low[0], up[1], low[1], b[i][0], base[i][1]);
                multiply(part, up[2], low[2], up[3], low[3], b[i][1], part);
                float(&into)[4] = L::super ? scaled[i] : sums[i];
#pragma unroll
                for (int c = 0; c < 4; c++) {
                    into[c] = fmaf(scales[c / 2], part[c], into[c]);
                    if constexpr (L::minimums)
                        lowered[i][c] = fmaf(least[c / 2], base[i][1][c], lowered[i][c]);
                }
            }
        }
    });
    // `lowered` is made with -128 times the sums of x. What is a minimum in super-blocks is an offset elsewhere.
#pragma unroll
    for (int c = 0; c < 4; c++) {
        float d = L::super ? share.factor(c / 2) : 0.f;
        float m = !L::minimums ? 0.f : L::super ? share.minimum_factor(c / 2) * 0.0078125f : -0.0078125f;
#pragma unroll
        for (int i = 0; i < X; i++) {
            if constexpr (L::super)
                sums[i][c] = fmaf(d, scaled[i][c], sums[i][c]);
            if constexpr (L::minimums)
                sums[i][c] = fmaf(m, lowered[i][c], sums[i][c]);
        }
    }
}

template <int X> struct Sums {
    // Rows of the weight beside each other, and room that keeps columns of a warp in different banks.
    float of[WARPS][8 * X][16 + 4];
};

// Sums of this warp's tiles of sixteen rows, those that begin at `tiles`; nothing where that is null.
template <int T, int X>
__device__ __forceinline__ void partial_sums(Sums<X> &sums, const uint8_t *tiles, int cols, const bf16 *x, int column, int x_rows, int share)
{
    using L = Layout<T>;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, within = lane % 4;
    int across = tiles ? (cols + L::COLS - 1) / L::COLS : 0, from = warp % share;
    const bf16 *act[X];
#pragma unroll
    for (int i = 0; i < X; i++)
        act[i] = x + (size_t)min(column + 8 * i + group, x_rows - 1) * cols + 4 * within;
    float total[X][4] = {};
    Share<T> now, next;
    // The weight is nobody's output: its first tile comes while the kernel in front ends.
    if (from < across)
        now.load(tiles + (size_t)from * L::TILE_BYTES, lane);
    wait_for_inputs();
    for (int tile = from; tile < across; tile += share) {
        if (tile + share < across)
            next.load(tiles + (size_t)(tile + share) * L::TILE_BYTES, lane);
        add_tile<T, X>(now, act, tile * L::COLS, cols, total);
        now = next;
    }
#pragma unroll
    for (int i = 0; i < X; i++) {
        float *to = &sums.of[warp][8 * i + 2 * within][0];
        to[group] = total[i][0], to[20 + group] = total[i][1], to[group + 8] = total[i][2], to[20 + group + 8] = total[i][3];
    }
    __syncthreads();
}

// The sums of `share` warps from `warp` on, in order.
template <int X> __device__ __forceinline__ float in_order(const Sums<X> &sums, int warp, int share, int r, int n)
{
    float sum = 0.f;
    for (int w = warp; w < warp + share; w++)
        sum += sums.of[w][r][n];
    return sum;
}

// Sixteen rows of the weight by number, from its tiles.
template <int T> __device__ __forceinline__ const uint8_t *sixteen(const uint8_t *tiles, int index, int n_rows, int cols)
{
    using L = Layout<T>;
    return index * 16 < n_rows ? tiles + (size_t)index * ((cols + L::COLS - 1) / L::COLS) * L::TILE_BYTES : nullptr;
}

template <int T, int X>
__device__ __forceinline__ void product(const uint8_t *tiles, int n_rows, int cols, const bf16 *x, int x_rows, const float *bias,
                                        void *out, int out_stride, int first, int out_f32, int share)
{
    __shared__ Sums<X> sums;
    int column = blockIdx.y * 8 * X, units = WARPS / share, unit = blockIdx.x * units + threadIdx.x / 32 / share;
    partial_sums<T, X>(sums, sixteen<T>(tiles, unit, n_rows, cols), cols, x, column, x_rows, share);
    for (int i = threadIdx.x; i < units * 16 * 8 * X; i += WARPS * 32) {
        int n = i % (16 * units), r = i / (16 * units), row = blockIdx.x * 16 * units + n;
        if (row >= n_rows || column + r >= x_rows)
            continue;
        float sum = in_order<X>(sums, n / 16 * share, share, r, n % 16);
        if (bias)
            sum += bias[first + row];
        size_t at = (size_t)(column + r) * out_stride + first + row;
        if (out_f32)
            static_cast<float *>(out)[at] = sum;
        else
            static_cast<bf16 *>(out)[at] = from_f32<bf16>(sum);
    }
}

// Warps by turns of `share` take sixteen gate rows and the sixteen up rows that go with them.
template <int T, int X>
__device__ __forceinline__ void gated_product(const uint8_t *gates, const uint8_t *ups, int n_rows, int cols, const bf16 *x, int x_rows,
                                              bf16 *out, int act, int share)
{
    __shared__ Sums<X> sums;
    int column = blockIdx.y * 8 * X, units = WARPS / 2 / share, turn = threadIdx.x / 32 / share;
    const uint8_t *tiles = sixteen<T>(turn % 2 ? ups : gates, blockIdx.x * units + turn / 2, n_rows, cols);
    partial_sums<T, X>(sums, tiles, cols, x, column, x_rows, share);
    for (int i = threadIdx.x; i < units * 16 * 8 * X; i += WARPS * 32) {
        int n = i % (16 * units), r = i / (16 * units), row = blockIdx.x * 16 * units + n;
        if (row >= n_rows || column + r >= x_rows)
            continue;
        int warp = n / 16 * 2 * share;
        float gate = in_order<X>(sums, warp, share, r, n % 16), up = in_order<X>(sums, warp + share, share, r, n % 16);
        out[(size_t)(column + r) * n_rows + row] = from_f32<bf16>(activate(gate, act) * up);
    }
}
} // namespace

#define TILE_PRODUCTS_X(T, X)                                                                                                   \
    extern "C" __global__ void __launch_bounds__(256, 2)                                                                        \
        tile_linear_##T##_##X(const uint8_t *tiles, int n_rows, int cols, const bf16 *x, int x_rows, const float *bias,         \
                              void *out, int out_stride, int first, int out_f32, int share)                                     \
    {                                                                                                                           \
        product<T, X>(tiles, n_rows, cols, x, x_rows, bias, out, out_stride, first, out_f32, share);                            \
    }                                                                                                                           \
    extern "C" __global__ void __launch_bounds__(256, 2)                                                                        \
        tile_gated_##T##_##X(const uint8_t *gates, const uint8_t *ups, int n_rows, int cols, const bf16 *x, int x_rows,         \
                             bf16 *out, int act, int share)                                                                     \
    {                                                                                                                           \
        gated_product<T, X>(gates, ups, n_rows, cols, x, x_rows, out, act, share);                                              \
    }
#define TILE_PRODUCTS(T) TILE_PRODUCTS_X(T, 1) TILE_PRODUCTS_X(T, 2)
