/*
 * The process around us, with a guide, a channel and text in use: process WHAT MODEL [DIRECTORY]. FIELD_CASES 127, 152 to 156;
 * DECISIONS 12, 15, 38.
 *
 *   leaves-nothing   environment, directory, umask, signals, locale, files and threads are as before
 *   small-stacks     calls from threads of 64 KiB
 *   cycles           a hundred coordinators in the memory of one
 *   signals          SIGPROF every millisecond, with and without SA_RESTART
 *   fork             a child of a process that generates gets FORKED, at once, and goes on with its own
 *   read-only        a model that this user can only read, in DIRECTORY
 */
#define _GNU_SOURCE

#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A chat with all that runs beside the model: template, tokenizer, grammar and its masks, a channel that another thread pops. */
static const char *const BODY =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"é 漢\"}, {\"role\": \"user\", \"content\": \"a b c\"}], \"max_tokens\": 24,"
    " \"seed\": 11, \"temperature\": 1.0, \"guide\": {\"regex\": \"[a-z ]{12,}\"}}";

static const char *const TEMPLATE = "{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}";

struct said {
    char text[512];
    size_t length;
};

static void *drain(void *data)
{
    tactus_channel_t *channel = (tactus_channel_t *)data;
    int32_t finished = 0, reason = 0;
    while (!finished) {
        int32_t status = tactus_channel_wait_pop(channel, 60000);
        CHECK(status == TACTUS_OK);
        OK(tactus_channel_chunk_finish(channel, &finished, &reason));
    }
    return NULL;
}

static tactus_coordinator_t *make(const char *model)
{
    tactus_config_t *config = NULL;
    tactus_coordinator_t *coordinator = NULL;
    OK(tactus_config_create(&config));
    OK(tactus_config_set_engine_dir(config, model, NUL));
    OK(tactus_config_set_cpu_threads(config, 2));
    OK(tactus_config_set_kv_type(config, TACTUS_KV_F32));
    OK(tactus_config_set_chat_template(config, TEMPLATE, NUL));
    OK(tactus_coordinator_create(config, &coordinator));
    OK(tactus_config_destroy(config));
    return coordinator;
}

static struct said run(tactus_coordinator_t *coordinator)
{
    tactus_request_t *request = NULL;
    tactus_channel_t *channel = NULL;
    tactus_response_t *response = NULL;
    const char *text = NULL;
    pthread_t reader;
    struct said said;
    OK(tactus_request_from_json(BODY, NUL, &request));
    OK(tactus_channel_create(&channel));
    OK(tactus_request_set_channel(request, 0, channel));
    /* The reader takes no signals: where a handler runs on another thread than the host's, it is one of the library. */
    sigset_t all, mask;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &mask) == 0);
    CHECK(pthread_create(&reader, NULL, drain, channel) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &mask, NULL) == 0);
    response = dispatch(coordinator, request);
    CHECK(pthread_join(reader, NULL) == 0);
    OK(tactus_response_text(response, 0, &text, &said.length));
    CHECK(said.length > 0 && said.length < sizeof said.text);
    memcpy(said.text, text, said.length);
    OK(tactus_response_destroy(response));
    OK(tactus_channel_destroy(channel));
    OK(tactus_request_destroy(request));
    return said;
}

static struct said once(const char *model)
{
    tactus_coordinator_t *coordinator = make(model);
    struct said said = run(coordinator);
    OK(tactus_coordinator_destroy(coordinator));
    return said;
}

static void same(const struct said *a, const struct said *b)
{
    CHECK(a->length == b->length && memcmp(a->text, b->text, a->length) == 0);
}

static int entries(const char *directory)
{
    DIR *dir = opendir(directory);
    int count = 0;
    CHECK(dir != NULL);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* ---- leaves-nothing ---- */

struct surroundings {
    struct sigaction actions[65];
    sigset_t mask;
    stack_t alternate;
    char *variables[512];
    char directory[PATH_MAX], locale[256];
    mode_t umask;
    int files, threads, timers;
};

static void look(struct surroundings *s)
{
    struct itimerval timer;
    memset(s, 0, sizeof *s);
    for (int i = 1; i < 65; i++)
        (void)sigaction(i, NULL, &s->actions[i]);
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &s->mask) == 0 && sigaltstack(NULL, &s->alternate) == 0);
    for (int i = 0; environ[i] != NULL && i < 511; i++)
        s->variables[i] = environ[i];
    CHECK(getcwd(s->directory, sizeof s->directory) != NULL);
    snprintf(s->locale, sizeof s->locale, "%s", setlocale(LC_ALL, NULL));
    s->umask = umask(077);
    umask(s->umask);
    s->files = entries("/proc/self/fd");
    s->threads = entries("/proc/self/task");
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++)
        s->timers += getitimer(which, &timer) == 0 && (timer.it_value.tv_sec || timer.it_value.tv_usec);
}

static void unchanged(const struct surroundings *before)
{
    static struct surroundings now;
    look(&now);
    for (int i = 1; i < 65; i++)
        CHECK(now.actions[i].sa_handler == before->actions[i].sa_handler && now.actions[i].sa_flags == before->actions[i].sa_flags);
    CHECK(memcmp(&now.mask, &before->mask, sizeof now.mask) == 0);
    CHECK(now.alternate.ss_sp == before->alternate.ss_sp && now.alternate.ss_flags == before->alternate.ss_flags);
    CHECK(memcmp(now.variables, before->variables, sizeof now.variables) == 0);
    CHECK(strcmp(now.directory, before->directory) == 0 && strcmp(now.locale, before->locale) == 0);
    CHECK(now.umask == before->umask && now.timers == before->timers && now.timers == 0);
}

static void leaves_nothing(const char *model)
{
    static struct surroundings before;
    char copy[4096] = "";
    size_t used = 0;
    look(&before);
    for (int i = 0; environ[i] != NULL && used < sizeof copy; i++)
        used += (size_t)snprintf(copy + used, sizeof copy - used, "%s\n", environ[i]);
    /* The library is not even started before it is used; what it keeps for the process is there after the first round. */
    for (int round = 0; round < 3; round++) {
        tactus_coordinator_t *coordinator = make(model);
        unchanged(&before);
        (void)run(coordinator);
        unchanged(&before);
        OK(tactus_coordinator_destroy(coordinator));
        unchanged(&before);
        static struct surroundings after;
        look(&after);
        /* A joined thread is listed for a moment more. */
        for (int wait = 0; after.threads != before.threads && wait < 2000; wait++) {
            usleep(1000);
            look(&after);
        }
        CHECK(after.threads == before.threads);
        CHECK(after.files == before.files);
    }
    used = 0;
    for (int i = 0; environ[i] != NULL && used < sizeof copy; i++) {
        size_t length = strlen(environ[i]);
        if (used + length + 1 >= sizeof copy)
            break;
        CHECK(memcmp(copy + used, environ[i], length) == 0);
        used += length + 1;
    }
}

/* ---- small-stacks ---- */

static void *everything(void *data)
{
    const char *model = (const char *)data;
    tactus_config_t *config = NULL;
    tactus_artifacts_t *artifacts = NULL;
    tactus_request_t *request = NULL;
    tactus_response_t *response = NULL, *cut = NULL;
    tactus_string_t *text = NULL;
    tactus_ids_t *ids = NULL;
    tactus_coordinator_t *coordinator = make(model);
    const char *stops[] = { "a", "b" };
    uint64_t value = 0;
    (void)run(coordinator);
    OK(tactus_request_from_json(BODY, NUL, &request));
    OK(tactus_request_set_num_logprobs(request, 0, 50));
    OK(tactus_request_set_save_system_prompt(request, 0, 1));
    response = dispatch(coordinator, request);
    OK(tactus_response_to_json(response, &text));
    OK(tactus_string_destroy(text));
    OK(tactus_response_materialize(response, 0, stops, 2, &cut));
    OK(tactus_response_destroy(cut));
    OK(tactus_response_destroy(response));
    OK(tactus_coordinator_count_prompt_tokens(coordinator, request, &ids));
    OK(tactus_ids_destroy(ids));
    OK(tactus_coordinator_info_json(coordinator, &text));
    OK(tactus_string_destroy(text));
    OK(tactus_coordinator_metric(coordinator, TACTUS_METRIC_STEPS, &value));
    REFUSED(TACTUS_ERR_INVALID_ARGUMENT, tactus_config_from_json("[[[[[[[[{\"a\": 1}]]]]]]]]", NUL, &config), "");
    OK(tactus_config_create(&config));
    OK(tactus_config_set_engine_dir(config, model, NUL));
    OK(tactus_config_set_chat_template(config, TEMPLATE, NUL));
    OK(tactus_artifacts_load(config, &artifacts));
    OK(tactus_artifacts_render_chat(artifacts, request, 0, &text));
    OK(tactus_string_destroy(text));
    OK(tactus_artifacts_tokenize(artifacts, "a b c", 5, 1, 1, &ids));
    OK(tactus_ids_destroy(ids));
    OK(tactus_artifacts_info_json(artifacts, &text));
    OK(tactus_string_destroy(text));
    OK(tactus_capabilities_json(&text));
    OK(tactus_string_destroy(text));
    OK(tactus_artifacts_destroy(artifacts));
    OK(tactus_config_destroy(config));
    OK(tactus_request_destroy(request));
    OK(tactus_coordinator_destroy(coordinator));
    return NULL;
}

static void small_stacks(const char *model)
{
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 64 << 10) == 0);
    CHECK(pthread_create(&thread, &attributes, everything, (void *)(uintptr_t)model) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* ---- cycles ---- */

static long resident_kib(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;
    malloc_trim(0);
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib;
}

static void cycles(const char *model)
{
    for (int i = 0; i < 10; i++)
        (void)once(model);
    long before = resident_kib();
    for (int i = 0; i < 100; i++)
        (void)once(model);
    long grown = resident_kib() - before;
    if (grown >= 64 * 100)
        fprintf(stderr, "100 coordinators: %ld KiB more\n", grown);
    CHECK(grown < 64 * 100);
}

/* ---- signals ---- */

static pthread_t host;
static volatile sig_atomic_t signals, elsewhere;

static void counts(int signal)
{
    (void)signal;
    int kept = errno;
    signals++;
    if (!pthread_equal(pthread_self(), host))
        elsewhere++;
    errno = kept;
}

static void storm(const char *model)
{
    struct said expected = once(model);
    host = pthread_self();
    for (int restart = 0; restart < 2; restart++) {
        struct sigaction action;
        struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, off = { { 0, 0 }, { 0, 0 } };
        memset(&action, 0, sizeof action);
        action.sa_handler = counts;
        action.sa_flags = restart ? SA_RESTART : 0;
        CHECK(sigaction(SIGPROF, &action, NULL) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
        signals = 0;
        CHECK(setitimer(ITIMER_PROF, &every, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
        for (int round = 0; round < 20; round++) {
            struct said said = once(model);
            same(&said, &expected);
        }
        CHECK(setitimer(ITIMER_PROF, &off, NULL) == 0 && setitimer(ITIMER_REAL, &off, NULL) == 0);
        CHECK(signals > 20);
    }
    CHECK(elsewhere == 0);
}

/* ---- fork ---- */

static tactus_coordinator_t *forked_coordinator;
static int forked_while_running;

static int32_t forks(int32_t sequence, int32_t token, int32_t step, int32_t is_finished, void *user_data)
{
    (void)sequence, (void)token, (void)is_finished;
    if (step != 3)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        uint64_t value = 0;
        tactus_response_t *response = NULL;
        alarm(20); /* a hang ends here, by a signal */
        EXPECT(TACTUS_ERR_FORKED, tactus_coordinator_metric(forked_coordinator, TACTUS_METRIC_STEPS, &value));
        EXPECT(TACTUS_ERR_FORKED, tactus_coordinator_take_rank_response(forked_coordinator, 0, &response));
        EXPECT(TACTUS_ERR_FORKED, tactus_coordinator_destroy(forked_coordinator));
        (void)once((const char *)user_data);
        _exit(0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    forked_while_running = 1;
    return 0;
}

/* Forks inside a dispatch, where the pool's threads, the mask thread and the reader all exist. */
static void fork_while_running(const char *model)
{
    tactus_request_t *request = NULL;
    struct said expected;
    forked_coordinator = make(model);
    expected = run(forked_coordinator);
    OK(tactus_request_from_json(BODY, NUL, &request));
    OK(tactus_request_set_token_callback(request, forks, (void *)(uintptr_t)model));
    OK(tactus_response_destroy(dispatch(forked_coordinator, request)));
    CHECK(forked_while_running);
    struct said now = run(forked_coordinator);
    same(&now, &expected);
    OK(tactus_request_destroy(request));
    OK(tactus_coordinator_destroy(forked_coordinator));
}

/* ---- read-only ---- */

static void read_only(const char *model, const char *directory)
{
    char probe[PATH_MAX];
    /* Root may write anywhere: become somebody who may not. */
    if (geteuid() == 0)
        CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    CHECK(chdir(directory) == 0);
    snprintf(probe, sizeof probe, "%s/probe", directory);
    CHECK(fopen(probe, "w") == NULL);
    int before = entries(directory);
    (void)once(model);
    CHECK(entries(directory) == before);
}

int main(int argc, char **argv)
{
    CHECK(argc > 2);
    const char *what = argv[1], *model = argv[2];
    if (!strcmp(what, "leaves-nothing"))
        leaves_nothing(model);
    else if (!strcmp(what, "small-stacks"))
        small_stacks(model);
    else if (!strcmp(what, "cycles"))
        cycles(model);
    else if (!strcmp(what, "signals"))
        storm(model);
    else if (!strcmp(what, "fork"))
        fork_while_running(model);
    else if (!strcmp(what, "read-only") && argc > 3)
        read_only(model, argv[3]);
    else
        return 2;
    return 0;
}
