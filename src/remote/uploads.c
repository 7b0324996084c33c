/* SPDX-License-Identifier: MIT
 *
 * Uploads that nobody completed, of runs that were killed: a store keeps their parts, unseen and paid for,
 * until somebody removes them (ListMultipartUploads, ListParts, AbortMultipartUpload). */
#include "base/str.h"
#include "remote/multipart.h"
#include "remote/url.h"
#include "remote/xml.h"

typedef struct uploads {
    tare_multipart place;
    bool is_folder;
    tare_arena arena;
    tare_upload_fn visit;
    void *ctx;
    bool aborts;
    tare_str key_marker, id_marker; /* where the next page begins; empty: there is none */
} uploads;

/* The text of the element that ended, in the arena; ptr NULL: memory is out, or it is malformed. */
static tare_str take_text(uploads *u, const tare_xml *xml) {
    tare_buffer text;
    tare_buffer_init(&text, NULL);
    const bool is_good = tare_xml_unescape(&text, xml->text) && !text.failed;
    tare_str out = {NULL, 0};
    if (is_good) out = tare_arena_str(&u->arena, (tare_str){(const char *)text.data, text.size});
    tare_buffer_free(&text);
    return out;
}

static tare_status get(tare_call *c, const uploads *u, const tare_buffer *url, tare_error *err) {
    TARE_TRY(tare_buffer_status(url, err));
    *c = (tare_call){.name = u->place.name, .method = "GET", .url = (const char *)url->data};
    return tare_call_make(c, u->place.remote, err);
}

static tare_status fail_answer(tare_call *c, const char *what, tare_error *err) {
    tare_call_fault(c, TARE_ERR_CORRUPT, what);
    if (err) *err = c->err;
    return TARE_ERR_CORRUPT;
}

/* ---- parts of one ---------------------------------------------------------------------------- */

static uint64_t number(tare_str text) {
    uint64_t n = 0;
    for (size_t i = 0; i < text.len && i < 18 && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++)
        n = n * 10 + (uint64_t)(text.ptr[i] - '0');
    return n;
}

/* Adds a page of parts; *marker: the next one's, 0 behind the last. */
static tare_status read_parts(tare_upload *out, uint64_t *marker, tare_str text) {
    tare_xml xml;
    bool is_truncated = false;
    uint64_t next = 0;
    tare_xml_init(&xml, text);
    for (tare_xml_event event; (event = tare_xml_next(&xml)) != TARE_XML_DONE;) {
        if (event == TARE_XML_FAULT) return TARE_ERR_CORRUPT;
        if (event != TARE_XML_END) continue;
        const bool is_in_part = xml.depth == 2 && tare_str_is(xml.open[1], "Part");
        if (is_in_part && tare_str_is(xml.name, "Size")) {
            out->n_parts++;
            out->n_bytes += number(xml.text);
        } else if (xml.depth == 1 && tare_str_is(xml.name, "IsTruncated")) {
            is_truncated = tare_str_is(xml.text, "true");
        } else if (xml.depth == 1 && tare_str_is(xml.name, "NextPartNumberMarker")) {
            next = number(xml.text);
        }
    }
    *marker = is_truncated && next > *marker ? next : 0;
    return TARE_OK;
}

/* What it takes up in the store; `key` is the object's. */
static tare_status count_parts(tare_upload *out, const uploads *u, tare_str key, tare_error *err) {
    uint64_t marker = 0;
    tare_status status;
    do {
        tare_call c;
        tare_buffer url;
        tare_buffer_init(&url, NULL);
        tare_s3_put_address(&url, &u->place.remote->options, u->place.bucket, key);
        tare_buffer_put_text(&url, "?");
        if (marker)
            tare_buffer_printf(&url, "part-number-marker=%llu&", (unsigned long long)marker);
        tare_buffer_put_text(&url, "uploadId=");
        tare_url_put_path(&url, tare_str_of(out->id), true, false);
        tare_buffer_put_u8(&url, 0);
        status = get(&c, u, &url, err);
        if (status == TARE_OK && read_parts(out, &marker, tare_call_text(&c)) != TARE_OK)
            status = fail_answer(&c, "list of parts: malformed", err);
        if (!url.failed) tare_call_end(&c);
        tare_buffer_free(&url);
    } while (status == TARE_OK && marker);
    return status;
}

/* ---- one ------------------------------------------------------------------------------------- */

/* Whether an upload is one of those that are asked for: of this key, or of one below the folder. */
static bool is_meant(const uploads *u, tare_str key) {
    const tare_str wanted = u->place.key;
    if (!u->is_folder) return tare_str_equal(key, wanted);
    return !wanted.len ||
           (tare_str_starts(key, wanted) && key.len > wanted.len && key.ptr[wanted.len] == '/');
}

static tare_status tell(const uploads *u, tare_str key, tare_upload *upload, tare_error *err) {
    tare_buffer name, address;
    tare_multipart place = u->place;
    tare_buffer_init(&name, NULL);
    tare_buffer_init(&address, NULL);
    tare_buffer_printf(&name, "s3://%.*s/%.*s%c", (int)place.bucket.len, place.bucket.ptr,
                       (int)key.len, key.ptr, 0);
    tare_s3_put_address(&address, &place.remote->options, place.bucket, key);
    tare_buffer_put_u8(&address, 0);
    tare_status status = tare_buffer_status(&name, err);
    if (status == TARE_OK) status = tare_buffer_status(&address, err);
    if (status == TARE_OK) status = count_parts(upload, u, key, err);
    place.name = upload->name = (const char *)name.data;
    place.address = (const char *)address.data;
    if (status == TARE_OK && u->aborts) status = tare_multipart_abort(&place, upload->id, err);
    if (status == TARE_OK) u->visit(u->ctx, upload);
    tare_buffer_free(&address);
    tare_buffer_free(&name);
    return status;
}

/* ---- lists ----------------------------------------------------------------------------------- */

typedef struct entry {
    tare_str key, id, begun;
} entry;

static tare_status tell_entry(uploads *u, const entry *e, tare_call *c, tare_error *err) {
    tare_upload upload = tare_upload_default();
    if (!e->key.len || !e->id.len) return fail_answer(c, "Upload: Key and UploadId expected", err);
    if (!is_meant(u, e->key)) return TARE_OK;
    upload.id = e->id.ptr;
    upload.begun = e->begun.ptr ? e->begun.ptr : "";
    return tell(u, e->key, &upload, err);
}

static void take_field(uploads *u, entry *e, const tare_xml *xml) {
    if (tare_str_is(xml->name, "Key")) e->key = take_text(u, xml);
    if (tare_str_is(xml->name, "UploadId")) e->id = take_text(u, xml);
    if (tare_str_is(xml->name, "Initiated")) e->begun = take_text(u, xml);
}

static tare_status read_page(uploads *u, tare_call *c, tare_error *err) {
    const tare_str key_before = u->key_marker, id_before = u->id_marker;
    tare_xml xml;
    entry e = {.key = TARE_STR("")};
    bool is_truncated = false;
    u->key_marker = u->id_marker = TARE_STR("");
    tare_xml_init(&xml, tare_call_text(c));
    for (tare_xml_event event; (event = tare_xml_next(&xml)) != TARE_XML_DONE;) {
        if (event == TARE_XML_FAULT) return fail_answer(c, xml.what, err);
        if (event == TARE_XML_BEGIN && xml.depth == 2) e = (entry){.key = TARE_STR("")};
        if (event != TARE_XML_END) continue;
        if (xml.depth == 2 && tare_str_is(xml.open[1], "Upload")) take_field(u, &e, &xml);
        if (xml.depth != 1) continue;
        if (tare_str_is(xml.name, "Upload")) TARE_TRY(tell_entry(u, &e, c, err));
        if (tare_str_is(xml.name, "IsTruncated")) is_truncated = tare_str_is(xml.text, "true");
        if (tare_str_is(xml.name, "NextKeyMarker")) u->key_marker = take_text(u, &xml);
        if (tare_str_is(xml.name, "NextUploadIdMarker")) u->id_marker = take_text(u, &xml);
    }
    if (!is_truncated) u->key_marker = TARE_STR("");
    if (is_truncated && (!u->key_marker.len || (tare_str_equal(u->key_marker, key_before) &&
                                                tare_str_equal(u->id_marker, id_before))))
        return fail_answer(c, "NextKeyMarker: missing, or the same page again", err);
    return TARE_OK;
}

static void put_query(tare_buffer *out, const char *name, tare_str value) {
    tare_buffer_put_text(out, name);
    tare_url_put_path(out, value, true, false);
}

static tare_status list_page(uploads *u, tare_error *err) {
    tare_call c;
    tare_buffer url;
    tare_buffer_init(&url, NULL);
    tare_s3_put_address(&url, &u->place.remote->options, u->place.bucket, TARE_STR(""));
    put_query(&url, u->key_marker.len ? "?key-marker=" : "?", u->key_marker);
    put_query(&url, u->key_marker.len ? "&prefix=" : "prefix=", u->place.key);
    if (u->key_marker.len) put_query(&url, "&upload-id-marker=", u->id_marker);
    tare_buffer_put_text(&url, "&uploads=");
    tare_buffer_put_u8(&url, 0);
    tare_status status = get(&c, u, &url, err);
    if (status == TARE_OK) status = read_page(u, &c, err);
    if (!url.failed) tare_call_end(&c);
    tare_buffer_free(&url);
    return status;
}

tare_status tare_remote_uploads(tare_remote *remote, const char *url, bool aborts,
                                tare_upload_fn visit, void *ctx, tare_error *err) {
    TARE_REQUIRE(remote && url && visit, err);
    if (!tare_same_letters(url, "s3://", 5))
        return tare_fail(err, TARE_ERR_ARG, "s3://BUCKET/KEY expected");
    const size_t n = strlen(url);
    uploads u = {.visit = visit, .ctx = ctx, .aborts = aborts};
    tare_arena_init(&u.arena, remote->options.context->allocator);
    tare_status status = tare_multipart_init(&u.place, remote, &u.arena, url, err);
    u.is_folder = status == TARE_OK && (u.place.key.len == 0 || url[n - 1] == '/');
    if (status == TARE_OK) do {
            status = list_page(&u, err);
        } while (status == TARE_OK && u.key_marker.len);
    tare_arena_free(&u.arena);
    return status;
}

TARE_DEFINE_INIT(tare_upload)
