// stream_linear: products of few rows of bf16 activations with a bf16 weight, bound by reading the weight.
//   out[r][first + n] = sum over k of weight[n][k] * x[r][k] (+ bias[first + n]) · cols a multiple of 32, rows of 16 bytes' alignment
// stream_gated: the same for a weight of gate rows and as many up rows, n_rows each, with act(gate) * up as the result, a multiple of 8
//   out[r][n] = act(weight[n] · x[r]) * (weight[n_rows + n] · x[r]) · grid (n_rows / 8, rows of x / (8 TILES))
//   grid (rows of the weight / 16, rows of x / (8 TILES)) · block 256: eight warps share 16 rows of the weight, in turns of 64
//     columns each; tensor cores multiply, sums in f32, and the warps' sums are added in order at the end
//   reads the weight once (16-byte loads) for every 8 TILES rows of x; a row's bits do not depend on the other rows or their number
//   floor: rows * cols * 2 bytes / HBM bandwidth
#include "../rows/activation.cuh"

namespace {
constexpr int WARPS = 8;
constexpr int AHEAD = 2; // pieces of the weight that a warp loads while it multiplies as many

__device__ __forceinline__ uint4 load_once(const void *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}

__device__ __forceinline__ void multiply(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Sums of products of 16 rows of the weight with 8 TILES rows of x, by warp: rows `upper` and the seven after it, then those from `lower`.
template <int TILES>
__device__ void partial_sums(float (*sums)[8 * TILES][16], const bf16 *weight, int upper, int lower, int last, int cols, const bf16 *x,
                             int column, int x_rows)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, within = lane % 4;
    // A lane's 16 bytes are 8 neighbouring columns of a row. The multiplication wants other columns together, but any order of the
    // columns will do that is the same on both sides. Rows past the end are read as the last one and not written.
    const bf16 *up_row = weight + (size_t)min(upper + group, last) * cols + within * 8;
    const bf16 *low_row = weight + (size_t)min(lower + group, last) * cols + within * 8;
    const bf16 *act[TILES];
    for (int t = 0; t < TILES; t++)
        act[t] = x + (size_t)min(column + 8 * t + group, x_rows - 1) * cols + within * 8;
    float c[TILES][4] = {};
    int pieces = cols / 32;
    uint4 up[AHEAD], low[AHEAD], next_up[AHEAD], next_low[AHEAD];
    auto load = [&](int from, uint4 (&up)[AHEAD], uint4 (&low)[AHEAD]) {
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            int piece = from + a;
            if (piece < pieces) {
                up[a] = load_once(up_row + (size_t)piece * 32);
                low[a] = load_once(low_row + (size_t)piece * 32);
            }
        }
    };
    // The weight is nobody's output: its first pieces come while the kernel in front ends.
    load(warp * AHEAD, up, low);
    wait_for_inputs();
    for (int from = warp * AHEAD; from < pieces; from += WARPS * AHEAD) {
        load(from + WARPS * AHEAD, next_up, next_low);
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            int piece = from + a;
            if (piece < pieces) {
#pragma unroll
                for (int t = 0; t < TILES; t++) {
                    uint4 b = *reinterpret_cast<const uint4 *>(act[t] + (size_t)piece * 32);
                    multiply(c[t], up[a].x, low[a].x, up[a].y, low[a].y, b.x, b.y);
                    multiply(c[t], up[a].z, low[a].z, up[a].w, low[a].w, b.z, b.w);
                }
            }
        }
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
            up[a] = next_up[a], low[a] = next_low[a];
    }
    for (int t = 0; t < TILES; t++) {
        float *to = &sums[warp][8 * t + 2 * within][0];
        to[group] = c[t][0], to[16 + group] = c[t][1], to[group + 8] = c[t][2], to[16 + group + 8] = c[t][3];
    }
    __syncthreads();
}

// The warps' sums, in order.
template <int TILES> __device__ float total(const float (*sums)[8 * TILES][16], int r, int n)
{
    float sum = 0.f;
    for (int w = 0; w < WARPS; w++)
        sum += sums[w][r][n];
    return sum;
}

template <int TILES, typename Y>
__device__ void product(const bf16 *weight, int n_rows, int cols, const bf16 *x, int x_rows, const float *bias, Y *out, int out_stride,
                        int first)
{
    __shared__ float sums[WARPS][8 * TILES][16];
    int row = blockIdx.x * 16, column = blockIdx.y * 8 * TILES;
    partial_sums<TILES>(sums, weight, row, row + 8, n_rows - 1, cols, x, column, x_rows);
    for (int i = threadIdx.x; i < 16 * 8 * TILES; i += WARPS * 32) {
        int n = row + i % 16, r = column + i / 16;
        if (n >= n_rows || r >= x_rows)
            continue;
        float sum = total<TILES>(sums, i / 16, i % 16);
        out[(size_t)r * out_stride + first + n] = from_f32<Y>(bias ? sum + bias[first + n] : sum);
    }
}

template <int TILES>
__device__ void gated_product(const bf16 *weight, int n_rows, int cols, const bf16 *x, int x_rows, bf16 *out, int act)
{
    __shared__ float sums[WARPS][8 * TILES][16];
    int row = blockIdx.x * 8, column = blockIdx.y * 8 * TILES;
    partial_sums<TILES>(sums, weight, row, n_rows + row, 2 * n_rows - 1, cols, x, column, x_rows);
    for (int i = threadIdx.x; i < 8 * 8 * TILES; i += WARPS * 32) {
        int n = row + i % 8, r = column + i / 8;
        if (n < n_rows && r < x_rows)
            out[(size_t)r * n_rows + n] =
                from_f32<bf16>(activate(total<TILES>(sums, i / 8, i % 8), act) * total<TILES>(sums, i / 8, 8 + i % 8));
    }
}
} // namespace

#define LINEAR(TILES, Y)                                                                                                        \
    extern "C" __global__ void __launch_bounds__(256)                                                                           \
        stream_linear_##TILES##_##Y(const bf16 *weight, int n_rows, int cols, const bf16 *x, int x_rows, const float *bias,     \
                                    Y *out, int out_stride, int first)                                                          \
    {                                                                                                                           \
        product<TILES, Y>(weight, n_rows, cols, x, x_rows, bias, out, out_stride, first);                                       \
    }
#define GATED(TILES)                                                                                                            \
    extern "C" __global__ void __launch_bounds__(256)                                                                           \
        stream_gated_##TILES(const bf16 *weight, int n_rows, int cols, const bf16 *x, int x_rows, bf16 *out, int act)           \
    {                                                                                                                           \
        gated_product<TILES>(weight, n_rows, cols, x, x_rows, out, act);                                                        \
    }
LINEAR(1, bf16)
LINEAR(1, float)
LINEAR(2, bf16)
LINEAR(2, float)
LINEAR(4, bf16)
LINEAR(4, float)
GATED(1)
GATED(2)
GATED(4)
