/* SPDX-License-Identifier: MIT
 *
 * Our private sections of MCF: named blobs (docs/mcf.md, "Private sections"). 0x7A01 holds files of
 * a model for which MCF has no section, 0x7A02 metadata of other containers, as JSON with types:
 * one blob for each kind of keys. */
#include "base/arith.h"
#include "base/str.h"
#include "format/mcf/mcf.h"

#define HEAD_BYTES   16
#define RECORD_BYTES 24
#define BLOB_ALIGN   8

typedef struct blob {
    tare_str name;
    uint64_t offset, size; /* in the section */
} blob;

/* ---- reading --------------------------------------------------------------------------------- */

static tare_status read_record(const tare_mcf_section *s, tare_cursor *c, const tare_cursor *names,
                               uint64_t data_from, blob *out, tare_error *err) {
    uint64_t at = tare_cursor_offset(c), n_names = tare_cursor_left(names);
    uint32_t name_off = tare_cursor_u32(c, "blob: name_off");
    uint32_t name_len = tare_cursor_u32(c, "blob: name_len");
    out->offset = tare_cursor_u64(c, "blob: data_off");
    out->size = tare_cursor_u64(c, "blob: data_size");
    TARE_TRY(tare_cursor_status(c, err));
    if (name_len == 0 || name_off > n_names || name_len > n_names - name_off)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "blob: the name is not inside the names");
    if (out->offset < data_from || out->offset > s->size || out->size > s->size - out->offset)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at + 8,
                            "blob: the data is not inside the section");
    out->name = (tare_str){(const char *)names->pos + name_off, name_len};
    return TARE_OK;
}

/* The records of a section; blobs may share bytes: the only check is that they are inside. */
static tare_status read_blobs(tare_mcf_reader *r, const tare_mcf_section *s, blob **out, size_t *n,
                              tare_error *err) {
    tare_cursor head, body;
    uint64_t room = tare_min_u64(s->size, HEAD_BYTES), table;
    TARE_TRY(tare_mcf_load(r, s, 0, room, &head, err));
    uint32_t version = tare_cursor_u32(&head, "blobs: version");
    if (tare_cursor_ok(&head) && version != 1)
        tare_cursor_fail(&head, TARE_ERR_UNSUPPORTED, s->offset, "blobs: version, expected 1");
    uint32_t count = tare_cursor_u32(&head, "blobs: count");
    uint64_t names_size = tare_cursor_u64(&head, "blobs: names_size");
    TARE_TRY(tare_cursor_status(&head, err));
    room = s->size - HEAD_BYTES;
    if (count > room / RECORD_BYTES)
        return tare_fail_at(err, TARE_ERR_CORRUPT, s->offset + 4,
                            "blobs: count, the records are not inside the section");
    table = (uint64_t)count * RECORD_BYTES;
    if (names_size > room - table)
        return tare_fail_at(err, TARE_ERR_CORRUPT, s->offset + 8,
                            "blobs: names_size, the names are not inside the section");
    TARE_TRY(tare_mcf_load(r, s, HEAD_BYTES, table + names_size, &body, err));
    tare_cursor records = tare_cursor_sub(&body, table, "blobs");
    *out = TARE_NEW_ARRAY(&r->m->arena, blob, count);
    if (!*out) return tare_fail(err, TARE_ERR_NOMEM, "blobs");
    for (*n = 0; *n < count; ++*n)
        TARE_TRY(
            read_record(s, &records, &body, HEAD_BYTES + table + names_size, &(*out)[*n], err));
    return TARE_OK;
}

tare_status tare_mcf_read_files(tare_mcf_reader *r, const tare_mcf_section *s, tare_error *err) {
    tare_catalog *c = &r->m->catalog;
    blob *blobs;
    size_t n;
    TARE_TRY(read_blobs(r, s, &blobs, &n, err));
    tare_resource_entry *list =
        TARE_NEW_ARRAY(&r->m->arena, tare_resource_entry, (uint64_t)c->n_resources + n);
    if (!list) return tare_fail(err, TARE_ERR_NOMEM, "resources");
    if (c->n_resources) memcpy(list, c->resources, c->n_resources * sizeof *list);
    c->resources = list;
    for (size_t i = 0; i < n; i++)
        list[c->n_resources++] = (tare_resource_entry){.info = {blobs[i].name, blobs[i].size},
                                                       .file = r->file,
                                                       .offset = s->offset + blobs[i].offset};
    return TARE_OK;
}

tare_status tare_mcf_read_metadata(tare_mcf_reader *r, const tare_mcf_section *s, tare_error *err) {
    tare_catalog *c = &r->m->catalog;
    blob *blobs;
    size_t n;
    TARE_TRY(read_blobs(r, s, &blobs, &n, err));
    for (size_t i = 0; i < n; i++) {
        tare_cursor text;
        tare_key_space space = TARE_KEYS_MODEL;
        uint64_t at = s->offset + blobs[i].offset;
        if (tare_str_is(blobs[i].name, "safetensors"))
            space = TARE_KEYS_SAFETENSORS;
        else if (!tare_str_is(blobs[i].name, "model"))
            continue; /* a later version's */
        TARE_TRY(tare_mcf_load(r, s, blobs[i].offset, blobs[i].size, &text, err));
        size_t first = c->n_metadata;
        tare_status status = tare_metadata_from_json(
            &c->metadata, &c->n_metadata, (tare_str){(const char *)text.pos, (size_t)blobs[i].size},
            &r->m->arena, &r->m->limits, err);
        if (status != TARE_OK) {
            if (err && err->offset != TARE_NO_OFFSET) err->offset += at;
            return status;
        }
        for (size_t k = first; k < c->n_metadata; k++) c->metadata[k].space = space;
    }
    return TARE_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

void tare_mcf_put_blobs(tare_buffer *out, const tare_str *names, const uint64_t *sizes, size_t n,
                        uint64_t *data_at, uint64_t *size) {
    uint64_t names_size = 0, at, name_off = 0;
    for (size_t i = 0; i < n; i++) names_size += names[i].len;
    at = HEAD_BYTES + (uint64_t)n * RECORD_BYTES + names_size;
    tare_buffer_put_u32(out, 1, false);
    tare_buffer_put_u32(out, (uint32_t)n, false);
    tare_buffer_put_u64(out, names_size, false);
    for (size_t i = 0; i < n; i++) {
        tare_align_u64(at, BLOB_ALIGN, &at);
        data_at[i] = at;
        tare_buffer_put_u32(out, (uint32_t)name_off, false);
        tare_buffer_put_u32(out, (uint32_t)names[i].len, false);
        tare_buffer_put_u64(out, at, false);
        tare_buffer_put_u64(out, sizes[i], false);
        name_off += names[i].len;
        at += sizes[i];
    }
    for (size_t i = 0; i < n; i++) tare_buffer_put_str(out, names[i]);
    *size = at;
}
