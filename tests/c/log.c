/*
 * The log: levels, whole lines, unregistering as a barrier, polling; nothing on standard output or error (the harness looks).
 * A callback set before the first load sees its first line. FIELD_CASES 126, 156.
 */
#include "check.h"

#include <pthread.h>

struct lines {
    int count, highest, inside;
    void *expected;
};

static void on_line(int32_t level, const char *text, size_t length, void *user_data)
{
    struct lines *lines = (struct lines *)user_data;
    CHECK(lines->expected == user_data);
    CHECK(level >= TACTUS_LOG_ERROR && level <= TACTUS_LOG_TRACE);
    CHECK(length > 0 && text[length] == 0 && text[length - 1] != '\n' && strlen(text) == length);
    lines->count++;
    if (level > lines->highest)
        lines->highest = level;
    if (lines->inside++ == 0) { /* calls back in: allowed, and not a loop */
        tactus_request_t *request = NULL;
        OK(tactus_request_create(&request));
        OK(tactus_request_destroy(request));
    }
}

static void try_to_load(const char *model)
{
    tactus_config_t *config = NULL;
    tactus_coordinator_t *coordinator = NULL;
    OK(tactus_config_create(&config));
    OK(tactus_config_set_engine_dir(config, model, NUL));
    int32_t status = tactus_coordinator_create(config, &coordinator);
    CHECK(status == TACTUS_OK || status == TACTUS_ERR_NOT_FOUND);
    if (status == TACTUS_OK) {
        tactus_request_t *request = new_request(5, 10, 1);
        OK(tactus_response_destroy(dispatch(coordinator, request)));
        OK(tactus_request_destroy(request));
    }
    OK(tactus_coordinator_destroy(coordinator));
    OK(tactus_config_destroy(config));
}

static volatile int running = 1;

static void *load_again_and_again(void *model)
{
    while (running)
        try_to_load((const char *)model);
    return NULL;
}

int main(int argc, char **argv)
{
    struct lines lines = { 0, 0, 0, &lines };
    const char *model = argc > 1 ? argv[1] : "";

    /* Without a log, then a failing load: the harness sees that nothing is printed. */
    try_to_load(model);
    try_to_load("/nowhere/at/all");

    OK(tactus_log_set_callback(TACTUS_LOG_INFO, on_line, &lines));
    try_to_load(model);
    CHECK(lines.count > 0 && lines.highest <= TACTUS_LOG_INFO);

    int before = lines.count;
    OK(tactus_log_set_callback(TACTUS_LOG_OFF, on_line, &lines));
    try_to_load(model);
    CHECK(lines.count == before);
    EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_log_set_callback(17, on_line, &lines));

    /* Unregistering waits: no call comes after it. */
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, load_again_and_again, (void *)(uintptr_t)model) == 0);
    for (int i = 0; i < 200; i++) {
        struct lines local = { 0, 0, 1, &local };
        OK(tactus_log_set_callback(TACTUS_LOG_TRACE, on_line, &local));
        OK(tactus_log_set_callback(TACTUS_LOG_OFF, NULL, NULL));
        memset(&local, 0, sizeof local); /* a late call would find the wrong pointer here */
    }
    running = 0;
    CHECK(pthread_join(thread, NULL) == 0);

    /* Polling. */
    int32_t level = -1;
    tactus_string_t *text = NULL;
    OK(tactus_log_pop(&level, &text));
    CHECK(level == TACTUS_LOG_OFF && text == NULL);
    OK(tactus_log_set_queue(TACTUS_LOG_DEBUG, 2));
    try_to_load(model);
    try_to_load(model);
    int popped = 0;
    for (;;) {
        OK(tactus_log_pop(&level, &text));
        if (text == NULL)
            break;
        CHECK(level >= TACTUS_LOG_ERROR && level <= TACTUS_LOG_DEBUG);
        OK(tactus_string_destroy(text));
        popped++;
    }
    CHECK(popped == 2);
    OK(tactus_log_set_queue(TACTUS_LOG_OFF, 0));
    return 0;
}
