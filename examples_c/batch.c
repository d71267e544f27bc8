/*
 * batch: several prompts in one dispatch, each with settings of its own.
 *
 *   batch --model PATH PROMPT...
 *
 * Even prompts are answered greedily, odd ones are sampled with a fixed seed. A prompt that fails does not disturb the others.
 */
#include <tactus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int32_t status)
{
    if (status == TACTUS_OK)
        return;
    fprintf(stderr, "batch: %s: %s\n", tactus_status_name(status), tactus_last_error_message());
    exit(1);
}

static tactus_coordinator_t *load(const char *model)
{
    tactus_config_t *config = NULL;
    tactus_coordinator_t *coordinator = NULL;
    check(tactus_config_create(&config));
    check(tactus_config_set_engine_dir(config, model, TACTUS_NUL_TERMINATED));
    check(tactus_coordinator_create(config, &coordinator));
    check(tactus_config_destroy(config));
    return coordinator;
}

static tactus_request_t *make_request(char **prompts, int count)
{
    tactus_request_t *request = NULL;
    check(tactus_request_create(&request));
    for (int i = 0; i < count; i++) {
        int32_t sequence = 0;
        check(tactus_request_add_chat(request, &sequence));
        check(tactus_request_add_message(request, sequence, "user", TACTUS_NUL_TERMINATED, prompts[i], TACTUS_NUL_TERMINATED));
        check(tactus_request_set_temperature(request, sequence, i % 2 ? 0.8f : 0.0f));
        if (i % 2)
            check(tactus_request_set_seed(request, sequence, 42));
    }
    check(tactus_request_set_max_generate_length(request, TACTUS_ALL_SEQUENCES, 64));
    return request;
}

static void print_prompt_sizes(tactus_coordinator_t *coordinator, const tactus_request_t *request)
{
    tactus_ids_t *counts = NULL;
    const int32_t *tokens = NULL;
    size_t count = 0;
    check(tactus_coordinator_count_prompt_tokens(coordinator, request, &counts));
    check(tactus_ids_get(counts, &tokens, &count));
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "prompt %zu: %d tokens\n", i, tokens[i]);
    check(tactus_ids_destroy(counts));
}

static void print_results(const tactus_response_t *response)
{
    size_t count = 0;
    check(tactus_response_sequence_count(response, &count));
    for (int32_t i = 0; i < (int32_t)count; i++) {
        const char *text = NULL, *message = NULL;
        size_t text_length = 0, message_length = 0;
        int32_t reason = 0, status = 0;
        check(tactus_response_text(response, i, &text, &text_length));
        check(tactus_response_finish_reason(response, i, &reason));
        check(tactus_response_error(response, i, &status, &message, &message_length));
        printf("--- %d (%s)%s%s\n", i, tactus_finish_reason_name(reason), message_length ? ": " : "", message);
        fwrite(text, 1, text_length, stdout);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    if (argc < 4 || strcmp(argv[1], "--model") != 0) {
        fprintf(stderr, "usage: batch --model PATH PROMPT...\n");
        return 2;
    }
    tactus_coordinator_t *coordinator = load(argv[2]);
    tactus_request_t *request = make_request(argv + 3, argc - 3);
    tactus_response_t *response = NULL;
    print_prompt_sizes(coordinator, request);
    int32_t status = tactus_coordinator_dispatch_request(coordinator, request, 0, NULL);
    if (status != TACTUS_OK)
        fprintf(stderr, "batch: %s: %s\n", tactus_status_name(status), tactus_last_error_message());
    /* Where one sequence failed there is a response all the same; where the whole request was refused there is none. */
    if (tactus_coordinator_take_rank_response(coordinator, 0, &response) == TACTUS_OK)
        print_results(response);
    check(tactus_response_destroy(response));
    check(tactus_request_destroy(request));
    check(tactus_coordinator_destroy(coordinator));
    return status == TACTUS_OK ? 0 : 1;
}
