/* Checks of the C tests. A failed one says where and ends the program with status 1. */
#ifndef CHECK_H
#define CHECK_H

#include <tactus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUL TACTUS_NUL_TERMINATED

#define CHECK(condition)                                                                                       \
    do {                                                                                                       \
        if (!(condition)) {                                                                                    \
            fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition,                     \
                    tactus_last_error_message());                                                              \
            exit(1);                                                                                           \
        }                                                                                                      \
    } while (0)

/* The call answers `status`. */
#define EXPECT(status, call) CHECK((call) == (status))
#define OK(call) EXPECT(TACTUS_OK, call)

/* The call answers `status`, with `part` in the message. */
#define REFUSED(status, call, part)                                                                            \
    do {                                                                                                       \
        EXPECT(status, call);                                                                                  \
        CHECK(strstr(tactus_last_error_message(), part) != NULL);                                              \
    } while (0)

/* A coordinator on `model`: two threads, eight seats, f32. */
static inline tactus_coordinator_t *new_coordinator(const char *model)
{
    tactus_config_t *config = NULL;
    tactus_coordinator_t *coordinator = NULL;
    OK(tactus_config_create(&config));
    OK(tactus_config_set_engine_dir(config, model, NUL));
    OK(tactus_config_set_cpu_threads(config, 2));
    OK(tactus_config_set_kv_type(config, TACTUS_KV_F32));
    OK(tactus_coordinator_create(config, &coordinator));
    OK(tactus_config_destroy(config));
    return coordinator;
}

/* Ids that depend on `seed`, below 100. */
static inline void fill_ids(int32_t *ids, int count, int seed)
{
    for (int i = 0; i < count; i++)
        ids[i] = 5 + (i * 37 + seed * 101 + i * i * 7) % 90;
}

/* One sequence of `prompt` ids that generates `gen` tokens, end-of-sequence ignored. */
static inline tactus_request_t *new_request(int prompt, int gen, int seed)
{
    tactus_request_t *request = NULL;
    int32_t *ids = (int32_t *)malloc(sizeof(int32_t) * (size_t)prompt);
    fill_ids(ids, prompt, seed);
    OK(tactus_request_create(&request));
    OK(tactus_request_add_ids(request, ids, (size_t)prompt, NULL));
    OK(tactus_request_set_max_generate_length(request, TACTUS_ALL_SEQUENCES, gen));
    OK(tactus_request_set_ignore_eos(request, TACTUS_ALL_SEQUENCES, 1));
    free(ids);
    return request;
}

static inline tactus_response_t *dispatch(tactus_coordinator_t *coordinator, tactus_request_t *request)
{
    tactus_response_t *response = NULL;
    OK(tactus_coordinator_dispatch_request(coordinator, request, 0, NULL));
    OK(tactus_coordinator_take_rank_response(coordinator, 0, &response));
    return response;
}

/* Whether sequence 0 of both responses has the same ids. */
static inline int same_output(const tactus_response_t *a, const tactus_response_t *b)
{
    const int32_t *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    OK(tactus_response_output_ids(a, 0, &x, &n));
    OK(tactus_response_output_ids(b, 0, &y, &m));
    return n == m && n > 0 && memcmp(x, y, n * sizeof *x) == 0;
}

#endif
