/* SPDX-License-Identifier: MIT
 *
 * docs.aws.amazon.com/AmazonS3/latest/API: ListMultipartUploads, ListParts. */
#include "remote/upload_list.h"

#include "base/arith.h"
#include "remote/xml.h"

typedef struct reading {
    tare_xml xml;
    tare_arena *arena;
    bool is_truncated;
} reading;

static tare_status fail_here(const reading *r, const char *what, tare_error *err) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, r->xml.pos, what);
}

/* The next end of an element; *is_over: there is none. */
static tare_status next_end(bool *is_over, reading *r, const char *root, tare_error *err) {
    for (;;) {
        const tare_xml_event event = tare_xml_next(&r->xml);
        *is_over = event == TARE_XML_DONE;
        if (event == TARE_XML_FAULT) return fail_here(r, r->xml.what, err);
        if (event == TARE_XML_BEGIN && r->xml.depth == 1 && !tare_str_is(r->xml.name, root))
            return fail_here(r, "the answer is not the list that was asked for", err);
        if (event != TARE_XML_BEGIN) return TARE_OK;
    }
}

static tare_status take_text(tare_str *out, const reading *r, tare_error *err) {
    const bool is_good = tare_xml_text(out, r->xml.text, r->arena);
    if (!out->ptr) return tare_fail(err, TARE_ERR_NOMEM, "list of uploads");
    return is_good ? TARE_OK : fail_here(r, "text expected", err);
}

static tare_status take_number(uint64_t *out, const reading *r, tare_error *err) {
    return tare_xml_number(out, r->xml.text) ? TARE_OK : fail_here(r, "a number expected", err);
}

/* ---- uploads --------------------------------------------------------------------------------- */

static tare_status add_entry(tare_upload_page *out, tare_upload_entry *e, const reading *r,
                             tare_error *err) {
    void *items = out->entries;
    if (!e->key.len || !e->id.len) return fail_here(r, "Upload: Key and UploadId expected", err);
    if (!tare_grow(r->arena->allocator, &items, &out->capacity, out->n + 1, sizeof *out->entries))
        return tare_fail(err, TARE_ERR_NOMEM, "list of uploads");
    out->entries = items;
    out->entries[out->n++] = *e;
    *e = (tare_upload_entry){.key = TARE_STR("")};
    return TARE_OK;
}

/* What an element of the list or of an upload says. */
static tare_status take_element(tare_upload_page *out, tare_upload_entry *e, reading *r,
                                tare_error *err) {
    const struct {
        const char *name;
        unsigned depth;
        tare_str *text;
    } texts[] = {{"Key", 2, &e->key},
                 {"UploadId", 2, &e->id},
                 {"Initiated", 2, &e->begun},
                 {"NextKeyMarker", 1, &out->next_key},
                 {"NextUploadIdMarker", 1, &out->next_id}};
    if (r->xml.depth == 2 && !tare_str_is(r->xml.open[1], "Upload")) return TARE_OK;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (r->xml.depth == texts[i].depth && tare_str_is(r->xml.name, texts[i].name))
            return take_text(texts[i].text, r, err);
    if (r->xml.depth != 1) return TARE_OK;
    if (tare_str_is(r->xml.name, "IsTruncated")) r->is_truncated = tare_str_is(r->xml.text, "true");
    return tare_str_is(r->xml.name, "Upload") ? add_entry(out, e, r, err) : TARE_OK;
}

tare_status tare_upload_page_parse(tare_upload_page *out, tare_str xml, tare_arena *arena,
                                   tare_error *err) {
    reading r = {.arena = arena};
    tare_upload_entry e = {.key = TARE_STR("")};
    *out = (tare_upload_page){.n = 0};
    tare_xml_init(&r.xml, xml);
    for (bool is_over;;) {
        TARE_TRY(next_end(&is_over, &r, "ListMultipartUploadsResult", err));
        if (is_over) break;
        TARE_TRY(take_element(out, &e, &r, err));
    }
    if (r.is_truncated && !out->next_key.len) return fail_here(&r, "NextKeyMarker: missing", err);
    if (!r.is_truncated) out->next_key = out->next_id = TARE_STR("");
    return TARE_OK;
}

void tare_upload_page_drop(tare_upload_page *page, const tare_arena *arena) {
    tare_free(arena->allocator, page->entries, page->capacity * sizeof *page->entries);
    *page = (tare_upload_page){.n = 0};
}

/* ---- parts of one ---------------------------------------------------------------------------- */

static tare_status add_part(tare_upload_parts *sum, const reading *r, tare_error *err) {
    uint64_t size;
    TARE_TRY(take_number(&size, r, err));
    if (!tare_add_u64(sum->n_bytes, size, &sum->n_bytes))
        return fail_here(r, "Size: parts of more bytes than there are", err);
    sum->n++;
    return TARE_OK;
}

tare_status tare_upload_parts_parse(tare_upload_parts *sum, tare_str xml, tare_error *err) {
    reading r = {.is_truncated = false};
    const uint64_t before = sum->next;
    uint64_t next = 0;
    tare_xml_init(&r.xml, xml);
    for (bool is_over;;) {
        TARE_TRY(next_end(&is_over, &r, "ListPartsResult", err));
        if (is_over) break;
        const tare_str name = r.xml.name;
        const bool is_of_part = r.xml.depth == 2 && tare_str_is(r.xml.open[1], "Part");
        if (is_of_part && tare_str_is(name, "Size")) TARE_TRY(add_part(sum, &r, err));
        if (r.xml.depth != 1) continue;
        if (tare_str_is(name, "IsTruncated")) r.is_truncated = tare_str_is(r.xml.text, "true");
        if (tare_str_is(name, "NextPartNumberMarker") && r.xml.text.len)
            TARE_TRY(take_number(&next, &r, err));
    }
    sum->next = r.is_truncated ? next : 0;
    if (r.is_truncated && next <= before)
        return fail_here(&r, "NextPartNumberMarker: missing, or the same page again", err);
    return TARE_OK;
}
