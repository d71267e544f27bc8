/*
 * chat: talk to a model.
 *
 *   chat --model PATH --prompt TEXT      one question, one streamed answer
 *   chat --model PATH                    a conversation; a line is a turn, end of input ends it
 *
 * Further: --system TEXT  --threads N  --max-tokens N  --temperature T  --seed N
 *
 * The text is printed by a thread of its own, as it comes, while this one dispatches.
 */
#define _POSIX_C_SOURCE 200809L

#include <tactus.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *model, *prompt, *system;
    const char *temperature, *seed, *max_tokens, *threads;
};

/* Ends the program with the library's own words where a call has failed. */
static void check(int32_t status)
{
    if (status == TACTUS_OK)
        return;
    fprintf(stderr, "%s: %s\n", tactus_status_name(status), tactus_last_error_message());
    exit(1);
}

static struct options read_options(int argc, char **argv)
{
    struct options o;
    memset(&o, 0, sizeof o);
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        const char **field = !strcmp(argv[i], "--model")         ? &o.model
                             : !strcmp(argv[i], "--prompt")      ? &o.prompt
                             : !strcmp(argv[i], "--system")      ? &o.system
                             : !strcmp(argv[i], "--temperature") ? &o.temperature
                             : !strcmp(argv[i], "--seed")        ? &o.seed
                             : !strcmp(argv[i], "--max-tokens")  ? &o.max_tokens
                             : !strcmp(argv[i], "--threads")     ? &o.threads
                                                                 : NULL;
        if (field == NULL || value == NULL) {
            o.model = NULL;
            break;
        }
        *field = value;
    }
    if (o.model == NULL) {
        fprintf(stderr, "usage: chat --model PATH [--prompt TEXT] [--system TEXT] [--threads N] [--max-tokens N]\n"
                        "            [--temperature T] [--seed N]\n");
        exit(2);
    }
    return o;
}

static int32_t show_progress(uint64_t done, uint64_t total, void *user_data)
{
    int percent = total ? (int)(100 * done / total) : 100, *shown = (int *)user_data;
    if (percent != *shown)
        fprintf(stderr, "\rloading %3d %%", percent);
    *shown = percent;
    return 0;
}

static tactus_coordinator_t *load(const struct options *o)
{
    tactus_config_t *config = NULL;
    tactus_coordinator_t *coordinator = NULL;
    int percent = -1;
    check(tactus_config_create(&config));
    check(tactus_config_set_engine_dir(config, o->model, TACTUS_NUL_TERMINATED));
    check(tactus_config_set_max_batch(config, 1));
    check(tactus_config_set_load_progress_callback(config, show_progress, &percent));
    if (o->threads)
        check(tactus_config_set_cpu_threads(config, atoi(o->threads)));
    check(tactus_coordinator_create(config, &coordinator));
    fprintf(stderr, "\r%20s\r", "");
    check(tactus_config_destroy(config));
    return coordinator;
}

static tactus_request_t *new_chat(const struct options *o)
{
    tactus_request_t *request = NULL;
    check(tactus_request_create(&request));
    check(tactus_request_add_chat(request, NULL));
    if (o->system)
        check(tactus_request_add_message(request, 0, "system", TACTUS_NUL_TERMINATED, o->system, TACTUS_NUL_TERMINATED));
    if (o->temperature)
        check(tactus_request_set_temperature(request, 0, strtof(o->temperature, NULL)));
    if (o->seed)
        check(tactus_request_set_seed(request, 0, strtoull(o->seed, NULL, 10)));
    if (o->max_tokens)
        check(tactus_request_set_max_generate_length(request, 0, atoll(o->max_tokens)));
    return request;
}

/* Prints the text as it comes. Ends with the last chunk, or when the channel is taken off a request that was refused. */
static void *print_stream(void *data)
{
    tactus_channel_t *channel = (tactus_channel_t *)data;
    int32_t finished = 0, reason = 0;
    while (!finished && tactus_channel_wait_pop(channel, -1) == TACTUS_OK) {
        const char *text = NULL;
        size_t length = 0;
        check(tactus_channel_chunk_text(channel, &text, &length));
        check(tactus_channel_chunk_finish(channel, &finished, &reason));
        fwrite(text, 1, length, stdout);
        fflush(stdout);
    }
    printf("\n");
    return NULL;
}

static double timing(const tactus_response_t *response, int32_t which)
{
    double value = 0;
    check(tactus_response_timing(response, which, &value));
    return value;
}

static void print_figures(const tactus_response_t *response)
{
    uint32_t prompt = 0, reused = 0;
    const int32_t *ids = NULL;
    size_t generated = 0;
    double prefill = timing(response, TACTUS_TIMING_PREFILL_SECONDS), decode = timing(response, TACTUS_TIMING_DECODE_SECONDS);
    check(tactus_response_input_tokens(response, 0, &prompt, &reused));
    check(tactus_response_output_ids(response, 0, &ids, &generated));
    printf("[prompt %u tokens, generated %zu tokens, prefill %.1f tokens/s, decode %.1f tokens/s, first token %.0f ms]\n", prompt,
           generated, prefill > 0 ? timing(response, TACTUS_TIMING_PREFILL_TOKENS) / prefill : 0.0,
           decode > 0 ? timing(response, TACTUS_TIMING_DECODE_TOKENS) / decode : 0.0,
           1e3 * timing(response, TACTUS_TIMING_FIRST_TOKEN_SECONDS));
}

/* One turn: the user's words go into the chat, the answer is printed and goes in too. */
static void turn(tactus_coordinator_t *coordinator, tactus_request_t *request, const char *words, size_t length)
{
    pthread_t printer;
    tactus_channel_t *channel = NULL;
    tactus_response_t *response = NULL;
    const char *text = NULL;
    int32_t status;
    check(tactus_channel_create(&channel));
    check(tactus_request_add_message(request, 0, "user", TACTUS_NUL_TERMINATED, words, length));
    check(tactus_request_set_channel(request, 0, channel));
    if (pthread_create(&printer, NULL, print_stream, channel) != 0)
        exit(1);
    status = tactus_coordinator_dispatch_request(coordinator, request, 1, NULL);
    check(tactus_request_set_channel(request, 0, NULL));
    pthread_join(printer, NULL);
    check(status);
    check(tactus_coordinator_take_rank_response(coordinator, 0, &response));
    print_figures(response);
    check(tactus_response_text(response, 0, &text, &length));
    check(tactus_request_add_message(request, 0, "assistant", TACTUS_NUL_TERMINATED, text, length));
    check(tactus_response_destroy(response));
    check(tactus_channel_destroy(channel));
}

int main(int argc, char **argv)
{
    struct options o = read_options(argc, argv);
    tactus_coordinator_t *coordinator = load(&o);
    tactus_request_t *request = new_chat(&o);
    if (o.prompt) {
        turn(coordinator, request, o.prompt, TACTUS_NUL_TERMINATED);
    } else {
        char *line = NULL;
        size_t room = 0;
        ssize_t length;
        while (fprintf(stderr, "> "), (length = getline(&line, &room, stdin)) > 0)
            turn(coordinator, request, line, (size_t)(length - (line[length - 1] == '\n')));
        free(line);
    }
    check(tactus_request_destroy(request));
    check(tactus_coordinator_destroy(coordinator));
    return 0;
}
