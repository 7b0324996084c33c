/* SPDX-License-Identifier: MIT
 *
 * Uploads that nobody completed, of runs that were killed: a store keeps their parts, unseen and paid for,
 * until somebody removes them (ListMultipartUploads, ListParts, AbortMultipartUpload). */
#include "base/str.h"
#include "remote/multipart.h"
#include "remote/upload_list.h"
#include "remote/url.h"

typedef struct uploads {
    tare_multipart place;
    bool is_folder;
    tare_arena arena;
    tare_upload_fn visit;
    void *ctx;
    bool aborts;
    tare_upload_page page;
    tare_str next_key, next_id; /* where the next page begins; no key: there is none */
} uploads;

static tare_status get(tare_call *c, const uploads *u, const tare_buffer *url, tare_error *err) {
    TARE_TRY(tare_buffer_status(url, err));
    *c = (tare_call){.name = u->place.name, .method = "GET", .url = (const char *)url->data};
    return tare_call_make(c, u->place.remote, err);
}

/* ---- parts of one ---------------------------------------------------------------------------- */

/* What it takes up in the store; `key` is the object's. *is_gone: nothing, its run has ended since. */
static tare_status count_parts(tare_upload *out, bool *is_gone, const uploads *u, tare_str key,
                               tare_error *err) {
    tare_upload_parts sum = {.n = 0};
    tare_status status;
    do {
        tare_call c;
        tare_buffer url;
        tare_buffer_init(&url, NULL);
        tare_s3_put_address(&url, &u->place.remote->options, u->place.bucket, key);
        tare_buffer_put_text(&url, "?");
        if (sum.next)
            tare_buffer_printf(&url, "part-number-marker=%llu&", (unsigned long long)sum.next);
        tare_buffer_put_text(&url, "uploadId=");
        tare_url_put_path(&url, tare_str_of(out->id), true, false);
        tare_buffer_put_u8(&url, 0);
        status = get(&c, u, &url, err);
        *is_gone = !url.failed && tare_call_says(&c, "NoSuchUpload");
        if (*is_gone)
            status = TARE_OK;
        else if (status == TARE_OK)
            status = tare_upload_parts_parse(&sum, tare_call_text(&c), err);
        if (!url.failed) tare_call_end(&c);
        tare_buffer_free(&url);
    } while (status == TARE_OK && sum.next && !*is_gone);
    out->n_parts = sum.n;
    out->n_bytes = sum.n_bytes;
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
    bool is_gone = false;
    tare_buffer_init(&name, NULL);
    tare_buffer_init(&address, NULL);
    tare_buffer_printf(&name, "s3://%.*s/%.*s%c", (int)place.bucket.len, place.bucket.ptr,
                       (int)key.len, key.ptr, 0);
    tare_s3_put_address(&address, &place.remote->options, place.bucket, key);
    tare_buffer_put_u8(&address, 0);
    tare_status status = tare_buffer_status(&name, err);
    if (status == TARE_OK) status = tare_buffer_status(&address, err);
    if (status == TARE_OK) status = count_parts(upload, &is_gone, u, key, err);
    place.name = upload->name = (const char *)name.data;
    place.address = (const char *)address.data;
    const bool is_left = status == TARE_OK && !is_gone;
    if (is_left && u->aborts) status = tare_multipart_abort(&place, upload->id, err);
    if (is_left && status == TARE_OK) u->visit(u->ctx, upload);
    tare_buffer_free(&address);
    tare_buffer_free(&name);
    return status;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static tare_status tell_page(const uploads *u, tare_error *err) {
    for (size_t i = 0; i < u->page.n; i++) {
        const tare_upload_entry *e = &u->page.entries[i];
        tare_upload upload = tare_upload_default();
        upload.id = e->id.ptr;
        upload.begun = e->begun.len ? e->begun.ptr : "";
        if (is_meant(u, e->key)) TARE_TRY(tell(u, e->key, &upload, err));
    }
    return TARE_OK;
}

static tare_status take_page(uploads *u, tare_str text, tare_error *err) {
    TARE_TRY(tare_upload_page_parse(&u->page, text, &u->arena, err));
    if (u->page.next_key.len && tare_str_equal(u->page.next_key, u->next_key) &&
        tare_str_equal(u->page.next_id, u->next_id))
        return tare_fail(err, TARE_ERR_CORRUPT, "list of uploads: the same page again");
    u->next_key = u->page.next_key;
    u->next_id = u->page.next_id;
    return tell_page(u, err);
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
    put_query(&url, u->next_key.len ? "?key-marker=" : "?", u->next_key);
    put_query(&url, u->next_key.len ? "&prefix=" : "prefix=", u->place.key);
    if (u->next_key.len) put_query(&url, "&upload-id-marker=", u->next_id);
    tare_buffer_put_text(&url, "&uploads=");
    tare_buffer_put_u8(&url, 0);
    tare_status status = get(&c, u, &url, err);
    if (status == TARE_OK) status = take_page(u, tare_call_text(&c), err);
    tare_upload_page_drop(&u->page, &u->arena);
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
        } while (status == TARE_OK && u.next_key.len);
    tare_arena_free(&u.arena);
    if (status != TARE_OK) tare_error_file(err, url);
    return status;
}

TARE_DEFINE_INIT(tare_upload)
