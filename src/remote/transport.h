/* SPDX-License-Identifier: MIT
 *
 * HTTP exchanges, many at a time, driven by one thread. Responses are not interpreted and
 * redirections are not followed here: remote/fetch.c does that. */
#ifndef TARE_REMOTE_TRANSPORT_H
#define TARE_REMOTE_TRANSPORT_H

#include <tare/experimental/remote.h>

#include "base/str.h"

/* Windows has its own transport; elsewhere a build without the header of libcurl has none. */
#if defined(TARE_NO_REMOTE)
#define TARE_HAS_TRANSPORT 0
#elif defined(_WIN32)
#define TARE_HAS_TRANSPORT 1
#elif defined(__has_include)
#if __has_include(<curl/curl.h>)
#define TARE_HAS_TRANSPORT 1
#endif
#endif
#ifndef TARE_HAS_TRANSPORT
#define TARE_HAS_TRANSPORT 0
#endif

#define TARE_SLOW_BYTES                                                                            \
    1024 /* a second; below it for options.stall_seconds a transfer has stalled */
#define TARE_RECEIVE (256 << 10) /* bytes of a body that are handed over at once */
#define TARE_SEND    (512 << 10) /* and that are sent at once */

/* Why an exchange is not DONE. */
#define TARE_WHY_SLOW      "the server sends nothing, or less than 1 KB/s"
#define TARE_WHY_CUT       "the server closes the connection before all bytes are there"
#define TARE_WHY_NO_SERVER "no connection to the server"
#define TARE_WHY_NO_NAME   "the name of the server cannot be resolved"
#define TARE_WHY_NO_TRUST  "the server's certificate is not trusted"

typedef struct tare_transport tare_transport;

/* How an exchange ended. */
typedef enum tare_exchange_end {
    TARE_EXCHANGE_DONE = 0,   /* a whole response is there, whatever its status */
    TARE_EXCHANGE_BROKEN = 1, /* trying again may help: cut, stalled, refused */
    TARE_EXCHANGE_FAILED = 2, /* it will not: no such host, a certificate nobody trusts */
} tare_exchange_end;

/* One request. The caller fills the first part; all texts are copied when it is started, the body is
 * not. */
typedef struct tare_exchange {
    const char *url;
    const char *method; /* NULL: GET of a range; static */
    const void *body;   /* NULL: none. Kept by the caller until the exchange is released */
    size_t n_body;
    bool is_patient;      /* the server may think as long as it wants before it answers */
    bool is_careful;      /* on a connection of its own: on others a request may be sent twice */
    const char *userinfo; /* "user:password", unescaped; NULL: none */
    const char *bearer;   /* a token; NULL: none */
    tare_str headers;     /* more lines of the header, a NUL behind each */
    uint64_t first, last; /* the range of bytes, of a GET */
    const char *if_range; /* a validator; NULL: none */
    void *owner;
    /* A line of the header, its line end included; a status line begins a new response. */
    void (*on_header)(void *owner, const char *line, size_t n);
    /* Bytes of the body; false ends the exchange, which then is DONE. */
    bool (*on_body)(void *owner, const uint8_t *bytes, size_t n);

    tare_exchange_end end;
    const char *what;     /* static: why it is not DONE */
    long http_status;     /* 0: there was no response */
    const char *redirect; /* where a redirection leads, absolute; NULL: none. Lives until the
                             exchange is released */
    void *handle;         /* the transport's own */
    bool is_stopped;      /* on_body wanted no more */
} tare_exchange;

/* Before an exchange is started: it has no end yet. */
static inline void tare_exchange_reset(tare_exchange *x, void *handle) {
    x->handle = handle;
    x->end = TARE_EXCHANGE_DONE;
    x->what = NULL;
    x->http_status = 0;
    x->redirect = NULL;
    x->is_stopped = false;
}

/* UNSUPPORTED: there is none here, or it does not have what the options ask for. */
tare_status tare_transport_new(tare_transport **out, const tare_remote_options *options,
                               tare_error *err);
/* No exchange may be under way. */
void tare_transport_free(tare_transport *transport);
/* False: memory is out. */
bool tare_transport_start(tare_transport *transport, tare_exchange *exchange);
/* Moves bytes for at most `timeout_ms`; returns an exchange that has ended, NULL: none has. */
tare_exchange *tare_transport_step(tare_transport *transport, int timeout_ms);
/* Releases an exchange that has ended, or cancels it. */
void tare_transport_release(tare_transport *transport, tare_exchange *exchange);
/* Ends a step that waits; the only function that other threads may call. */
void tare_transport_wake(tare_transport *transport);

#endif
