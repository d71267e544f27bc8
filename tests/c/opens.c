/*
 * The library opened at run time: opened, used, closed and opened again; two copies at once; beside a library that exports names
 * found inside ours. Arguments: library, copy of it, clashing library, model. FIELD_CASES 130, 151.
 */
#include <tactus.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

#define NUL TACTUS_NUL_TERMINATED

struct library {
    void *handle;
    int32_t (*config_create)(tactus_config_t **);
    int32_t (*config_set_engine_dir)(tactus_config_t *, const char *, size_t);
    int32_t (*config_set_kv_type)(tactus_config_t *, int32_t);
    int32_t (*config_destroy)(tactus_config_t *);
    int32_t (*coordinator_create)(const tactus_config_t *, tactus_coordinator_t **);
    int32_t (*coordinator_destroy)(tactus_coordinator_t *);
    int32_t (*dispatch)(tactus_coordinator_t *, const tactus_request_t *, int32_t, void *);
    int32_t (*take)(tactus_coordinator_t *, int32_t, tactus_response_t **);
    int32_t (*request_create)(tactus_request_t **);
    int32_t (*request_add_ids)(tactus_request_t *, const int32_t *, size_t, int32_t *);
    int32_t (*request_set_max)(tactus_request_t *, int32_t, int64_t);
    int32_t (*request_destroy)(tactus_request_t *);
    int32_t (*response_ids)(const tactus_response_t *, int32_t, const int32_t **, size_t *);
    int32_t (*response_destroy)(tactus_response_t *);
    const char *(*message)(void);
};

static void find(void *handle, const char *name, void *function)
{
    void *found = dlsym(handle, name);
    CHECK(found != NULL);
    memcpy(function, &found, sizeof found);
}

static struct library open_library(const char *path, int flags)
{
    struct library l;
    l.handle = dlopen(path, RTLD_NOW | flags);
    if (l.handle == NULL)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(l.handle != NULL);
    find(l.handle, "tactus_config_create", &l.config_create);
    find(l.handle, "tactus_config_set_engine_dir", &l.config_set_engine_dir);
    find(l.handle, "tactus_config_set_kv_type", &l.config_set_kv_type);
    find(l.handle, "tactus_config_destroy", &l.config_destroy);
    find(l.handle, "tactus_coordinator_create", &l.coordinator_create);
    find(l.handle, "tactus_coordinator_destroy", &l.coordinator_destroy);
    find(l.handle, "tactus_coordinator_dispatch_request", &l.dispatch);
    find(l.handle, "tactus_coordinator_take_rank_response", &l.take);
    find(l.handle, "tactus_request_create", &l.request_create);
    find(l.handle, "tactus_request_add_ids", &l.request_add_ids);
    find(l.handle, "tactus_request_set_max_generate_length", &l.request_set_max);
    find(l.handle, "tactus_request_destroy", &l.request_destroy);
    find(l.handle, "tactus_response_output_ids", &l.response_ids);
    find(l.handle, "tactus_response_destroy", &l.response_destroy);
    find(l.handle, "tactus_last_error_message", &l.message);
    return l;
}

/* Runs a request and leaves its ids in `out`. */
static size_t use(const struct library *l, const char *model, int32_t out[8])
{
    const int32_t prompt[] = { 7, 20, 33, 46 }, *ids = NULL;
    tactus_config_t *config = NULL;
    tactus_coordinator_t *coordinator = NULL;
    tactus_request_t *request = NULL;
    tactus_response_t *response = NULL;
    size_t count = 0;
    CHECK(l->config_create(&config) == TACTUS_OK);
    CHECK(l->config_set_engine_dir(config, model, NUL) == TACTUS_OK && l->config_set_kv_type(config, TACTUS_KV_F32) == TACTUS_OK);
    if (l->coordinator_create(config, &coordinator) != TACTUS_OK)
        fprintf(stderr, "%s\n", l->message());
    CHECK(coordinator != NULL);
    CHECK(l->request_create(&request) == TACTUS_OK && l->request_add_ids(request, prompt, 4, NULL) == TACTUS_OK);
    CHECK(l->request_set_max(request, 0, 8) == TACTUS_OK && l->dispatch(coordinator, request, 0, NULL) == TACTUS_OK);
    CHECK(l->take(coordinator, 0, &response) == TACTUS_OK && l->response_ids(response, 0, &ids, &count) == TACTUS_OK);
    CHECK(count > 0 && count <= 8);
    memcpy(out, ids, count * sizeof *ids);
    CHECK(l->response_destroy(response) == TACTUS_OK && l->request_destroy(request) == TACTUS_OK);
    CHECK(l->coordinator_destroy(coordinator) == TACTUS_OK && l->config_destroy(config) == TACTUS_OK);
    return count;
}

static void same(const struct library *l, const char *model, const int32_t *expected, size_t count)
{
    int32_t ids[8];
    CHECK(use(l, model, ids) == count && memcmp(ids, expected, count * sizeof *ids) == 0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    const char *path = argv[1], *copy = argv[2], *clash = argv[3], *model = argv[4];
    int clash_first = !strcmp(argv[5], "clash-first");
    int32_t expected[8];
    void *other = NULL;
    if (clash_first)
        CHECK((other = dlopen(clash, RTLD_NOW | RTLD_GLOBAL)) != NULL);
    struct library first = open_library(path, RTLD_GLOBAL);
    if (!clash_first)
        CHECK((other = dlopen(clash, RTLD_NOW | RTLD_GLOBAL)) != NULL);
    size_t count = use(&first, model, expected);
    struct library second = open_library(copy, RTLD_LOCAL);
    CHECK(second.handle != first.handle);
    same(&second, model, expected, count);
    same(&first, model, expected, count);
    CHECK(dlclose(first.handle) == 0);
    same(&second, model, expected, count);
    CHECK(dlclose(second.handle) == 0);
    for (int i = 0; i < 3; i++) {
        first = open_library(path, RTLD_LOCAL);
        same(&first, model, expected, count);
        CHECK(dlclose(first.handle) == 0);
    }
    int *called = (int *)dlsym(other, "clash_calls");
    CHECK(called != NULL && *called == 0);
    CHECK(dlclose(other) == 0);
    return 0;
}
