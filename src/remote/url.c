/* SPDX-License-Identifier: MIT
 *
 * http and https URLs in parts. A password may stand before the host and a signature in the query:
 * neither may reach a message, so names are made of the other parts only. */
#include "remote/url.h"

#include <stdio.h>

#include "base/str.h"
#include <tare/experimental/remote.h>

static bool has_scheme(const char *text, const char *scheme) {
    return tare_same_letters(text, scheme, strlen(scheme));
}

static bool is_web(const char *text) {
    return has_scheme(text, "https://") || has_scheme(text, "http://");
}

bool tare_is_url(const char *text) {
    return text && (is_web(text) || has_scheme(text, "hf://") || has_scheme(text, "s3://"));
}

/* The run of characters up to the first of `stops`. */
static tare_str take_until(tare_str *rest, const char *stops) {
    size_t n = 0;
    while (n < rest->len && !strchr(stops, rest->ptr[n])) n++;
    tare_str run = {rest->ptr, n};
    *rest = tare_str_cut(*rest, n);
    return run;
}

static bool is_plain(tare_str text) {
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] <= ' ' || text.ptr[i] == 0x7f || text.ptr[i] == '\\')
            return false;
    return true;
}

tare_status tare_url_split(tare_url *out, const char *text, tare_error *err) {
    *out = (tare_url){.is_secure = has_scheme(text, "https://")};
    if (!out->is_secure && !has_scheme(text, "http://"))
        return tare_fail(err, TARE_ERR_ARG, "URL: https:// or http:// expected");
    tare_str rest = tare_str_cut(tare_str_of(text), out->is_secure ? 8 : 7);
    if (!is_plain(rest))
        return tare_fail(err, TARE_ERR_ARG,
                         "URL: spaces, backslashes and control characters are written as %XX");
    out->authority = take_until(&rest, "/?#");
    out->path = take_until(&rest, "?#");
    out->query = take_until(&rest, "#");
    for (size_t i = out->authority.len; i-- > 0;) {
        if (out->authority.ptr[i] != '@') continue;
        out->userinfo = (tare_str){out->authority.ptr, i};
        out->authority = tare_str_cut(out->authority, i + 1);
        break;
    }
    if (out->authority.len == 0 || out->authority.ptr[0] == ':')
        return tare_fail(err, TARE_ERR_ARG, "URL: a host is missing");
    return TARE_OK;
}

/* The authority without the port that its scheme has anyway. */
static tare_str origin_of(const tare_url *url) {
    tare_str a = url->authority, port = url->is_secure ? TARE_STR(":443") : TARE_STR(":80");
    if (tare_str_ends(a, port)) a.len -= port.len;
    return a;
}

bool tare_url_same_origin(const tare_url *a, const tare_url *b) {
    tare_str x = origin_of(a), y = origin_of(b);
    return a->is_secure == b->is_secure && x.len == y.len && tare_same_letters(x.ptr, y.ptr, x.len);
}

void tare_url_put(tare_buffer *out, const tare_url *url, bool with_query) {
    tare_buffer_put_text(out, url->is_secure ? "https://" : "http://");
    tare_buffer_put_str(out, url->authority);
    tare_buffer_put_str(out, url->path);
    if (with_query) tare_buffer_put_str(out, url->query);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The byte that "%XX" at the beginning of a text stands for; -1: it is none. */
static int escaped_byte(tare_str text) {
    if (text.len < 3 || text.ptr[0] != '%') return -1;
    int high = hex_digit(text.ptr[1]), low = hex_digit(text.ptr[2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* The unreserved characters of RFC 3986. */
static bool is_unreserved(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~", c));
}

void tare_url_put_path(tare_buffer *out, tare_str path, bool is_segment, bool keeps_escapes) {
    for (size_t i = 0; i < path.len; i++) {
        char c = path.ptr[i];
        bool stays = is_unreserved(c) || (c == '/' && !is_segment) ||
                     (keeps_escapes && escaped_byte(tare_str_cut(path, i)) >= 0);
        if (stays)
            tare_buffer_put_u8(out, (uint8_t)c);
        else
            tare_buffer_printf(out, "%%%02X", (unsigned char)c);
    }
}

bool tare_url_unescape(tare_buffer *out, tare_str text) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '%') {
            int byte = escaped_byte(tare_str_cut(text, i));
            if (byte < ' ' || byte == 0x7f) return false;
            c = (char)byte;
            i += 2;
        }
        tare_buffer_put_u8(out, (uint8_t)c);
    }
    return true;
}

size_t tare_url_public(char *buf, size_t size, const char *url) {
    tare_url parts;
    tare_buffer text;
    tare_buffer_init(&text, NULL);
    const bool has_user = has_scheme(url, "s3://") && url[5 + strcspn(url + 5, "/@")] == '@';
    if (has_user) {
        tare_buffer_put_text(&text, "a malformed URL");
    } else if (is_web(url) && tare_url_split(&parts, url, NULL) == TARE_OK) {
        tare_url_put(&text, &parts, false);
    } else if (is_web(url) && strpbrk(url, "@?")) {
        tare_buffer_put_text(&text, "a malformed URL"); /* it may hold a password all the same */
    } else {
        tare_buffer_put_text(&text, url);
    }
    if (size > 0) {
        size_t n = text.size < size ? text.size : size - 1;
        if (n) memcpy(buf, text.data, n);
        buf[n] = 0;
    }
    size_t length = text.size;
    tare_buffer_free(&text);
    return length;
}
