/*
 * hook: brings prompts into a running dispatch, at its step boundaries.
 *
 *   hook --model PATH PROMPT PROMPT...
 *
 * The first prompt is dispatched; each further one joins when the first has said a few tokens more. Results come out of the hook.
 */
#include <tactus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BETWEEN 8 /* steps from one joiner to the next */

typedef struct {
    char **prompts;
    int32_t count, next;
    unsigned steps;
} joiners_t;

static void check(int32_t status)
{
    if (status == TACTUS_OK)
        return;
    fprintf(stderr, "hook: %s: %s\n", tactus_status_name(status), tactus_last_error_message());
    exit(1);
}

static tactus_request_t *chat(const char *prompt)
{
    tactus_request_t *request = NULL;
    int32_t sequence = 0;
    check(tactus_request_create(&request));
    check(tactus_request_add_chat(request, &sequence));
    check(tactus_request_add_message(request, sequence, "user", TACTUS_NUL_TERMINATED, prompt, TACTUS_NUL_TERMINATED));
    check(tactus_request_set_max_generate_length(request, TACTUS_ALL_SEQUENCES, 48));
    return request;
}

static void print_all(const tactus_response_t *response)
{
    size_t count = 0;
    check(tactus_response_sequence_count(response, &count));
    for (int32_t i = 0; i < (int32_t)count; i++) {
        const char *text = NULL;
        size_t length = 0;
        int32_t index = 0, reason = 0;
        check(tactus_response_original_index(response, i, &index));
        check(tactus_response_text(response, i, &text, &length));
        check(tactus_response_finish_reason(response, i, &reason));
        printf("--- %d (%s)\n%.*s\n", index, tactus_finish_reason_name(reason), (int)length, text);
    }
}

/* Runs between steps, on the thread that dispatches. */
static void between_steps(tactus_boundary_t *boundary, void *user_data)
{
    joiners_t *joiners = (joiners_t *)user_data;
    tactus_response_t *completed = NULL;
    size_t residents = 0;
    check(tactus_boundary_resident_count(boundary, &residents));
    if (joiners->next < joiners->count && (++joiners->steps % BETWEEN == 0 || residents == 0)) {
        tactus_request_t *request = chat(joiners->prompts[joiners->next]);
        int32_t status = tactus_boundary_admit_request(boundary, request, joiners->next, (uint64_t)joiners->next + 1);
        if (status != TACTUS_ERR_NO_CAPACITY) { /* then it is tried again at the next boundary */
            check(status);
            joiners->next++;
        }
        check(tactus_request_destroy(request));
    }
    check(tactus_boundary_take_completed_at_or_above(boundary, 1, &completed));
    print_all(completed);
    check(tactus_response_destroy(completed));
}

int main(int argc, char **argv)
{
    tactus_config_t *config = NULL;
    tactus_coordinator_t *coordinator = NULL;
    tactus_response_t *response = NULL;
    if (argc < 4 || strcmp(argv[1], "--model") != 0) {
        fprintf(stderr, "usage: hook --model PATH PROMPT...\n");
        return 2;
    }
    joiners_t joiners = {argv + 3, argc - 3, 1, 0};
    check(tactus_config_create(&config));
    check(tactus_config_set_engine_dir(config, argv[2], TACTUS_NUL_TERMINATED));
    check(tactus_coordinator_create(config, &coordinator));
    check(tactus_config_destroy(config));
    tactus_request_t *first = chat(argv[3]);
    check(tactus_coordinator_dispatch_request_with_hook(coordinator, first, 0, NULL, between_steps, &joiners));
    check(tactus_coordinator_take_rank_response(coordinator, 0, &response));
    print_all(response);
    check(tactus_response_destroy(response));
    check(tactus_request_destroy(first));
    check(tactus_coordinator_destroy(coordinator));
    return 0;
}
