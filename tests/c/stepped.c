/*
 * Stepped execution and the boundary hook through C: they say what a dispatch says, hold the coordinator, and outlive nothing.
 */
#include "check.h"

enum { LIVE = 8 };

/* Drives everyone to the end, one token a tick. */
static void drive(tactus_stepped_t *stepped)
{
    for (;;) {
        const uint64_t *live = NULL;
        uint64_t names[LIVE];
        size_t count = 0;
        OK(tactus_stepped_residents(stepped, &live, &count));
        if (count == 0)
            return;
        CHECK(count <= LIVE);
        memcpy(names, live, count * sizeof *names); /* borrowed until the next step */
        OK(tactus_stepped_decode(stepped, names, count));
    }
}

static void stepped_says_what_a_dispatch_says(tactus_coordinator_t *coordinator)
{
    tactus_request_t *request = new_request(6, 12, 1), *joiner = new_request(9, 5, 2);
    tactus_response_t *expected = dispatch(coordinator, request), *joined = dispatch(coordinator, joiner), *response = NULL, *done = NULL;
    tactus_stepped_t *stepped = NULL;
    uint64_t name = 0, stale = 0;
    uint32_t remaining = 1;
    const uint64_t *live = NULL;
    size_t count = 0;
    int32_t index = -1;
    EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_coordinator_begin_stepped(coordinator, request, 0, 0, NULL, &stepped));
    OK(tactus_coordinator_begin_stepped(coordinator, request, 1, 0, NULL, &stepped));
    EXPECT(TACTUS_ERR_BUSY, tactus_coordinator_dispatch_request(coordinator, joiner, 0, NULL));
    EXPECT(TACTUS_ERR_STATE, tactus_stepped_finish(stepped, &response));
    OK(tactus_stepped_residents(stepped, &live, &count));
    CHECK(count == 1);
    stale = live[0];
    OK(tactus_stepped_admit(stepped, joiner, 7, 2, &name));
    EXPECT(TACTUS_ERR_STATE, tactus_stepped_decode(stepped, &name, 1));
    while (remaining > 0)
        OK(tactus_stepped_prefill(stepped, name, &remaining));
    for (int i = 0; i < 4; i++)
        OK(tactus_stepped_decode(stepped, &name, 1)); /* one of them alone */
    OK(tactus_stepped_finished_response(stepped, &done));
    OK(tactus_response_original_index(done, 0, &index));
    CHECK(index == 7 && same_output(done, joined));
    EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_stepped_decode(stepped, &name, 1));
    drive(stepped);
    EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_stepped_decode(stepped, &stale, 1));
    OK(tactus_stepped_finish(stepped, &response));
    CHECK(same_output(response, expected));
    EXPECT(TACTUS_ERR_STATE, tactus_stepped_residents(stepped, &live, &count));
    OK(tactus_stepped_destroy(stepped));
    OK(tactus_response_destroy(response));
    OK(tactus_response_destroy(done));
    OK(tactus_response_destroy(expected));
    OK(tactus_response_destroy(joined));
    OK(tactus_request_destroy(request));
    OK(tactus_request_destroy(joiner));
}

/* DECISIONS 12: the execution's handle answers STATE after its coordinator is gone. */
static void the_coordinator_may_go_first(const char *model)
{
    tactus_coordinator_t *coordinator = new_coordinator(model);
    tactus_request_t *request = new_request(6, 12, 1);
    tactus_channel_t *channel = NULL;
    tactus_stepped_t *stepped = NULL;
    const uint64_t *live = NULL;
    size_t count = 0;
    int32_t reason = 0;
    OK(tactus_channel_create(&channel));
    OK(tactus_request_set_channel(request, 0, channel));
    OK(tactus_coordinator_begin_stepped(coordinator, request, 1, 0, NULL, &stepped));
    OK(tactus_coordinator_destroy(coordinator));
    EXPECT(TACTUS_ERR_STATE, tactus_stepped_residents(stepped, &live, &count));
    OK(tactus_stepped_abort(stepped));
    OK(tactus_channel_reason(channel, &reason));
    CHECK(reason == TACTUS_FINISH_CANCELLED);
    OK(tactus_stepped_destroy(stepped));
    OK(tactus_channel_destroy(channel));
    OK(tactus_request_destroy(request));
}

struct hook {
    tactus_request_t *joiner;
    tactus_boundary_t *seen;
    int calls, admitted;
};

static void between_steps(tactus_boundary_t *boundary, void *user_data)
{
    struct hook *hook = (struct hook *)user_data;
    size_t count = 9;
    hook->seen = boundary;
    hook->calls++;
    OK(tactus_boundary_resident_count(boundary, &count));
    CHECK(count <= 2);
    if (hook->calls == 3) {
        EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_boundary_admit_request(boundary, hook->joiner, 0, 2)); /* an index that is taken */
        OK(tactus_boundary_admit_request(boundary, hook->joiner, 5, 2));
        hook->admitted = 1;
    }
}

static void a_joiner_changes_nobody(tactus_coordinator_t *coordinator)
{
    struct hook hook = { new_request(9, 5, 2), NULL, 0, 0 };
    tactus_request_t *request = new_request(6, 12, 1);
    tactus_response_t *expected = dispatch(coordinator, request), *response = NULL;
    size_t count = 0;
    OK(tactus_coordinator_dispatch_request_with_hook(coordinator, request, 0, NULL, between_steps, &hook));
    OK(tactus_coordinator_take_rank_response(coordinator, 0, &response));
    OK(tactus_response_sequence_count(response, &count));
    CHECK(hook.admitted && count == 2 && same_output(response, expected));
    EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_boundary_resident_count(hook.seen, &count)); /* it was the hook's only */
    OK(tactus_response_destroy(expected));
    OK(tactus_response_destroy(response));
    OK(tactus_request_destroy(request));
    OK(tactus_request_destroy(hook.joiner));
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    tactus_coordinator_t *coordinator = new_coordinator(argv[1]);
    stepped_says_what_a_dispatch_says(coordinator);
    a_joiner_changes_nobody(coordinator);
    OK(tactus_coordinator_destroy(coordinator));
    the_coordinator_may_go_first(argv[1]);
    return 0;
}
