// tile_pack: a matrix from the bytes it is stored in to tiles.
//   stored: rows of whole blocks, one after the other · tiles: ceil(rows / 16) * ceil(cols / COLS) * TILE_BYTES bytes, aligned to 256
//   grid (ceil(cols / COLS), ceil(rows / 16)) · block 32
//   Once per weight, when it is loaded: reads and writes each byte a few times.
// tile_rows: the other way, to numbers, for products of many rows and for gathering: out[i][k] = value of row first + i.
//   out: [n_rows][cols] · grid (ceil(cols / COLS), ceil(n_rows / 16)) · block 32 · first a multiple of 16
//   Values are computed in f32 in the order of src/weights/quant, then rounded to the type of `out`.
//   floor: rows * cols * (stored bits / 8 + bytes of out) / HBM bandwidth
// tile_embed: rows of an embedding table by token id.
//   out[r][i] = table[token[r]][i] * scale, f32 · grid rows · block 256
//   One segment of the table at a time: rows whose token is not one of its `n_rows` from `first` on are left alone.
#include "tiles.cuh"

namespace {
// The code of value `v` of a block.
template <int T> __device__ unsigned stored_code(const uint8_t *b, int v)
{
    int j = v / 16, l = v % 16, two_bytes = j / 8 * 32 + j % 2 * 16, two_shift = j % 8 / 2 * 2;
    if constexpr (T == Q4_0 || T == IQ4_NL)
        return nibble(b + 2, v);
    if constexpr (T == Q4_1)
        return nibble(b + 4, v);
    if constexpr (T == Q5_0)
        return nibble(b + 6, v) | (b[2 + v / 8] >> (v % 8) & 1) << 4;
    if constexpr (T == Q5_1)
        return nibble(b + 8, v) | (b[4 + v / 8] >> (v % 8) & 1) << 4;
    if constexpr (T == Q8_0)
        return b[2 + v];
    if constexpr (T == Q2_K)
        return b[16 + two_bytes + l] >> two_shift & 3;
    if constexpr (T == Q3_K)
        return (b[32 + two_bytes + l] >> two_shift & 3) | (b[j % 2 * 16 + l] >> (j / 2) & 1) << 2;
    if constexpr (T == Q4_K || T == Q5_K) {
        int sub = v / 32, within = v % 32;
        unsigned code = b[(T == Q4_K ? 16 : 48) + sub / 2 * 32 + within] >> (sub % 2 * 4) & 15;
        return T == Q4_K ? code : code | (b[16 + within] >> sub & 1) << 4;
    }
    if constexpr (T == Q6_K) {
        int half = j / 8, within = v % 128;
        return (b[half * 64 + within % 64] >> (within / 64 * 4) & 15) |
               (b[128 + half * 32 + within % 32] >> (within / 32 * 2) & 3) << 4;
    }
    if constexpr (T == IQ4_XS)
        return nibble(b + 8 + v / 32 * 16, v % 32);
}

// Scale of a super-block's values 32b + 16h.., as a tile holds it.
template <int T> __device__ unsigned stored_scale(const uint8_t *p, int b, int h)
{
    int j = 2 * b + h, scale, minimum;
    if constexpr (T == Q4_K || T == Q5_K) {
        scale_and_minimum(p + 4, b, scale, minimum);
        return scale;
    }
    if constexpr (T == Q2_K)
        return p[j];
    if constexpr (T == Q3_K) {
        const uint8_t *scales = p + 96;
        return ((scales[j % 8] >> (j / 8 * 4) & 15) | (scales[8 + j % 4] >> (j / 4 * 2) & 3) << 4) - 32 + 128;
    }
    if constexpr (T == Q6_K)
        return p[192 + j] ^ 128;
    if constexpr (T == IQ4_XS)
        return ((p[4 + b / 2] >> (b % 2 * 4) & 15) | ((p[2] | p[3] << 8) >> (2 * b) & 3) << 4) - 32 + 128;
    return 0;
}

__device__ unsigned short bits_at(const uint8_t *p) { return (unsigned short)(p[0] | p[1] << 8); }

template <int T> __device__ void pack(const uint8_t *stored, int rows, int cols, uint8_t *tiles)
{
    using L = Layout<T>;
    constexpr int IN_BLOCK = L::super ? 256 : 32, BYTES = Format<T>::block_bytes;
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    uint8_t *tile = tiles + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * L::TILE_BYTES;
    size_t row_bytes = (size_t)(cols / IN_BLOCK) * BYTES;
    auto block = [&](int row, int col) -> const uint8_t * {
        return row < rows && col < cols ? stored + (size_t)row * row_bytes + (size_t)(col / IN_BLOCK) * BYTES : nullptr;
    };
    unsigned words[L::WORDS] = {};
    for (int b = 0; b < L::BLOCKS; b++) {
        for (int r = 0; r < 2; r++) {
            int col = blockIdx.x * L::COLS + 32 * b;
            const uint8_t *from = block(blockIdx.y * 16 + g + 8 * r, col);
            for (int i = 0; i < 8; i++) {
                int p = i / 2, e = i % 2, h = p / 2, j = p % 2;
                unsigned code = from ? stored_code<T>(from, (col + 16 * h + 4 * t + 2 * j + e) % IN_BLOCK) : 0;
                if (L::bytes)
                    words[4 * b + 2 * r + h] |= code << 8 * (2 * e + j);
                if (L::nibbles)
                    words[2 * b + r] |= (code & 15) << (Format<T>::levels ? 8 * p + 4 * e : 4 * p + 16 * e);
                if (L::twos)
                    words[L::WIDE + b] |= (Format<T>::bits == 6 ? code >> 4 : code & 3) << (2 * (4 * r + p) + 16 * e);
                if (L::ones)
                    words[L::WIDE + L::TWOS + b / 2] |= code >> (Format<T>::bits - 1) << (4 * (2 * (b % 2) + r) + p + 16 * e);
            }
        }
    }
    unsigned *out = reinterpret_cast<unsigned *>(tile);
    for (int i = 0; i < L::WIDE + L::TWOS; i++)
        out[i / 4 * 128 + lane * 4 + i % 4] = words[i];
    for (int i = 0; i < L::ONES; i++) {
        constexpr int PIECE = L::ONES < 4 ? 2 : 4;
        out[L::ONES_AT / 4 + i / PIECE * 128 + lane * PIECE + i % PIECE] = words[L::WIDE + L::TWOS + i];
    }
    if (lane >= 16)
        return;
    // Scales: one lane a row.
    int row = blockIdx.y * 16 + lane, first = blockIdx.x * L::COLS;
    uint8_t *scales = tile + L::SCALES_AT + (lane % 8) * L::SCALE_WORDS * 4 + lane / 8 * L::SCALE_WORDS * 2;
    if constexpr (!L::super) {
        unsigned short *to = reinterpret_cast<unsigned short *>(scales);
        for (int b = 0; b < L::BLOCKS; b++) {
            const uint8_t *from = block(row, first + 32 * b);
            if (L::minimums) {
                to[2 * b] = from ? bits_at(from) : 0;
                to[2 * b + 1] = from ? bits_at(from + 2) : 0;
            } else {
                to[b] = from ? bits_at(from) : 0;
            }
        }
    } else {
        const uint8_t *from = block(row, first);
        for (int i = 0; i < (L::by_16 ? 16 : 8); i++) {
            int b = L::by_16 ? i / 2 : i, h = L::by_16 ? i % 2 : 0;
            scales[i] = from ? stored_scale<T>(from, b, h) : 0;
            if constexpr (L::kind == SUPER_32_MIN) {
                int scale, minimum = 0;
                if (from)
                    scale_and_minimum(from + 4, i, scale, minimum);
                scales[8 + i] = minimum;
            }
        }
        constexpr int D = T == Q2_K ? 80 : T == Q3_K ? 108 : T == Q6_K ? 208 : 0;
        unsigned short *factors =
            reinterpret_cast<unsigned short *>(tile + L::FACTORS_AT + (lane % 8) * L::FACTOR_WORDS * 4 + lane / 8 * L::FACTOR_WORDS * 2);
        factors[0] = from ? bits_at(from + D) : 0;
        if (L::minimums)
            factors[1] = from ? bits_at(from + D + 2) : 0;
    }
}

// The four values of each (b, h) of row R that lane `lane` holds of a tile, to f(column in the tile, values).
template <int T, int R, typename Fn> __device__ __forceinline__ void decode(const Share<T> &share, int lane, Fn &&f)
{
    using L = Layout<T>;
    float d = L::super ? share.factor(R) : 1.f, dmin = L::super && L::minimums ? share.minimum_factor(R) : 1.f;
    constexpr float less = L::shifted ? 128.f + Format<T>::least : 0.f;
    each<L::BLOCKS>([&](auto block) {
        constexpr int B = decltype(block)::value;
        unsigned pairs[4];
        share.template pairs<B, R>(pairs);
        each<2>([&](auto half) {
            constexpr int H = decltype(half)::value;
            float scale = __fmul_rn(d, share.template scale<B, H, R>()), values[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                unsigned two = pairs[2 * H + i / 2];
                float code = __uint_as_float(i % 2 ? two & 0xffff0000u : two << 16) - less;
                values[i] = __fmul_rn(scale, code);
                if constexpr (L::minimums) {
                    float m = share.template minimum<B, H, R>();
                    values[i] = L::super ? __fsub_rn(values[i], __fmul_rn(dmin, m)) : __fadd_rn(values[i], m);
                }
            }
            f(32 * B + 16 * H + 4 * (lane % 4), values);
        });
    });
}

template <int T, typename Y>
__device__ void rows(const uint8_t *tiles, int n_rows, int cols, int first, Y *out)
{
    using L = Layout<T>;
    wait_for_inputs();
    int lane = threadIdx.x;
    Share<T> share;
    share.load(tiles + ((size_t)(first / 16 + blockIdx.y) * gridDim.x + blockIdx.x) * L::TILE_BYTES, lane);
    each<2>([&](auto r) {
        constexpr int R = decltype(r)::value;
        int row = blockIdx.y * 16 + lane / 4 + 8 * R;
        decode<T, R>(share, lane, [&](int at, const float (&values)[4]) {
            int col = blockIdx.x * L::COLS + at;
            if (row >= n_rows || col >= cols)
                return;
            struct alignas(4 * sizeof(Y)) Four {
                Y v[4];
            } four = {{from_f32<Y>(values[0]), from_f32<Y>(values[1]), from_f32<Y>(values[2]), from_f32<Y>(values[3])}};
            *reinterpret_cast<Four *>(out + (size_t)row * cols + col) = four;
        });
    });
}

template <int T>
__device__ void embed(const uint8_t *tiles, int first, int n_rows, int cols, const unsigned *tokens, float by, float *out)
{
    using L = Layout<T>;
    wait_for_inputs();
    int token = (int)tokens[blockIdx.x] - first;
    if (token < 0 || token >= n_rows)
        return;
    int across = (cols + L::COLS - 1) / L::COLS, g = token % 8;
    out += (size_t)blockIdx.x * cols;
    for (int i = threadIdx.x; i < across * 4; i += blockDim.x) {
        int lane = 4 * g + i % 4;
        Share<T> share;
        share.load(tiles + ((size_t)(token / 16) * across + i / 4) * L::TILE_BYTES, lane);
        auto put = [&](int at, const float (&values)[4]) {
            int col = i / 4 * L::COLS + at;
            if (col < cols)
                *reinterpret_cast<float4 *>(out + col) = by == 1.f ? make_float4(values[0], values[1], values[2], values[3])
                                                                   : make_float4(values[0] * by, values[1] * by, values[2] * by, values[3] * by);
        };
        if (token % 16 < 8)
            decode<T, 0>(share, lane, put);
        else
            decode<T, 1>(share, lane, put);
    }
}
} // namespace

#define KERNELS(T)                                                                                                              \
    extern "C" __global__ void __launch_bounds__(32) tile_pack_##T(const uint8_t *stored, int rows, int cols, uint8_t *tiles)   \
    {                                                                                                                           \
        pack<T>(stored, rows, cols, tiles);                                                                                     \
    }                                                                                                                           \
    extern "C" __global__ void __launch_bounds__(32)                                                                            \
        tile_rows_##T##_bf16(const uint8_t *tiles, int n_rows, int cols, int first, bf16 *out)                                  \
    {                                                                                                                           \
        rows<T>(tiles, n_rows, cols, first, out);                                                                               \
    }                                                                                                                           \
    extern "C" __global__ void __launch_bounds__(32)                                                                            \
        tile_rows_##T##_float(const uint8_t *tiles, int n_rows, int cols, int first, float *out)                                \
    {                                                                                                                           \
        rows<T>(tiles, n_rows, cols, first, out);                                                                               \
    }                                                                                                                           \
    extern "C" __global__ void tile_embed_##T(const uint8_t *tiles, int first, int n_rows, int cols, const unsigned *tokens,    \
                                              float scale, float *out)                                                          \
    {                                                                                                                           \
        embed<T>(tiles, first, n_rows, cols, tokens, scale, out);                                                               \
    }
EACH_TILED(KERNELS)
