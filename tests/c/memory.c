/*
 * Memory comes back: making and freeing coordinators, and many short requests with stop strings. FIELD_CASES 88, 127.
 */
#include "check.h"

#include <malloc.h>

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

static void cycles(const char *model, int count)
{
    for (int i = 0; i < count; i++) {
        tactus_coordinator_t *coordinator = new_coordinator(model);
        tactus_request_t *request = new_request(5, 5, i);
        OK(tactus_response_destroy(dispatch(coordinator, request)));
        OK(tactus_request_destroy(request));
        OK(tactus_coordinator_destroy(coordinator));
    }
}

static void requests(tactus_coordinator_t *coordinator, int count, int stops)
{
    for (int i = 0; i < count; i++) {
        tactus_request_t *request = new_request(3, 2, i);
        tactus_channel_t *channel = NULL;
        char stop[40];
        for (int s = 0; s < stops; s++) {
            snprintf(stop, sizeof stop, "stop %d %d", i, s);
            OK(tactus_request_add_stop(request, 0, stop, NUL));
        }
        OK(tactus_channel_create(&channel));
        OK(tactus_request_set_channel(request, 0, channel));
        OK(tactus_response_destroy(dispatch(coordinator, request)));
        OK(tactus_channel_destroy(channel));
        OK(tactus_request_destroy(request));
    }
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    cycles(argv[1], 10);
    long before = resident_kib();
    cycles(argv[1], 50);
    long grown = resident_kib() - before;
    if (grown >= 64 * 50)
        fprintf(stderr, "50 coordinators: %ld KiB more\n", grown);
    CHECK(grown < 64 * 50);

    tactus_coordinator_t *coordinator = new_coordinator(argv[1]);
    for (int stops = 4; stops >= 0; stops -= 4) {
        requests(coordinator, 1000, stops);
        before = resident_kib();
        requests(coordinator, 4000, stops);
        grown = resident_kib() - before;
        if (grown > 40 + 64)
            fprintf(stderr, "4,000 requests with %d stop strings: %ld KiB more\n", stops, grown);
        CHECK(grown <= 40 + 64); /* 10 bytes a request, and what the system rounds up */
    }
    OK(tactus_coordinator_destroy(coordinator));
    return 0;
}
