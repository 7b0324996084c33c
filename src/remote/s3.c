/* SPDX-License-Identifier: MIT
 *
 * S3 (docs.aws.amazon.com/AmazonS3/latest/API): names, addresses, lists and errors. Queries are written
 * as signatures want them: sorted, and with all that need it as %XX. */
#include "remote/s3.h"

#include <stdio.h>

#include "remote/url.h"
#include "remote/xml.h"

#define SCHEME     "s3://"
#define REGION     "us-east-1"
#define KEY_MOST   1024
#define WORD_MOST  128  /* bytes of a region or an access key */
#define TOKEN_MOST 3072 /* bytes of a session's token */

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_bucket(tare_str word) {
    for (size_t i = 0; i < word.len; i++) {
        const char c = word.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c && strchr("-_.", c))))
            return false;
    }
    return word.len >= 3 && word.len <= 255 && word.ptr[0] != '.' && word.ptr[0] != '-';
}

tare_status tare_s3_name_parse(tare_s3_name *out, const char *text, tare_error *err) {
    tare_str rest = tare_str_cut(tare_str_of(text), sizeof SCHEME - 1);
    const char *slash = rest.len ? memchr(rest.ptr, '/', rest.len) : NULL;
    *out = (tare_s3_name){.bucket = {rest.ptr, slash ? (size_t)(slash - rest.ptr) : rest.len}};
    if (!is_bucket(out->bucket))
        return tare_fail(err, TARE_ERR_ARG, "s3://BUCKET/KEY or s3://BUCKET/FOLDER/ expected");
    out->root = (tare_str){text, (size_t)(out->bucket.ptr + out->bucket.len - text)};
    out->key = tare_str_cut(rest, out->bucket.len + (slash != NULL));
    out->is_folder = out->key.len == 0 || out->key.ptr[out->key.len - 1] == '/';
    if (out->is_folder && out->key.len) out->key.len--;
    if (out->key.len && (!tare_listing_is_path(out->key) || out->key.len > KEY_MOST))
        return tare_fail(
            err, TARE_ERR_ARG,
            "a key that is a path expected: at most 1024 bytes of UTF-8, without empty "
            "parts, \".\" and \"..\"");
    return TARE_OK;
}

/* ---- settings -------------------------------------------------------------------------------- */

static bool is_word(const char *text, size_t most) {
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] >= 0x7f) return false;
    return n > 0 && n <= most;
}

tare_status tare_s3_check_options(const tare_remote_options *o, tare_error *err) {
    tare_url endpoint;
    if (o->s3_endpoint && (tare_url_split(&endpoint, o->s3_endpoint, NULL) != TARE_OK ||
                           endpoint.userinfo.len || endpoint.query.len))
        return tare_fail(err, TARE_ERR_ARG, "S3 endpoint: https://HOST or http://HOST expected");
    if (o->s3_region && (!is_word(o->s3_region, WORD_MOST) || strpbrk(o->s3_region, "/:?#@.")))
        return tare_fail(err, TARE_ERR_ARG, "S3 region: a name such as us-east-1 expected");
    if (!o->s3_access_key != !o->s3_secret_key)
        return tare_fail(err, TARE_ERR_ARG, "S3: an access key and its secret key expected");
    if (o->s3_access_key &&
        (!is_word(o->s3_access_key, WORD_MOST) || !is_word(o->s3_secret_key, WORD_MOST) ||
         strchr(o->s3_access_key, ':')))
        return tare_fail(err, TARE_ERR_ARG,
                         "S3 keys: printable characters without spaces expected");
    if (o->s3_session_token && !is_word(o->s3_session_token, TOKEN_MOST))
        return tare_fail(err, TARE_ERR_ARG,
                         "S3 session token: printable characters without spaces expected");
    return TARE_OK;
}

const char *tare_s3_region(const tare_remote_options *o) {
    return o->s3_region ? o->s3_region : REGION;
}

/* ---- addresses ------------------------------------------------------------------------------- */

void tare_s3_put_address(tare_buffer *out, const tare_remote_options *o, tare_str bucket,
                         tare_str key) {
    const char *region = tare_s3_region(o);
    const bool is_host = !o->s3_endpoint && !memchr(bucket.ptr, '.', bucket.len);
    if (o->s3_endpoint) {
        tare_str base = tare_str_of(o->s3_endpoint);
        while (base.len && base.ptr[base.len - 1] == '/') base.len--;
        tare_buffer_put_str(out, base);
    } else {
        tare_buffer_put_text(out, "https://");
        if (is_host) tare_buffer_put_str(out, bucket);
        tare_buffer_printf(out, "%ss3.%s.amazonaws.com%s", is_host ? "." : "", region,
                           strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
    }
    if (!is_host) {
        tare_buffer_put_text(out, "/");
        tare_buffer_put_str(out, bucket);
    }
    tare_buffer_put_text(out, "/");
    tare_url_put_path(out, key, false, false);
}

void tare_s3_put_list(tare_buffer *out, const tare_remote_options *o, tare_str bucket,
                      tare_str prefix, tare_str token) {
    tare_s3_put_address(out, o, bucket, TARE_STR(""));
    tare_buffer_put_text(out, "?");
    if (token.len) {
        tare_buffer_put_text(out, "continuation-token=");
        tare_url_put_path(out, token, true, false);
        tare_buffer_put_text(out, "&");
    }
    tare_buffer_put_text(out, "list-type=2&prefix=");
    tare_url_put_path(out, prefix, true, false);
}

/* ---- lists ----------------------------------------------------------------------------------- */

typedef struct reading {
    tare_xml xml;
    tare_listing *list;
    tare_arena *arena;
    const tare_limits *limits;
    tare_str prefix, key, tag, token;
    uint64_t size;
    bool is_truncated, has_root;
} reading;

static tare_status fail_here(const reading *r, tare_status status, const char *what,
                             tare_error *err) {
    return tare_fail_at(err, status, r->xml.pos, what);
}

/* The text of the element that ended, in the arena. */
static tare_status take_text(tare_str *out, reading *r, const char *what, tare_error *err) {
    const bool is_good = tare_xml_text(out, r->xml.text, r->arena);
    if (!out->ptr) return tare_fail(err, TARE_ERR_NOMEM, "list of objects");
    return is_good && out->len <= TOKEN_MOST ? TARE_OK : fail_here(r, TARE_ERR_CORRUPT, what, err);
}

static tare_status take_size(reading *r, tare_error *err) {
    return tare_xml_number(&r->size, r->xml.text)
               ? TARE_OK
               : fail_here(r, TARE_ERR_CORRUPT, "Size: a number of bytes expected", err);
}

/* An object is over. Keys that end in a slash are what consoles make for folders. */
static tare_status take_object(reading *r, tare_error *err) {
    if (r->key.len == 0 || r->size == TARE_LISTED_NO_SIZE)
        return fail_here(r, TARE_ERR_CORRUPT, "Contents: Key and Size expected", err);
    if (!tare_str_starts(r->key, r->prefix))
        return fail_here(r, TARE_ERR_CORRUPT, "Key: not one that was asked for", err);
    const tare_listed file = {
        .path = tare_str_cut(r->key, r->prefix.len), .size = r->size, .tag = r->tag};
    if (r->key.ptr[r->key.len - 1] == '/') return TARE_OK;
    if (!tare_listing_is_path(file.path)) {
        fail_here(r, TARE_ERR_UNSUPPORTED, "Key: a path expected, as of a file in a folder", err);
        tare_error_item(err, TARE_ITEM_RESOURCE, -1, r->key);
        return TARE_ERR_UNSUPPORTED;
    }
    if (r->list->n >= r->limits->tensors)
        return fail_here(r, TARE_ERR_LIMIT, "number of objects", err);
    return tare_listing_add(r->list, &file) ? TARE_OK
                                            : tare_fail(err, TARE_ERR_NOMEM, "list of objects");
}

static tare_status take_end(reading *r, tare_error *err) {
    const tare_str name = r->xml.name, *open = r->xml.open;
    const unsigned depth = r->xml.depth;
    if (depth == 2 && tare_str_is(open[1], "Contents")) {
        if (tare_str_is(name, "Key")) return take_text(&r->key, r, "Key: text expected", err);
        if (tare_str_is(name, "ETag")) return take_text(&r->tag, r, "ETag: text expected", err);
        if (tare_str_is(name, "Size")) return take_size(r, err);
    }
    if (depth != 1) return TARE_OK;
    if (tare_str_is(name, "Contents")) return take_object(r, err);
    if (tare_str_is(name, "IsTruncated")) r->is_truncated = tare_str_is(r->xml.text, "true");
    if (tare_str_is(name, "NextContinuationToken"))
        return take_text(&r->token, r, "NextContinuationToken: text expected", err);
    return TARE_OK;
}

static tare_status read_page(reading *r, tare_error *err) {
    for (;;) {
        switch (tare_xml_next(&r->xml)) {
        case TARE_XML_FAULT:
            return fail_here(r, TARE_ERR_CORRUPT, r->xml.what, err);
        case TARE_XML_DONE:
            if (r->is_truncated && r->token.len == 0)
                return fail_here(r, TARE_ERR_CORRUPT, "NextContinuationToken: missing", err);
            return TARE_OK;
        case TARE_XML_BEGIN:
            if (r->xml.depth == 1 && !tare_str_is(r->xml.name, "ListBucketResult"))
                return fail_here(r, TARE_ERR_CORRUPT, "ListBucketResult expected", err);
            if (r->xml.depth != 2) break;
            r->key = r->tag = TARE_STR("");
            r->size = TARE_LISTED_NO_SIZE;
            break;
        case TARE_XML_END:
            TARE_TRY(take_end(r, err));
            break;
        }
    }
}

tare_status tare_s3_list_parse(tare_listing *list, tare_str *token, tare_str xml, tare_str prefix,
                               tare_arena *arena, const tare_limits *limits, tare_error *err) {
    reading r = {.list = list, .arena = arena, .limits = limits, .prefix = prefix};
    *token = TARE_STR("");
    tare_xml_init(&r.xml, xml);
    TARE_TRY(read_page(&r, err));
    if (r.is_truncated) *token = r.token;
    return TARE_OK;
}

/* ---- errors ---------------------------------------------------------------------------------- */

tare_str tare_s3_code(tare_str xml) {
    const tare_str code = tare_xml_find(xml, "Code");
    for (size_t i = 0; i < code.len; i++) {
        const char c = code.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')))
            return TARE_STR("");
    }
    return code.len <= 40 ? code : TARE_STR("");
}

size_t tare_s3_tell(char *out, size_t size, const tare_response *r, tare_str xml) {
    const tare_str code = tare_s3_code(xml);
    const char *region = r->status == 301 ? r->region : "";
    const int n = snprintf(out, size, "HTTP %u%s%.*s%s%s", r->status, code.len ? " " : "",
                           (int)code.len, code.ptr, *region ? " " : "", region);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

bool tare_s3_is_busy(const tare_response *r, tare_str xml) {
    static const char *const codes[] = {"SlowDown",           "InternalError",
                                        "ServiceUnavailable", "RequestTimeout",
                                        "OperationAborted",   "ConditionalRequestConflict"};
    const tare_str code = tare_s3_code(xml);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (tare_str_is(code, codes[i])) return true;
    return tare_response_is_busy(r->status);
}

const char *tare_s3_fault(const tare_response *r, tare_str xml, bool is_signed) {
    static const struct {
        const char *code, *what;
    } faults[] = {
        {"NoSuchBucket", "the store has no such bucket"},
        {"NoSuchKey", "the bucket has no such object; the name of a folder ends in a slash"},
        {"NoSuchUpload", "the upload is no longer there: it was aborted or completed elsewhere"},
        {"ExpiredToken", "the session's token has expired: get new credentials"},
        {"TokenRefreshRequired", "the session's token has expired: get new credentials"},
        {"InvalidToken", "the store does not know the session's token"},
        {"InvalidAccessKeyId", "the store does not know the access key"},
        {"SignatureDoesNotMatch",
         "the signature is wrong: the secret key is not that of the access key"},
        {"RequestTimeTooSkewed", "the clock of this machine is more than 15 minutes wrong"},
        {"AuthorizationHeaderMalformed", "the bucket is in another region: set the one it is in"},
        {"PermanentRedirect", "the bucket is in another region: set the one it is in"},
        {"InvalidObjectState", "the object is archived: restore it first"},
        {"SlowDown", "the store takes no more requests for now"},
        {"BadDigest", "the bytes arrived with another digest than was sent"},
        {"EntityTooLarge", "the object is larger than the store takes"},
    };
    const tare_str code = tare_s3_code(xml);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (tare_str_is(code, faults[i].code)) return faults[i].what;
    if (r->status == 301 || r->status == 307)
        return "the bucket is in another region: set the one it is in";
    if ((r->status == 401 || r->status == 403) && !is_signed)
        return "the store refuses access: the request had no credentials, as none were found";
    if (r->status == 401 || r->status == 403)
        return "the store refuses access to the owner of the access key";
    if (r->status == 404)
        return "the bucket has no such object; the name of a folder ends in a slash";
    return tare_response_fault(r, false);
}
