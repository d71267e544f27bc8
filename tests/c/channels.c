/*
 * Channels: waiting with nothing to wait for, late cancels, misuse, and the joined chunks of a stream. FIELD_CASES 84, 86, 87, 139.
 */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void without_a_model(void)
{
    tactus_channel_t *channel = NULL;
    tactus_request_t *request = NULL;
    int32_t popped = -1, reason = -1;
    OK(tactus_channel_create(&channel));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_channel_set_interval(channel, 0), "expected at least 1");
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_channel_set_interval(channel, -3), "tokens: -3");
    REFUSED(TACTUS_ERR_STATE, tactus_channel_wait_pop(channel, -1), "not attached");
    OK(tactus_channel_try_pop(channel, &popped));
    CHECK(popped == 0 && !tactus_channel_is_finished(channel));
    OK(tactus_channel_reason(channel, &reason));
    CHECK(reason == TACTUS_FINISH_NOT_FINISHED);
    OK(tactus_request_create(&request));
    OK(tactus_request_add_text(request, "x", 1, NULL));
    OK(tactus_request_set_channel(request, 0, channel));
    double before = now_ms();
    REFUSED(TACTUS_ERR_TIMEOUT, tactus_channel_wait_pop(channel, 50), "no chunk within 50 ms");
    CHECK(now_ms() - before >= 50);
    OK(tactus_request_set_channel(request, 0, NULL));
    EXPECT(TACTUS_ERR_STATE, tactus_channel_wait_pop(channel, 1000));
    OK(tactus_channel_cancel(channel));
    OK(tactus_channel_cancel(channel));
    OK(tactus_request_destroy(request));
    OK(tactus_channel_destroy(channel));
    EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_channel_cancel(channel));
}

/* Dispatch and poll on one thread; the texts joined are the response's; one log-probability a token. */
static void joined_chunks_are_the_text(tactus_coordinator_t *coordinator, int interval)
{
    tactus_channel_t *channel = NULL;
    tactus_request_t *request = new_request(9, 40, interval);
    char joined[4096];
    const char *text = NULL;
    const int32_t *ids = NULL;
    size_t at = 0, length = 0, count = 0, seen = 0;
    int32_t popped = 1, finished = 0, reason = 0;
    OK(tactus_channel_create(&channel));
    OK(tactus_channel_set_interval(channel, interval));
    OK(tactus_request_set_channel(request, 0, channel));
    OK(tactus_request_set_num_logprobs(request, 0, 2));
    tactus_response_t *response = dispatch(coordinator, request), *expected = response;
    for (;;) {
        OK(tactus_channel_try_pop(channel, &popped));
        if (!popped)
            break;
        CHECK(!finished);
        OK(tactus_channel_chunk_text(channel, &text, &length));
        CHECK(at + length < sizeof joined && text[length] == 0);
        memcpy(joined + at, text, length);
        at += length;
        OK(tactus_channel_chunk_ids(channel, &ids, &count));
        CHECK(count <= (size_t)interval);
        for (size_t i = 0; i < count; i++) {
            float logprob = 1;
            const int32_t *top = NULL;
            const float *values = NULL;
            size_t tops = 0;
            OK(tactus_channel_chunk_logprobs(channel, i, &logprob, &top, &values, &tops));
            CHECK(logprob <= 0 && tops == 2 && values[0] >= values[1]);
        }
        seen += count;
        OK(tactus_channel_chunk_finish(channel, &finished, &reason));
    }
    CHECK(finished && reason == TACTUS_FINISH_MAX_LENGTH && tactus_channel_is_finished(channel));
    OK(tactus_response_text(expected, 0, &text, &length));
    CHECK(length == at && memcmp(joined, text, at) == 0);
    OK(tactus_response_output_ids(expected, 0, &ids, &count));
    CHECK(count == seen && count == 40);
    REFUSED(TACTUS_ERR_STATE, tactus_channel_wait_pop(channel, 1000), "last chunk has been taken");
    OK(tactus_channel_cancel(channel));
    OK(tactus_channel_reason(channel, &reason));
    CHECK(reason == TACTUS_FINISH_MAX_LENGTH);
    OK(tactus_response_destroy(response));
    /* A channel serves one sequence; a refusal leaves nothing to take. */
    REFUSED(TACTUS_ERR_STATE, tactus_coordinator_dispatch_request(coordinator, request, 0, NULL), "a channel serves one");
    CHECK(!tactus_coordinator_local_ranks_succeeded(coordinator));
    EXPECT(TACTUS_ERR_STATE, tactus_coordinator_take_rank_response(coordinator, 0, &response));
    OK(tactus_request_destroy(request));
    OK(tactus_channel_destroy(channel));
}

struct cancel_at {
    tactus_channel_t *channel;
    int32_t step;
};

static int32_t cancels(int32_t sequence, int32_t token, int32_t step, int32_t finished, void *user_data)
{
    struct cancel_at *at = (struct cancel_at *)user_data;
    (void)sequence, (void)token, (void)finished;
    if (step == at->step)
        OK(tactus_channel_cancel(at->channel));
    return 0;
}

/* FIELD_CASES 139: before the first prefill (-1), and after 0, 1, 3 tokens. */
static void cancelled(tactus_coordinator_t *coordinator, int32_t step)
{
    tactus_request_t *request = new_request(9, 40, 1);
    tactus_response_t *response = NULL;
    struct cancel_at at = { NULL, step };
    const int32_t *ids = NULL;
    size_t count = 0, logprobs = 0;
    int32_t reason = -1, finished = 0, ends = 0;
    OK(tactus_channel_create(&at.channel));
    OK(tactus_request_set_channel(request, 0, at.channel));
    OK(tactus_request_set_num_logprobs(request, 0, 5));
    OK(tactus_request_set_token_callback(request, cancels, &at));
    if (step < 0)
        OK(tactus_channel_cancel(at.channel));
    response = dispatch(coordinator, request);
    while (tactus_channel_wait_pop(at.channel, 0) == TACTUS_OK) {
        OK(tactus_channel_chunk_finish(at.channel, &finished, &reason));
        ends += finished;
    }
    CHECK(ends == 1 && finished && reason == TACTUS_FINISH_CANCELLED);
    OK(tactus_response_finish_reason(response, 0, &reason));
    OK(tactus_response_output_ids(response, 0, &ids, &count));
    OK(tactus_response_logprob_count(response, 0, &logprobs));
    CHECK(reason == TACTUS_FINISH_CANCELLED && count == logprobs && count <= (size_t)(step + 2));
    OK(tactus_response_destroy(response));
    OK(tactus_request_destroy(request));
    OK(tactus_channel_destroy(at.channel));
}

static int32_t stops_at_two(int32_t sequence, int32_t token, int32_t step, int32_t finished, void *user_data)
{
    (void)sequence, (void)token, (void)finished, (void)user_data;
    return step == 2 ? -7 : 0;
}

/* FIELD_CASES 126: an answer other than 0 cancels; 87: a channel that nobody drains is freed. */
static void a_callbacks_answer_cancels(tactus_coordinator_t *coordinator)
{
    tactus_request_t *request = new_request(9, 40, 1);
    tactus_channel_t *channel = NULL;
    const int32_t *ids = NULL;
    size_t count = 0;
    int32_t reason = -1;
    OK(tactus_channel_create(&channel));
    OK(tactus_request_set_channel(request, 0, channel));
    OK(tactus_request_set_token_callback(request, stops_at_two, NULL));
    tactus_response_t *response = dispatch(coordinator, request);
    OK(tactus_response_output_ids(response, 0, &ids, &count));
    OK(tactus_response_finish_reason(response, 0, &reason));
    CHECK(count == 3 && reason == TACTUS_FINISH_CANCELLED);
    OK(tactus_response_destroy(response));
    OK(tactus_request_destroy(request));
    OK(tactus_channel_destroy(channel));
}

int main(int argc, char **argv)
{
    without_a_model();
    if (argc > 1) {
        tactus_coordinator_t *coordinator = new_coordinator(argv[1]);
        joined_chunks_are_the_text(coordinator, 1);
        joined_chunks_are_the_text(coordinator, 7);
        for (int32_t step = -1; step < 4; step += step == 1 ? 2 : 1)
            cancelled(coordinator, step);
        a_callbacks_answer_cancels(coordinator);
        OK(tactus_coordinator_destroy(coordinator));
    }
    return 0;
}
