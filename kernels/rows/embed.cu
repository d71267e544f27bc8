// embed: rows of the embedding table by token id.
//   out[r][i] = table[token[r]][i] * scale, f32 · grid rows · block 256
//   One segment of the table at a time: rows whose token is not one of its `n_rows` from `first` on are left alone.
#include "stored.cuh"

#define EMBED(T)                                                                                                                \
    extern "C" __global__ void embed_##T(const uint8_t *table, long long row_bytes, int first, int n_rows, int cols,            \
                                         const unsigned *tokens, float scale, float *out)                                       \
    {                                                                                                                           \
        wait_for_inputs();                                                                                                      \
        int token = (int)tokens[blockIdx.x] - first;                                                                            \
        if (token < 0 || token >= n_rows)                                                                                       \
            return;                                                                                                             \
        const uint8_t *row = table + (size_t)token * row_bytes;                                                                 \
        for (int i = threadIdx.x; i < cols; i += blockDim.x) {                                                                  \
            float x = stored_value<T>(row, i);                                                                                  \
            out[(size_t)blockIdx.x * cols + i] = scale == 1.f ? x : x * scale;                                                  \
        }                                                                                                                       \
    }
EACH_STORED(EMBED)
