/*
 * The JSON doors: unknown keys by name, both spellings, a request that is the same as a built one. FIELD_CASES 124, 153.
 */
#include "check.h"

#include <math.h>

static void configurations(void)
{
    tactus_config_t *config = NULL;
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_config_from_json("{\"engineDirr\": \"x\"}", NUL, &config), "engine_dirr: unknown key");
    CHECK(config == NULL);
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_config_from_json("{\"max_batch\": 1.5}", NUL, &config), "max_batch: 1.5");
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_config_from_json("{", NUL, &config), "json: EOF");
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_config_from_json("{\"engine_dir\": \"\xe6\xad\"}", NUL, &config), "json: invalid UTF-8 at byte 16");
    OK(tactus_config_from_json("{\"engineDir\": \"/m\", \"cpu_threads\": 2, \"kv_budget_fraction\": 0.5}", NUL, &config));
    OK(tactus_config_destroy(config));
}

static void requests(void)
{
    tactus_request_t *request = NULL;
    size_t count = 0;
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_request_from_json("{\"messages\": [{\"role\": \"user\", \"contents\": \"x\"}]}", NUL, &request),
            "messages[0].contents: unknown key");
    REFUSED(TACTUS_ERR_UNSUPPORTED,
            tactus_request_from_json("{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"image_url\"}]}]}", NUL, &request), "image_url");
    OK(tactus_request_from_json("{\"sequences\": [{\"text\": \"a\\u0000b\"}, {\"ids\": [1, 2]}, {\"messages\": [{\"role\": \"user\", \"content\": "
                                "[{\"type\": \"text\", \"text\": \"\xc3\xa9\"}]}]}], \"temperature\": 0.7, \"seed\": 18446744073709551615}",
                                NUL, &request));
    OK(tactus_request_sequence_count(request, &count));
    CHECK(count == 3);
    OK(tactus_request_add_message_json(request, 2, "{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"1\", \"type\": "
                                                   "\"function\", \"function\": {\"name\": \"f\", \"arguments\": \"{}\"}}]}",
                                       NUL));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_request_add_message(request, 1, "user", NUL, "x", NUL), "sequence: 1 has a prompt of its own");
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_request_set_tools_json(request, TACTUS_ALL_SEQUENCES, "[1]", NUL), "[0]: 1, expected an object");
    OK(tactus_request_destroy(request));
}

static void responses(const char *model)
{
    tactus_coordinator_t *coordinator = new_coordinator(model);
    tactus_request_t *built = new_request(6, 8, 3), *read = NULL;
    char json[256];
    int32_t ids[6];
    tactus_string_t *text = NULL;
    const char *data = NULL;
    size_t length = 0;
    double value = 0;
    int32_t source = -1;
    fill_ids(ids, 6, 3);
    snprintf(json, sizeof json, "{\"ids\": [%d,%d,%d,%d,%d,%d], \"max_tokens\": 8, \"ignore_eos\": true, \"logprobs\": true, \"topLogprobs\": 2,"
                                "\"min_p\": 0.125, \"temperature\": 0}", ids[0], ids[1], ids[2], ids[3], ids[4], ids[5]);
    OK(tactus_request_from_json(json, NUL, &read));
    tactus_response_t *a = dispatch(coordinator, built), *b = dispatch(coordinator, read);
    CHECK(same_output(a, b));
    OK(tactus_response_setting(b, 0, TACTUS_SETTING_MIN_P, &value, &source));
    CHECK(fabs(value - 0.125) < 1e-9 && source == TACTUS_SOURCE_REQUEST);
    OK(tactus_response_setting(a, 0, TACTUS_SETTING_MIN_P, &value, &source));
    CHECK(source != TACTUS_SOURCE_REQUEST);
    OK(tactus_response_to_json(b, &text));
    OK(tactus_string_get(text, &data, &length));
    for (const char **part = (const char *[]){ "\"finish_reason\":\"length\"", "\"prompt_tokens\":6", "\"completion_tokens\":8", "\"top_logprobs\":[",
                                               "\"reason\":\"max-length\"", NULL };
         *part; part++)
        CHECK(strstr(data, *part) != NULL);
    OK(tactus_string_destroy(text));
    OK(tactus_coordinator_info_json(coordinator, &text));
    OK(tactus_string_get(text, &data, &length));
    CHECK(strstr(data, "\"architecture\":") && strstr(data, "\"limits\":") && strstr(data, "\"metrics\":"));
    OK(tactus_string_destroy(text));
    OK(tactus_capabilities_json(&text));
    OK(tactus_string_get(text, &data, &length));
    CHECK(strstr(data, "\"architectures\":[") && strstr(data, "Q4_K"));
    OK(tactus_string_destroy(text));
    OK(tactus_response_destroy(a));
    OK(tactus_response_destroy(b));
    OK(tactus_request_destroy(built));
    OK(tactus_request_destroy(read));
    OK(tactus_coordinator_destroy(coordinator));
}

int main(int argc, char **argv)
{
    configurations();
    requests();
    if (argc > 1)
        responses(argv[1]);
    return 0;
}
