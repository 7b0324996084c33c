/* SPDX-License-Identifier: MIT
 *
 * libcurl, loaded when it is needed: a program that opens no URL does without it. */
#ifndef TARE_REMOTE_CURL_LIBRARY_H
#define TARE_REMOTE_CURL_LIBRARY_H

#include "base/status.h"
#include "remote/transport.h"

#if TARE_HAS_TRANSPORT
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

/* The functions that are used, by name. */
#define TARE_CURL_FUNCTIONS(X)                                                                     \
    X(global_init, CURLcode, (long))                                                               \
    X(global_cleanup, void, (void))                                                                \
    X(easy_init, CURL *, (void))                                                                   \
    X(easy_cleanup, void, (CURL *))                                                                \
    X(easy_reset, void, (CURL *))                                                                  \
    X(easy_setopt, CURLcode, (CURL *, CURLoption, ...))                                            \
    X(easy_getinfo, CURLcode, (CURL *, CURLINFO, ...))                                             \
    X(easy_strerror, const char *, (CURLcode))                                                     \
    X(slist_append, struct curl_slist *, (struct curl_slist *, const char *))                      \
    X(slist_free_all, void, (struct curl_slist *))                                                 \
    X(multi_init, CURLM *, (void))                                                                 \
    X(multi_cleanup, CURLMcode, (CURLM *))                                                         \
    X(multi_setopt, CURLMcode, (CURLM *, CURLMoption, ...))                                        \
    X(multi_add_handle, CURLMcode, (CURLM *, CURL *))                                              \
    X(multi_remove_handle, CURLMcode, (CURLM *, CURL *))                                           \
    X(multi_perform, CURLMcode, (CURLM *, int *))                                                  \
    X(multi_poll, CURLMcode, (CURLM *, struct curl_waitfd[], unsigned, int, int *))                \
    X(multi_wakeup, CURLMcode, (CURLM *))                                                          \
    X(multi_info_read, CURLMsg *, (CURLM *, int *))

typedef struct tare_curl {
    void *library;
#define TARE_CURL_MEMBER(name, result, arguments) result(*name) arguments;
    TARE_CURL_FUNCTIONS(TARE_CURL_MEMBER)
#undef TARE_CURL_MEMBER
} tare_curl;

/* Loads and starts libcurl. UNSUPPORTED: it is not there, or too old. */
tare_status tare_curl_load(tare_curl *out, tare_error *err);
void tare_curl_unload(tare_curl *curl);
#endif

#endif
