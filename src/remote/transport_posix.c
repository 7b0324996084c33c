/* SPDX-License-Identifier: MIT
 *
 * HTTP by libcurl's multi interface: connections are kept and shared by the exchanges, HTTP/2 where
 * the server has it. */
#include "remote/transport.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "remote/curl_library.h"

#if TARE_HAS_TRANSPORT

struct tare_transport {
    tare_remote_options options; /* texts are the session's */
    tare_curl curl;
    CURLM *multi;
};

/* What belongs to one exchange. */
typedef struct channel {
    CURL *easy;
    struct curl_slist *headers;
} channel;

tare_status tare_transport_new(tare_transport **out, const tare_remote_options *options,
                               tare_error *err) {
    tare_transport *t = tare_alloc(options->context->allocator, sizeof *t);
    *out = NULL;
    if (!t) return tare_fail(err, TARE_ERR_NOMEM, "transfers");
    *t = (tare_transport){.options = *options};
    tare_status status = tare_curl_load(&t->curl, err);
    if (status == TARE_OK) {
        t->multi = t->curl.multi_init();
        if (!t->multi) status = tare_fail(err, TARE_ERR_NOMEM, "transfers");
    }
    if (status != TARE_OK) {
        tare_transport_free(t);
        return status;
    }
    t->curl.multi_setopt(t->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)options->connections);
    *out = t;
    return TARE_OK;
}

void tare_transport_free(tare_transport *t) {
    if (!t) return;
    if (t->multi) t->curl.multi_cleanup(t->multi);
    tare_curl_unload(&t->curl);
    tare_free(t->options.context->allocator, t, sizeof *t);
}

void tare_transport_wake(tare_transport *t) {
    t->curl.multi_wakeup(t->multi);
}

/* ---- one exchange ---------------------------------------------------------------------------- */

static size_t take_header(char *line, size_t size, size_t n, void *ctx) {
    tare_exchange *x = ctx;
    x->on_header(x->owner, line, size * n);
    return size * n;
}

static size_t take_body(char *bytes, size_t size, size_t n, void *ctx) {
    tare_exchange *x = ctx;
    x->is_stopped = !x->on_body(x->owner, (const uint8_t *)bytes, size * n);
    return x->is_stopped ? 0 : size * n;
}

/* One line more for the request; false: memory is out. */
static bool add_line(const tare_curl *curl, channel *c, const char *line) {
    struct curl_slist *longer = curl->slist_append(c->headers, line);
    if (longer) c->headers = longer;
    return longer != NULL;
}

static bool add_header(const tare_curl *curl, channel *c, const char *name, const char *value) {
    char line[4096];
    int n = snprintf(line, sizeof line, "%s: %s", name, value);
    if (n < 0 || (size_t)n >= sizeof line) return false;
    const bool is_added = add_line(curl, c, line);
    memset(line, 0, sizeof line); /* it may be a token */
    return is_added;
}

static bool set_headers(const tare_curl *curl, channel *c, const tare_exchange *x) {
    char bearer[3072];
    if (x->if_range && !add_header(curl, c, "If-Range", x->if_range)) return false;
    if (x->body && !add_line(curl, c, "Expect:")) return false; /* it is sent at once */
    for (tare_str rest = x->headers; rest.len; rest = tare_str_cut(rest, strlen(rest.ptr) + 1))
        if (!add_line(curl, c, rest.ptr)) return false;
    if (!x->bearer) return true;
    int n = snprintf(bearer, sizeof bearer, "Bearer %s", x->bearer);
    bool is_set =
        n > 0 && (size_t)n < sizeof bearer && add_header(curl, c, "Authorization", bearer);
    memset(bearer, 0, sizeof bearer);
    return is_set;
}

static void set_options(const tare_transport *t, const channel *c, tare_exchange *x) {
    const tare_remote_options *o = &t->options;
    char range[48];
    snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)x->first,
             (unsigned long long)x->last);
#define SET(option, value) t->curl.easy_setopt(c->easy, option, value)
    SET(CURLOPT_URL, x->url);
    if (!x->method) SET(CURLOPT_RANGE, range);
    if (x->body) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->n_body);
        SET(CURLOPT_POSTFIELDS, x->body);
        SET(CURLOPT_UPLOAD_BUFFERSIZE, (long)TARE_SEND);
    }
    if (x->method) SET(CURLOPT_CUSTOMREQUEST, x->method);
    SET(CURLOPT_HTTPHEADER, c->headers);
    if (x->userinfo) SET(CURLOPT_USERPWD, x->userinfo);
    SET(CURLOPT_USERAGENT, "tare");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_CONNECTTIMEOUT, (long)o->connect_seconds);
    SET(CURLOPT_LOW_SPEED_LIMIT, (long)TARE_SLOW_BYTES);
    SET(CURLOPT_FRESH_CONNECT, (long)x->is_careful);
    SET(CURLOPT_LOW_SPEED_TIME, x->is_patient ? 0L : (long)o->stall_seconds);
    SET(CURLOPT_BUFFERSIZE, (long)TARE_RECEIVE);
    if (o->ca_file) SET(CURLOPT_CAINFO, o->ca_file);
    if (o->ca_folder) SET(CURLOPT_CAPATH, o->ca_folder);
    if (o->proxy) SET(CURLOPT_PROXY, o->proxy);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, x);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, x);
    SET(CURLOPT_PRIVATE, x);
#undef SET
}

bool tare_transport_start(tare_transport *t, tare_exchange *x) {
    channel *c = tare_alloc(t->options.context->allocator, sizeof *c);
    if (!c) return false;
    *c = (channel){.easy = t->curl.easy_init()};
    tare_exchange_reset(x, c);
    if (c->easy && set_headers(&t->curl, c, x)) {
        set_options(t, c, x);
        if (t->curl.multi_add_handle(t->multi, c->easy) == CURLM_OK) return true;
    }
    tare_transport_release(t, x);
    return false;
}

void tare_transport_release(tare_transport *t, tare_exchange *x) {
    channel *c = x->handle;
    if (!c) return;
    if (c->easy) {
        t->curl.multi_remove_handle(t->multi, c->easy);
        t->curl.easy_cleanup(c->easy);
    }
    t->curl.slist_free_all(c->headers);
    tare_free(t->options.context->allocator, c, sizeof *c);
    x->handle = NULL;
    x->redirect = NULL;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Better messages than libcurl's, and failures that are not worth another try. */
static void classify(const tare_transport *t, tare_exchange *x, CURLcode code) {
    x->end = TARE_EXCHANGE_FAILED;
    x->what = t->curl.easy_strerror(code);
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        x->end = TARE_EXCHANGE_BROKEN;
        x->what = TARE_WHY_SLOW;
        break;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        x->end = TARE_EXCHANGE_BROKEN;
        x->what = TARE_WHY_CUT;
        break;
    case CURLE_COULDNT_CONNECT:
        x->end = TARE_EXCHANGE_BROKEN;
        x->what = TARE_WHY_NO_SERVER;
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
        x->what = TARE_WHY_NO_NAME;
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        x->what = TARE_WHY_NO_TRUST;
        break;
    default:
        break;
    }
}

static tare_exchange *finish(const tare_transport *t, const CURLMsg *message) {
    char *owner = NULL, *redirect = NULL;
    CURL *easy = message->easy_handle;
    CURLcode code = message->data.result;
    t->curl.easy_getinfo(easy, CURLINFO_PRIVATE, &owner);
    tare_exchange *x = (tare_exchange *)(void *)owner;
    t->curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &x->http_status);
    t->curl.easy_getinfo(easy, CURLINFO_REDIRECT_URL, &redirect);
    x->redirect = redirect;
    if (code != CURLE_OK && !x->is_stopped) classify(t, x, code);
    return x;
}

static tare_exchange *next_finished(const tare_transport *t) {
    const CURLMsg *message;
    int left;
    while ((message = t->curl.multi_info_read(t->multi, &left)) != NULL)
        if (message->msg == CURLMSG_DONE) return finish(t, message);
    return NULL;
}

tare_exchange *tare_transport_step(tare_transport *t, int timeout_ms) {
    int running;
    tare_exchange *x = next_finished(t);
    if (x) return x;
    t->curl.multi_perform(t->multi, &running);
    x = next_finished(t);
    if (x) return x;
    t->curl.multi_poll(t->multi, NULL, 0, timeout_ms, NULL);
    t->curl.multi_perform(t->multi, &running);
    return next_finished(t);
}

#endif
