/* SPDX-License-Identifier: MIT
 *
 * Reading the directory of a zip archive. The end record is searched from the end of the file;
 * where a member's data begin, only the header before them says, since writers pad there. */
#include "base/zip.h"

#include <libdeflate.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/str.h"

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    ENTRY_BYTES = 46,
    HEADER_BYTES = 30,
    COMMENT_MOST = 65535,
    ZIP64_FIELD = 1, /* of the extra fields of an entry */
    ENCRYPTED = 1,   /* of the flags */
    ALL_16 = 0xffff  /* the ZIP64 record says it */
};
#define ALL_32        UINT32_C(0xffffffff)
#define HEADER_MAGIC  UINT32_C(0x04034b50)
#define ENTRY_MAGIC   UINT32_C(0x02014b50)
#define END_MAGIC     UINT32_C(0x06054b50)
#define END64_MAGIC   UINT32_C(0x06064b50)
#define LOCATOR_MAGIC UINT32_C(0x07064b50)

typedef struct directory {
    uint64_t offset, size, n; /* its entries */
    uint64_t end;             /* where the records that follow it begin */
} directory;

bool tare_zip_probe(const void *head, size_t size) {
    return size >= HEADER_BYTES && tare_load_le32(head) == HEADER_MAGIC;
}

/* ---- the end of the archive ------------------------------------------------------------------ */

/* The last record of its kind whose comment ends with the file; `tail` is the file's end. */
static const uint8_t *find_end(const uint8_t *tail, size_t size) {
    for (size_t at = size - END_BYTES + 1; at-- > 0;)
        if (tare_load_le32(tail + at) == END_MAGIC &&
            tare_load_le16(tail + at + 20) == size - at - END_BYTES)
            return tail + at;
    return NULL;
}

static tare_status read_end64(directory *out, const tare_reader *r, uint64_t end, bool *is_there,
                              tare_error *err) {
    uint8_t locator[LOCATOR_BYTES], record[END64_BYTES];
    *is_there = false;
    if (end < LOCATOR_BYTES) return TARE_OK;
    TARE_TRY(tare_reader_read(r, end - LOCATOR_BYTES, locator, sizeof locator, err));
    if (tare_load_le32(locator) != LOCATOR_MAGIC) return TARE_OK;
    const uint64_t at = tare_load_le64(locator + 8);
    if (at > end - LOCATOR_BYTES || end - LOCATOR_BYTES - at < END64_BYTES)
        return tare_fail_at(err, TARE_ERR_CORRUPT, end - LOCATOR_BYTES + 8,
                            "zip: offset of the ZIP64 end record");
    TARE_TRY(tare_reader_read(r, at, record, sizeof record, err));
    if (tare_load_le32(record) != END64_MAGIC)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "zip: ZIP64 end record expected");
    *is_there = true;
    *out = (directory){.n = tare_load_le64(record + 32),
                       .size = tare_load_le64(record + 40),
                       .offset = tare_load_le64(record + 48),
                       .end = at};
    return TARE_OK;
}

/* From the end record at `at`, whose bytes are given, and that of ZIP64 where there is one. */
static tare_status read_end(directory *out, const tare_reader *r, uint64_t at, const uint8_t *end,
                            tare_error *err) {
    bool is_there;
    if (tare_load_le16(end + 4) != 0 && tare_load_le16(end + 4) != ALL_16)
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, at + 4, "zip: an archive in several parts");
    TARE_TRY(read_end64(out, r, at, &is_there, err));
    if (!is_there)
        *out = (directory){.n = tare_load_le16(end + 10),
                           .size = tare_load_le32(end + 12),
                           .offset = tare_load_le32(end + 16),
                           .end = at};
    uint64_t stop;
    if (!tare_add_u64(out->offset, out->size, &stop) || stop > out->end)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at + 12,
                            "zip: the directory is not inside the archive");
    return TARE_OK;
}

static tare_status find_directory(directory *out, const tare_reader *r, tare_error *err) {
    const size_t size = (size_t)tare_min_u64(r->size, END_BYTES + COMMENT_MOST);
    if (size < END_BYTES)
        return tare_fail(err, TARE_ERR_TRUNCATED, "zip: the file is shorter than an end record");
    uint8_t *tail = tare_alloc(NULL, size);
    if (!tail) return tare_fail(err, TARE_ERR_NOMEM, "zip: end record");
    tare_status status = tare_reader_read(r, r->size - size, tail, size, err);
    const uint8_t *end = status == TARE_OK ? find_end(tail, size) : NULL;
    if (end)
        status = read_end(out, r, r->size - size + (uint64_t)(end - tail), end, err);
    else if (status == TARE_OK)
        status = tare_fail_at(err, TARE_ERR_TRUNCATED, r->size,
                              "zip: the archive has no end record: it was cut, or is still "
                              "being written");
    tare_free(NULL, tail, size);
    return status;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Sizes and offset that do not fit 32 bits, in the order in which the entry lacks them. */
static void read_zip64(tare_cursor *c, tare_zip_member *m) {
    if (m->size == ALL_32) m->size = tare_cursor_u64(c, "zip: ZIP64 size");
    if (m->stored == ALL_32) m->stored = tare_cursor_u64(c, "zip: ZIP64 size in the archive");
    if (m->header == ALL_32) m->header = tare_cursor_u64(c, "zip: ZIP64 offset");
}

static void read_extra(tare_cursor *c, tare_zip_member *m, uint64_t size) {
    tare_cursor extra = tare_cursor_sub(c, size, "zip: extra fields");
    while (tare_cursor_left(&extra) >= 4) {
        const uint16_t id = tare_cursor_u16(&extra, "zip: extra field");
        const uint16_t n = tare_cursor_u16(&extra, "zip: size of an extra field");
        tare_cursor field = tare_cursor_sub(&extra, n, "zip: extra field");
        if (id == ZIP64_FIELD) read_zip64(&field, m);
        if (!tare_cursor_ok(&field))
            tare_cursor_fail(c, field.err.status, field.err.offset, field.err.what);
    }
}

static void read_entry(tare_cursor *c, tare_zip_member *m) {
    *m = (tare_zip_member){.record = tare_cursor_offset(c)};
    if (tare_cursor_u32(c, "zip: entry") != ENTRY_MAGIC)
        tare_cursor_fail(c, TARE_ERR_CORRUPT, m->record, "zip: entry expected");
    tare_cursor_take(c, 4, "zip: versions");
    m->is_encrypted = tare_cursor_u16(c, "zip: flags") & ENCRYPTED;
    m->method = tare_cursor_u16(c, "zip: method");
    tare_cursor_take(c, 4, "zip: time");
    m->crc = tare_cursor_u32(c, "zip: CRC");
    m->stored = tare_cursor_u32(c, "zip: size in the archive");
    m->size = tare_cursor_u32(c, "zip: size");
    const uint16_t name = tare_cursor_u16(c, "zip: length of the name");
    const uint16_t extra = tare_cursor_u16(c, "zip: length of the extra fields");
    const uint16_t comment = tare_cursor_u16(c, "zip: length of the comment");
    tare_cursor_take(c, 8, "zip: disk and attributes");
    m->header = tare_cursor_u32(c, "zip: offset");
    m->name = (tare_str){(const char *)tare_cursor_take(c, name, "zip: name"), name};
    read_extra(c, m, extra);
    tare_cursor_take(c, comment, "zip: comment");
    if (m->method == TARE_ZIP_STORED && m->size != m->stored)
        tare_cursor_fail(c, TARE_ERR_CORRUPT, m->record + 20,
                         "zip: a stored member with two sizes");
}

static tare_status read_entries(tare_zip *out, const directory *d, const uint8_t *bytes,
                                tare_arena *arena, tare_error *err) {
    tare_cursor c;
    tare_cursor_init(&c, bytes, d->size, d->offset);
    if (!tare_cursor_fits(&c, d->n, ENTRY_BYTES, d->end, "zip: number of entries"))
        return tare_cursor_status(&c, err);
    out->members = TARE_NEW_ARRAY(arena, tare_zip_member, d->n);
    if (!out->members) return tare_fail(err, TARE_ERR_NOMEM, "zip: entries");
    for (; out->n < d->n && tare_cursor_ok(&c); out->n++) read_entry(&c, &out->members[out->n]);
    return tare_cursor_status(&c, err);
}

/* ---- where data lie -------------------------------------------------------------------------- */

static tare_status fail_member(const tare_zip_member *m, tare_status status, uint64_t at,
                               const char *what, tare_error *err) {
    tare_fail_at(err, status, at, what);
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, m->name);
    return status;
}

/* Its data begin behind the header, whose name and extra fields have lengths of their own. */
static tare_status locate(tare_zip_member *m, const tare_reader *r, const directory *d,
                          tare_error *err) {
    uint8_t room[HEADER_BYTES];
    const uint8_t *header;
    if (m->header > d->offset || d->offset - m->header < HEADER_BYTES)
        return fail_member(m, TARE_ERR_CORRUPT, m->record + 42, "zip: offset of the member", err);
    TARE_TRY(tare_reader_view(&header, r, m->header, room, sizeof room, err));
    if (tare_load_le32(header) != HEADER_MAGIC)
        return fail_member(m, TARE_ERR_CORRUPT, m->header, "zip: member expected", err);
    m->name_in_header = tare_load_le16(header + 26);
    m->offset = m->header + HEADER_BYTES + m->name_in_header + tare_load_le16(header + 28);
    if (m->offset > d->offset || d->offset - m->offset < m->stored)
        return fail_member(m, TARE_ERR_CORRUPT, m->header,
                           "zip: the member's data are not inside the archive", err);
    return TARE_OK;
}

static int by_header(const void *a, const void *b) {
    const tare_zip_member *x = *(const tare_zip_member *const *)a,
                          *y = *(const tare_zip_member *const *)b;
    if (x->header != y->header) return x->header < y->header ? -1 : 1;
    return (x > y) - (x < y);
}

static tare_status check_overlaps(const tare_zip *zip, tare_arena *arena, tare_error *err) {
    const tare_zip_member **sorted = TARE_NEW_ARRAY(arena, const tare_zip_member *, zip->n);
    if (!sorted) return tare_fail(err, TARE_ERR_NOMEM, "zip: entries");
    for (size_t i = 0; i < zip->n; i++) sorted[i] = &zip->members[i];
    if (zip->n) qsort(sorted, zip->n, sizeof *sorted, by_header);
    for (size_t i = 1; i < zip->n; i++)
        if (sorted[i]->header < sorted[i - 1]->offset + sorted[i - 1]->stored)
            return fail_member(sorted[i], TARE_ERR_CORRUPT, sorted[i]->record + 42,
                               "zip: the member overlaps another", err);
    return TARE_OK;
}

/* The name stands in the header, too, and nothing else vouches for it. */
static tare_status check_name(const tare_zip_member *m, const tare_reader *r, tare_error *err) {
    uint8_t room[256];
    const uint8_t *piece;
    bool is_same = m->name_in_header == m->name.len;
    for (size_t at = 0; at < m->name.len && is_same; at += sizeof room) {
        const size_t size = (size_t)tare_min_u64(m->name.len - at, sizeof room);
        TARE_TRY(tare_reader_view(&piece, r, m->header + HEADER_BYTES + at, room, size, err));
        is_same = memcmp(piece, m->name.ptr + at, size) == 0;
    }
    return is_same ? TARE_OK
                   : fail_member(m, TARE_ERR_CORRUPT, m->header + HEADER_BYTES,
                                 "zip: the member's header has another name", err);
}

static tare_status read_members(tare_zip *out, const tare_reader *r, const directory *d,
                                tare_arena *arena, tare_error *err) {
    uint8_t *room = tare_arena_take(arena, (size_t)d->size);
    if (!room) return tare_fail(err, TARE_ERR_NOMEM, "zip: directory");
    TARE_TRY(tare_reader_read(r, d->offset, room, (size_t)d->size, err));
    TARE_TRY(read_entries(out, d, room, arena, err));
    for (size_t i = 0; i < out->n; i++) TARE_TRY(locate(&out->members[i], r, d, err));
    out->directory_bytes = d->size + END_BYTES + out->n * HEADER_BYTES;
    TARE_TRY(check_overlaps(out, arena, err));
    for (size_t i = 0; i < out->n; i++) TARE_TRY(check_name(&out->members[i], r, err));
    return TARE_OK;
}

tare_status tare_zip_read(tare_zip *out, const tare_reader *r, uint64_t most, tare_arena *arena,
                          tare_error *err) {
    directory d;
    *out = (tare_zip){.n = 0};
    TARE_TRY(find_directory(&d, r, err));
    if (d.size > most)
        return tare_fail_at(err, TARE_ERR_LIMIT, d.offset, "zip: bytes of the directory");
    return read_members(out, r, &d, arena, err);
}

tare_status tare_zip_check_stored(const tare_zip_member *m, tare_error *err) {
    if (m->is_encrypted)
        return fail_member(m, TARE_ERR_UNSUPPORTED, m->record, "zip: the member is encrypted", err);
    if (m->method != TARE_ZIP_STORED)
        return fail_member(m, TARE_ERR_UNSUPPORTED, m->record + 10,
                           "zip: the member is compressed, so that it cannot be read in place: "
                           "store it without compression (zip -0)",
                           err);
    return TARE_OK;
}

/* ---- deflated members ------------------------------------------------------------------------ */

static bool inflate(void *out, size_t size, const uint8_t *stored, size_t n) {
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    const bool is_right =
        d && libdeflate_deflate_decompress(d, stored, n, out, size, NULL) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(d);
    return is_right;
}

tare_status tare_zip_inflate(void *out, const tare_reader *r, const tare_zip_member *m,
                             tare_error *err) {
    if (m->is_encrypted) return tare_zip_check_stored(m, err);
    if (m->method != TARE_ZIP_DEFLATED)
        return fail_member(m, TARE_ERR_UNSUPPORTED, m->record + 10,
                           "zip: the member is compressed by another method than deflate", err);
    uint8_t *stored = tare_alloc(NULL, (size_t)m->stored);
    if (!stored) return tare_fail(err, TARE_ERR_NOMEM, "zip: deflated member");
    tare_status status = tare_reader_read(r, m->offset, stored, (size_t)m->stored, err);
    if (status == TARE_OK && !inflate(out, (size_t)m->size, stored, (size_t)m->stored))
        status = fail_member(m, TARE_ERR_CORRUPT, m->offset,
                             "zip: the member does not inflate to the size that is stated", err);
    if (status == TARE_OK && tare_crc32(0, out, (size_t)m->size) != m->crc)
        status = fail_member(m, TARE_ERR_CHECKSUM, m->record + 16, "zip: CRC of the member", err);
    tare_free(NULL, stored, (size_t)m->stored);
    return status;
}

tare_status tare_zip_check_crc(const tare_reader *r, const tare_zip_member *m, tare_error *err) {
    uint8_t piece[4096];
    uint32_t crc = 0;
    for (uint64_t at = 0; m->crc && at < m->size; at += sizeof piece) {
        const size_t n = (size_t)tare_min_u64(m->size - at, sizeof piece);
        TARE_TRY(tare_reader_read(r, m->offset + at, piece, n, err));
        crc = tare_crc32(crc, piece, n);
    }
    return crc == m->crc || !m->crc
               ? TARE_OK
               : fail_member(m, TARE_ERR_CHECKSUM, m->record + 16, "zip: CRC of the member", err);
}
