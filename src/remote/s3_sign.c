/* SPDX-License-Identifier: MIT
 *
 * Signature Version 4: an HMAC of the request and of the digest of its body, with a key that is made of
 * the secret key, the day and the region (docs.aws.amazon.com, "Create a signed AWS API request"). */
#include "remote/s3_sign.h"

#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "remote/s3.h"
#include "remote/url.h"

#define BLOCK 64 /* bytes of SHA-256 */
#define HEX   65 /* a digest as text, with its NUL */

static void hmac(uint8_t out[32], const void *key, size_t n_key, const void *text, size_t n) {
    uint8_t inner[BLOCK] = {0}, outer[BLOCK];
    tare_sha256 h;
    if (n_key > BLOCK) {
        tare_sha256_init(&h);
        tare_sha256_update(&h, key, n_key);
        tare_sha256_final(&h, inner);
    } else {
        memcpy(inner, key, n_key);
    }
    for (size_t i = 0; i < BLOCK; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    tare_sha256_init(&h);
    tare_sha256_update(&h, inner, BLOCK);
    tare_sha256_update(&h, text, n);
    tare_sha256_final(&h, out);
    tare_sha256_init(&h);
    tare_sha256_update(&h, outer, BLOCK);
    tare_sha256_update(&h, out, 32);
    tare_sha256_final(&h, out);
    memset(inner, 0, sizeof inner);
    memset(outer, 0, sizeof outer);
}

/* "20261129T015720Z" of seconds since 1970 (days of the Gregorian calendar, in years from March on). */
static void put_time(char out[17], int64_t now) {
    const int64_t days = now / 86400, second = now % 86400, z = days + 719468, era = z / 146097;
    const int64_t of_era = z % 146097;
    const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year + year / 4 - year / 100),
                  m = (5 * of_year + 2) / 153;
    const int64_t month = m < 10 ? m + 3 : m - 9;
    const int64_t fields[] = {year + era * 400 + (month <= 2),
                              month,
                              of_year - (153 * m + 2) / 5 + 1,
                              second / 3600,
                              second / 60 % 60,
                              second % 60};
    size_t at = 0;
    for (size_t i = 0; i < 6; i++) {
        if (i == 3) out[at++] = 'T';
        for (int64_t unit = i == 0 ? 1000 : 10; unit; unit /= 10)
            out[at++] = (char)('0' + fields[i] / unit % 10);
    }
    out[at++] = 'Z';
    out[at] = '\0';
}

/* The host as libcurl writes it: without the port that the scheme has anyway. */
static tare_str host_of(const tare_url *url) {
    tare_str host = url->authority;
    const tare_str port = url->is_secure ? TARE_STR(":443") : TARE_STR(":80");
    if (tare_str_ends(host, port)) host.len -= port.len;
    return host;
}

#define SIGNED "host;x-amz-content-sha256;x-amz-date"

static void put_canonical(tare_buffer *out, const tare_remote_options *o, const tare_s3_request *r,
                          const tare_url *url, const char *time, const char *body) {
    const tare_str host = host_of(url);
    tare_buffer_printf(out, "%s\n%.*s\n%.*s\n", r->method, (int)url->path.len, url->path.ptr,
                       (int)tare_str_cut(url->query, url->query.len > 0).len,
                       tare_str_cut(url->query, url->query.len > 0).ptr);
    tare_buffer_printf(out, "host:%.*s\nx-amz-content-sha256:%s\nx-amz-date:%s\n", (int)host.len,
                       host.ptr, body, time);
    if (o->s3_session_token)
        tare_buffer_printf(out, "x-amz-security-token:%s\n", o->s3_session_token);
    tare_buffer_printf(out, "\n%s%s\n%s", SIGNED,
                       o->s3_session_token ? ";x-amz-security-token" : "", body);
}

/* The key of the day: HMACs of the day, the region and two words, each with the one before. */
static void make_key(uint8_t key[32], const tare_remote_options *o, tare_str day,
                     tare_buffer *text) {
    const tare_str words[] = {tare_str_of(tare_s3_region(o)), TARE_STR("s3"),
                              TARE_STR("aws4_request")};
    text->size = 0;
    tare_buffer_put_text(text, "AWS4");
    tare_buffer_put_text(text, o->s3_secret_key);
    if (text->failed) return;
    hmac(key, text->data, text->size, day.ptr, day.len);
    memset(text->data, 0, text->size);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hmac(key, key, 32, words[i].ptr, words[i].len);
}

void tare_s3_sign(tare_buffer *out, const tare_remote_options *o, const tare_s3_request *r) {
    char time[17], nothing[HEX], digest[HEX];
    uint8_t key[32] = {0}, signature[32];
    tare_url url;
    tare_buffer text;
    if (!o->s3_access_key || tare_url_split(&url, r->url, NULL) != TARE_OK) return;
    const char *region = tare_s3_region(o), *body = r->body ? r->body : nothing;
    tare_buffer_init(&text, NULL);
    put_time(time, r->now);
    tare_sha256_hex(nothing, NULL, 0);
    put_canonical(&text, o, r, &url, time, body);
    if (!text.failed) tare_sha256_hex(digest, text.data, text.size);
    make_key(key, o, (tare_str){time, 8}, &text);
    text.size = 0;
    tare_buffer_printf(&text, "AWS4-HMAC-SHA256\n%s\n%.8s/%s/s3/aws4_request\n%s", time, time,
                       region, digest);
    if (text.failed) {
        out->failed = true;
    } else {
        hmac(signature, key, sizeof key, text.data, text.size);
        tare_hex(digest, signature, sizeof signature);
        tare_buffer_printf(out, "x-amz-content-sha256: %s%cx-amz-date: %s%c", body, 0, time, 0);
        if (o->s3_session_token)
            tare_buffer_printf(out, "x-amz-security-token: %s%c", o->s3_session_token, 0);
        tare_buffer_printf(out,
                           "Authorization: AWS4-HMAC-SHA256 Credential=%s/%.8s/%s/s3/aws4_request, "
                           "SignedHeaders=" SIGNED "%s, Signature=%s%c",
                           o->s3_access_key, time, region,
                           o->s3_session_token ? ";x-amz-security-token" : "", digest, 0);
    }
    memset(key, 0, sizeof key);
    tare_buffer_free(&text);
}
