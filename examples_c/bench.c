/*
 * bench: prefill and decode speed of a model file.
 *
 *   bench --model PATH [--prompt N] [--gen N] [--batch N[,N…]] [--threads N] [--runs N] [--kv f16|bf16|f32] [--device auto|cpu|cuda]
 *         [--graph] [--chunk N] [--json]
 *
 * Every sequence gets N prompt ids and generates N tokens, end-of-sequence ignored. Prefill counts the prompt tokens of the whole
 * batch over the time of the steps that ran them; decode counts the tokens of the steps that only decoded. Medians of the runs are
 * told, one line per batch size. The load is timed once, to the first token of the first prompt. --graph captures decode steps first;
 * --chunk is the most prompt tokens of a step.
 */
#define _POSIX_C_SOURCE 200809L

#include <tactus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_RUNS = 100 };

struct options {
    const char *model, *batches, *kv, *device;
    int prompt, gen, threads, runs, chunk, graph, json;
};

struct figures {
    double prefill, decode, ttft_ms; /* tokens/s, tokens/s, milliseconds */
};

static void check(int32_t status)
{
    if (status == TACTUS_OK)
        return;
    fprintf(stderr, "bench: %s: %s\n", tactus_status_name(status), tactus_last_error_message());
    exit(1);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static struct options read_options(int argc, char **argv)
{
    struct options o;
    memset(&o, 0, sizeof o);
    o.batches = "1", o.kv = "f16", o.device = "auto", o.prompt = 512, o.gen = 128, o.runs = 1;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        const char **text = !strcmp(name, "--model")    ? &o.model
                            : !strcmp(name, "--batch")  ? &o.batches
                            : !strcmp(name, "--kv")     ? &o.kv
                            : !strcmp(name, "--device") ? &o.device
                                                        : NULL;
        int *number = !strcmp(name, "--prompt")    ? &o.prompt
                      : !strcmp(name, "--gen")     ? &o.gen
                      : !strcmp(name, "--threads") ? &o.threads
                      : !strcmp(name, "--runs")    ? &o.runs
                      : !strcmp(name, "--chunk")   ? &o.chunk
                                                   : NULL;
        if (!strcmp(name, "--json"))
            o.json = 1;
        else if (!strcmp(name, "--graph"))
            o.graph = 1;
        else if (text && value)
            *text = value, i++;
        else if (number && value)
            *number = atoi(value), i++;
        else
            o.model = NULL, i = argc;
    }
    if (!o.model || o.prompt < 1 || o.gen < 1 || o.runs < 1 || o.runs > MAX_RUNS) {
        fprintf(stderr, "usage: bench --model PATH [--prompt N] [--gen N] [--batch N[,N...]] [--threads N] [--runs 1..%d]\n"
                        "             [--kv f16|bf16|f32] [--device auto|cpu|cuda] [--graph] [--chunk N] [--json]\n", MAX_RUNS);
        exit(2);
    }
    return o;
}

static tactus_coordinator_t *load(const struct options *o, int batch)
{
    tactus_config_t *config = NULL;
    tactus_coordinator_t *coordinator = NULL;
    check(tactus_config_create(&config));
    check(tactus_config_set_engine_dir(config, o->model, TACTUS_NUL_TERMINATED));
    check(tactus_config_set_max_batch(config, batch));
    check(tactus_config_set_max_sequence_length(config, o->prompt + o->gen));
    check(tactus_config_set_cpu_threads(config, o->threads));
    check(tactus_config_set_prefill_chunk(config, o->chunk));
    check(tactus_config_set_device(config, !strcmp(o->device, "cpu")    ? TACTUS_DEVICE_CPU
                                           : !strcmp(o->device, "cuda") ? TACTUS_DEVICE_CUDA
                                                                        : TACTUS_DEVICE_AUTO));
    check(tactus_config_set_kv_type(config, !strcmp(o->kv, "f32") ? TACTUS_KV_F32 : !strcmp(o->kv, "bf16") ? TACTUS_KV_BF16 : TACTUS_KV_F16));
    check(tactus_coordinator_create(config, &coordinator));
    check(tactus_config_destroy(config));
    return coordinator;
}

/* `batch` sequences of different ids, none the beginning of another. */
static tactus_request_t *make_request(const struct options *o, tactus_coordinator_t *coordinator, int batch)
{
    tactus_request_t *request = NULL;
    uint64_t vocabulary = 0;
    int32_t *ids = (int32_t *)malloc((size_t)o->prompt * sizeof *ids);
    check(tactus_coordinator_limit(coordinator, TACTUS_LIMIT_VOCAB_SIZE, &vocabulary));
    check(tactus_request_create(&request));
    for (int b = 0; b < batch; b++) {
        for (int i = 0; i < o->prompt; i++)
            ids[i] = (int32_t)(((uint64_t)(i + 1) * 7919 + (uint64_t)b * 104729) % vocabulary);
        check(tactus_request_add_ids(request, ids, (size_t)o->prompt, NULL));
    }
    free(ids);
    check(tactus_request_set_max_generate_length(request, TACTUS_ALL_SEQUENCES, o->gen));
    check(tactus_request_set_temperature(request, TACTUS_ALL_SEQUENCES, 0));
    check(tactus_request_set_ignore_eos(request, TACTUS_ALL_SEQUENCES, 1));
    return request;
}

static double timing(const tactus_response_t *response, int32_t which)
{
    double value = 0;
    check(tactus_response_timing(response, which, &value));
    return value;
}

static struct figures run(tactus_coordinator_t *coordinator, tactus_request_t *request)
{
    struct figures f;
    tactus_response_t *response = NULL;
    check(tactus_coordinator_dispatch_request(coordinator, request, 1, NULL));
    check(tactus_coordinator_take_rank_response(coordinator, 0, &response));
    double prefill = timing(response, TACTUS_TIMING_PREFILL_SECONDS), decode = timing(response, TACTUS_TIMING_DECODE_SECONDS);
    f.prefill = timing(response, TACTUS_TIMING_PREFILL_TOKENS) / prefill;
    f.decode = decode > 0 ? timing(response, TACTUS_TIMING_DECODE_TOKENS) / decode : 0;
    f.ttft_ms = 1e3 * timing(response, TACTUS_TIMING_FIRST_TOKEN_SECONDS);
    check(tactus_response_destroy(response));
    return f;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

int main(int argc, char **argv)
{
    struct options o = read_options(argc, argv);
    const char *rest = o.batches;
    while (*rest) {
        char *end = NULL;
        int batch = (int)strtol(rest, &end, 10);
        double prefill[MAX_RUNS], decode[MAX_RUNS], ttft[MAX_RUNS];
        if (end == rest || batch < 1) {
            fprintf(stderr, "bench: --batch %s: expected numbers with commas between them\n", o.batches);
            return 2;
        }
        rest = *end == ',' ? end + 1 : end;
        double started = now_ms();
        tactus_coordinator_t *coordinator = load(&o, batch);
        int32_t captured = 0;
        if (o.graph)
            check(tactus_coordinator_capture_decoding_cuda_graph(coordinator, NULL, &captured));
        if (o.graph && !captured)
            fprintf(stderr, "bench: decode steps could not be captured\n");
        tactus_request_t *request = make_request(&o, coordinator, batch);
        double loaded = now_ms() - started;
        double load_to_first_token = loaded + run(coordinator, request).ttft_ms; /* this run also warms up */
        for (int r = 0; r < o.runs; r++) {
            struct figures f = run(coordinator, request);
            prefill[r] = f.prefill, decode[r] = f.decode, ttft[r] = f.ttft_ms;
        }
        printf(o.json ? "{\"batch\": %d, \"threads\": %d, \"kv_dtype\": \"%s\", \"prompt\": %d, \"gen\": %d, \"prefill_tokens_per_s\": %.2f, "
                        "\"decode_tokens_per_s\": %.2f, \"ttft_ms\": %.2f, \"load_to_first_token_ms\": %.2f}\n"
                      : "batch %d, threads %d, KV %s, prompt %d, gen %d: prefill %.1f tokens/s, decode %.1f tokens/s, first token %.1f ms, "
                        "load to first token %.1f ms\n",
               batch, o.threads, o.kv, o.prompt, o.gen, median(prefill, o.runs), median(decode, o.runs), median(ttft, o.runs),
               load_to_first_token);
        fflush(stdout);
        check(tactus_request_destroy(request));
        check(tactus_coordinator_destroy(coordinator));
    }
    return 0;
}
