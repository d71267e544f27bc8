// Stored formats in tiles: the same codes and scales, laid out so that a warp reads them with whole 16-byte loads and has them where
// the tensor cores want them.
//
// A tile is 16 rows of the weight by COLS columns (128 for formats of 32-value blocks, 256 for super-blocks); tiles lie
// [rows / 16][cols / COLS], both rounded up, each TILE_BYTES long. Rows and columns beyond the weight's have code 0 and scale 0.
// Lane `4 * g + t` of a warp holds of rows `g` and `g + 8` (r = 0, 1), of each 32 columns `b` of the tile and each 16 of them `h`,
// the four columns `32b + 16h + 4t + 2j + e` (j, e = 0, 1): what m16n8k16 takes of its left side, with the columns in another order.
// `p = 2h + j` numbers the pairs. A tile holds, one after the other:
//
// | part | there for bits | bytes | where the code of (b, r, p, e) lies in a lane's words |
// |---|---|---|---|
// | bytes | 8 | 16 COLS | word 4b + 2r + h, byte 2e + j |
// | nibbles | 4, 5, 6 | 8 COLS | word 2b + r, bit 4p + 16e; levels of a table (IQ4): bit 8p + 4e |
// | pairs of bits | 2, 3, 6 | 4 COLS | word b, bit 2 (4r + p) + 16e: codes of 6 bits have their high two here |
// | single bits | 3, 5 | 2 COLS | word b / 2, bit 4 (2 (b % 2) + r) + p + 16e: the highest |
// | scales | all | see Kind | by g, then r |
// | factors of the tile | super-blocks | 4 or 8 for each g | d, or d and dmin, f16, by r |
//
// A lane's words come in pieces of 16 bytes, [piece][lane]; the single bits of a tile of 128 columns are one piece of 8 bytes.
#pragma once

#include "../rows/stored.cuh"

// What goes with the codes.
enum Kind {
    SCALES,        // f16 scale for each 32 values: [b]
    SCALES_OFFSET, // f16 scale and offset for each 32: [b][2]
    SUPER_32_MIN,  // 8-bit scales for each 32, then minimums: [2][b]
    SUPER_16,      // 8-bit scales for each 16, 128 more than they are: [2b + h]
    SUPER_16_MIN,  // 4-bit scale (low) and minimum for each 16: [2b + h]
    SUPER_32,      // 8-bit scales for each 32, 128 more than they are: [b]
};

template <int T> struct Format;
#define TILE_FORMAT(T, KIND, BITS_OF_CODE, LEAST, LEVELS_OF_TABLE, BLOCK_BYTES)                                                 \
    template <> struct Format<T> {                                                                                              \
        static constexpr Kind kind = KIND;                                                                                      \
        static constexpr int bits = BITS_OF_CODE, least = LEAST, block_bytes = BLOCK_BYTES;                                     \
        static constexpr bool levels = LEVELS_OF_TABLE;                                                                         \
    };
// `least`: minus what a code of zero stands for. Codes of 8 bits are two's complement.
TILE_FORMAT(Q4_0, SCALES, 4, 8, false, 18)
TILE_FORMAT(Q4_1, SCALES_OFFSET, 4, 0, false, 20)
TILE_FORMAT(Q5_0, SCALES, 5, 16, false, 22)
TILE_FORMAT(Q5_1, SCALES_OFFSET, 5, 0, false, 24)
TILE_FORMAT(Q8_0, SCALES, 8, 0, false, 34)
TILE_FORMAT(Q2_K, SUPER_16_MIN, 2, 0, false, 84)
TILE_FORMAT(Q3_K, SUPER_16, 3, 4, false, 110)
TILE_FORMAT(Q4_K, SUPER_32_MIN, 4, 0, false, 144)
TILE_FORMAT(Q5_K, SUPER_32_MIN, 5, 0, false, 176)
TILE_FORMAT(Q6_K, SUPER_16, 6, 32, false, 210)
TILE_FORMAT(IQ4_NL, SCALES, 4, 0, true, 18)
TILE_FORMAT(IQ4_XS, SUPER_32, 4, 0, true, 136)

#define EACH_TILED(M) M(Q4_0) M(Q4_1) M(Q5_0) M(Q5_1) M(Q8_0) M(Q2_K) M(Q3_K) M(Q4_K) M(Q5_K) M(Q6_K) M(IQ4_NL) M(IQ4_XS)

template <int T> struct Layout {
    using F = Format<T>;
    static constexpr Kind kind = F::kind;
    static constexpr bool super = kind != SCALES && kind != SCALES_OFFSET;
    static constexpr bool minimums = kind == SCALES_OFFSET || kind == SUPER_32_MIN || kind == SUPER_16_MIN;
    static constexpr bool by_16 = kind == SUPER_16 || kind == SUPER_16_MIN;
    static constexpr int COLS = super ? 256 : 128, BLOCKS = COLS / 32;
    static constexpr bool bytes = F::bits == 8, nibbles = F::bits == 4 || F::bits == 5 || F::bits == 6;
    static constexpr bool twos = F::bits == 2 || F::bits == 3 || F::bits == 6, ones = F::bits == 3 || F::bits == 5;
    // Words of a lane.
    static constexpr int WIDE = bytes ? 4 * BLOCKS : nibbles ? 2 * BLOCKS : 0, TWOS = twos ? BLOCKS : 0, ONES = ones ? BLOCKS / 2 : 0;
    static constexpr int WORDS = WIDE + TWOS + ONES;
    static constexpr int TWOS_AT = WIDE * 128, ONES_AT = TWOS_AT + TWOS * 128, SCALES_AT = ONES_AT + ONES * 128;
    // Words of scales and of factors that lanes of one g share, of both rows.
    static constexpr int SCALE_WORDS = kind == SCALES || kind == SUPER_32 ? 4 : 8;
    static constexpr int FACTOR_WORDS = !super ? 0 : minimums ? 2 : 1;
    static constexpr int FACTORS_AT = SCALES_AT + SCALE_WORDS * 32;
    static constexpr int TILE_BYTES = FACTORS_AT + FACTOR_WORDS * 32;
    // What a code is more than its value once it is a number: 128 from the way it is made one, and `least`.
    static constexpr bool shifted = !bytes && !F::levels;
};

__device__ __forceinline__ uint4 load_once(const void *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

// The least significant byte is that of code 0. Table of one byte of the bf16 values of the levels, four codes a word.
__host__ __device__ constexpr unsigned level_bf16(int level)
{
    unsigned sign = level < 0 ? 0x8000u : 0u, x = level < 0 ? -level : level, exponent = 127 + 7;
    while (x < 128)
        x <<= 1, exponent--;
    return sign | exponent << 7 | (x & 127);
}
__host__ __device__ constexpr unsigned level_bytes(int shift, int a, int b, int c, int d)
{
    return (level_bf16(a) >> shift & 255) | (level_bf16(b) >> shift & 255) << 8 | (level_bf16(c) >> shift & 255) << 16 |
           (level_bf16(d) >> shift & 255) << 24;
}

// Four bytes of a table of 16 by the four nibbles of the low half of `codes`.
template <int SHIFT> __device__ __forceinline__ unsigned level_lookup(unsigned low_bits, unsigned selector)
{
    constexpr unsigned t0 = level_bytes(SHIFT, -127, -104, -83, -65), t1 = level_bytes(SHIFT, -49, -35, -22, -10);
    constexpr unsigned t2 = level_bytes(SHIFT, 1, 13, 25, 38), t3 = level_bytes(SHIFT, 53, 69, 89, 113);
    return __byte_perm(__byte_perm(t0, t1, low_bits), __byte_perm(t2, t3, low_bits), selector);
}

// A shift to the left by a constant, or to the right where it is negative.
template <int BY> __device__ __forceinline__ unsigned shifted(unsigned x)
{
    if constexpr (BY >= 0)
        return x << BY;
    else
        return x >> -BY;
}

// Byte `i` of a word as f32, less `less`.
template <int I> __device__ __forceinline__ float byte_f32(unsigned word, int less)
{
    return __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7440 | I)) - (8388608.f + (float)less);
}

__device__ __forceinline__ float low_half(unsigned word) { return __half2float(__ushort_as_half((unsigned short)word)); }
__device__ __forceinline__ float high_half(unsigned word) { return __half2float(__ushort_as_half((unsigned short)(word >> 16))); }

// A lane's share of a tile.
template <int T> struct Share {
    using L = Layout<T>;
    unsigned codes[L::WORDS], scales[L::SCALE_WORDS], factors[L::FACTOR_WORDS > 0 ? L::FACTOR_WORDS : 1];

    __device__ __forceinline__ void load(const uint8_t *tile, int lane)
    {
        pieces<0, L::WIDE>(tile, lane);
        pieces<L::TWOS_AT, L::TWOS, L::WIDE>(tile, lane);
        if constexpr (L::ONES == 2) {
            uint2 v = __ldg(reinterpret_cast<const uint2 *>(tile + L::ONES_AT) + lane);
            codes[L::WORDS - 2] = v.x, codes[L::WORDS - 1] = v.y;
        } else {
            pieces<L::ONES_AT, L::ONES, L::WIDE + L::TWOS>(tile, lane);
        }
        const uint8_t *at = tile + L::SCALES_AT + lane / 4 * L::SCALE_WORDS * 4;
#pragma unroll
        for (int i = 0; i < L::SCALE_WORDS; i += 4) {
            uint4 v = __ldg(reinterpret_cast<const uint4 *>(at + 4 * i));
            scales[i] = v.x, scales[i + 1] = v.y, scales[i + 2] = v.z, scales[i + 3] = v.w;
        }
        at = tile + L::FACTORS_AT + lane / 4 * L::FACTOR_WORDS * 4;
        if constexpr (L::FACTOR_WORDS == 2) {
            uint2 v = __ldg(reinterpret_cast<const uint2 *>(at));
            factors[0] = v.x, factors[1] = v.y;
        } else if constexpr (L::FACTOR_WORDS == 1) {
            factors[0] = __ldg(reinterpret_cast<const unsigned *>(at));
        }
    }

    // Pair p of block B and row R as two bf16. Where the layout is `shifted`, 128 + least more than the values.
    template <int B, int R> __device__ __forceinline__ void pairs(unsigned (&out)[4]) const
    {
        constexpr unsigned ONE_TWO_EIGHT = 0x43004300u;
        if constexpr (L::bytes) {
#pragma unroll
            for (int h = 0; h < 2; h++) {
                unsigned w = codes[4 * B + 2 * R + h];
#pragma unroll
                for (int j = 0; j < 2; j++, w >>= 8) {
                    // 128 + the low 7 bits, less 128, or less 256 where the sign is set.
                    unsigned x = (w & 0x007f007fu) | ONE_TWO_EIGHT, less = (w & 0x00800080u) | ONE_TWO_EIGHT;
                    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(out[2 * h + j]) : "r"(less), "r"(0xbf80bf80u), "r"(x));
                }
            }
        } else if constexpr (Format<T>::levels) {
            unsigned w = codes[2 * B + R], low = w & 0x77777777u, selector = (w >> 1 & 0x44444444u) | 0x32103210u;
#pragma unroll
            for (int h = 0; h < 2; h++, low >>= 16, selector >>= 16) {
                unsigned upper = level_lookup<8>(low, selector), lower = level_lookup<0>(low, selector);
                out[2 * h] = __byte_perm(lower, upper, 0x5140);
                out[2 * h + 1] = __byte_perm(lower, upper, 0x7362);
            }
        } else {
            pair<B, R, 0>(out[0]), pair<B, R, 1>(out[1]), pair<B, R, 2>(out[2]), pair<B, R, 3>(out[3]);
        }
    }

    // Scale of 16 values H of block B; formats with factors of the tile are without them.
    template <int B, int H, int R> __device__ __forceinline__ float scale() const
    {
        if constexpr (L::kind == SCALES) {
            unsigned w = scales[2 * R + B / 2];
            return B % 2 ? high_half(w) : low_half(w);
        } else if constexpr (L::kind == SCALES_OFFSET) {
            return low_half(scales[4 * R + B]);
        } else if constexpr (L::kind == SUPER_32_MIN) {
            return byte_f32<B % 4>(scales[4 * R + B / 4], 0);
        } else if constexpr (L::kind == SUPER_16) {
            return byte_f32<(2 * B + H) % 4>(scales[4 * R + B / 2], 128);
        } else if constexpr (L::kind == SUPER_16_MIN) {
            return byte_f32<(2 * B + H) % 4>(scales[4 * R + B / 2] & 0x0f0f0f0fu, 0);
        } else {
            return byte_f32<B % 4>(scales[2 * R + B / 4], 128);
        }
    }

    // What is taken away, in units as above; the offset of SCALES_OFFSET is added.
    template <int B, int H, int R> __device__ __forceinline__ float minimum() const
    {
        if constexpr (L::kind == SCALES_OFFSET)
            return high_half(scales[4 * R + B]);
        else if constexpr (L::kind == SUPER_32_MIN)
            return byte_f32<B % 4>(scales[4 * R + 2 + B / 4], 0);
        else
            return byte_f32<(2 * B + H) % 4>(scales[4 * R + B / 2] >> 4 & 0x0f0f0f0fu, 0);
    }

    __device__ __forceinline__ float factor(int r) const
    {
        if constexpr (L::FACTOR_WORDS == 2)
            return low_half(factors[r]);
        else
            return r ? high_half(factors[0]) : low_half(factors[0]);
    }
    __device__ __forceinline__ float minimum_factor(int r) const { return high_half(factors[r]); }

  private:
    template <int AT, int COUNT, int TO = 0> __device__ __forceinline__ void pieces(const uint8_t *tile, int lane)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) {
            uint4 v = load_once(tile + AT + i * 128 + lane * 16);
            codes[TO + i] = v.x, codes[TO + i + 1] = v.y, codes[TO + i + 2] = v.z, codes[TO + i + 3] = v.w;
        }
    }

    template <int B, int R, int P> __device__ __forceinline__ void pair(unsigned &out) const
    {
        constexpr int bits = Format<T>::bits, in_twos = 2 * (4 * R + P), in_ones = 4 * (2 * (B % 2) + R) + P;
        unsigned x = 0x43004300u;
        if constexpr (L::nibbles)
            x |= shifted<-4 * P>(codes[2 * B + R]) & 0x000f000fu;
        if constexpr (bits == 6)
            x |= shifted<4 - in_twos>(codes[L::WIDE + B]) & 0x00300030u;
        else if constexpr (L::twos)
            x |= shifted<-in_twos>(codes[L::WIDE + B]) & 0x00030003u;
        if constexpr (bits == 5)
            x |= shifted<4 - in_ones>(codes[L::WIDE + B / 2]) & 0x00100010u;
        else if constexpr (bits == 3)
            x |= shifted<2 - in_ones>(codes[L::TWOS + B / 2]) & 0x00040004u;
        out = x;
    }
};

// Calls f with the numbers 0 .. N as compile-time constants.
template <int I> struct Index {
    static constexpr int value = I;
};
template <int N, int I = 0, typename Fn> __device__ __forceinline__ void each(Fn &&f)
{
    if constexpr (I < N) {
        f(Index<I>());
        each<N, I + 1>(f);
    }
}
