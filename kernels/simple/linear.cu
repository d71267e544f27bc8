// simple_linear: products with a weight in any stored format, plainly. What the fast kernels are compared with, and what runs where
// they have no case.
//   out[r][first + n] = sum over k of weight[n][k] * x[r][k] (+ bias[first + n]), for n in 0..rows of one segment
//   grid (rows of the weight / 4, rows of x / 8) · block 128: a warp per row of the weight, 8 rows of x in registers
//   reads the weight once for every 8 rows of x; sums in f32, lane by lane and then over the warp, whatever the other rows are
#include "../rows/stored.cuh"

namespace {
constexpr int ROWS = 8;

template <int T, typename X, typename Y>
__device__ void product(const uint8_t *weight, long long row_bytes, int n_rows, int cols, const X *x, int x_rows, const float *bias,
                        Y *out, int out_stride, int first)
{
    wait_for_inputs();
    int n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32, from = blockIdx.y * ROWS;
    if (n >= n_rows)
        return;
    const uint8_t *row = weight + (size_t)n * row_bytes;
    float sums[ROWS] = {};
    int count = min(ROWS, x_rows - from);
    x += (size_t)from * cols;
    for (int k = lane; k < cols; k += 32) {
        float w = stored_value<T>(row, k);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (r < count)
                sums[r] = fmaf(w, to_f32(x[(size_t)r * cols + k]), sums[r]);
    }
    float add = bias ? bias[first + n] : 0.f;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        float sum = warp_sum(sums[r]);
        if (lane == 0 && r < count)
            out[(size_t)(from + r) * out_stride + first + n] = from_f32<Y>(sum + add);
    }
}
} // namespace

#define LINEAR(T, X, Y)                                                                                                         \
    extern "C" __global__ void __launch_bounds__(128)                                                                           \
        simple_linear_##T##_##X##_##Y(const uint8_t *weight, long long row_bytes, int n_rows, int cols, const X *x, int x_rows,  \
                                      const float *bias, Y *out, int out_stride, int first)                                     \
    {                                                                                                                           \
        product<T, X, Y>(weight, row_bytes, n_rows, cols, x, x_rows, bias, out, out_stride, first);                             \
    }
#define LINEARS(T) LINEAR(T, float, float) LINEAR(T, bf16, bf16) LINEAR(T, bf16, float)
EACH_STORED(LINEARS)
