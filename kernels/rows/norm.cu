// RMS norms of whole rows, alone and joined with the addition to the residual before them. A block per row.
//   norm: out = x / rms(x) * weight
//   add_norm: x += branch, or x += branch / rms(branch) * post where post is given; then out = x / rms(x) * weight where out is given
//   reads and writes each element once or twice, the second time from cache; sums in an order that depends on the block alone
#include "number.cuh"

namespace {
template <typename X> __device__ float inverse_rms(const X *x, int n, float eps, float *scratch)
{
    float sum = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float v = to_f32(x[i]);
        sum = fmaf(v, v, sum);
    }
    return 1.f / sqrtf(block_sum(sum, scratch) / (float)n + eps);
}

template <typename X, typename Y> __device__ void norm_row(const X *x, const float *weight, float eps, Y *out, int n)
{
    __shared__ float scratch[33];
    wait_for_inputs();
    x += (size_t)blockIdx.x * n, out += (size_t)blockIdx.x * n;
    float scale = inverse_rms(x, n, eps, scratch);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = from_f32<Y>(to_f32(x[i]) * scale * weight[i]);
}

template <typename A>
__device__ void add_norm_row(float *x, const A *branch, const float *post, float post_eps, const float *weight, float eps, A *out,
                             int n)
{
    __shared__ float scratch[33];
    wait_for_inputs();
    x += (size_t)blockIdx.x * n, branch += (size_t)blockIdx.x * n;
    float branch_scale = post ? inverse_rms(branch, n, post_eps, scratch) : 1.f;
    float sum = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float add = to_f32(branch[i]);
        // The op alone writes the normed branch before it is added: the same rounding here.
        if (post)
            add = to_f32(from_f32<A>(add * branch_scale * post[i]));
        float v = x[i] + add;
        x[i] = v;
        sum = fmaf(v, v, sum);
    }
    if (!out)
        return;
    out += (size_t)blockIdx.x * n;
    float scale = 1.f / sqrtf(block_sum(sum, scratch) / (float)n + eps);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = from_f32<A>(x[i] * scale * weight[i]);
}
} // namespace

#define NORM(X, Y)                                                                                                              \
    extern "C" __global__ void norm_##X##_##Y(const X *x, const float *weight, float eps, Y *out, int n)                        \
    {                                                                                                                           \
        norm_row<X, Y>(x, weight, eps, out, n);                                                                                 \
    }
NORM(float, float)
NORM(float, bf16)
NORM(bf16, bf16)

#define ADD_NORM(A)                                                                                                             \
    extern "C" __global__ void add_norm_##A(float *x, const A *branch, const float *post, float post_eps, const float *weight,   \
                                            float eps, A *out, int n)                                                           \
    {                                                                                                                           \
        add_norm_row<A>(x, branch, post, post_eps, weight, eps, out, n);                                                        \
    }
ADD_NORM(float)
ADD_NORM(bf16)
