/*
 * Two threads on one coordinator get BUSY or a whole result; two coordinators on one model do not mix; a cancel comes from another
 * thread. FIELD_CASES 137, 138, 139, 140.
 */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <pthread.h>

enum { ROUNDS = 300 };

struct worker {
    tactus_coordinator_t *coordinator;
    const tactus_response_t *expected;
    int seed, served, busy;
    int32_t allowed; /* a status beside OK */
};

static void *work(void *data)
{
    struct worker *w = (struct worker *)data;
    tactus_request_t *request = new_request(6, 4, w->seed);
    for (int i = 0; i < ROUNDS; i++) {
        tactus_response_t *response = NULL;
        int32_t status = tactus_coordinator_dispatch_request(w->coordinator, request, 0, NULL);
        CHECK(status == TACTUS_OK || status == w->allowed);
        if (status != TACTUS_OK) {
            w->busy++;
            continue;
        }
        /* Between the dispatch and this the other thread may have dispatched again, or be doing so. */
        status = tactus_coordinator_take_rank_response(w->coordinator, 0, &response);
        if (status == TACTUS_OK) {
            CHECK(w->allowed == TACTUS_ERR_BUSY || same_output(response, w->expected));
            w->served++;
        } else {
            CHECK(w->allowed == TACTUS_ERR_BUSY && (status == TACTUS_ERR_BUSY || status == TACTUS_ERR_STATE));
        }
        OK(tactus_response_destroy(response));
    }
    OK(tactus_request_destroy(request));
    return NULL;
}

static void one_coordinator(tactus_coordinator_t *coordinator)
{
    struct worker w[2] = { { coordinator, NULL, 1, 0, 0, TACTUS_ERR_BUSY }, { coordinator, NULL, 2, 0, 0, TACTUS_ERR_BUSY } };
    pthread_t threads[2];
    uint64_t free_pages = 0, all_pages = 1;
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, work, &w[i]) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(w[0].served + w[1].served > 0);
    OK(tactus_coordinator_metric(coordinator, TACTUS_METRIC_PAGES_FREE, &free_pages));
    OK(tactus_coordinator_metric(coordinator, TACTUS_METRIC_PAGES_TOTAL, &all_pages));
    CHECK(free_pages == all_pages);
}

static void two_coordinators(const char *model)
{
    tactus_config_t *config = NULL;
    tactus_artifacts_t *artifacts = NULL;
    struct worker w[2];
    pthread_t threads[2];
    tactus_response_t *expected[2];
    OK(tactus_config_create(&config));
    OK(tactus_config_set_engine_dir(config, model, NUL));
    OK(tactus_config_set_cpu_threads(config, 2));
    OK(tactus_config_set_kv_type(config, TACTUS_KV_F32));
    OK(tactus_artifacts_load(config, &artifacts));
    OK(tactus_config_set_artifacts(config, artifacts));
    for (int i = 0; i < 2; i++) {
        memset(&w[i], 0, sizeof w[i]);
        OK(tactus_coordinator_create(config, &w[i].coordinator));
        w[i].seed = i;
        tactus_request_t *request = new_request(6, 4, i);
        w[i].expected = expected[i] = dispatch(w[i].coordinator, request);
        OK(tactus_request_destroy(request));
    }
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, work, &w[i]) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(w[i].served == ROUNDS && w[i].busy == 0);
        OK(tactus_response_destroy(expected[i]));
        OK(tactus_coordinator_destroy(w[i].coordinator));
    }
    OK(tactus_artifacts_destroy(artifacts));
    OK(tactus_config_destroy(config));
}

static void *cancels(void *data)
{
    tactus_channel_t *channel = (tactus_channel_t *)data;
    (void)tactus_channel_wait_pop(channel, -1);
    OK(tactus_channel_cancel(channel));
    return NULL;
}

static void cancel_from_another_thread(tactus_coordinator_t *coordinator)
{
    for (int i = 0; i < 50; i++) {
        tactus_request_t *request = new_request(6, 120, i);
        tactus_channel_t *channel = NULL;
        pthread_t thread;
        const int32_t *ids = NULL;
        size_t count = 0, logprobs = 0;
        int32_t reason = -1;
        OK(tactus_channel_create(&channel));
        OK(tactus_request_set_channel(request, 0, channel));
        OK(tactus_request_set_num_logprobs(request, 0, 5));
        CHECK(pthread_create(&thread, NULL, cancels, channel) == 0);
        tactus_response_t *response = dispatch(coordinator, request);
        CHECK(pthread_join(thread, NULL) == 0);
        OK(tactus_response_finish_reason(response, 0, &reason));
        OK(tactus_response_output_ids(response, 0, &ids, &count));
        OK(tactus_response_logprob_count(response, 0, &logprobs));
        CHECK((reason == TACTUS_FINISH_CANCELLED || (reason == TACTUS_FINISH_MAX_LENGTH && count == 120)) && count == logprobs);
        OK(tactus_response_destroy(response));
        OK(tactus_request_destroy(request));
        OK(tactus_channel_destroy(channel));
    }
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    tactus_coordinator_t *coordinator = new_coordinator(argv[1]);
    one_coordinator(coordinator);
    cancel_from_another_thread(coordinator);
    OK(tactus_coordinator_destroy(coordinator));
    two_coordinators(argv[1]);
    return 0;
}
