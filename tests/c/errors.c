/*
 * One code for each kind of failure, with its numbers where it has some; none of them disables anything. Arguments: a model, and a
 * directory to write to. FIELD_CASES 10, 11, 54, 109, 133.
 */
#include "check.h"

static void loading(const char *model, const char *scratch)
{
    tactus_config_t *config = NULL;
    tactus_coordinator_t *coordinator = NULL;
    char path[4096];
    FILE *file;
    OK(tactus_config_create(&config));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_coordinator_create(config, &coordinator), "engineDir: empty");
    snprintf(path, sizeof path, "%s/not there.gguf", scratch);
    OK(tactus_config_set_engine_dir(config, path, NUL));
    REFUSED(TACTUS_ERR_NOT_FOUND, tactus_coordinator_create(config, &coordinator), path);
    snprintf(path, sizeof path, "%s/garbage.gguf", scratch);
    file = fopen(path, "wb");
    CHECK(file != NULL && fwrite("GGUF\3\0\0\0garbage", 1, 15, file) == 15 && fclose(file) == 0);
    OK(tactus_config_set_engine_dir(config, path, NUL));
    REFUSED(TACTUS_ERR_FORMAT, tactus_coordinator_create(config, &coordinator), path);
    OK(tactus_config_set_engine_dir(config, model, NUL));
    OK(tactus_config_set_page_tokens(config, 17));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_coordinator_create(config, &coordinator), "pageTokens: 17");
    OK(tactus_config_set_page_tokens(config, 0));
    OK(tactus_config_set_device(config, TACTUS_DEVICE_CUDA));
    REFUSED(TACTUS_ERR_CUDA, tactus_coordinator_create(config, &coordinator), "device cuda");
    OK(tactus_config_set_device(config, TACTUS_DEVICE_CPU));
    OK(tactus_config_cancel_load(config));
    REFUSED(TACTUS_ERR_CANCELLED, tactus_coordinator_create(config, &coordinator), "cancel");
    CHECK(coordinator == NULL);
    OK(tactus_coordinator_create(config, &coordinator));
    uint64_t done = 0, total = 0;
    OK(tactus_config_load_progress(config, &done, &total));
    CHECK(total > 0 && done == total);
    OK(tactus_coordinator_destroy(coordinator));
    OK(tactus_config_destroy(config));
}

static void still_works(tactus_coordinator_t *coordinator)
{
    tactus_request_t *request = new_request(3, 2, 1);
    OK(tactus_response_destroy(dispatch(coordinator, request)));
    CHECK(tactus_coordinator_local_ranks_succeeded(coordinator));
    OK(tactus_request_destroy(request));
}

static void context_full(tactus_coordinator_t *coordinator)
{
    uint64_t capacity = 0, prompt = 0, requested = 0, limit = 0;
    OK(tactus_coordinator_limit(coordinator, TACTUS_LIMIT_MAX_SEQUENCE_LENGTH, &capacity));
    tactus_request_t *request = new_request((int)capacity + 7, 5, 1);
    REFUSED(TACTUS_ERR_CONTEXT_FULL, tactus_coordinator_dispatch_request(coordinator, request, 0, NULL), "capacity");
    OK(tactus_last_error_capacity(&prompt, &requested, &limit));
    CHECK(prompt == capacity + 7 && requested == 5 && limit == capacity);
    prompt = 0;
    OK(tactus_handle_error_capacity(coordinator, &prompt, &requested, &limit));
    CHECK(prompt == capacity + 7);
    CHECK(!tactus_coordinator_local_ranks_succeeded(coordinator));
    OK(tactus_request_destroy(request));
    still_works(coordinator);
}

static void clamped(tactus_coordinator_t *coordinator)
{
    uint64_t capacity = 0;
    uint32_t tokens = 0;
    size_t warnings = 0, length = 0;
    const char *text = NULL;
    OK(tactus_coordinator_limit(coordinator, TACTUS_LIMIT_MAX_SEQUENCE_LENGTH, &capacity));
    tactus_request_t *request = new_request((int)capacity - 4, 1000000, 1);
    tactus_response_t *response = dispatch(coordinator, request);
    OK(tactus_response_max_generate_length(response, 0, &tokens));
    OK(tactus_response_warning_count(response, 0, &warnings));
    CHECK(tokens == 4 && warnings == 1);
    OK(tactus_response_warning(response, 0, 0, &text, &length));
    CHECK(strstr(text, "1000000") != NULL && length == strlen(text));
    EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_response_warning(response, 0, 1, &text, &length));
    EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_response_text(response, 1, &text, &length));
    const uint64_t *steps;
    size_t steps_len;
    const float *hidden;
    size_t rows, width;
    EXPECT(TACTUS_ERR_STATE, tactus_response_hidden_states(response, 0, &hidden, &rows, &width));
    EXPECT(TACTUS_ERR_INVALID_ARGUMENT, tactus_response_hidden_states(response, 0, NULL, &rows, &width));
    double seconds = 0;
    EXPECT(TACTUS_ERR_STATE, tactus_response_timing(response, TACTUS_TIMING_TOTAL_SECONDS, &seconds));
    EXPECT(TACTUS_ERR_STATE, tactus_response_batch_histogram(response, &steps, &steps_len));
    OK(tactus_response_destroy(response));
    OK(tactus_request_destroy(request));
}

static void settings(tactus_coordinator_t *coordinator)
{
    tactus_request_t *request = new_request(3, 2, 1);
    const int32_t ids[] = { 1, 2147483647 };
    const float biases[] = { 1, 1 };
    OK(tactus_request_set_temperature(request, 0, -1));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_coordinator_dispatch_request(coordinator, request, 0, NULL), "temperature: -1");
    OK(tactus_request_set_temperature(request, 0, 0));
    OK(tactus_request_set_logit_bias(request, 0, ids, biases, 2));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_coordinator_dispatch_request(coordinator, request, 0, NULL), "logitBias: token 2147483647");
    OK(tactus_request_destroy(request));
    OK(tactus_request_create(&request));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_coordinator_dispatch_request(coordinator, request, 0, NULL), "no sequences");
    OK(tactus_request_destroy(request));
    tactus_response_t *response = NULL;
    REFUSED(TACTUS_ERR_STATE, tactus_coordinator_take_rank_response(coordinator, 0, &response), "no response to take");
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_coordinator_take_rank_response(coordinator, 1, &response), "rank 1");
    CHECK(tactus_coordinator_owns_global_rank(coordinator, 0) && !tactus_coordinator_owns_global_rank(coordinator, 1));
    int32_t size = 0;
    OK(tactus_coordinator_world_size(coordinator, &size));
    CHECK(size == 1);
    still_works(coordinator);
}

static void templates(const char *model)
{
    tactus_config_t *config = NULL;
    tactus_coordinator_t *coordinator = NULL;
    tactus_request_t *request = NULL;
    OK(tactus_config_create(&config));
    OK(tactus_config_set_engine_dir(config, model, NUL));
    OK(tactus_config_set_chat_template(config, "{{ raise_exception('System message must be at the beginning.') }}", NUL));
    OK(tactus_coordinator_create(config, &coordinator));
    OK(tactus_request_create(&request));
    OK(tactus_request_add_chat(request, NULL));
    OK(tactus_request_add_message(request, 0, "user", NUL, "x", NUL));
    REFUSED(TACTUS_ERR_TEMPLATE, tactus_coordinator_dispatch_request(coordinator, request, 0, NULL), "System message must be at the beginning.");
    still_works(coordinator);
    OK(tactus_coordinator_destroy(coordinator));
    OK(tactus_request_destroy(request));
    OK(tactus_config_destroy(config));
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    loading(argv[1], argv[2]);
    tactus_coordinator_t *coordinator = new_coordinator(argv[1]);
    CHECK(!tactus_coordinator_local_ranks_succeeded(coordinator));
    context_full(coordinator);
    clamped(coordinator);
    settings(coordinator);
    OK(tactus_coordinator_destroy(coordinator));
    templates(argv[1]);
    return 0;
}
