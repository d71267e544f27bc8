// Gated activations, rows picked from rows, biases, and the cap on logits.
//   gated: out[r][i] = act(gate_up[r][i]) * gate_up[r][n + i] · grid (n / 256, rows) · block 256
//   gather: out[r] = x[rows[r]], `words` 4-byte words a row · grid (words / 256, rows) · block 256
//   add_bias: out[r][i] += bias[i] · grid (n / 256, rows) · block 256: after products that had no place for it
//   softcap: x = cap * tanh(x / cap) · grid (n / 256, rows) · block 256
#include "activation.cuh"

namespace {
template <typename A> __device__ void gated_at(const A *gate_up, A *out, int n, int act)
{
    wait_for_inputs();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const A *row = gate_up + (size_t)blockIdx.y * 2 * n;
    float y = activate(to_f32(row[i]), act);
    out[(size_t)blockIdx.y * n + i] = from_f32<A>(y * to_f32(row[n + i]));
}
} // namespace

extern "C" __global__ void gated_float(const float *gate_up, float *out, int n, int act) { gated_at<float>(gate_up, out, n, act); }
extern "C" __global__ void gated_bf16(const bf16 *gate_up, bf16 *out, int n, int act) { gated_at<bf16>(gate_up, out, n, act); }

extern "C" __global__ void gather(const unsigned *x, const unsigned *rows, unsigned *out, int words)
{
    wait_for_inputs();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < words)
        out[(size_t)blockIdx.y * words + i] = x[(size_t)(rows ? rows[blockIdx.y] : blockIdx.y) * words + i];
}

extern "C" __global__ void softcap(float *x, int stride, int n, float cap)
{
    wait_for_inputs();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float *at = x + (size_t)blockIdx.y * stride + i;
        *at = cap * tanhf(*at / cap);
    }
}

namespace {
template <typename Y> __device__ void add_bias_at(Y *out, int stride, int n, const float *bias)
{
    wait_for_inputs();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Y *at = out + (size_t)blockIdx.y * stride + i;
        *at = from_f32<Y>(to_f32(*at) + bias[i]);
    }
}
} // namespace

extern "C" __global__ void add_bias_float(float *out, int stride, int n, const float *bias) { add_bias_at(out, stride, n, bias); }
extern "C" __global__ void add_bias_bf16(bf16 *out, int stride, int n, const float *bias) { add_bias_at(out, stride, n, bias); }
