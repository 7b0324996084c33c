/* SPDX-License-Identifier: MIT
 *
 * docs.aws.amazon.com/AmazonS3/latest/API: CreateMultipartUpload, CompleteMultipartUpload,
 * AbortMultipartUpload, PutObject. Bodies are signed with their SHA-256, which the store checks. */
#include "remote/multipart.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/str.h"
#include "remote/url.h"
#include "remote/xml.h"

#define NEW_ONLY "If-None-Match: *\0"
#define BYTES    "Content-Type: application/octet-stream\0"
#define XML      "Content-Type: application/xml\0"

tare_status tare_multipart_init(tare_multipart *m, tare_remote *remote, tare_arena *arena,
                                const char *name, tare_error *err) {
    tare_s3_name parts;
    tare_buffer address;
    *m = (tare_multipart){.remote = remote, .arena = arena};
    m->name = tare_arena_str(arena, tare_str_of(name)).ptr;
    if (!m->name) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    TARE_TRY(tare_s3_name_parse(&parts, m->name, err));
    TARE_TRY(tare_s3_check_options(&remote->options, err));
    m->bucket = parts.bucket;
    m->key = parts.key;
    tare_buffer_init(&address, NULL);
    tare_s3_put_address(&address, &remote->options, parts.bucket, parts.key);
    m->address = tare_arena_str(arena, (tare_str){(const char *)address.data, address.size}).ptr;
    const bool has_memory = !address.failed && m->address;
    tare_buffer_free(&address);
    if (!has_memory) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    return tare_fetcher_start(remote, err);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Makes a request below the object's address; the call is to be ended whatever comes back. */
static tare_status ask(tare_call *c, const tare_multipart *m, const char *query, const char *id,
                       tare_error *err) {
    tare_buffer url;
    tare_buffer_init(&url, NULL);
    tare_buffer_put_text(&url, m->address);
    tare_buffer_put_text(&url, query);
    if (id) tare_url_put_path(&url, tare_str_of(id), true, false);
    tare_buffer_put_u8(&url, 0);
    tare_status status = tare_buffer_status(&url, err);
    c->name = m->name;
    c->url = (const char *)url.data;
    if (status == TARE_OK) status = tare_call_make(c, m->remote, err);
    tare_buffer_free(&url);
    return status;
}

static void take_facts(tare_object_facts *out, const tare_response *r) {
    out->exists = true;
    out->size = r->has_total ? r->total : r->length;
    memcpy(out->etag, r->etag, sizeof out->etag);
}

tare_status tare_object_look(tare_object_facts *out, const tare_multipart *m, tare_error *err) {
    tare_call c = {.method = NULL};
    *out = (tare_object_facts){.exists = false};
    tare_status status = ask(&c, m, "", NULL, err);
    const tare_response *r = &c.t.response;
    if (status == TARE_OK || r->status == 416) {
        take_facts(out, r);
        status = TARE_OK;
    } else if (r->status == 404 && !tare_call_says(&c, "NoSuchBucket")) {
        status = TARE_OK;
    } else if (r->status == 403 && tare_call_says(&c, "AccessDenied") &&
               m->remote->options.s3_access_key) {
        out->is_hidden = true;
        status = TARE_OK;
    }
    tare_call_end(&c);
    return status;
}

tare_status tare_objects_count(size_t *out, const tare_multipart *m, tare_str prefix,
                               tare_error *err) {
    tare_call c = {.method = "GET"};
    tare_listing list = {.n = 0};
    tare_multipart place = *m;
    tare_str token;
    tare_buffer url;
    tare_limits limits = tare_limits_default();
    tare_buffer_init(&url, NULL);
    tare_s3_put_list(&url, &m->remote->options, m->bucket, prefix, TARE_STR(""));
    tare_buffer_put_u8(&url, 0);
    tare_status status = tare_buffer_status(&url, err);
    place.address = (const char *)url.data;
    if (status == TARE_OK) status = ask(&c, &place, "", NULL, err);
    if (status == TARE_OK)
        status =
            tare_s3_list_parse(&list, &token, tare_call_text(&c), prefix, m->arena, &limits, err);
    *out = list.n;
    tare_listing_drop(&list);
    tare_call_end(&c);
    tare_buffer_free(&url);
    return status;
}

tare_status tare_object_fail_exists(const tare_multipart *m, tare_error *err) {
    tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_OUTPUT_EXISTS, "the output exists");
    tare_error_file(err, m->name);
    return TARE_ERR_ARG;
}

/* A request that makes the object appear. The condition is left out for stores that do not know it: they
 * were asked before, too. */
static tare_status ask_to_show(tare_call *c, const tare_multipart *m, const char *query,
                               tare_str type, bool is_new, tare_error *err) {
    char lines[sizeof NEW_ONLY + sizeof BYTES];
    const size_t n_new = sizeof NEW_ONLY - 1;
    memcpy(lines, NEW_ONLY, n_new);
    memcpy(lines + n_new, type.ptr, type.len);
    c->lines = is_new ? (tare_str){lines, n_new + type.len} : type;
    tare_status status = ask(c, m, query, m->id, err);
    const unsigned http = c->t.response.status;
    if (status != TARE_OK && is_new && http == 412 && !c->was_repeated)
        status = tare_object_fail_exists(m, err);
    if (status != TARE_OK && is_new && http == 501) {
        tare_call_end(c);
        c->lines = type;
        status = ask(c, m, query, m->id, err);
    }
    c->lines = TARE_STR("");
    return status;
}

/* The answer to an earlier try may have been lost: then the upload is gone, and the object new. */
static bool is_there(tare_object_facts *out, const tare_call *c, const tare_multipart *m,
                     const tare_object_facts *before, uint64_t size) {
    if (!c->was_repeated || !(tare_call_says(c, "NoSuchUpload") || c->t.response.status == 412))
        return false;
    return tare_object_look(out, m, NULL) == TARE_OK && out->exists && out->size == size &&
           !(before->exists && strcmp(before->etag, out->etag) == 0);
}

tare_status tare_object_put(tare_object_facts *out, const tare_multipart *m,
                            const tare_object_facts *before, const void *bytes, size_t n,
                            bool is_new, tare_error *err) {
    char digest[65];
    tare_sha256_hex(digest, bytes, n);
    tare_call c = {
        .method = "PUT", .body = n ? bytes : "", .n_body = n, .digest = digest, .is_careful = true};
    const tare_str type = {BYTES, sizeof BYTES - 1};
    tare_status status = ask_to_show(&c, m, "", type, is_new, err);
    take_facts(out, &c.t.response);
    out->size = n;
    if (status != TARE_OK && is_there(out, &c, m, before, n)) status = TARE_OK;
    tare_call_end(&c);
    return status;
}

/* ---- multipart uploads ----------------------------------------------------------------------- */

/* The text of an element of an answer, in the arena; NULL: there is none. */
static const char *take_element(const tare_multipart *m, const tare_call *c, const char *name) {
    tare_str text;
    const bool is_good = tare_xml_text(&text, tare_xml_find(tare_call_text(c), name), m->arena);
    return is_good && text.len ? text.ptr : NULL;
}

tare_status tare_multipart_begin(tare_multipart *m, tare_error *err) {
    tare_call c = {.method = "POST", .body = "", .lines = {BYTES, sizeof BYTES - 1}};
    tare_status status = ask(&c, m, "?uploads=", NULL, err);
    if (status == TARE_OK) m->id = take_element(m, &c, "UploadId");
    if (status == TARE_OK && !m->id) {
        status = tare_call_fault(&c, TARE_ERR_CORRUPT, "UploadId: missing in the answer");
        if (err) *err = c.err;
    }
    tare_call_end(&c);
    return status;
}

void tare_multipart_put_part(tare_buffer *out, const tare_multipart *m, size_t number) {
    tare_buffer_printf(out, "%s?partNumber=%zu&uploadId=", m->address, number);
    tare_url_put_path(out, tare_str_of(m->id), true, false);
}

/* The list of parts; what a tag has of XML's characters is its quotation marks. */
static void put_list(tare_buffer *out, const tare_multipart *m) {
    tare_buffer_put_text(out, "<CompleteMultipartUpload>");
    for (size_t i = 0; i < m->n_parts; i++) {
        tare_buffer_printf(out, "<Part><PartNumber>%zu</PartNumber><ETag>", i + 1);
        for (const char *at = m->tags[i]; *at; at++)
            if (*at == '"')
                tare_buffer_put_text(out, "&quot;");
            else
                tare_buffer_put_u8(out, (uint8_t)*at);
        tare_buffer_put_text(out, "</ETag></Part>");
    }
    tare_buffer_put_text(out, "</CompleteMultipartUpload>");
}

tare_status tare_multipart_complete(tare_object_facts *out, const tare_multipart *m,
                                    const tare_object_facts *before, uint64_t size, bool is_new,
                                    tare_error *err) {
    char digest[65];
    tare_buffer list;
    tare_buffer_init(&list, NULL);
    put_list(&list, m);
    tare_status status = tare_buffer_status(&list, err);
    if (status == TARE_OK) {
        tare_sha256_hex(digest, list.data, list.size);
        tare_call c = {.method = "POST",
                       .body = list.data,
                       .n_body = list.size,
                       .digest = digest,
                       .is_careful = true,
                       .is_patient = true};
        const tare_str type = {XML, sizeof XML - 1};
        status = ask_to_show(&c, m, "?uploadId=", type, is_new, err);
        if (status == TARE_OK) {
            const char *etag = take_element(m, &c, "ETag");
            *out = (tare_object_facts){.exists = true, .size = size};
            if (etag) snprintf(out->etag, sizeof out->etag, "%s", etag);
        } else if (is_there(out, &c, m, before, size)) {
            status = TARE_OK;
        }
        tare_call_end(&c);
    }
    tare_buffer_free(&list);
    return status;
}

tare_status tare_multipart_abort(const tare_multipart *m, const char *id, tare_error *err) {
    tare_call c = {.method = "DELETE", .is_cleaning = true};
    tare_status status = ask(&c, m, "?uploadId=", id, err);
    if (status != TARE_OK && tare_call_says(&c, "NoSuchUpload")) status = TARE_OK;
    tare_call_end(&c);
    return status;
}
