// stream_linear: products of few rows of bf16 activations with a bf16 weight, bound by reading the weight.
//   out[r][first + n] = sum over k of weight[n][k] * x[r][k] (+ bias[first + n]) · cols a multiple of 32, rows of 16 bytes' alignment
//   grid (rows of the weight / 16, rows of x / (8 TILES)) · block 256: eight warps share 16 rows of the weight, every eighth piece of
//     32 columns each; tensor cores multiply, sums in f32, and the warps' sums are added in order at the end
//   reads the weight once (16-byte loads) for every 8 TILES rows of x; a row's bits do not depend on the other rows or their number
//   floor: rows * cols * 2 bytes / HBM bandwidth
#include "../rows/number.cuh"

namespace {
constexpr int WARPS = 8;
constexpr int AHEAD = 4; // pieces of the weight that a warp has in flight

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

template <int TILES, typename Y>
__device__ void product(const bf16 *weight, int n_rows, int cols, const bf16 *x, int x_rows, const float *bias, Y *out, int out_stride,
                        int first)
{
    __shared__ float sums[WARPS][8 * TILES][16];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, within = lane % 4;
    int row = blockIdx.x * 16, column = blockIdx.y * 8 * TILES;
    // A lane's 16 bytes are 8 neighbouring columns of a row. The multiplication wants other columns together, but any order of the
    // columns will do that is the same on both sides. Rows past the end are read as the last one and not written.
    const bf16 *upper = weight + (size_t)min(row + group, n_rows - 1) * cols + within * 8;
    const bf16 *lower = weight + (size_t)min(row + group + 8, n_rows - 1) * cols + within * 8;
    const bf16 *act[TILES];
    for (int t = 0; t < TILES; t++)
        act[t] = x + (size_t)min(column + 8 * t + group, x_rows - 1) * cols + within * 8;
    float c[TILES][4] = {};
    int pieces = cols / 32;
    for (int from = warp; from < pieces; from += WARPS * AHEAD) {
        uint4 up[AHEAD], low[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            int piece = from + a * WARPS;
            if (piece < pieces) {
                up[a] = load_once(upper + (size_t)piece * 32);
                low[a] = load_once(lower + (size_t)piece * 32);
            }
        }
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            int piece = from + a * WARPS;
            if (piece < pieces) {
#pragma unroll
                for (int t = 0; t < TILES; t++) {
                    uint4 b = __ldg(reinterpret_cast<const uint4 *>(act[t] + (size_t)piece * 32));
                    multiply(c[t], up[a].x, low[a].x, up[a].y, low[a].y, b.x, b.y);
                    multiply(c[t], up[a].z, low[a].z, up[a].w, low[a].w, b.z, b.w);
                }
            }
        }
    }
    for (int t = 0; t < TILES; t++) {
        float *to = &sums[warp][8 * t + 2 * within][0];
        to[group] = c[t][0], to[16 + group] = c[t][1], to[group + 8] = c[t][2], to[16 + group + 8] = c[t][3];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 16 * 8 * TILES; i += WARPS * 32) {
        int n = row + i % 16, r = column + i / 16;
        if (n >= n_rows || r >= x_rows)
            continue;
        float sum = 0.f;
        for (int w = 0; w < WARPS; w++)
            sum += sums[w][i / 16][i % 16];
        out[(size_t)r * out_stride + first + n] = from_f32<Y>(bias ? sum + bias[first + n] : sum);
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
LINEAR(1, bf16)
LINEAR(1, float)
LINEAR(2, bf16)
LINEAR(2, float)
LINEAR(4, bf16)
LINEAR(4, float)
