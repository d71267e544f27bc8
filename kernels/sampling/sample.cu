// Choosing a token for each row of logits: bias, penalties, mask, temperature, top-k, top-p, min-p, draw, and log-probabilities, as
// backend::SampleRow defines them and the CPU's sampler does them. Tokens are ordered by falling logit, lower ids first among equals.
//
//   sample_survey: grid (chunks of 4096 logits, rows) · block 256. Largest logit, sum of exponentials and whether all are finite, per
//     chunk; the largest below `limit` with its lowest id for rows that nothing changes; a copy for those that something changes.
//   sample_adjust: grid rows · block 256, only where a row has bias or penalties: adds them to the copy.
//   sample_mask: grid as sample_survey, only where a row is changed: the mask, and the largest of what is left.
//   sample_choose: grid rows · block 1024. Merges the chunks and chooses.
//   reads each logit once for a greedy row; a draw reads them some ten times, from cache
//
// Probabilities are added as whole multiples of 2^-44 of the largest, so that a sum does not depend on the order of its terms.
#include "../rows/number.cuh"

namespace {

constexpr int CHUNK = 4096;
constexpr int BINS = 2048;
constexpr int MOST_TOP = 64;
constexpr float UNIT = 17592186044416.f; // 2^44
// What of the probabilities' own rounding counts as having reached top_p: the CPU's figure.
constexpr double SLACK = 2.5e-7;

enum Flags { GREEDY = 1, CHANGED = 2 };
enum Fault { NONE = 0, NON_FINITE = 1, NOTHING_ALLOWED = 2 };

// As src/backend/cuda/sampling.rs lays it out.
struct Row {
    unsigned output, flags;
    float scale; // 1 / temperature
    unsigned top_k;
    float top_p, min_p;
    float repetition, presence, frequency;
    unsigned seed_low, seed_high, draw_low, draw_high;
    unsigned first_bias, biases, first_count, counts;
    int first_mask; // word of the masks, or negative
    unsigned mask_words;
    int logprobs; // or negative
};

struct Bias {
    unsigned token;
    float add;
};

struct Count {
    unsigned token, in_prompt, in_output;
};

struct Part {
    float largest, sum; // of all logits: the largest, and the sum of e^(x - largest)
    unsigned finite;
    float best; // of those that may be chosen
    unsigned at;
};

struct Result {
    unsigned token, fault;
    float logprob;
    unsigned tops;
};

struct Top {
    unsigned token;
    float logprob;
};

struct Best {
    float x;
    unsigned at;
};

__device__ Best better(Best a, Best b) { return a.x > b.x || (a.x == b.x && a.at < b.at) ? a : b; }

__device__ Best block_best(Best best, Best *scratch)
{
    for (int lane = 16; lane > 0; lane /= 2) {
        Best other = {__shfl_xor_sync(0xffffffffu, best.x, lane), __shfl_xor_sync(0xffffffffu, best.at, lane)};
        best = better(best, other);
    }
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = best;
    __syncthreads();
    best = scratch[0];
    for (int warp = 1; warp < (int)blockDim.x / 32; warp++)
        best = better(best, scratch[warp]);
    __syncthreads();
    return best;
}

__device__ float philox_uniform(unsigned seed_low, unsigned seed_high, unsigned draw_low, unsigned draw_high)
{
    unsigned c0 = draw_low, c1 = draw_high, c2 = 0, c3 = 0, k0 = seed_low, k1 = seed_high;
    for (int round = 0; round < 10; round++) {
        unsigned h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return (float)(c0 >> 8) * (1.f / 16777216.f);
}

// Larger floats have larger keys. No finite float has key 0.
__device__ __forceinline__ unsigned key_of(float x)
{
    unsigned bits = __float_as_uint(x == 0.f ? 0.f : x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float value_of(unsigned key)
{
    return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

// The logits of one row and what of them is kept: those with a key above `floor` and a term of at least `min_term`, and of those with
// the key `floor` the `ties` with the lowest ids.
struct Kept {
    const float *x;
    int n;
    float largest, scale, min_term;
    unsigned floor;
    unsigned long long ties;

    __device__ float term(float value) const { return expf((value - largest) * scale); }
    __device__ unsigned long long mass(float value) const
    {
        float e = term(value);
        return e >= min_term ? __float2ull_rn(e * UNIT) : 0;
    }
    // 64 bins for each factor e of probability.
    __device__ unsigned bin(float value) const
    {
        float distance = (largest - value) * scale * 64.f;
        return distance < (float)(BINS - 1) ? (unsigned)distance : BINS - 1;
    }
};

// Where a sum over the kept tokens, in order, reaches what was wanted.
struct Crossing {
    bool found;
    unsigned key;
    unsigned long long above; // of all tokens with larger keys
};

struct Shared {
    unsigned long long bins[BINS];
    unsigned long long warps[32];
    unsigned long long above;
    unsigned bin;
    unsigned found;
    Best best[32];
    unsigned id;
};

__device__ unsigned long long block_total(unsigned long long x, Shared &s)
{
    for (int lane = 16; lane > 0; lane /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, lane);
    if (threadIdx.x % 32 == 0)
        s.warps[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int warp = 0; warp < (int)blockDim.x / 32; warp++)
        x += s.warps[warp];
    __syncthreads();
    return x;
}

// The bin, from `last` downwards (or upwards from 0 where `rising`), in which the running sum reaches `want`. 1024 threads.
__device__ void find_bin(Shared &s, unsigned long long before, unsigned long long want, bool rising)
{
    int first = 2 * threadIdx.x, second = first + 1;
    if (!rising)
        first = BINS - 1 - first, second = BINS - 1 - second;
    unsigned long long a = s.bins[first], b = s.bins[second], sum = a + b;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int step = 1; step < 32; step *= 2) {
        unsigned long long other = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step)
            sum += other;
    }
    if (lane == 31)
        s.warps[warp] = sum;
    if (threadIdx.x == 0)
        s.found = 0;
    __syncthreads();
    for (int w = 0; w < warp; w++)
        before += s.warps[w];
    unsigned long long end = before + sum, start = end - a - b;
    if (start < want && want <= end) {
        bool in_first = want <= start + a;
        s.bin = in_first ? first : second;
        s.above = in_first ? start : start + a;
        s.found = 1;
    }
    __syncthreads();
}

__device__ void clear_bins(Shared &s)
{
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        s.bins[i] = 0;
    __syncthreads();
}

// Adds up kept tokens with keys above the floor, by falling logit, until `want` (at least 1) is reached; a token counts its mass, or 1.
template <bool MASS> __device__ Crossing cross(const Kept &kept, unsigned long long want, Shared &s)
{
    clear_bins(s);
    for (int i = threadIdx.x; i < kept.n; i += blockDim.x) {
        float x = kept.x[i];
        if (key_of(x) <= kept.floor)
            continue;
        unsigned long long weight = MASS ? kept.mass(x) : 1;
        if (weight)
            atomicAdd(&s.bins[kept.bin(x)], weight);
    }
    __syncthreads();
    find_bin(s, 0, want, true);
    if (!s.found)
        return {false, 0, 0};
    unsigned coarse = s.bin, prefix = 0;
    unsigned long long above = s.above;
    __syncthreads();
    // 11, 11 and 10 bits of the key among the tokens of that bin.
    for (int level = 0; level < 3; level++) {
        int shift = level == 0 ? 21 : level == 1 ? 10 : 0, width = level == 2 ? 10 : 11;
        clear_bins(s);
        for (int i = threadIdx.x; i < kept.n; i += blockDim.x) {
            float x = kept.x[i];
            unsigned key = key_of(x);
            if (key <= kept.floor || kept.bin(x) != coarse || (level > 0 && key >> (shift + width) != prefix))
                continue;
            unsigned long long weight = MASS ? kept.mass(x) : 1;
            if (weight)
                atomicAdd(&s.bins[key >> shift & ((1u << width) - 1)], weight);
        }
        __syncthreads();
        find_bin(s, above, want, false);
        prefix = prefix << width | s.bin;
        above = s.above;
        __syncthreads();
    }
    return {true, prefix, above};
}

// The id of the `index`-th token, from the lowest id on, that has this key.
__device__ unsigned id_of(const Kept &kept, unsigned key, unsigned long long index, Shared &s)
{
    if (index == 0) {
        if (threadIdx.x == 0)
            s.id = 0xffffffffu;
        __syncthreads();
        for (int i = threadIdx.x; i < kept.n; i += blockDim.x)
            if (key_of(kept.x[i]) == key)
                atomicMin(&s.id, (unsigned)i);
        __syncthreads();
        unsigned id = s.id;
        __syncthreads();
        return id;
    }
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int from = 0; from < kept.n; from += blockDim.x) {
        int i = from + threadIdx.x;
        bool equal = i < kept.n && key_of(kept.x[i]) == key;
        unsigned mask = __ballot_sync(0xffffffffu, equal);
        if (lane == 0)
            s.warps[warp] = __popc(mask);
        __syncthreads();
        unsigned long long before = 0, all = 0;
        for (int w = 0; w < (int)blockDim.x / 32; w++) {
            before += w < warp ? s.warps[w] : 0;
            all += s.warps[w];
        }
        if (equal && before + __popc(mask & ((1u << lane) - 1)) == index)
            s.id = (unsigned)i;
        __syncthreads();
        if (index < all)
            return s.id;
        index -= all;
    }
    return 0;
}

__device__ unsigned long long mass_above_floor(const Kept &kept, Shared &s)
{
    unsigned long long mass = 0;
    for (int i = threadIdx.x; i < kept.n; i += blockDim.x) {
        float x = kept.x[i];
        if (key_of(x) > kept.floor)
            mass += kept.mass(x);
    }
    return block_total(mass, s);
}

__device__ unsigned draw(const float *x, int n, float largest, const Row &row, Shared &s)
{
    Kept kept = {x, n, largest, row.scale, 0.f, 0, 0};
    if (row.top_k > 0 && row.top_k < (unsigned)n) {
        Crossing c = cross<false>(kept, row.top_k, s);
        kept.floor = c.key;
        kept.ties = row.top_k - c.above;
    }
    unsigned long long above = mass_above_floor(kept, s);
    unsigned long long tie = kept.ties ? kept.mass(value_of(kept.floor)) : 0;
    if (row.top_p < 1.f) {
        double total = (double)(above + kept.ties * tie);
        unsigned long long want = (unsigned long long)ceil((double)row.top_p * total * (1. - SLACK));
        want = want > 0 ? want : 1;
        if (want <= above) {
            Crossing c = cross<true>(kept, want, s);
            kept.floor = c.key;
            tie = kept.mass(value_of(c.key));
            kept.ties = (want - c.above + tie - 1) / tie;
            above = c.above;
        } else if (tie > 0) {
            unsigned long long ties = (want - above + tie - 1) / tie;
            kept.ties = ties < kept.ties ? ties : kept.ties;
        }
    }
    if (row.min_p > 0.f) {
        kept.min_term = row.min_p;
        above = mass_above_floor(kept, s);
        tie = kept.ties ? kept.mass(value_of(kept.floor)) : 0;
    }
    double uniform = (double)philox_uniform(row.seed_low, row.seed_high, row.draw_low, row.draw_high);
    unsigned long long all = above + kept.ties * tie, want = (unsigned long long)(uniform * (double)all) + 1;
    want = want < all ? want : all;
    if (want <= above) {
        Crossing c = cross<true>(kept, want, s);
        unsigned long long each = kept.mass(value_of(c.key));
        return id_of(kept, c.key, (want - c.above - 1) / each, s);
    }
    return id_of(kept, kept.floor, (want - above - 1) / tie, s);
}

// The `count` largest logits, in order, with their log-probabilities.
__device__ void largest_of(const float *x, int n, float largest, double log_sum, int count, Top *tops, Shared &s)
{
    __shared__ unsigned ids[MOST_TOP];
    __shared__ unsigned found;
    Kept kept = {x, n, largest, 1.f, 0.f, 0, 0};
    Crossing c = cross<false>(kept, count, s);
    int ties = count - (int)c.above;
    if (threadIdx.x == 0)
        found = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (key_of(x[i]) > c.key)
            ids[atomicAdd(&found, 1)] = (unsigned)i;
    __syncthreads();
    for (int tie = 0; tie < ties; tie++) {
        unsigned id = id_of(kept, c.key, tie, s);
        if (threadIdx.x == 0)
            ids[c.above + tie] = id;
        __syncthreads();
    }
    if ((int)threadIdx.x < count) {
        Best own = {x[ids[threadIdx.x]], ids[threadIdx.x]};
        int rank = 0;
        for (int i = 0; i < count; i++) {
            Best other = {x[ids[i]], ids[i]};
            rank += i != (int)threadIdx.x && better(other, own).at == other.at;
        }
        tops[rank] = {own.at, (float)((double)own.x - log_sum)};
    }
    __syncthreads();
}

__device__ __forceinline__ bool allowed(const unsigned *mask, const Row &row, int i)
{
    return row.first_mask < 0 || ((unsigned)i / 32 < row.mask_words && mask[row.first_mask + i / 32] >> (i % 32) & 1);
}

} // namespace

extern "C" __global__ void __launch_bounds__(256)
    sample_survey(const float *logits, int stride, int vocab, int limit, const Row *rows, float *adjusted, Part *parts)
{
    __shared__ Best best[8];
    __shared__ float sums[33];
    const Row row = rows[blockIdx.y];
    const float *x = logits + (size_t)row.output * stride;
    float *copy = adjusted + (size_t)blockIdx.y * stride;
    int from = blockIdx.x * CHUNK;
    float own[CHUNK / 256];
    Best largest = {-INFINITY, 0xffffffffu}, choice = largest;
    bool finite = true;
    for (int k = 0; k < CHUNK / 256; k++) {
        int i = from + k * 256 + threadIdx.x;
        own[k] = i < vocab ? x[i] : -INFINITY;
        finite &= own[k] < INFINITY;
        largest = better({own[k], (unsigned)i}, largest);
        if (i < limit)
            choice = better({own[k], (unsigned)i}, choice);
        if (i < vocab && row.flags & CHANGED)
            copy[i] = own[k];
    }
    finite = __syncthreads_and(finite);
    largest = block_best(largest, best);
    choice = block_best(choice, best);
    float sum = 0.f;
    if (row.logprobs >= 0) {
        for (int k = 0; k < CHUNK / 256; k++)
            sum += largest.x == -INFINITY ? 0.f : expf(own[k] - largest.x);
        sum = block_sum(sum, sums);
    }
    if (threadIdx.x == 0)
        parts[blockIdx.y * gridDim.x + blockIdx.x] = {largest.x, sum, finite, choice.x, choice.at};
}

extern "C" __global__ void __launch_bounds__(256) sample_adjust(int stride, int vocab, const Row *rows, const Bias *biases,
                                                                const Count *counts, float *adjusted, unsigned *faults)
{
    const Row row = rows[blockIdx.x];
    if (!(row.flags & CHANGED))
        return;
    float *x = adjusted + (size_t)blockIdx.x * stride;
    for (unsigned i = threadIdx.x; i < row.biases; i += blockDim.x) {
        Bias bias = biases[row.first_bias + i];
        if (bias.token < (unsigned)vocab)
            x[bias.token] += bias.add;
    }
    __syncthreads();
    bool finite = true;
    for (unsigned i = threadIdx.x; i < row.counts; i += blockDim.x) {
        Count count = counts[row.first_count + i];
        if (count.token >= (unsigned)vocab)
            continue;
        float v = x[count.token];
        if (count.in_prompt || count.in_output)
            v = v > 0.f ? v / row.repetition : v * row.repetition;
        if (count.in_output)
            v = __fsub_rn(v, __fadd_rn(row.presence, __fmul_rn(row.frequency, (float)count.in_output)));
        x[count.token] = v;
        finite &= v < INFINITY;
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < row.biases; i += blockDim.x) {
        unsigned token = biases[row.first_bias + i].token;
        finite &= token >= (unsigned)vocab || x[token] < INFINITY;
    }
    finite = __syncthreads_and(finite);
    if (threadIdx.x == 0)
        faults[blockIdx.x] = finite ? NONE : NON_FINITE;
}

extern "C" __global__ void __launch_bounds__(256)
    sample_mask(int stride, int limit, const Row *rows, const unsigned *masks, float *adjusted, Part *parts)
{
    __shared__ Best best[8];
    const Row row = rows[blockIdx.y];
    if (!(row.flags & CHANGED))
        return;
    float *x = adjusted + (size_t)blockIdx.y * stride;
    Best choice = {-INFINITY, 0xffffffffu};
    for (int k = 0; k < CHUNK / 256; k++) {
        int i = blockIdx.x * CHUNK + k * 256 + threadIdx.x;
        if (i >= limit)
            continue;
        float v = x[i];
        if (!allowed(masks, row, i))
            x[i] = v = -INFINITY;
        choice = better({v, (unsigned)i}, choice);
    }
    choice = block_best(choice, best);
    if (threadIdx.x == 0) {
        Part *part = &parts[blockIdx.y * gridDim.x + blockIdx.x];
        part->best = choice.x, part->at = choice.at;
    }
}

extern "C" __global__ void __launch_bounds__(1024)
    sample_choose(const float *logits, int stride, int limit, const Row *rows, const float *adjusted, const Part *parts, int chunks,
                  const unsigned *faults, Result *results, Top *tops)
{
    __shared__ Shared s;
    const Row row = rows[blockIdx.x];
    parts += (size_t)blockIdx.x * chunks;
    bool finite = true;
    Best largest = {-INFINITY, 0xffffffffu}, choice = largest;
    for (int c = threadIdx.x; c < chunks; c += blockDim.x) {
        finite &= parts[c].finite != 0;
        largest = better({parts[c].largest, (unsigned)c}, largest);
        choice = better({parts[c].best, parts[c].at}, choice);
    }
    finite = __syncthreads_and(finite);
    largest = block_best(largest, s.best);
    choice = block_best(choice, s.best);
    unsigned fault = !finite                                               ? NON_FINITE
                     : row.flags & CHANGED && faults[blockIdx.x] != NONE   ? NON_FINITE
                     : choice.x == -INFINITY                               ? NOTHING_ALLOWED
                                                                           : NONE;
    Result result = {0, fault, 0.f, 0};
    if (fault == NONE) {
        const float *raw = logits + (size_t)row.output * stride;
        const float *x = row.flags & CHANGED ? adjusted + (size_t)blockIdx.x * stride : raw;
        result.token = row.flags & GREEDY ? choice.at : draw(x, limit, choice.x, row, s);
        if (row.logprobs >= 0) {
            // Few chunks, added in order by every thread alike.
            double sum = 0.;
            for (int c = 0; c < chunks; c++)
                if (parts[c].sum > 0.f)
                    sum += (double)parts[c].sum * exp((double)parts[c].largest - (double)largest.x);
            double log_sum = (double)largest.x + log(sum);
            result.logprob = (float)((double)raw[result.token] - log_sum);
            int count = min(row.logprobs, limit);
            result.tops = count;
            if (count > 0)
                largest_of(raw, limit, largest.x, log_sum, count, tops + (size_t)blockIdx.x * MOST_TOP, s);
        }
    }
    if (threadIdx.x == 0)
        results[blockIdx.x] = result;
}
