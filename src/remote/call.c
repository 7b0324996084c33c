/* SPDX-License-Identifier: MIT
 *
 * Requests to an object store: signed anew for each try, as a signature tells the time. A store may
 * begin its answer with "all is well" and end it with an error. */
#include "remote/call.h"

#include <time.h>

#include "base/str.h"
#include "remote/s3.h"
#include "remote/s3_sign.h"

#define ANSWER_MOST ((size_t)4 << 20) /* a page of 1000 uploads with long keys has 2 MB */

static void on_header(void *owner, const char *line, size_t n) {
    tare_response_line(&((tare_call *)owner)->t.response, line, n);
}

static bool on_body(void *owner, const uint8_t *bytes, size_t n) {
    tare_call *c = owner;
    if (n > ANSWER_MOST - c->answer.size) return false;
    tare_buffer_put(&c->answer, bytes, n);
    return !c->answer.failed;
}

static void finish(tare_call *c) {
    c->is_over = true;
    if (c->over)
        c->over(c);
    else
        pthread_cond_broadcast(&c->t.remote->blocks->changed);
}

tare_status tare_call_fault(tare_call *c, tare_status status, const char *what) {
    tare_fail(&c->err, status, what);
    tare_error_file(&c->err, c->name);
    if (c->t.response.status)
        tare_s3_tell(c->err.field, sizeof c->err.field, &c->t.response, tare_call_text(c));
    c->status = status;
    return status;
}

static void finish_with(tare_call *c, tare_status status, const char *what) {
    tare_call_fault(c, status, what);
    finish(c);
}

static void try_again(tare_call *c, const char *what) {
    what = tare_transfer_retry(&c->t, what);
    c->was_repeated = true;
    if (what) finish_with(c, TARE_ERR_IO, what);
}

/* ---- its exchange ---------------------------------------------------------------------------- */

static bool start(tare_transfer *t) {
    tare_call *c = (tare_call *)t;
    tare_buffer lines;
    const tare_s3_request request = {.method = c->method ? c->method : "GET",
                                     .url = c->url,
                                     .body = c->digest,
                                     .now = (int64_t)time(NULL)};
    c->answer.size = 0;
    c->status = TARE_OK;
    t->exchange = (tare_exchange){.url = c->url,
                                  .method = c->method,
                                  .body = c->body,
                                  .n_body = c->n_body,
                                  .is_patient = c->is_patient,
                                  .is_careful = c->is_careful,
                                  .on_header = on_header,
                                  .on_body = on_body};
    tare_buffer_init(&lines, NULL);
    tare_buffer_put_str(&lines, c->lines);
    tare_s3_sign(&lines, &t->remote->options, &request);
    t->exchange.headers = (tare_str){(const char *)lines.data, lines.size};
    const bool is_started = !lines.failed && tare_transfer_start(t);
    t->exchange.headers = TARE_STR("");
    tare_buffer_free(&lines);
    if (!is_started) finish_with(c, TARE_ERR_NOMEM, "a request");
    return is_started;
}

static void judge(tare_transfer *t) {
    tare_call *c = (tare_call *)t;
    const tare_str text = tare_call_text(c);
    const bool is_good = t->response.status / 100 == 2;
    const char *what = tare_s3_fault(&t->response, text, t->remote->options.s3_access_key != NULL);
    if (t->exchange.end == TARE_EXCHANGE_BROKEN)
        try_again(c, t->exchange.what);
    else if (t->exchange.end == TARE_EXCHANGE_FAILED)
        finish_with(c, TARE_ERR_IO, t->exchange.what);
    else if (is_good && (!c->method || tare_s3_code(text).len == 0))
        finish(c);
    else if (tare_s3_is_busy(&t->response, text))
        try_again(c, what);
    else
        finish_with(c, TARE_ERR_IO, what);
}

static bool is_unwanted(const tare_transfer *t, bool is_cancelled) {
    const tare_call *c = (const tare_call *)t;
    return (is_cancelled && !c->is_cleaning) || (c->is_stopped && *c->is_stopped);
}

static void cancel(tare_transfer *t) {
    finish_with((tare_call *)t, TARE_ERR_CANCELLED, "cancelled");
}

static const tare_transfer_kind kind = {NULL, start, judge, is_unwanted, cancel};

/* ---- for others ------------------------------------------------------------------------------ */

void tare_call_begin(tare_call *c, tare_remote *remote) {
    c->t = (tare_transfer){.kind = &kind, .remote = remote};
    c->is_over = c->was_repeated = false;
    c->err = TARE_ERROR_NONE;
    tare_buffer_init(&c->answer, NULL);
    tare_transfer_queue(&c->t, 0);
}

tare_status tare_call_make(tare_call *c, tare_remote *remote, tare_error *err) {
    pthread_mutex_lock(&remote->blocks->mutex);
    tare_call_begin(c, remote);
    while (!c->is_over) pthread_cond_wait(&remote->blocks->changed, &remote->blocks->mutex);
    pthread_mutex_unlock(&remote->blocks->mutex);
    if (c->status != TARE_OK && err) *err = c->err;
    return c->status;
}

bool tare_call_says(const tare_call *c, const char *code) {
    return c->t.response.status && tare_str_is(tare_s3_code(tare_call_text(c)), code);
}

void tare_call_end(tare_call *c) {
    tare_buffer_free(&c->answer);
}
