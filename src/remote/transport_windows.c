/* SPDX-License-Identifier: MIT
 *
 * HTTP by WinHTTP, which every Windows has, with the certificates and proxies that it is set to:
 * connections are kept and shared by the exchanges. What threads of the system report is noted with the
 * exchange, and the thread that steps does the rest. */
#include "remote/transport.h"

#if TARE_HAS_TRANSPORT

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/* after windows.h */
#include <shlwapi.h>
#include <wincrypt.h>
#include <winhttp.h>

#include "base/alloc.h"
#include "base/arith.h"
#include "base/os_windows.h"

#ifndef WINHTTP_ACCESS_TYPE_AUTOMATIC_PROXY
#define WINHTTP_ACCESS_TYPE_AUTOMATIC_PROXY 4
#endif

#define EVENTS      (WINHTTP_CALLBACK_FLAG_ALL_COMPLETIONS | WINHTTP_CALLBACK_FLAG_HANDLES)
#define IS_OPEN_END UINT64_MAX /* the length of a body that the header does not tell */

/* What belongs to one exchange. It lives until the system is done with it, which may be after the
 * exchange. */
typedef struct channel {
    tare_transport *transport;
    tare_exchange *exchange; /* NULL: released */
    struct channel *next;
    HINTERNET session; /* its own; NULL: the transport's */
    HINTERNET connection, request;
    bool is_over; /* its exchange has ended */
    char *redirect;
    uint64_t n_sent, n_received, length; /* of the bodies */
    uint64_t since, moved;               /* bytes of late, from a time in milliseconds on */
    /* Under the transport's lock: what has happened last, and the number that comes with it */
    bool is_new, is_closed;
    DWORD event, n;
    uint8_t bytes[]; /* TARE_RECEIVE */
} channel;

struct tare_transport {
    tare_remote_options options; /* texts are the session's */
    HINTERNET session;
    channel *channels;
    CRITICAL_SECTION lock;
    CONDITION_VARIABLE changed;
    bool is_woken;
};

static void CALLBACK note(HINTERNET handle, DWORD_PTR context, DWORD event, void *info, DWORD n) {
    channel *c = (channel *)context;
    (void)handle;
    if (!c) return; /* of a session or a connection */
    tare_transport *t = c->transport;
    EnterCriticalSection(&t->lock);
    if (event == WINHTTP_CALLBACK_STATUS_HANDLE_CLOSING) c->is_closed = true;
    if (event == WINHTTP_CALLBACK_STATUS_DATA_AVAILABLE) n = *(const DWORD *)info;
    if (event == WINHTTP_CALLBACK_STATUS_REQUEST_ERROR)
        n = ((const WINHTTP_ASYNC_RESULT *)info)->dwError;
    if (event & WINHTTP_CALLBACK_FLAG_ALL_COMPLETIONS) {
        c->event = event;
        c->n = n;
        c->is_new = true;
    }
    /* With the lock: a transport is freed by who sees that the last channel is closed. */
    WakeConditionVariable(&t->changed);
    LeaveCriticalSection(&t->lock);
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* "http://HOST:PORT" as WinHTTP wants it. */
static wchar_t *proxy_place(const char *proxy) {
    wchar_t *place = tare_windows_wide(proxy);
    const size_t skip = place && wcsncmp(place, L"http://", 7) == 0 ? 7 : 0;
    if (!place) return NULL;
    memmove(place, place + skip, (wcslen(place + skip) + 1) * sizeof *place);
    const size_t n = wcslen(place);
    if (n && place[n - 1] == L'/') place[n - 1] = 0;
    return place;
}

static HINTERNET open_session(const tare_remote_options *options) {
    const char *proxy = options->proxy;
    wchar_t *place = proxy && *proxy ? proxy_place(proxy) : NULL;
    if (proxy && *proxy && !place) return NULL;
    const DWORD access = !proxy   ? WINHTTP_ACCESS_TYPE_AUTOMATIC_PROXY
                         : *proxy ? WINHTTP_ACCESS_TYPE_NAMED_PROXY
                                  : WINHTTP_ACCESS_TYPE_NO_PROXY;
    HINTERNET session = WinHttpOpen(L"tare", access, place ? place : WINHTTP_NO_PROXY_NAME,
                                    WINHTTP_NO_PROXY_BYPASS, WINHTTP_FLAG_ASYNC);
    DWORD connections = options->connections;
    free(place);
    if (!session) return NULL;
    WinHttpSetOption(session, WINHTTP_OPTION_MAX_CONNS_PER_SERVER, &connections,
                     sizeof connections);
    if (WinHttpSetStatusCallback(session, note, EVENTS, 0) != WINHTTP_INVALID_STATUS_CALLBACK)
        return session;
    WinHttpCloseHandle(session);
    return NULL;
}

tare_status tare_transport_new(tare_transport **out, const tare_remote_options *options,
                               tare_error *err) {
    *out = NULL;
    if (options->ca_file || options->ca_folder)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "files of certificates to trust: on Windows those of the system are");
    if (options->proxy && strstr(options->proxy, "://") &&
        strncmp(options->proxy, "http://", 7) != 0)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "the proxy: on Windows it is http://HOST:PORT");
    tare_transport *t = tare_alloc(options->context->allocator, sizeof *t);
    if (!t) return tare_fail(err, TARE_ERR_NOMEM, "transfers");
    *t = (tare_transport){.options = *options};
    InitializeCriticalSection(&t->lock);
    InitializeConditionVariable(&t->changed);
    t->session = open_session(options);
    if (!t->session) {
        tare_transport_free(t);
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "WinHTTP cannot be started");
    }
    *out = t;
    return TARE_OK;
}

/* Frees the channels whose exchange is released and that the system is done with. */
static void reap(tare_transport *t) {
    for (channel **at = &t->channels; *at;) {
        channel *c = *at;
        if (c->exchange || !c->is_closed) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        tare_free(t->options.context->allocator, c, sizeof *c + TARE_RECEIVE);
    }
}

void tare_transport_free(tare_transport *t) {
    if (!t) return;
    EnterCriticalSection(&t->lock);
    for (reap(t); t->channels; reap(t)) SleepConditionVariableCS(&t->changed, &t->lock, INFINITE);
    LeaveCriticalSection(&t->lock);
    if (t->session) WinHttpCloseHandle(t->session);
    DeleteCriticalSection(&t->lock);
    tare_free(t->options.context->allocator, t, sizeof *t);
}

void tare_transport_wake(tare_transport *t) {
    EnterCriticalSection(&t->lock);
    t->is_woken = true;
    WakeConditionVariable(&t->changed);
    LeaveCriticalSection(&t->lock);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* One line more for the request. */
static bool add_line(const channel *c, const char *line) {
    wchar_t *wide = tare_windows_wide(line);
    if (!wide) return false;
    const bool is_added =
        WinHttpAddRequestHeaders(c->request, wide, (DWORD)-1, WINHTTP_ADDREQ_FLAG_ADD);
    SecureZeroMemory(wide, wcslen(wide) * sizeof *wide); /* it may be a token */
    free(wide);
    return is_added;
}

static bool add_header(const channel *c, const char *name, const char *value) {
    char line[4096];
    const int n = snprintf(line, sizeof line, "%s: %s", name, value);
    const bool is_added = n > 0 && (size_t)n < sizeof line && add_line(c, line);
    SecureZeroMemory(line, sizeof line);
    return is_added;
}

static bool add_user(const channel *c, const char *userinfo) {
    char value[3072] = "Basic ";
    DWORD n = sizeof value - 6;
    return CryptBinaryToStringA((const BYTE *)userinfo, (DWORD)strlen(userinfo),
                                CRYPT_STRING_BASE64 | CRYPT_STRING_NOCRLF, value + 6, &n) &&
           add_header(c, "Authorization", value);
}

static bool add_headers(const channel *c, const tare_exchange *x) {
    char text[3072];
    if (!x->method) {
        snprintf(text, sizeof text, "bytes=%llu-%llu", (unsigned long long)x->first,
                 (unsigned long long)x->last);
        if (!add_header(c, "Range", text)) return false;
    }
    if (x->if_range && !add_header(c, "If-Range", x->if_range)) return false;
    if (x->body) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)x->n_body);
        if (!add_header(c, "Content-Length", text)) return false;
    }
    for (tare_str rest = x->headers; rest.len; rest = tare_str_cut(rest, strlen(rest.ptr) + 1))
        if (!add_line(c, rest.ptr)) return false;
    if (x->userinfo && !add_user(c, x->userinfo)) return false;
    if (!x->bearer) return true;
    const int n = snprintf(text, sizeof text, "Bearer %s", x->bearer);
    const bool is_added = n > 0 && (size_t)n < sizeof text && add_header(c, "Authorization", text);
    SecureZeroMemory(text, sizeof text);
    return is_added;
}

static void set_options(const channel *c, const tare_exchange *x) {
    const tare_remote_options *o = &c->transport->options;
    const int connect = (int)o->connect_seconds * 1000;
    const int stall = x->is_patient ? 0 : (int)o->stall_seconds * 1000; /* 0: none */
    DWORD off =
        WINHTTP_DISABLE_COOKIES | WINHTTP_DISABLE_REDIRECTS | WINHTTP_DISABLE_AUTHENTICATION;
    WinHttpSetOption(c->request, WINHTTP_OPTION_DISABLE_FEATURE, &off, sizeof off);
    WinHttpSetTimeouts(c->request, connect, connect, stall, stall);
}

static bool open_request(channel *c, const tare_exchange *x, const wchar_t *url) {
    wchar_t host[1024];
    URL_COMPONENTSW parts = {.dwStructSize = sizeof parts,
                             .lpszHostName = host,
                             .dwHostNameLength = sizeof host / sizeof *host,
                             .dwUrlPathLength = (DWORD)-1};
    if (!WinHttpCrackUrl(url, 0, 0, &parts)) return false;
    wchar_t *method = tare_windows_wide(x->method ? x->method : "GET");
    const bool is_secure = parts.nScheme == INTERNET_SCHEME_HTTPS;
    c->connection =
        WinHttpConnect(c->session ? c->session : c->transport->session, host, parts.nPort, 0);
    if (method && c->connection) /* the path with what follows it: it ends with the URL */
        c->request =
            WinHttpOpenRequest(c->connection, method, parts.lpszUrlPath, NULL, WINHTTP_NO_REFERER,
                               WINHTTP_DEFAULT_ACCEPT_TYPES,
                               WINHTTP_FLAG_ESCAPE_DISABLE | WINHTTP_FLAG_ESCAPE_DISABLE_QUERY |
                                   (is_secure ? WINHTTP_FLAG_SECURE : 0));
    free(method);
    return c->request != NULL;
}

/* False: what GetLastError says. */
static bool begin(channel *c, const tare_exchange *x) {
    DWORD_PTR context = (DWORD_PTR)c;
    wchar_t *url = tare_windows_wide(x->url);
    if (x->is_careful) c->session = open_session(&c->transport->options);
    const bool is_open =
        url && (!x->is_careful || c->session) && open_request(c, x, url) &&
        WinHttpSetOption(c->request, WINHTTP_OPTION_CONTEXT_VALUE, &context, sizeof context);
    free(url);
    if (!is_open) { /* nothing will be told of it */
        if (c->request) WinHttpCloseHandle(c->request);
        c->request = NULL;
        c->is_closed = true;
        return false;
    }
    set_options(c, x);
    return add_headers(c, x) &&
           WinHttpSendRequest(c->request, WINHTTP_NO_ADDITIONAL_HEADERS, 0, WINHTTP_NO_REQUEST_DATA,
                              0, WINHTTP_IGNORE_REQUEST_TOTAL_LENGTH, context);
}

bool tare_transport_start(tare_transport *t, tare_exchange *x) {
    channel *c = tare_alloc(t->options.context->allocator, sizeof *c + TARE_RECEIVE);
    if (!c) return false;
    *c = (channel){.transport = t,
                   .exchange = x,
                   .next = t->channels,
                   .length = IS_OPEN_END,
                   .since = GetTickCount64()};
    t->channels = c;
    tare_exchange_reset(x, c);
    if (!begin(c, x)) { /* the next step says so */
        c->event = WINHTTP_CALLBACK_STATUS_REQUEST_ERROR;
        c->n = GetLastError();
        c->is_new = true;
    }
    return true;
}

/* A body may be freed when the system does not read it any more. */
static void close_request(channel *c, bool has_body) {
    tare_transport *t = c->transport;
    if (c->request) WinHttpCloseHandle(c->request);
    c->request = NULL;
    EnterCriticalSection(&t->lock);
    while (has_body && !c->is_closed) SleepConditionVariableCS(&t->changed, &t->lock, INFINITE);
    LeaveCriticalSection(&t->lock);
}

void tare_transport_release(tare_transport *t, tare_exchange *x) {
    channel *c = x->handle;
    if (!c) return;
    free(c->redirect);
    c->redirect = NULL;
    c->is_over = true;
    close_request(c, x->body != NULL);
    if (c->connection) WinHttpCloseHandle(c->connection);
    if (c->session) WinHttpCloseHandle(c->session);
    EnterCriticalSection(&t->lock);
    c->exchange = NULL;
    reap(t);
    LeaveCriticalSection(&t->lock);
    x->handle = NULL;
    x->redirect = NULL;
}

/* ---- responses ------------------------------------------------------------------------------- */

/* A line of the header, or all of it, for free(); NULL: there is none, or memory is out. */
static wchar_t *query(const channel *c, DWORD what) {
    DWORD n = 0;
    WinHttpQueryHeaders(c->request, what, WINHTTP_HEADER_NAME_BY_INDEX, WINHTTP_NO_OUTPUT_BUFFER,
                        &n, WINHTTP_NO_HEADER_INDEX);
    wchar_t *text =
        GetLastError() == ERROR_INSUFFICIENT_BUFFER ? malloc((size_t)n + sizeof *text) : NULL;
    if (!text) return NULL;
    if (WinHttpQueryHeaders(c->request, what, WINHTTP_HEADER_NAME_BY_INDEX, text, &n,
                            WINHTTP_NO_HEADER_INDEX))
        return text;
    free(text);
    return NULL;
}

static char *utf8_of(const wchar_t *wide) {
    const int n = wide ? WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL) : 0;
    char *text = n > 0 ? malloc((size_t)n) : NULL;
    if (text) WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, n, NULL, NULL);
    return text;
}

/* The address of a redirection, which may be relative to that of the request. */
static char *redirect_of(const channel *c) {
    wchar_t *to = query(c, WINHTTP_QUERY_LOCATION), *from = tare_windows_wide(c->exchange->url);
    DWORD n = (DWORD)((to ? wcslen(to) : 0) + (from ? wcslen(from) : 0) + 2);
    wchar_t *whole = to && from ? malloc(n * sizeof *whole) : NULL;
    char *out = whole && SUCCEEDED(UrlCombineW(from, to, whole, &n, URL_DONT_SIMPLIFY))
                    ? utf8_of(whole)
                    : NULL;
    free(whole);
    free(to);
    free(from);
    return out;
}

static bool take_headers(channel *c) {
    tare_exchange *x = c->exchange;
    wchar_t *wide = query(c, WINHTTP_QUERY_RAW_HEADERS_CRLF);
    char *text = utf8_of(wide);
    free(wide);
    if (!text) return false;
    for (char *line = text, *end; (end = strstr(line, "\r\n")) != NULL && end > line;
         line = end + 2)
        x->on_header(x->owner, line, (size_t)(end + 2 - line));
    free(text);
    DWORD status = 0, size = sizeof status;
    WinHttpQueryHeaders(c->request, WINHTTP_QUERY_STATUS_CODE | WINHTTP_QUERY_FLAG_NUMBER,
                        WINHTTP_HEADER_NAME_BY_INDEX, &status, &size, WINHTTP_NO_HEADER_INDEX);
    x->http_status = (long)status;
    if (status / 100 == 3) x->redirect = c->redirect = redirect_of(c);
    wchar_t *length = status / 100 == 2 ? query(c, WINHTTP_QUERY_CONTENT_LENGTH) : NULL;
    if (length) c->length = wcstoull(length, NULL, 10);
    free(length);
    return true;
}

/* Ends an exchange; true. */
static bool end(const channel *c, tare_exchange_end how, const char *what) {
    c->exchange->end = how;
    c->exchange->what = what;
    return true;
}

static bool end_failed(const channel *c, DWORD error) {
    switch (error) {
    case ERROR_WINHTTP_TIMEOUT:
        return end(c, TARE_EXCHANGE_BROKEN, TARE_WHY_SLOW);
    case ERROR_WINHTTP_CONNECTION_ERROR:
    case ERROR_WINHTTP_RESEND_REQUEST:
    case ERROR_WINHTTP_INVALID_SERVER_RESPONSE:
        return end(c, TARE_EXCHANGE_BROKEN, TARE_WHY_CUT);
    case ERROR_WINHTTP_CANNOT_CONNECT:
        return end(c, TARE_EXCHANGE_BROKEN, TARE_WHY_NO_SERVER);
    case ERROR_WINHTTP_NAME_NOT_RESOLVED:
        return end(c, TARE_EXCHANGE_FAILED, TARE_WHY_NO_NAME);
    case ERROR_WINHTTP_SECURE_FAILURE:
    case ERROR_WINHTTP_SECURE_INVALID_CA:
    case ERROR_WINHTTP_SECURE_INVALID_CERT:
    case ERROR_WINHTTP_SECURE_CERT_CN_INVALID:
    case ERROR_WINHTTP_SECURE_CERT_DATE_INVALID:
    case ERROR_WINHTTP_SECURE_CERT_REVOKED:
    case ERROR_WINHTTP_SECURE_CERT_REV_FAILED:
    case ERROR_WINHTTP_SECURE_CERT_WRONG_USAGE:
        return end(c, TARE_EXCHANGE_FAILED, TARE_WHY_NO_TRUST);
    default:
        return end(c, TARE_EXCHANGE_FAILED, "WinHTTP cannot make the request");
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool send_on(channel *c) {
    const tare_exchange *x = c->exchange;
    const uint64_t n = tare_min_u64(x->n_body - c->n_sent, TARE_SEND);
    const uint8_t *from = (const uint8_t *)x->body + c->n_sent;
    c->n_sent += n;
    c->moved += n;
    return n ? WinHttpWriteData(c->request, from, (DWORD)n, NULL)
             : WinHttpReceiveResponse(c->request, NULL);
}

/* Hands over what was read; true: the exchange has ended. */
static bool take_body(channel *c, DWORD n) {
    tare_exchange *x = c->exchange;
    c->n_received += n;
    c->moved += n;
    if (!n)
        return c->length != IS_OPEN_END && c->n_received < c->length
                   ? end(c, TARE_EXCHANGE_BROKEN, TARE_WHY_CUT)
                   : end(c, TARE_EXCHANGE_DONE, NULL);
    x->is_stopped = !x->on_body(x->owner, c->bytes, n);
    return x->is_stopped;
}

/* What follows an event; true: the exchange has ended. */
static bool advance(channel *c, DWORD event, DWORD n) {
    bool is_on = false;
    switch (event) {
    case WINHTTP_CALLBACK_STATUS_SENDREQUEST_COMPLETE:
    case WINHTTP_CALLBACK_STATUS_WRITE_COMPLETE:
        is_on = send_on(c);
        break;
    case WINHTTP_CALLBACK_STATUS_HEADERS_AVAILABLE:
        is_on = take_headers(c) && WinHttpQueryDataAvailable(c->request, NULL);
        break;
    case WINHTTP_CALLBACK_STATUS_DATA_AVAILABLE:
        if (!n) return take_body(c, 0);
        n = (DWORD)tare_min_u64(n, TARE_RECEIVE);
        is_on = WinHttpReadData(c->request, c->bytes, n, NULL);
        break;
    case WINHTTP_CALLBACK_STATUS_READ_COMPLETE:
        if (take_body(c, n)) return true;
        is_on = WinHttpQueryDataAvailable(c->request, NULL);
        break;
    default:
        return end_failed(c, n);
    }
    return !is_on && end_failed(c, GetLastError());
}

static bool has_stalled(channel *c, uint64_t now) {
    const uint64_t limit = c->transport->options.stall_seconds;
    if (c->exchange->is_patient || now - c->since < limit * 1000) return false;
    if (c->moved < limit * TARE_SLOW_BYTES) return end(c, TARE_EXCHANGE_BROKEN, TARE_WHY_SLOW);
    c->since = now;
    c->moved = 0;
    return false;
}

/* Under the lock; NULL: nothing has happened. */
static channel *next_event(const tare_transport *t) {
    channel *c = t->channels;
    while (c && (c->is_over || !c->is_new)) c = c->next;
    return c;
}

static channel *wait_for_event(tare_transport *t, int timeout_ms) {
    const uint64_t until = GetTickCount64() + (uint64_t)timeout_ms;
    channel *c;
    EnterCriticalSection(&t->lock);
    reap(t);
    while (!(c = next_event(t)) && !t->is_woken) {
        const uint64_t now = GetTickCount64();
        if (now >= until || !SleepConditionVariableCS(&t->changed, &t->lock, (DWORD)(until - now)))
            break;
    }
    t->is_woken = false;
    if (c) c->is_new = false;
    LeaveCriticalSection(&t->lock);
    return c;
}

static tare_exchange *over(channel *c) {
    c->is_over = true;
    close_request(c, c->exchange->body != NULL);
    return c->exchange;
}

tare_exchange *tare_transport_step(tare_transport *t, int timeout_ms) {
    for (channel *c; (c = wait_for_event(t, timeout_ms)) != NULL; timeout_ms = 0)
        if (advance(c, c->event, c->n)) return over(c);
    const uint64_t now = GetTickCount64();
    for (channel *c = t->channels; c; c = c->next)
        if (!c->is_over && has_stalled(c, now)) return over(c);
    return NULL;
}

#else
typedef int tare_has_no_transport; /* a source may not be empty */
#endif
