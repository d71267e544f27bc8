// simple_attention: softmax attention of each row over the pages of its resident, plainly: one warp per row and head, keys one after
// the other in order of position. What the fast kernels are compared with.
//   q: [rows][q_stride], heads first · out: [rows][heads][head_dim]
//   keys, values: one layer's pool, [page][kv_head][page_tokens][head_dim]
//   tables: [spans][table_stride] pages; row r's is table_of[r] · positions[r]: its KV position, negative for a row that pads
//   grid (rows, heads / 4) · block 128
//   Online softmax after Milakov & Gimelshein 2018.
#include "../rows/number.cuh"

namespace {
constexpr int MOST = 16; // values of a head that a lane holds: head_dim up to 512

template <typename A, typename K>
__device__ void attend(const A *q, int q_stride, A *out, const K *keys, const K *values, const int *positions, const int *table_of,
                       const unsigned *tables, int table_stride, int page_tokens, int heads, int kv_heads, int head_dim, int window,
                       float scale, float softcap)
{
    wait_for_inputs();
    int row = blockIdx.x, head = blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    int position = positions[row];
    if (head >= heads || position < 0)
        return;
    int kv_head = head / (heads / kv_heads);
    const unsigned *table = tables + (size_t)table_of[row] * table_stride;
    float query[MOST], sum[MOST];
    for (int i = 0; i < MOST; i++) {
        int d = lane + 32 * i;
        query[i] = d < head_dim ? to_f32(q[(size_t)row * q_stride + head * head_dim + d]) : 0.f;
        sum[i] = 0.f;
    }
    float largest = -INFINITY, weight = 0.f;
    int first = window > 0 && position >= window ? position - window + 1 : 0;
    for (int p = first; p <= position; p++) {
        size_t at = (((size_t)table[p / page_tokens] * kv_heads + kv_head) * page_tokens + p % page_tokens) * head_dim;
        float score = 0.f;
        for (int i = 0; i < MOST && 32 * i < head_dim; i++) {
            int d = lane + 32 * i;
            if (d < head_dim)
                score = fmaf(query[i], to_f32(keys[at + d]), score);
        }
        score = warp_sum(score) * scale;
        if (softcap > 0.f)
            score = softcap * tanhf(score / softcap);
        float next = fmaxf(largest, score);
        float before = expf(largest - next), now = expf(score - next);
        weight = weight * before + now;
        for (int i = 0; i < MOST && 32 * i < head_dim; i++) {
            int d = lane + 32 * i;
            if (d < head_dim)
                sum[i] = sum[i] * before + now * to_f32(values[at + d]);
        }
        largest = next;
    }
    for (int i = 0; i < MOST && 32 * i < head_dim; i++) {
        int d = lane + 32 * i;
        if (d < head_dim)
            out[((size_t)row * heads + head) * head_dim + d] = from_f32<A>(sum[i] / weight);
    }
}
} // namespace

#define ATTENTION(A, K)                                                                                                         \
    extern "C" __global__ void __launch_bounds__(128)                                                                           \
        simple_attention_##A##_##K(const A *q, int q_stride, A *out, const K *keys, const K *values, const int *positions,       \
                                   const int *table_of, const unsigned *tables, int table_stride, int page_tokens, int heads,   \
                                   int kv_heads, int head_dim, int window, float scale, float softcap)                          \
    {                                                                                                                           \
        attend<A, K>(q, q_stride, out, keys, values, positions, table_of, tables, table_stride, page_tokens, heads, kv_heads,   \
                     head_dim, window, scale, softcap);                                                                         \
    }
ATTENTION(float, float)
ATTENTION(float, f16)
ATTENTION(float, bf16)
ATTENTION(bf16, float)
ATTENTION(bf16, f16)
ATTENTION(bf16, bf16)
