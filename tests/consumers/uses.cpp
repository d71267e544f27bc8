// uses MODEL: as uses.c, with an exception thrown and caught beside the library's own unwinding.
#include <iostream>
#include <stdexcept>
#include <string>

#include <tactus.h>

static void check(int32_t status)
{
    if (status != TACTUS_OK)
        throw std::runtime_error(tactus_last_error_message());
}

int main(int argc, char **argv)
{
    tactus_config_t *config = nullptr;
    tactus_artifacts_t *artifacts = nullptr;
    tactus_string_t *info = nullptr;
    const char *text = nullptr;
    std::size_t length = 0;
    try {
        check(tactus_config_from_json("{\"nonsense\": 1}", TACTUS_NUL_TERMINATED, &config));
        return 1;
    } catch (const std::runtime_error &e) {
        if (std::string(e.what()).find("nonsense") == std::string::npos)
            return 2;
    }
    check(tactus_config_create(&config));
    check(tactus_config_set_engine_dir(config, argc > 1 ? argv[1] : "", TACTUS_NUL_TERMINATED));
    check(tactus_artifacts_load(config, &artifacts));
    check(tactus_artifacts_info_json(artifacts, &info));
    check(tactus_string_get(info, &text, &length));
    if (std::string(text, length).find("llama") == std::string::npos)
        return 3;
    tactus_string_destroy(info);
    tactus_artifacts_destroy(artifacts);
    tactus_config_destroy(config);
    std::cout << tactus_version() << ' ' << tactus_abi_version() << std::endl;
    return 0;
}
