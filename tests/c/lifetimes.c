/*
 * Who may go first: every order of destruction, destruction inside a callback, while a dispatch runs, and not at all.
 * FIELD_CASES 127, 129, 130.
 */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <pthread.h>
#include <time.h>

struct all {
    tactus_config_t *config;
    tactus_artifacts_t *artifacts;
    tactus_coordinator_t *coordinator;
    tactus_request_t *request;
    tactus_channel_t *channel;
    tactus_response_t *response;
};

static struct all make(const char *model)
{
    struct all all;
    memset(&all, 0, sizeof all);
    OK(tactus_config_create(&all.config));
    OK(tactus_config_set_engine_dir(all.config, model, NUL));
    OK(tactus_config_set_cpu_threads(all.config, 2));
    OK(tactus_artifacts_load(all.config, &all.artifacts));
    OK(tactus_config_set_artifacts(all.config, all.artifacts));
    OK(tactus_coordinator_create(all.config, &all.coordinator));
    all.request = new_request(4, 3, 1);
    OK(tactus_channel_create(&all.channel));
    OK(tactus_request_set_channel(all.request, 0, all.channel));
    all.response = dispatch(all.coordinator, all.request);
    return all;
}

static void destroy(struct all *all, int which)
{
    switch (which) {
    case 0: OK(tactus_artifacts_destroy(all->artifacts)); break;
    case 1: OK(tactus_coordinator_destroy(all->coordinator)); break;
    case 2: OK(tactus_request_destroy(all->request)); break;
    case 3: OK(tactus_channel_destroy(all->channel)); break;
    case 4: OK(tactus_response_destroy(all->response)); break;
    case 5: OK(tactus_config_destroy(all->config)); break;
    }
}

/* All 120 orders of five of them, the configuration last and first in turn. */
static void every_order(const char *model, int step)
{
    for (int code = 0; code < 120; code += step) {
        struct all all = make(model);
        int left[5] = { 0, 1, 2, 3, 4 }, rest = code;
        if (code % 2)
            destroy(&all, 5);
        for (int n = 5; n > 0; n--) {
            int at = rest % n;
            rest /= n;
            destroy(&all, left[at]);
            left[at] = left[n - 1];
        }
        if (code % 2 == 0)
            destroy(&all, 5);
    }
}

/* What is left after an owner is gone still works. */
static void survivors_work(const char *model)
{
    struct all all = make(model);
    const char *text = NULL;
    size_t length = 0;
    destroy(&all, 0);
    destroy(&all, 5);
    tactus_request_t *request = new_request(4, 3, 1);
    tactus_response_t *again = dispatch(all.coordinator, request);
    CHECK(same_output(all.response, again));
    destroy(&all, 1);
    OK(tactus_response_text(again, 0, &text, &length));
    CHECK(text[length] == 0);
    OK(tactus_response_destroy(again));
    OK(tactus_request_destroy(request));
    destroy(&all, 2);
    destroy(&all, 3);
    destroy(&all, 4);
}

static int32_t destroys_all(int32_t sequence, int32_t token, int32_t step, int32_t finished, void *user_data)
{
    struct all *all = (struct all *)user_data;
    (void)sequence, (void)token, (void)step, (void)finished;
    if (all->coordinator) {
        OK(tactus_coordinator_destroy(all->coordinator));
        EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_coordinator_destroy(all->coordinator));
        OK(tactus_request_destroy(all->request));
        all->coordinator = NULL;
    }
    return 0;
}

/* Inside a callback it takes effect on return: the dispatch ends at its next step. */
static void inside_a_callback(const char *model)
{
    struct all all;
    memset(&all, 0, sizeof all);
    all.coordinator = new_coordinator(model);
    all.request = new_request(4, 100, 1);
    OK(tactus_request_set_token_callback(all.request, destroys_all, &all));
    tactus_coordinator_t *coordinator = all.coordinator;
    OK(tactus_coordinator_dispatch_request(coordinator, all.request, 0, NULL));
    EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_coordinator_take_rank_response(coordinator, 0, &all.response));
}

static int32_t calls_back_in(int32_t sequence, int32_t token, int32_t step, int32_t finished, void *user_data)
{
    tactus_coordinator_t *coordinator = (tactus_coordinator_t *)user_data;
    tactus_response_t *response = NULL;
    tactus_request_t *request = new_request(2, 1, 5);
    tactus_ids_t *counts = NULL;
    uint64_t steps = 0;
    (void)sequence, (void)token, (void)step, (void)finished;
    EXPECT(TACTUS_ERR_BUSY, tactus_coordinator_dispatch_request(coordinator, request, 0, NULL));
    EXPECT(TACTUS_ERR_BUSY, tactus_coordinator_take_rank_response(coordinator, 0, &response));
    OK(tactus_coordinator_count_prompt_tokens(coordinator, request, &counts));
    OK(tactus_coordinator_metric(coordinator, TACTUS_METRIC_STEPS, &steps));
    OK(tactus_ids_destroy(counts));
    OK(tactus_request_destroy(request));
    return 0;
}

/* FIELD_CASES 126: calling back in is BUSY where the coordinator is needed idle, and fine otherwise. */
static void calling_back_in(const char *model)
{
    tactus_coordinator_t *coordinator = new_coordinator(model);
    tactus_request_t *request = new_request(4, 5, 1);
    OK(tactus_request_set_token_callback(request, calls_back_in, coordinator));
    tactus_response_t *response = dispatch(coordinator, request);
    int32_t reason = -1;
    OK(tactus_response_finish_reason(response, 0, &reason));
    CHECK(reason == TACTUS_FINISH_MAX_LENGTH);
    OK(tactus_response_destroy(response));
    OK(tactus_request_destroy(request));
    OK(tactus_coordinator_destroy(coordinator));
}

static void *dispatches(void *data)
{
    struct all *all = (struct all *)data;
    int32_t status = tactus_coordinator_dispatch_request(all->coordinator, all->request, 0, NULL);
    CHECK(status == TACTUS_OK || status == TACTUS_ERR_STATE || status == TACTUS_ERR_INVALID_ARGUMENT);
    return NULL;
}

/* A dispatch on another thread is cancelled and waited for. */
static void while_a_dispatch_runs(const char *model, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        struct all all;
        pthread_t thread;
        int32_t reason = -1;
        memset(&all, 0, sizeof all);
        all.coordinator = new_coordinator(model);
        all.request = new_request(4, 100, i);
        OK(tactus_channel_create(&all.channel));
        OK(tactus_request_set_channel(all.request, 0, all.channel));
        CHECK(pthread_create(&thread, NULL, dispatches, &all) == 0);
        if (i % 2)
            (void)tactus_channel_wait_pop(all.channel, 1000); /* it runs now, or was over already */
        OK(tactus_coordinator_destroy(all.coordinator));
        CHECK(pthread_join(thread, NULL) == 0);
        OK(tactus_channel_reason(all.channel, &reason));
        CHECK(i % 2 == 0 || reason == TACTUS_FINISH_CANCELLED || reason == TACTUS_FINISH_MAX_LENGTH);
        OK(tactus_request_destroy(all.request));
        OK(tactus_channel_destroy(all.channel));
    }
}

static int threads_now(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    int threads = -1;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "Threads: %d", &threads) == 1)
            break;
    if (status)
        fclose(status);
    return threads;
}

int main(int argc, char **argv)
{
    const char *model = argv[1];
    const char *mode = argc > 2 ? argv[2] : "";
    if (!strcmp(mode, "exit")) { /* live handles at exit */
        (void)make(model);
        return 0;
    }
    if (!strcmp(mode, "exit-running")) { /* a dispatch at exit */
        static struct all all;
        pthread_t thread;
        all.coordinator = new_coordinator(model);
        all.request = new_request(4, 100, 1);
        OK(tactus_channel_create(&all.channel));
        OK(tactus_request_set_channel(all.request, 0, all.channel));
        CHECK(pthread_create(&thread, NULL, dispatches, &all) == 0);
        (void)tactus_channel_wait_pop(all.channel, 1000);
        exit(0);
    }
    int quick = !strcmp(mode, "quick");
    CHECK(threads_now() == 1);
    every_order(model, quick ? 37 : 1);
    survivors_work(model);
    inside_a_callback(model);
    calling_back_in(model);
    while_a_dispatch_runs(model, quick ? 2 : 40);
    const struct timespec moment = { 0, 1000000 };
    for (int i = 0; i < 1000 && threads_now() > 1; i++)
        nanosleep(&moment, NULL); /* a joined thread leaves /proc a moment later */
    CHECK(threads_now() == 1);
    return 0;
}
