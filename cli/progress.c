/* SPDX-License-Identifier: MIT
 *
 * Progress of long work: one line on stderr where that is a terminal, with rate and time left, and
 * the signals that ask to stop. Between two pieces of work there is nothing to clean up: a signal then
 * ends the process, as a second one always does. */
#include <inttypes.h>
#include <signal.h> /* sig_atomic_t */
#include <string.h>
#include <time.h>

#include "cli.h"
#include "system.h"

#define FIRST_SHOW 0.5 /* seconds: shorter work shows nothing */
#define SHOW_EVERY 0.1

static volatile sig_atomic_t is_at_work, is_stopped;
static tare_cancel *cancel; /* made before a handler is set; lives as long as the process */

static struct {
    const char *verb;
    double start, last_show;
    size_t columns; /* 0: nothing is shown */
    bool is_shown;
    _Atomic bool is_fetch; /* what is shown comes from cli_progress_elsewhere */
} state;

static void stop(void) {
    if (!is_at_work) cli_end_at_once("tare: cancelled\n", CLI_CANCELLED);
    is_stopped = 1;
    tare_cancel_request(cancel);
}

static const tare_cancel *cancel_flag(void) {
    if (!cancel) cancel = cli_checked(tare_cancel_new());
    return cancel;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void cli_progress_start(const char *verb) {
    cancel_flag();
    is_at_work = 1;
    if (!is_stopped) cli_catch_stop(stop);
    state.verb = verb;
    state.start = now();
    state.last_show = state.start + FIRST_SHOW - SHOW_EVERY;
    state.columns = cli.quiet ? 0 : cli_columns(stderr);
    state.is_shown = false;
    state.is_fetch = false;
}

void cli_progress_fetch(const char *verb) {
    cli_progress_start(verb);
    state.is_fetch = true;
}

/* "1:02:03" or "2:03". */
static void put_time(char *buf, size_t size, double seconds) {
    uint64_t s = (uint64_t)(seconds + 0.5);
    if (s >= 3600) {
        snprintf(buf, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60, s % 60);
    } else {
        snprintf(buf, size, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
    }
}

static void show(uint64_t done, uint64_t total, double elapsed) {
    char line[200], left[32];
    double rate = elapsed > 0 ? (double)done / elapsed : 0;
    cli_number done_text = cli_size_text(done), rate_text = cli_size_text((uint64_t)rate);
    if (total > 0 && done <= total && rate > 0) {
        put_time(left, sizeof left, (double)(total - done) / rate);
        snprintf(line, sizeof line, "%s  %3.0f %%  %s of %s  %s/s  %s left", state.verb,
                 (double)done / (double)total * 100, done_text.text, cli_size_text(total).text,
                 rate_text.text, left);
    } else if (done > 0) {
        snprintf(line, sizeof line, "%s  %s  %s/s", state.verb, done_text.text, rate_text.text);
    } else {
        snprintf(line, sizeof line, "%s ...", state.verb);
    }
    cli_cut(line, state.columns - 1);
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
    state.is_shown = true;
}

static void show_now_and_then(uint64_t done, uint64_t total) {
    double time = now();
    if (state.columns <= 1 || time - state.last_show < SHOW_EVERY) return;
    state.last_show = time;
    show(done, total, time - state.start);
}

bool cli_progress(void *ctx, uint64_t done, uint64_t total) {
    (void)ctx;
    show_now_and_then(done, total);
    return is_stopped != 0;
}

/* While the command waits for the library to open a URL, no other thread shows anything. */
bool cli_progress_elsewhere(uint64_t bytes) {
    if (state.is_fetch) show_now_and_then(bytes, 0);
    return is_stopped != 0;
}

void cli_progress_end(void) {
    state.is_fetch = false;
    if (state.is_shown) fputs("\r\033[K", stderr);
    state.is_shown = false;
    is_at_work = 0;
}

tare_context cli_context(tare_report *report) {
    tare_context c = tare_context_default();
    c.threads = (unsigned)cli.threads;
    c.progress = cli_progress;
    c.cancel = cancel_flag();
    c.report = report;
    return c;
}
