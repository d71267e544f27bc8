/*
 * fork: a child of a process that only asked for the version works; a child of one that uses the library gets FORKED on what it
 * inherited, at once, and can make its own; the parent goes on. FIELD_CASES 155.
 */
#define _GNU_SOURCE

#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

static void child_succeeds(pid_t child)
{
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void load_and_run(const char *model)
{
    tactus_coordinator_t *coordinator = new_coordinator(model);
    tactus_request_t *request = new_request(4, 4, 1);
    OK(tactus_response_destroy(dispatch(coordinator, request)));
    OK(tactus_request_destroy(request));
    OK(tactus_coordinator_destroy(coordinator));
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    CHECK(tactus_abi_version() == TACTUS_ABI_VERSION && tactus_version()[0]);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        load_and_run(argv[1]);
        _exit(0);
    }
    child_succeeds(child);

    tactus_coordinator_t *coordinator = new_coordinator(argv[1]);
    tactus_request_t *request = new_request(4, 4, 1);
    tactus_response_t *response = dispatch(coordinator, request), *none = NULL;
    child = fork();
    if (child == 0) {
        alarm(60);
        EXPECT(TACTUS_ERR_FORKED, tactus_coordinator_dispatch_request(coordinator, request, 0, NULL));
        EXPECT(TACTUS_ERR_FORKED, tactus_coordinator_take_rank_response(coordinator, 0, &none));
        EXPECT(TACTUS_ERR_FORKED, tactus_response_destroy(response));
        EXPECT(TACTUS_ERR_FORKED, tactus_request_destroy(request));
        EXPECT(TACTUS_ERR_FORKED, tactus_coordinator_destroy(coordinator));
        load_and_run(argv[1]);
        _exit(0);
    }
    child_succeeds(child);
    OK(tactus_response_destroy(response));
    OK(tactus_response_destroy(dispatch(coordinator, request)));
    OK(tactus_request_destroy(request));
    OK(tactus_coordinator_destroy(coordinator));
    return 0;
}
