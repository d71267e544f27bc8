// Rotary embedding, norms of single heads, and what goes into the pages.
//   angles: out[r] = cosines, then sines, of positions[r] * frequency, times the table's factor; the angle is rounded to f32, as the
//     models were trained and transformers computes it, and its cosine and sine are exact to f32.
//     tables: [seats][half + 1], the factor last · grid rows · block: half rounded up to a warp
//   rope_kv: norms (where a weight is given) and rotates q in place and k, and writes k and v to the page of the row's position.
//     qkv: [rows][(heads + 2 kv_heads) * head_dim] · keys, values: one layer's pool, [page][kv_head][page_tokens][head_dim]
//     grid (rows, (heads + 2 kv_heads) / 4) · block 128: a warp per head
//     reads qkv once, writes q and the pages once
#include "number.cuh"

extern "C" __global__ void angles(const float *tables, int half, const unsigned *seats, const unsigned *positions, float *out)
{
    wait_for_inputs();
    int row = blockIdx.x;
    const float *table = tables + (size_t)seats[row] * (half + 1);
    float factor = table[half], position = (float)positions[row];
    out += (size_t)row * 2 * half;
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        double s, c;
        sincos((double)__fmul_rn(position, table[i]), &s, &c);
        out[i] = (float)c * factor;
        out[half + i] = (float)s * factor;
    }
}

namespace {
template <typename A, typename K>
__device__ void rope_kv_head(A *qkv, const float *angles, int half, const float *q_norm, float q_eps, const float *k_norm,
                             float k_eps, K *keys, K *values, const int *positions, const int *table_of, const unsigned *tables,
                             int table_stride, int page_tokens, int heads, int kv_heads, int head_dim)
{
    // The row's head, in f32: a lane reads what others wrote, so a warp's part of it is in shared memory.
    extern __shared__ float shared[];
    wait_for_inputs();
    int row = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int head = blockIdx.y * (blockDim.x / 32) + warp;
    int position = positions[row];
    if (head >= heads + 2 * kv_heads || position < 0)
        return;
    float *x = shared + warp * head_dim;
    A *own = qkv + ((size_t)row * (heads + 2 * kv_heads) + head) * head_dim;
    float square = 0.f;
    for (int d = lane; d < head_dim; d += 32) {
        float v = to_f32(own[d]);
        x[d] = v;
        square = fmaf(v, v, square);
    }
    bool is_q = head < heads, is_v = head >= heads + kv_heads;
    const float *norm = is_q ? q_norm : is_v ? nullptr : k_norm;
    if (norm) {
        float scale = 1.f / sqrtf(warp_sum(square) / (float)head_dim + (is_q ? q_eps : k_eps));
        for (int d = lane; d < head_dim; d += 32)
            x[d] = x[d] * scale * norm[d];
    }
    __syncwarp();
    if (!is_v) {
        const float *cosines = angles + (size_t)row * 2 * half, *sines = cosines + half;
        for (int i = lane; i < half; i += 32) {
            float a = x[i], b = x[half + i], c = cosines[i], s = sines[i];
            x[i] = __fsub_rn(__fmul_rn(a, c), __fmul_rn(b, s));
            x[half + i] = __fadd_rn(__fmul_rn(b, c), __fmul_rn(a, s));
        }
        __syncwarp();
    }
    if (is_q) {
        for (int d = lane; d < head_dim; d += 32)
            own[d] = from_f32<A>(x[d]);
        return;
    }
    int kv_head = is_v ? head - heads - kv_heads : head - heads;
    unsigned page = tables[(size_t)table_of[row] * table_stride + position / page_tokens];
    K *to = (is_v ? values : keys) + (((size_t)page * kv_heads + kv_head) * page_tokens + position % page_tokens) * head_dim;
    for (int d = lane; d < head_dim; d += 32)
        to[d] = from_f32<K>(x[d]);
}
} // namespace

#define ROPE_KV(A, K)                                                                                                           \
    extern "C" __global__ void __launch_bounds__(128)                                                                           \
        rope_kv_##A##_##K(A *qkv, const float *angles, int half, const float *q_norm, float q_eps, const float *k_norm,         \
                          float k_eps, K *keys, K *values, const int *positions, const int *table_of, const unsigned *tables,   \
                          int table_stride, int page_tokens, int heads, int kv_heads, int head_dim)                             \
    {                                                                                                                           \
        rope_kv_head<A, K>(qkv, angles, half, q_norm, q_eps, k_norm, k_eps, keys, values, positions, table_of, tables,          \
                           table_stride, page_tokens, heads, kv_heads, head_dim);                                               \
    }
ROPE_KV(float, float)
ROPE_KV(float, f16)
ROPE_KV(float, bf16)
ROPE_KV(bf16, float)
ROPE_KV(bf16, f16)
ROPE_KV(bf16, bf16)
