/* uses MODEL: generates a few tokens and prints the library's version and ABI version. */
#include <stdio.h>
#include <tactus.h>

int main(int argc, char **argv)
{
    const int32_t prompt[] = { 7, 20, 33 }, *ids = NULL;
    size_t count = 0;
    tactus_config_t *config = NULL;
    tactus_coordinator_t *coordinator = NULL;
    tactus_request_t *request = NULL;
    tactus_response_t *response = NULL;
    if (argc != 2 || tactus_config_create(&config) || tactus_config_set_engine_dir(config, argv[1], TACTUS_NUL_TERMINATED) ||
        tactus_config_set_cpu_threads(config, 1) || tactus_coordinator_create(config, &coordinator) || tactus_request_create(&request) ||
        tactus_request_add_ids(request, prompt, 3, NULL) || tactus_request_set_max_generate_length(request, 0, 4) ||
        tactus_request_set_ignore_eos(request, 0, 1) || tactus_coordinator_dispatch_request(coordinator, request, 0, NULL) ||
        tactus_coordinator_take_rank_response(coordinator, 0, &response) || tactus_response_output_ids(response, 0, &ids, &count) ||
        count != 4) {
        fprintf(stderr, "%s\n", tactus_last_error_message());
        return 1;
    }
    tactus_response_destroy(response);
    tactus_request_destroy(request);
    tactus_coordinator_destroy(coordinator);
    tactus_config_destroy(config);
    printf("%s %d\n", tactus_version(), (int)tactus_abi_version());
    return tactus_abi_version() != TACTUS_ABI_VERSION;
}
