// tile_attention: softmax attention of many rows of a resident at a time, for bf16 heads of 64 and 128 over 16-bit pages.
//   arguments as simple_attention's; tiles: [tiles][2], the first row and the count of up to 64 rows of one span
//   grid (tiles, heads) · block 128: four warps of 16 rows each; 64 keys and values in shared memory at a time, by absolute position
//   tensor cores multiply in the pages' type, sums and softmax in f32
//   reads each K and V element once per tile and head; a row's bits do not depend on the tile it is in
//   floor: 4 * rows * context / 2 * heads * head_dim operations
//   After Dao 2023 (FlashAttention-2): online softmax, rescaled once per block of keys.
#include "../rows/number.cuh"

namespace {
constexpr int KEYS = 64, WARPS = 4;

__device__ __forceinline__ unsigned pair(bf16, float a, float b)
{
    __nv_bfloat162 two = __floats2bfloat162_rn(a, b);
    return *reinterpret_cast<unsigned *>(&two);
}
__device__ __forceinline__ unsigned pair(f16, float a, float b)
{
    __half2 two = __floats2half2_rn(a, b);
    return *reinterpret_cast<unsigned *>(&two);
}

__device__ __forceinline__ void multiply(bf16, float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void multiply(f16, float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 × 8 matrices of 16-bit values; a lane gives the address of one row.
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], const void *row)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
}
__device__ __forceinline__ void load_transposed(unsigned (&r)[4], const void *row)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
}

template <int D, typename K>
__device__ void attend(const bf16 *q, int q_stride, bf16 *out, const K *keys, const K *values, const int *tiles, const int *positions,
                       const int *table_of, const unsigned *tables, int table_stride, int page_tokens, int heads, int kv_heads,
                       int window, float scale, float softcap)
{
    // Rows 16 bytes apart from a multiple of all banks, so that eight of them are read at once.
    constexpr int STRIDE = D + 8;
    constexpr float LOG2E = 1.4426950408889634f;
    __shared__ __align__(16) K key_tile[KEYS][STRIDE];
    __shared__ __align__(16) K value_tile[KEYS][STRIDE];
    wait_for_inputs();
    int first_row = tiles[2 * blockIdx.x], count = tiles[2 * blockIdx.x + 1], head = blockIdx.y;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, within = lane % 4;
    int kv_head = head / (heads / kv_heads);
    const unsigned *table = tables + (size_t)table_of[first_row] * table_stride;
    int start = positions[first_row], last = start + count - 1;

    // Rows `group` and `group + 8` of the warp's 16, as the multiplication wants them.
    unsigned query[D / 16][4];
    int own[2] = {warp * 16 + group, warp * 16 + group + 8};
    for (int half = 0; half < 2; half++) {
        const bf16 *from = q + (size_t)(first_row + min(own[half], count - 1)) * q_stride + (size_t)head * D + 2 * within;
#pragma unroll
        for (int k = 0; k < D / 16; k++) {
            query[k][half] = pair(K(), to_f32(from[16 * k]), to_f32(from[16 * k + 1]));
            query[k][2 + half] = pair(K(), to_f32(from[16 * k + 8]), to_f32(from[16 * k + 9]));
        }
    }
    float sum[D / 8][4] = {}, largest[2] = {-INFINITY, -INFINITY}, weight[2] = {};
    int oldest = window > 0 && start >= window ? start - window + 1 : 0;
    for (int block = oldest / KEYS * KEYS; block <= last; block += KEYS) {
        __syncthreads();
        for (int i = threadIdx.x; i < KEYS * D / 8; i += WARPS * 32) {
            int row = i / (D / 8), piece = i % (D / 8);
            int p = min(max(block + row, oldest), last);
            size_t at = (((size_t)table[p / page_tokens] * kv_heads + kv_head) * page_tokens + p % page_tokens) * D + piece * 8;
            *reinterpret_cast<uint4 *>(&key_tile[row][piece * 8]) = *reinterpret_cast<const uint4 *>(keys + at);
            *reinterpret_cast<uint4 *>(&value_tile[row][piece * 8]) = *reinterpret_cast<const uint4 *>(values + at);
        }
        __syncthreads();
        float score[KEYS / 8][4] = {};
#pragma unroll
        for (int k = 0; k < D / 16; k++) {
#pragma unroll
            for (int n = 0; n < KEYS / 16; n++) {
                unsigned b[4];
                load_matrices(b, &key_tile[16 * n + lane / 16 * 8 + lane % 8][16 * k + lane / 8 % 2 * 8]);
                multiply(K(), score[2 * n], query[k], b[0], b[1]);
                multiply(K(), score[2 * n + 1], query[k], b[2], b[3]);
            }
        }
        float next[2] = {largest[0], largest[1]};
#pragma unroll
        for (int n = 0; n < KEYS / 8; n++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int key = block + 8 * n + 2 * within + i % 2, position = start + own[i / 2];
                float x = score[n][i] * scale;
                if (softcap > 0.f)
                    x = softcap * tanhf(x / softcap);
                bool seen = key <= position && (window <= 0 || key > position - window);
                score[n][i] = seen ? x * LOG2E : -INFINITY;
                next[i / 2] = fmaxf(next[i / 2], score[n][i]);
            }
        }
        float base[2], before[2], added[2] = {};
        for (int half = 0; half < 2; half++) {
            next[half] = fmaxf(next[half], __shfl_xor_sync(0xffffffffu, next[half], 1));
            next[half] = fmaxf(next[half], __shfl_xor_sync(0xffffffffu, next[half], 2));
            base[half] = next[half] == -INFINITY ? 0.f : next[half];
            before[half] = exp2f(largest[half] - base[half]);
            largest[half] = next[half];
        }
#pragma unroll
        for (int n = 0; n < KEYS / 8; n++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                score[n][i] = exp2f(score[n][i] - base[i / 2]);
                added[i / 2] += score[n][i];
            }
        }
        for (int half = 0; half < 2; half++)
            weight[half] = weight[half] * before[half] + added[half];
#pragma unroll
        for (int n = 0; n < D / 8; n++) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                sum[n][i] *= before[i / 2];
        }
#pragma unroll
        for (int k = 0; k < KEYS / 16; k++) {
            unsigned p[4] = {pair(K(), score[2 * k][0], score[2 * k][1]), pair(K(), score[2 * k][2], score[2 * k][3]),
                             pair(K(), score[2 * k + 1][0], score[2 * k + 1][1]), pair(K(), score[2 * k + 1][2], score[2 * k + 1][3])};
#pragma unroll
            for (int n = 0; n < D / 16; n++) {
                unsigned b[4];
                load_transposed(b, &value_tile[16 * k + lane % 16][16 * n + lane / 16 * 8]);
                multiply(K(), sum[2 * n], p, b[0], b[1]);
                multiply(K(), sum[2 * n + 1], p, b[2], b[3]);
            }
        }
    }
    for (int half = 0; half < 2; half++) {
        float all = weight[half];
        all += __shfl_xor_sync(0xffffffffu, all, 1);
        all += __shfl_xor_sync(0xffffffffu, all, 2);
        if (own[half] >= count)
            continue;
        bf16 *to = out + ((size_t)(first_row + own[half]) * heads + head) * D + 2 * within;
#pragma unroll
        for (int n = 0; n < D / 8; n++)
            *reinterpret_cast<unsigned *>(to + 8 * n) = pair(bf16(), sum[n][2 * half] / all, sum[n][2 * half + 1] / all);
    }
}
} // namespace

#define ATTENTION(D, K)                                                                                                         \
    extern "C" __global__ void __launch_bounds__(128)                                                                           \
        tile_attention_##D##_##K(const bf16 *q, int q_stride, bf16 *out, const K *keys, const K *values, const int *tiles,      \
                                 const int *positions, const int *table_of, const unsigned *tables, int table_stride,           \
                                 int page_tokens, int heads, int kv_heads, int window, float scale, float softcap)              \
    {                                                                                                                           \
        attend<D, K>(q, q_stride, out, keys, values, tiles, positions, table_of, tables, table_stride, page_tokens, heads,      \
                     kv_heads, window, scale, softcap);                                                                         \
    }
ATTENTION(64, f16)
ATTENTION(64, bf16)
ATTENTION(128, f16)
ATTENTION(128, bf16)
