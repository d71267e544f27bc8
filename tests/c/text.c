/*
 * Texts in and out: UTF-8 with NULs in the middle, invalid UTF-8, paths. Arguments: a model, and the path of a copy of it whose name
 * has letters beyond ASCII. FIELD_CASES 19, 23, 24, 26, 124, 152.
 */
#include "check.h"

static const char PROMPT[] = "\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\xb8 a\0b"; /* é你😸 a NUL b */
enum { PROMPT_LEN = sizeof PROMPT - 1 };

static tactus_artifacts_t *load(const char *model, int vocabulary_only)
{
    tactus_config_t *config = NULL;
    tactus_artifacts_t *artifacts = NULL;
    OK(tactus_config_create(&config));
    OK(tactus_config_set_engine_dir(config, model, NUL));
    OK(vocabulary_only ? tactus_artifacts_load_vocabulary(config, &artifacts) : tactus_artifacts_load(config, &artifacts));
    OK(tactus_config_destroy(config));
    return artifacts;
}

static void round_trip(const tactus_artifacts_t *artifacts)
{
    tactus_ids_t *ids = NULL;
    tactus_string_t *string = NULL;
    const int32_t *data = NULL;
    const char *text = NULL;
    size_t count = 0, length = 0;
    OK(tactus_artifacts_tokenize(artifacts, PROMPT, PROMPT_LEN, 0, 0, &ids));
    OK(tactus_ids_get(ids, &data, &count));
    CHECK(count > 0);
    OK(tactus_artifacts_detokenize(artifacts, data, count, 1, &string));
    OK(tactus_string_get(string, &text, &length));
    CHECK(length == PROMPT_LEN && memcmp(text, PROMPT, PROMPT_LEN) == 0 && text[length] == 0);
    OK(tactus_string_destroy(string));
    OK(tactus_ids_destroy(ids));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_artifacts_tokenize(artifacts, "\xe6\xad", 2, 0, 0, &ids), "input: invalid UTF-8 at byte 0");
    CHECK(ids == NULL);
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_artifacts_tokenize(artifacts, "x", 1, 2, 0, &ids), "add_special: 2, expected 0 or 1");
}

/* Ids that the model does not have: an empty piece in a text, a refusal in a prompt. */
static void unknown_ids(const tactus_artifacts_t *artifacts, tactus_coordinator_t *coordinator)
{
    const int32_t huge = 2147483647;
    uint64_t vocabulary = 0;
    OK(tactus_coordinator_limit(coordinator, TACTUS_LIMIT_VOCAB_SIZE, &vocabulary));
    const int32_t unknown[] = { -1, (int32_t)vocabulary, huge };
    for (size_t i = 0; i < 3; i++) {
        tactus_string_t *string = NULL;
        tactus_request_t *request = NULL;
        const char *text = NULL;
        char expected[64];
        size_t length = 9;
        const int32_t ids[] = { 5, unknown[i] };
        OK(tactus_artifacts_detokenize(artifacts, &unknown[i], 1, 0, &string));
        OK(tactus_string_get(string, &text, &length));
        CHECK(length == 0);
        OK(tactus_string_destroy(string));
        OK(tactus_artifacts_token_text(artifacts, unknown[i], &string));
        OK(tactus_string_get(string, &text, &length));
        CHECK(length == 0);
        OK(tactus_string_destroy(string));
        OK(tactus_request_create(&request));
        OK(tactus_request_add_ids(request, ids, 2, NULL));
        snprintf(expected, sizeof expected, "prompt id 1: %d, expected", unknown[i]);
        REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_coordinator_dispatch_request(coordinator, request, 0, NULL), expected);
        OK(tactus_request_destroy(request));
    }
    tactus_request_t *request = NULL;
    const int32_t last[] = { 5, (int32_t)vocabulary - 1 };
    OK(tactus_request_create(&request));
    OK(tactus_request_add_ids(request, last, 2, NULL));
    OK(tactus_request_set_max_generate_length(request, 0, 1));
    OK(tactus_response_destroy(dispatch(coordinator, request)));
    OK(tactus_request_destroy(request));
}

/* The same bytes as prompt, stop string and error text; the count is that of the ids that are fed. */
static void prompts(const tactus_artifacts_t *artifacts, tactus_coordinator_t *coordinator)
{
    tactus_request_t *request = NULL;
    tactus_ids_t *counts = NULL, *ids = NULL;
    const int32_t *count = NULL, *expected = NULL;
    size_t sequences = 0, length = 0;
    uint32_t input = 0, reused = 0;
    OK(tactus_request_create(&request));
    OK(tactus_request_add_text(request, PROMPT, PROMPT_LEN, NULL));
    OK(tactus_request_add_stop(request, 0, PROMPT, PROMPT_LEN));
    OK(tactus_request_set_max_generate_length(request, 0, 2));
    OK(tactus_coordinator_count_prompt_tokens(coordinator, request, &counts));
    OK(tactus_ids_get(counts, &count, &sequences));
    OK(tactus_artifacts_tokenize(artifacts, PROMPT, PROMPT_LEN, 1, 1, &ids));
    OK(tactus_ids_get(ids, &expected, &length));
    CHECK(sequences == 1 && (size_t)count[0] == length && length > 0);
    tactus_response_t *response = dispatch(coordinator, request);
    OK(tactus_response_input_tokens(response, 0, &input, &reused));
    CHECK(input == (uint32_t)count[0]);
    OK(tactus_response_destroy(response));
    OK(tactus_ids_destroy(counts));
    OK(tactus_ids_destroy(ids));
    OK(tactus_request_destroy(request));
    OK(tactus_request_create(&request));
    OK(tactus_request_add_ids(request, NULL, 0, NULL));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_coordinator_dispatch_request(coordinator, request, 0, NULL), "empty prompt");
    OK(tactus_request_destroy(request));
}

static void paths(const char *elsewhere)
{
    tactus_config_t *config = NULL;
    tactus_artifacts_t *artifacts = load(elsewhere, 1);
    char missing[4096];
    OK(tactus_artifacts_destroy(artifacts));
    OK(tactus_config_create(&config));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_config_set_engine_dir(config, "a\0b", 3), "path: a NUL at byte 1");
    snprintf(missing, sizeof missing, "%s/\xd0\xbc missing %%20.gguf", elsewhere);
    OK(tactus_config_set_engine_dir(config, missing, NUL));
    artifacts = (tactus_artifacts_t *)config;
    int32_t status = tactus_artifacts_load(config, &artifacts);
    CHECK((status == TACTUS_ERR_NOT_FOUND || status == TACTUS_ERR_IO) && artifacts == NULL);
    CHECK(strstr(tactus_last_error_message(), missing) != NULL);
    OK(tactus_config_set_engine_dir(config, "/\xff\xfe/not text", NUL));
    EXPECT(TACTUS_ERR_NOT_FOUND, tactus_artifacts_load(config, &artifacts));
    OK(tactus_config_destroy(config));
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    tactus_artifacts_t *artifacts = load(argv[1], 0), *vocabulary = load(argv[1], 1);
    tactus_coordinator_t *coordinator = new_coordinator(argv[1]);
    round_trip(artifacts);
    round_trip(vocabulary);
    unknown_ids(artifacts, coordinator);
    prompts(artifacts, coordinator);
    paths(argv[2]);
    OK(tactus_coordinator_destroy(coordinator));
    OK(tactus_artifacts_destroy(vocabulary));
    OK(tactus_artifacts_destroy(artifacts));
    return 0;
}
