/*
 * Handles without a model: freed, foreign, made up; errors per thread and per handle; the error's own functions.
 * FIELD_CASES 131, 133.
 */
#include "check.h"

#include <pthread.h>

static void *fails_otherwise(void *data)
{
    char *text = (char *)data;
    CHECK(tactus_last_error_status() == TACTUS_OK && tactus_last_error_message()[0] == 0);
    for (int i = 0; i < 1000; i++)
        REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_config_from_json("{\"thread\": 1}", NUL, &(tactus_config_t *){ NULL }), "thread: unknown key");
    snprintf(text, 64, "%s", tactus_last_error_message());
    return NULL;
}

static void errors_belong_to_threads(void)
{
    pthread_t thread;
    char text[64];
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_channel_cancel(NULL), "channel is null");
    CHECK(pthread_create(&thread, NULL, fails_otherwise, text) == 0);
    for (int i = 0; i < 1000; i++)
        REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_channel_cancel(NULL), "channel is null");
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(strcmp(text, "thread: unknown key") == 0);
    CHECK(strstr(tactus_last_error_message(), "channel is null") != NULL);
    CHECK(tactus_last_error_message_length() == strlen(tactus_last_error_message()));
    tactus_last_error_clear();
    CHECK(tactus_last_error_status() == TACTUS_OK && tactus_last_error_message_length() == 0);
}

static void errors_are_kept_by_handles(void)
{
    tactus_request_t *request = NULL;
    tactus_string_t *message = NULL;
    const char *text = NULL;
    size_t length = 0;
    int32_t status = -1;
    uint64_t a, b, c;
    OK(tactus_request_create(&request));
    OK(tactus_handle_error(request, &status, &message));
    CHECK(status == TACTUS_OK);
    OK(tactus_string_destroy(message));
    EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_request_set_seed(request, 3, 1));
    OK(tactus_request_set_seed(request, TACTUS_ALL_SEQUENCES, 1));
    OK(tactus_handle_error(request, &status, &message));
    OK(tactus_string_get(message, &text, &length));
    CHECK(status == TACTUS_ERR_INVALID_ARGUMENT && length == strlen(text));
    CHECK(strcmp(text, "sequence: 3, expected less than 0, the sequences of the request") == 0);
    EXPECT(TACTUS_ERR_STATE, tactus_handle_error_capacity(request, &a, &b, &c));
    OK(tactus_string_destroy(message));
    OK(tactus_request_destroy(request));
}

static void only_live_handles_of_the_right_kind_are_taken(void)
{
    tactus_request_t *request = NULL, *again = NULL;
    tactus_config_t *config = NULL;
    char here = 0;
    size_t count = 7;
    OK(tactus_request_create(&request));
    OK(tactus_config_create(&config));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_request_sequence_count((tactus_request_t *)config, &count),
            "request is a tactus_config_t, expected a tactus_request_t");
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_request_sequence_count((tactus_request_t *)&here, &count), "request is not a handle");
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_request_sequence_count((tactus_request_t *)(uintptr_t)-1, &count), "request is not a handle");
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_request_destroy((tactus_request_t *)config), "request is a tactus_config_t");
    OK(tactus_request_destroy(request));
    OK(tactus_request_create(&again));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_request_sequence_count(request, &count), "request is a tactus_request_t that has been destroyed");
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_request_destroy(request), "has been destroyed");
    CHECK(count == 7);
    OK(tactus_request_sequence_count(again, &count));
    CHECK(count == 0);
    OK(tactus_request_destroy(again));
    OK(tactus_config_destroy(config));
    OK(tactus_request_destroy(NULL));
}

/* Slots are reused, handles never are. */
static void handles_are_not_repeated(void)
{
    tactus_channel_t *first = NULL, *next = NULL;
    OK(tactus_channel_create(&first));
    OK(tactus_channel_destroy(first));
    for (int i = 0; i < 10000; i++) {
        OK(tactus_channel_create(&next));
        CHECK(next != first);
        OK(tactus_channel_destroy(next));
    }
    EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_channel_cancel(first));
}

static void names(void)
{
    CHECK(strcmp(tactus_status_name(TACTUS_ERR_CONTEXT_FULL), "CONTEXT_FULL") == 0);
    CHECK(strcmp(tactus_status_name(-5), "UNKNOWN") == 0);
    CHECK(strcmp(tactus_finish_reason_name(TACTUS_FINISH_MAX_LENGTH), "max-length") == 0);
    CHECK(strcmp(tactus_finish_reason_name(99), "unknown") == 0);
    CHECK(tactus_abi_version() == TACTUS_ABI_VERSION && tactus_version()[0] != 0);
}

/* FIELD_CASES 125, 131: lengths that cannot be are refused without reading. */
static void lengths_are_checked(void)
{
    tactus_request_t *request = NULL;
    OK(tactus_request_create(&request));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_request_add_text(request, "x", ((size_t)-1) - 1, NULL), "prompt: a length of");
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_request_add_ids(request, (const int32_t *)"abcdefgh", (size_t)1 << 62, NULL), "ids");
    OK(tactus_request_add_ids(request, NULL, 0, NULL));
    OK(tactus_request_add_text(request, NULL, 0, NULL));
    OK(tactus_request_destroy(request));
}

int main(void)
{
    errors_belong_to_threads();
    errors_are_kept_by_handles();
    only_live_handles_of_the_right_kind_are_taken();
    handles_are_not_repeated();
    names();
    lengths_are_checked();
    return 0;
}
