/* SPDX-License-Identifier: MIT
 *
 * Guards against: nonsensical options that are accepted, a token that starts another header,
 * waiting forever for a server that does not listen, a session that leaks something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tare/experimental/remote.h>

static void refused(const tare_remote_options *o, const char *what) {
    tare_remote *r;
    tare_error err;
    assert_int_equal(tare_remote_new(&r, o, &err), TARE_ERR_ARG);
    assert_null(r);
    assert_non_null(strstr(err.what, what));
}

static void options_are_checked(void **state) {
    (void)state;
    tare_remote_options o = tare_remote_options_default();
    o.hub_endpoint = "huggingface.co";
    refused(&o, "hub endpoint");
    o.hub_endpoint = "https://user:password@host";
    refused(&o, "hub endpoint");
    o.hub_endpoint = NULL;
    o.hub_token = "a\r\nHost: b";
    refused(&o, "hub token");
    o.hub_token = "";
    refused(&o, "hub token");
    o.hub_token = NULL;
    o.connections = 0;
    refused(&o, "connections");
    tare_remote *r;
    assert_int_equal(tare_remote_new(&r, NULL, NULL), TARE_OK);
    tare_remote_counts counts = {.size = sizeof counts}, none = {.size = 0};
    assert_int_equal(tare_remote_count(&counts, r, NULL), TARE_OK);
    assert_true(counts.requests == 0 && counts.bytes == 0);
    assert_int_equal(tare_remote_count(&none, r, NULL), TARE_ERR_ARG);
    tare_remote_free(r);
    tare_remote_free(NULL);
}

/* A loopback port that is bound, so that it is not reused, but not listened on. */
static int silent_port(int *port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static bool stop(void *ctx, uint64_t done, uint64_t total) {
    assert_true(done == 0 && total == 0);
    ++*(int *)ctx;
    return true;
}

static tare_status open_silent(const tare_remote_options *o, tare_remote_counts *counts,
                               tare_error *err) {
    char url[80];
    int port, fd = silent_port(&port);
    tare_remote *r;
    tare_model *m;
    snprintf(url, sizeof url, "http://ann:secret@127.0.0.1:%d/m.gguf?key=secret", port);
    assert_int_equal(tare_remote_new(&r, o, NULL), TARE_OK);
    tare_source source = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_URL, .name = url, .fd = -1, .remote = r};
    tare_status status = tare_model_open(&m, &source, NULL, err);
    assert_null(m);
    *counts = (tare_remote_counts){.size = sizeof *counts};
    assert_int_equal(tare_remote_count(counts, r, NULL), TARE_OK);
    tare_remote_free(r);
    close(fd);
    return status;
}

static void nobody_listens(void **state) {
    (void)state;
    tare_remote_options o = tare_remote_options_default();
    tare_remote_counts counts;
    tare_error err;
    char line[400];
    o.proxy = "";
    o.retries = 2;
    o.backoff_ms = 1;
    tare_status status = open_silent(&o, &counts, &err);
    if (status == TARE_ERR_UNSUPPORTED) skip(); /* built without libcurl, or it is not installed */
    assert_int_equal(status, TARE_ERR_IO);
    assert_true(counts.requests == 3 && counts.retries == 2 && counts.bytes == 0);
    tare_error_format(line, sizeof line, &err, NULL);
    assert_null(strstr(line, "secret"));
    assert_non_null(strstr(line, "/m.gguf: bytes 0-1048575: no connection to the server"));
}

static void a_caller_can_stop(void **state) {
    (void)state;
    tare_remote_options o = tare_remote_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_remote_counts counts;
    tare_error err;
    int calls = 0;
    o.proxy = "";
    o.backoff_ms = 30000;
    context.progress = stop;
    context.progress_ctx = &calls;
    tare_status status = open_silent(&o, &counts, &err);
    if (status == TARE_ERR_UNSUPPORTED) skip();
    assert_int_equal(status, TARE_ERR_CANCELLED);
    assert_int_equal(calls, 1);
}

static void a_session_is_needed(void **state) {
    (void)state;
    tare_model *m;
    tare_source source = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_URL, .name = "https://h/x", .fd = -1};
    assert_int_equal(tare_model_open(&m, &source, NULL, NULL), TARE_ERR_ARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(a_caller_can_stop),
        cmocka_unit_test(a_session_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
