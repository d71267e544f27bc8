// stream_attention: softmax attention of each row over the pages of its resident, for heads of 64 to 256 in 16-bit or f32 pages.
//   arguments as simple_attention's, and partials: null, or for each row, head and part D values, the largest score and the weight
//   grid (rows, heads, parts) · block 128: a group of 8 lanes per key, 16 keys at a time; each group keeps its own softmax over every
//     sixteenth position, and the groups are merged in order at the end
//   reads each K and V element of the row's pages once per head (16-byte loads); a row's bits depend on positions alone
//   with several parts a row's positions are shared out evenly among them, in order, and merge_attention puts the parts together
// merge_attention: out from the partials · grid (rows, heads) · block D
//   floor: 2 * context * kv_heads * head_dim * sizeof(kv) bytes / HBM bandwidth, times the heads of a group where they miss the cache
//   Online softmax after Milakov & Gimelshein 2018.
#include "../rows/number.cuh"

namespace {
constexpr int GROUPS = 16;

template <typename K> struct Piece;
template <> struct Piece<float> {
    static constexpr int N = 4;
};
template <> struct Piece<f16> {
    static constexpr int N = 8;
};
template <> struct Piece<bf16> {
    static constexpr int N = 8;
};

// 16 bytes of values from p.
template <typename K> __device__ __forceinline__ void load_piece(const K *p, float *to)
{
    uint4 bits = *reinterpret_cast<const uint4 *>(p);
    const K *values = reinterpret_cast<const K *>(&bits);
#pragma unroll
    for (int i = 0; i < Piece<K>::N; i++)
        to[i] = to_f32(values[i]);
}

// D: head_dim. A lane holds D / 8 values: pieces of 16 bytes that the group's lanes take in turn.
template <int D, typename A, typename K>
__device__ void attend(const A *q, int q_stride, A *out, const K *keys, const K *values, const int *positions, const int *table_of,
                       const unsigned *tables, int table_stride, int page_tokens, int heads, int kv_heads, int window, float scale,
                       float softcap, float *partials)
{
    constexpr int OWN = D / 8, N = Piece<K>::N, PIECES = OWN / N;
    __shared__ float merged[GROUPS][D];
    __shared__ float largest_of[GROUPS], weight_of[GROUPS];
    wait_for_inputs();
    int row = blockIdx.x, head = blockIdx.y, group = threadIdx.x / 8, lane = threadIdx.x % 8;
    int position = positions[row];
    if (position < 0)
        return;
    int kv_head = head / (heads / kv_heads);
    const unsigned *table = tables + (size_t)table_of[row] * table_stride;
    float query[OWN], sum[OWN], piece[OWN];
    const A *from = q + (size_t)row * q_stride + head * D;
#pragma unroll
    for (int i = 0; i < OWN; i++) {
        query[i] = to_f32(from[(i / N * 8 + lane) * N + i % N]);
        sum[i] = 0.f;
    }
    float largest = -INFINITY, weight = 0.f;
    int first = window > 0 && position >= window ? position - window + 1 : 0;
    // Whole rounds of 16 positions from a multiple of 16 on: which group takes a key depends on its position alone.
    int begin = first / GROUPS * GROUPS, end = position + 1;
    if (gridDim.z > 1) {
        int rounds = (end - begin + GROUPS - 1) / GROUPS, share = (rounds + gridDim.z - 1) / gridDim.z * GROUPS;
        begin += blockIdx.z * share;
        end = min(end, begin + share);
    }
    for (int round = begin; round < end; round += GROUPS) {
        int p = round + group;
        bool there = p >= first && p < end;
        int at = there ? p : position;
        size_t offset =
            (((size_t)table[at / page_tokens] * kv_heads + kv_head) * page_tokens + at % page_tokens) * D + (size_t)lane * N;
        float score = 0.f;
#pragma unroll
        for (int i = 0; i < PIECES; i++)
            load_piece(keys + offset + i * 8 * N, piece + i * N);
#pragma unroll
        for (int i = 0; i < OWN; i++)
            score = fmaf(query[i], piece[i], score);
#pragma unroll
        for (int i = 0; i < PIECES; i++)
            load_piece(values + offset + i * 8 * N, piece + i * N);
        for (int step = 4; step > 0; step /= 2)
            score += __shfl_xor_sync(0xffffffffu, score, step);
        if (there) {
            score *= scale;
            if (softcap > 0.f)
                score = softcap * tanhf(score / softcap);
            float next = fmaxf(largest, score), before = expf(largest - next), now = expf(score - next);
            weight = weight * before + now;
#pragma unroll
            for (int i = 0; i < OWN; i++)
                sum[i] = sum[i] * before + now * piece[i];
            largest = next;
        }
    }
#pragma unroll
    for (int i = 0; i < OWN; i++)
        merged[group][(i / N * 8 + lane) * N + i % N] = sum[i];
    if (lane == 0)
        largest_of[group] = largest, weight_of[group] = weight;
    __syncthreads();
    float all = -INFINITY, total = 0.f, factors[GROUPS];
    for (int g = 0; g < GROUPS; g++)
        all = fmaxf(all, largest_of[g]);
    for (int g = 0; g < GROUPS; g++) {
        factors[g] = largest_of[g] == -INFINITY ? 0.f : expf(largest_of[g] - all);
        total += weight_of[g] * factors[g];
    }
    if (partials) {
        partials += (((size_t)row * heads + head) * gridDim.z + blockIdx.z) * (D + 2);
        if (threadIdx.x == 0)
            partials[D] = all, partials[D + 1] = total;
    }
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
        float x = 0.f;
        for (int g = 0; g < GROUPS; g++)
            x += merged[g][d] * factors[g];
        if (partials)
            partials[d] = x;
        else
            out[((size_t)row * heads + head) * D + d] = from_f32<A>(x / total);
    }
}

template <typename A> __device__ void merge(const float *partials, int parts, const int *positions, A *out)
{
    wait_for_inputs();
    int width = blockDim.x, d = threadIdx.x;
    size_t at = (size_t)blockIdx.x * gridDim.y + blockIdx.y;
    if (positions[blockIdx.x] < 0)
        return;
    partials += at * parts * (width + 2);
    float all = -INFINITY, total = 0.f, x = 0.f;
    for (int p = 0; p < parts; p++)
        all = fmaxf(all, partials[p * (width + 2) + width]);
    for (int p = 0; p < parts; p++) {
        const float *part = partials + p * (width + 2);
        float factor = part[width] == -INFINITY ? 0.f : expf(part[width] - all);
        total += part[width + 1] * factor;
        x += part[d] * factor;
    }
    out[at * width + d] = from_f32<A>(x / total);
}
} // namespace

extern "C" __global__ void merge_attention_float(const float *partials, int parts, const int *positions, float *out)
{
    merge(partials, parts, positions, out);
}
extern "C" __global__ void merge_attention_bf16(const float *partials, int parts, const int *positions, bf16 *out)
{
    merge(partials, parts, positions, out);
}

#define ATTENTION(D, A, K)                                                                                                      \
    extern "C" __global__ void __launch_bounds__(128)                                                                           \
        stream_attention_##D##_##A##_##K(const A *q, int q_stride, A *out, const K *keys, const K *values,                      \
                                         const int *positions, const int *table_of, const unsigned *tables, int table_stride,   \
                                         int page_tokens, int heads, int kv_heads, int window, float scale, float softcap,      \
                                         float *partials)                                                                       \
    {                                                                                                                           \
        attend<D, A, K>(q, q_stride, out, keys, values, positions, table_of, tables, table_stride, page_tokens, heads,          \
                        kv_heads, window, scale, softcap, partials);                                                            \
    }
#define TYPES(D)                                                                                                                \
    ATTENTION(D, float, float)                                                                                                  \
    ATTENTION(D, float, f16) ATTENTION(D, float, bf16) ATTENTION(D, bf16, f16) ATTENTION(D, bf16, bf16)
TYPES(64)
TYPES(128)
TYPES(256)
