/*
 * batch_server: keeps up to N prompts in flight through the stepped API.
 *
 *   batch_server --model PATH [--max-batch N] [--tokens N]
 *
 * Reads a prompt per line from stdin, writes an answer per line to stdout ("number<TAB>text", newlines as spaces) as soon as it is
 * done, and at the end throughput and latency percentiles to stderr. A prompt joins the running batch at the next step; nobody waits
 * for it: its own prompt is run in chunks beside the others' tokens.
 */
#include <tactus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK 32 /* prompt tokens per step beside decoding neighbours */

typedef struct {
    uint64_t resident;
    int prefilling;
} flight_t;

typedef struct {
    double *seconds; /* of each finished prompt, by its number from 1 */
    double *begun;
    size_t room, done;
    uint64_t tokens;
} tally_t;

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int32_t status)
{
    if (status == TACTUS_OK)
        return;
    fprintf(stderr, "batch_server: %s: %s\n", tactus_status_name(status), tactus_last_error_message());
    exit(1);
}

static tactus_request_t *chat(const char *prompt, int64_t tokens)
{
    tactus_request_t *request = NULL;
    int32_t sequence = 0;
    check(tactus_request_create(&request));
    check(tactus_request_add_chat(request, &sequence));
    check(tactus_request_add_message(request, sequence, "user", TACTUS_NUL_TERMINATED, prompt, TACTUS_NUL_TERMINATED));
    check(tactus_request_set_max_generate_length(request, TACTUS_ALL_SEQUENCES, tokens));
    return request;
}

static void start_clock(tally_t *tally, size_t number)
{
    if (number >= tally->room) {
        tally->room = 2 * number + 64;
        tally->seconds = (double *)realloc(tally->seconds, tally->room * sizeof(double));
        tally->begun = (double *)realloc(tally->begun, tally->room * sizeof(double));
        if (!tally->seconds || !tally->begun)
            exit(1);
    }
    tally->begun[number] = now();
}

/* Prints and counts those that ended in the last step, and forgets them. */
static size_t collect(tactus_stepped_t *stepped, flight_t *flights, size_t count, tally_t *tally)
{
    const uint64_t *ended = NULL;
    size_t endings = 0;
    tactus_response_t *response = NULL;
    check(tactus_stepped_finished(stepped, &ended, &endings));
    if (endings == 0)
        return count;
    check(tactus_stepped_finished_response(stepped, &response));
    for (size_t i = 0; i < endings; i++) {
        const char *text = NULL;
        const int32_t *ids = NULL;
        size_t length = 0, tokens = 0;
        int32_t number = 0;
        check(tactus_response_original_index(response, (int32_t)i, &number));
        check(tactus_response_text(response, (int32_t)i, &text, &length));
        check(tactus_response_output_ids(response, (int32_t)i, &ids, &tokens));
        if (number > 0) { /* 0 is the warm-up that founded the execution */
            printf("%d\t", number);
            for (size_t c = 0; c < length; c++)
                putchar(text[c] == '\n' || text[c] == '\t' ? ' ' : text[c]);
            putchar('\n');
            fflush(stdout);
            tally->seconds[tally->done++] = now() - tally->begun[number];
            tally->tokens += tokens;
        }
        for (size_t f = 0; f < count; f++)
            if (flights[f].resident == ended[i])
                flights[f--] = flights[--count];
    }
    check(tactus_response_destroy(response));
    return count;
}

/* One pass of the model: a chunk of the first prompt that is not in place yet, and a token for everyone else. */
static void step(tactus_stepped_t *stepped, flight_t *flights, size_t count, uint64_t *decode)
{
    uint64_t prefill = 0;
    uint32_t chunk = CHUNK;
    size_t prefills = 0, decodes = 0, deltas = 0;
    for (size_t f = 0; f < count; f++) {
        if (!flights[f].prefilling)
            decode[decodes++] = flights[f].resident;
        else if (prefills++ == 0)
            prefill = flights[f].resident;
    }
    check(tactus_stepped_step(stepped, &prefill, &chunk, prefills ? 1 : 0, decode, decodes));
    check(tactus_stepped_delta_count(stepped, &deltas));
    for (size_t d = 0; d < deltas; d++) { /* whoever said something has its prompt in place */
        const int32_t *ids = NULL;
        size_t tokens = 0;
        uint64_t resident = 0;
        check(tactus_stepped_delta(stepped, d, &resident, &ids, &tokens));
        for (size_t f = 0; f < count; f++)
            if (flights[f].resident == resident)
                flights[f].prefilling = 0;
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void serve(tactus_coordinator_t *coordinator, size_t most, int64_t tokens)
{
    flight_t *flights = (flight_t *)calloc(most, sizeof *flights);
    uint64_t *decode = (uint64_t *)calloc(most, sizeof *decode);
    tally_t tally = {NULL, NULL, 0, 0, 0};
    tactus_stepped_t *stepped = NULL;
    tactus_response_t *response = NULL;
    tactus_request_t *waiting = chat("Hello", 1); /* founds the execution */
    char line[8192];
    size_t count = 0;
    int32_t number = 0;
    int more = 1;
    double begun = now();

    if (!flights || !decode)
        exit(1);
    check(tactus_coordinator_begin_stepped(coordinator, waiting, 1, 0, NULL, &stepped));
    check(tactus_request_destroy(waiting));
    waiting = NULL;
    while (more || waiting || count) {
        while (count < most && (waiting || more)) {
            uint64_t resident = 0;
            int32_t status;
            if (!waiting) {
                if (!fgets(line, sizeof line, stdin)) {
                    more = 0;
                    break;
                }
                line[strcspn(line, "\r\n")] = '\0';
                waiting = chat(line, tokens);
                start_clock(&tally, (size_t)++number);
            }
            status = tactus_stepped_admit(stepped, waiting, number, (uint64_t)number + 1, &resident);
            if (status == TACTUS_ERR_NO_CAPACITY && count)
                break; /* somebody has to end first */
            if (status == TACTUS_OK) {
                flights[count].resident = resident;
                flights[count++].prefilling = 1;
            } else {
                fprintf(stderr, "%d: %s: %s\n", number, tactus_status_name(status), tactus_last_error_message());
            }
            check(tactus_request_destroy(waiting));
            waiting = NULL;
        }
        if (count) {
            step(stepped, flights, count, decode);
            count = collect(stepped, flights, count, &tally);
        }
    }
    check(tactus_stepped_finish(stepped, &response));
    check(tactus_response_destroy(response));
    check(tactus_stepped_destroy(stepped));
    if (tally.done) {
        double spent = now() - begun;
        qsort(tally.seconds, tally.done, sizeof(double), ascending);
        fprintf(stderr, "%zu answers, %.1f tokens/s, latency p50 %.2f s, p90 %.2f s, p99 %.2f s\n", tally.done,
                (double)tally.tokens / spent, tally.seconds[tally.done / 2], tally.seconds[tally.done * 9 / 10],
                tally.seconds[tally.done * 99 / 100]);
    }
    free(tally.seconds);
    free(tally.begun);
    free(flights);
    free(decode);
}

int main(int argc, char **argv)
{
    const char *model = NULL;
    int32_t batch = 8;
    int64_t tokens = 64;
    tactus_config_t *config = NULL;
    tactus_coordinator_t *coordinator = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--model") == 0)
            model = argv[i + 1];
        else if (strcmp(argv[i], "--max-batch") == 0)
            batch = (int32_t)atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--tokens") == 0)
            tokens = atoll(argv[i + 1]);
    }
    if (!model || batch < 1 || tokens < 1) {
        fprintf(stderr, "usage: batch_server --model PATH [--max-batch N] [--tokens N] < prompts\n");
        return 2;
    }
    check(tactus_config_create(&config));
    check(tactus_config_set_engine_dir(config, model, TACTUS_NUL_TERMINATED));
    check(tactus_config_set_max_batch(config, batch));
    check(tactus_config_set_context_cache(config, 1, 1024));
    check(tactus_coordinator_create(config, &coordinator));
    check(tactus_config_destroy(config));
    serve(coordinator, (size_t)batch, tokens);
    check(tactus_coordinator_destroy(coordinator));
    return 0;
}
