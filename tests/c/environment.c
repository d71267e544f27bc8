/*
 * The process around us: locale, signals, floating point, threads' signal masks. FIELD_CASES 153, 154; DECISIONS 15.
 */
#define _GNU_SOURCE

#include "check.h"

#include <dirent.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static void signals_now(struct sigaction *actions, sigset_t *mask)
{
    for (int i = 1; i < 65; i++) {
        memset(&actions[i], 0, sizeof actions[i]);
        (void)sigaction(i, NULL, &actions[i]);
    }
    memset(mask, 0, sizeof *mask); /* the system fills its part only */
    CHECK(sigprocmask(SIG_SETMASK, NULL, mask) == 0);
}

static void unchanged(const struct sigaction *before, const sigset_t *mask_before)
{
    static struct sigaction now[65];
    sigset_t mask;
    signals_now(now, &mask);
    for (int i = 1; i < 65; i++)
        CHECK(now[i].sa_handler == before[i].sa_handler && now[i].sa_flags == before[i].sa_flags);
    CHECK(memcmp(&mask, mask_before, sizeof mask) == 0);
}

/* Threads of the library take no signal that is meant for the host. */
static void threads_block_signals(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    CHECK(tasks != NULL);
    while ((task = readdir(tasks)) != NULL) {
        char path[512], line[256];
        unsigned long long blocked = 0;
        FILE *status;
        if (task->d_name[0] == '.' || atoi(task->d_name) == (int)getpid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        status = fopen(path, "r");
        while (status && fgets(line, sizeof line, status))
            if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
                break;
        if (status)
            fclose(status);
        const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGALRM, SIGPIPE, SIGPROF };
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            CHECK(blocked >> (wanted[i] - 1) & 1);
    }
    closedir(tasks);
}

static int32_t flags_in_callback;

static int32_t reads_flags(int32_t sequence, int32_t token, int32_t step, int32_t finished, void *user_data)
{
    (void)sequence, (void)token, (void)step, (void)finished, (void)user_data;
#if defined(__x86_64__)
    flags_in_callback = (int32_t)_mm_getcsr();
#endif
    return 0;
}

/* Flush-to-zero and another rounding mode in the host change no token, are there in its callbacks, and stay. */
static void floating_point(tactus_coordinator_t *coordinator, const tactus_response_t *expected)
{
#if defined(__x86_64__)
    tactus_request_t *request = new_request(7, 20, 1);
    unsigned before = _mm_getcsr();
    OK(tactus_request_set_token_callback(request, reads_flags, NULL));
    CHECK(fesetround(FE_UPWARD) == 0);
    _mm_setcsr(_mm_getcsr() | 0x8040);
    unsigned strange = _mm_getcsr();
    tactus_response_t *response = dispatch(coordinator, request);
    CHECK((_mm_getcsr() & ~0x3fu) == (strange & ~0x3fu) && fegetround() == FE_UPWARD);
    CHECK(((unsigned)flags_in_callback & ~0x3fu) == (strange & ~0x3fu));
    CHECK(fesetround(FE_TONEAREST) == 0);
    _mm_setcsr(before);
    CHECK(same_output(response, expected));
    OK(tactus_response_destroy(response));
    OK(tactus_request_destroy(request));
#else
    (void)coordinator, (void)expected;
#endif
}

/* A decimal comma in the host's locale changes nothing, and stays. */
static void locale(const char *model, const char *name, const tactus_response_t *expected)
{
    CHECK(setlocale(LC_ALL, name) != NULL && localeconv()->decimal_point[0] == ',');
    char before[256];
    tactus_request_t *request = NULL;
    tactus_config_t *config = NULL;
    double value = 0;
    int32_t source = 0;
    snprintf(before, sizeof before, "%s", setlocale(LC_ALL, NULL));
    tactus_coordinator_t *coordinator = new_coordinator(model);
    request = new_request(7, 20, 1);
    tactus_response_t *response = dispatch(coordinator, request);
    CHECK(same_output(response, expected));
    OK(tactus_response_destroy(response));
    OK(tactus_request_destroy(request));
    OK(tactus_request_from_json("{\"text\": \"a\", \"temperature\": 0.75, \"max_tokens\": 1}", NUL, &request));
    response = dispatch(coordinator, request);
    OK(tactus_response_setting(response, 0, TACTUS_SETTING_TEMPERATURE, &value, &source));
    CHECK(value == 0.75 && source == TACTUS_SOURCE_REQUEST);
    OK(tactus_response_destroy(response));
    OK(tactus_request_destroy(request));
    OK(tactus_config_from_json("{\"kv_budget_fraction\": 0.25, \"chat_template\": \"{{ 0.5 }}\"}", NUL, &config));
    OK(tactus_config_set_engine_dir(config, model, NUL));
    tactus_artifacts_t *artifacts = NULL;
    tactus_string_t *rendered = NULL;
    const char *text = NULL;
    size_t length = 0;
    OK(tactus_artifacts_load_vocabulary(config, &artifacts));
    OK(tactus_request_create(&request));
    OK(tactus_request_add_chat(request, NULL));
    OK(tactus_request_add_message(request, 0, "user", NUL, "x", NUL));
    OK(tactus_artifacts_render_chat(artifacts, request, 0, &rendered));
    OK(tactus_string_get(rendered, &text, &length));
    CHECK(length == 3 && memcmp(text, "0.5", 3) == 0);
    OK(tactus_string_destroy(rendered));
    OK(tactus_artifacts_destroy(artifacts));
    OK(tactus_request_destroy(request));
    OK(tactus_config_destroy(config));
    OK(tactus_coordinator_destroy(coordinator));
    CHECK(strcmp(setlocale(LC_ALL, NULL), before) == 0);
}

int main(int argc, char **argv)
{
    static struct sigaction before[65];
    sigset_t mask;
    CHECK(argc > 1);
    signals_now(before, &mask);
    tactus_coordinator_t *coordinator = new_coordinator(argv[1]);
    unchanged(before, &mask);
    tactus_request_t *request = new_request(7, 20, 1);
    tactus_response_t *response = dispatch(coordinator, request);
    unchanged(before, &mask);
    threads_block_signals();
    floating_point(coordinator, response);
    if (argc > 2)
        locale(argv[1], argv[2], response);
    OK(tactus_response_destroy(response));
    OK(tactus_request_destroy(request));
    OK(tactus_coordinator_destroy(coordinator));
    unchanged(before, &mask);
    return 0;
}
