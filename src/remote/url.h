/* SPDX-License-Identifier: MIT
 *
 * http and https URLs (RFC 3986), split into parts, and which of these may be shown. */
#ifndef TARE_REMOTE_URL_H
#define TARE_REMOTE_URL_H

#include "base/buffer.h"

/* Parts of a URL, all within its text. */
typedef struct tare_url {
    bool is_secure;     /* https */
    tare_str userinfo;  /* "user:password", as written; empty: none */
    tare_str authority; /* "host" or "host:port" */
    tare_str path;      /* from the slash on; may be empty */
    tare_str query;     /* from the question mark on; may be empty */
} tare_url;

/* Splits a URL. ARG: another scheme, no host, or characters that are not allowed in URLs. A
 * fragment is left out. */
tare_status tare_url_split(tare_url *out, const char *text, tare_error *err);
/* Whether two URLs lead to the same server, so that credentials for one may be sent to the other.
 */
bool tare_url_same_origin(const tare_url *a, const tare_url *b);
/* Writes "scheme://host", the path and, if asked for, the query; never the user. */
void tare_url_put(tare_buffer *out, const tare_url *url, bool with_query);
/* Writes a path, or one segment of it, with all bytes that need it as %XX. What is in that form
 * already stays when `keeps_escapes`. */
void tare_url_put_path(tare_buffer *out, tare_str path, bool is_segment, bool keeps_escapes);
/* The reverse; false where a %XX is malformed or stands for a control character. */
bool tare_url_unescape(tare_buffer *out, tare_str text);

#endif
