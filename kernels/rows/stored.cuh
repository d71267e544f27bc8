// One value of a row in each stored format. The formats are described in src/weights/quant; this is their plain decoding, in the
// same order of operations, value by value.
#pragma once

#include "number.cuh"

// The numbers are those of `kernel_name` in src/backend/cuda/weights.rs.
enum Stored { F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS };

__constant__ int8_t iq4_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

__device__ __forceinline__ float half_at(const uint8_t *p)
{
    return __half2float(__ushort_as_half((unsigned short)(p[0] | p[1] << 8)));
}

__device__ __forceinline__ int nibble(const uint8_t *codes, int i) { return i < 16 ? codes[i] & 15 : codes[i - 16] >> 4; }

// Scale and minimum `j` of Q4_K and Q5_K.
__device__ __forceinline__ void scale_and_minimum(const uint8_t *p, int j, int &scale, int &minimum)
{
    if (j < 4) {
        scale = p[j] & 63;
        minimum = p[j + 4] & 63;
    } else {
        scale = (p[j + 4] & 15) | (p[j - 4] >> 6) << 4;
        minimum = p[j + 4] >> 4 | (p[j] >> 6) << 4;
    }
}

// Value `col` of the row that begins at `row`.
template <int T> __device__ __forceinline__ float stored_value(const uint8_t *row, int col)
{
    if constexpr (T == F32)
        return reinterpret_cast<const float *>(row)[col];
    if constexpr (T == F16)
        return __half2float(reinterpret_cast<const f16 *>(row)[col]);
    if constexpr (T == BF16)
        return __bfloat162float(reinterpret_cast<const bf16 *>(row)[col]);
    if constexpr (T == Q4_0) {
        const uint8_t *b = row + (size_t)(col / 32) * 18;
        return (float)(nibble(b + 2, col % 32) - 8) * half_at(b);
    }
    if constexpr (T == Q4_1) {
        const uint8_t *b = row + (size_t)(col / 32) * 20;
        return __fadd_rn(__fmul_rn((float)nibble(b + 4, col % 32), half_at(b)), half_at(b + 2));
    }
    if constexpr (T == Q5_0) {
        const uint8_t *b = row + (size_t)(col / 32) * 22;
        int i = col % 32, fifth = b[2 + i / 8] >> (i % 8) & 1;
        return (float)((nibble(b + 6, i) | fifth << 4) - 16) * half_at(b);
    }
    if constexpr (T == Q5_1) {
        const uint8_t *b = row + (size_t)(col / 32) * 24;
        int i = col % 32, fifth = b[4 + i / 8] >> (i % 8) & 1;
        return __fadd_rn(__fmul_rn((float)(nibble(b + 8, i) | fifth << 4), half_at(b)), half_at(b + 2));
    }
    if constexpr (T == Q8_0) {
        const uint8_t *b = row + (size_t)(col / 32) * 34;
        return (float)(int8_t)b[2 + col % 32] * half_at(b);
    }
    if constexpr (T == IQ4_NL) {
        const uint8_t *b = row + (size_t)(col / 32) * 18;
        return half_at(b) * (float)iq4_levels[nibble(b + 2, col % 32)];
    }
    int v = col % 256, j = v / 16, l = v % 16;
    // Where the 2-bit codes of 16 values start, and how deep they lie (Q2_K, Q3_K).
    int two_bytes = j / 8 * 32 + j % 2 * 16, two_shift = j % 8 / 2 * 2;
    if constexpr (T == Q2_K) {
        const uint8_t *b = row + (size_t)(col / 256) * 84;
        float scale = half_at(b + 80) * (float)(b[j] & 15), minimum = half_at(b + 82) * (float)(b[j] >> 4);
        return __fsub_rn(__fmul_rn(scale, (float)(b[16 + two_bytes + l] >> two_shift & 3)), minimum);
    }
    if constexpr (T == Q3_K) {
        const uint8_t *b = row + (size_t)(col / 256) * 110, *scales = b + 96;
        int low = scales[j % 8] >> (j / 8 * 4) & 15, high = scales[8 + j % 4] >> (j / 4 * 2) & 3;
        float scale = half_at(b + 108) * (float)((low | high << 4) - 32);
        int code = b[32 + two_bytes + l] >> two_shift & 3, third = b[j % 2 * 16 + l] >> (j / 2) & 1;
        return scale * (float)(code + 4 * third - 4);
    }
    if constexpr (T == Q4_K || T == Q5_K) {
        const uint8_t *b = row + (size_t)(col / 256) * (T == Q4_K ? 144 : 176), *codes = b + (T == Q4_K ? 16 : 48);
        int sub = v / 32, within = v % 32, scale, minimum;
        scale_and_minimum(b + 4, sub, scale, minimum);
        int code = codes[sub / 2 * 32 + within] >> (sub % 2 * 4) & 15;
        if (T == Q5_K)
            code |= (b[16 + within] >> sub & 1) << 4;
        return __fsub_rn(__fmul_rn(half_at(b) * (float)scale, (float)code), half_at(b + 2) * (float)minimum);
    }
    if constexpr (T == Q6_K) {
        const uint8_t *b = row + (size_t)(col / 256) * 210, *high = b + 128;
        int half = j / 8, within = v % 128;
        int low = b[half * 64 + within % 64] >> (within / 64 * 4) & 15;
        int code = low | (high[half * 32 + within % 32] >> (within / 32 * 2) & 3) << 4;
        return half_at(b + 208) * (float)(int8_t)b[192 + j] * (float)(code - 32);
    }
    if constexpr (T == IQ4_XS) {
        const uint8_t *b = row + (size_t)(col / 256) * 136;
        int sub = v / 32, high = b[2] | b[3] << 8;
        int scale = (b[4 + sub / 2] >> (sub % 2 * 4) & 15) | (high >> (2 * sub) & 3) << 4;
        return half_at(b) * (float)(scale - 32) * (float)iq4_levels[nibble(b + 8 + sub * 16, v % 32)];
    }
}

#define EACH_STORED(M)                                                                                                          \
    M(F32) M(F16) M(BF16) M(Q4_0) M(Q4_1) M(Q5_0) M(Q5_1) M(Q8_0) M(Q2_K) M(Q3_K) M(Q4_K) M(Q5_K) M(Q6_K) M(IQ4_NL) M(IQ4_XS)
