/* SPDX-License-Identifier: MIT
 *
 * MCF's tensor index: its description of each tensor, and whether the data it points to can match
 * that (MCF specification, "Payload Layouts", and docs/mcf.md, "TensorIndex"). */
#include "base/arith.h"
#include "base/str.h"
#include "format/mcf/mcf.h"

typedef struct index_header {
    uint32_t flags, n_tensors, n_dims;
    uint64_t entries_off, dims_off, strings_off, strings_size;
} index_header;

typedef struct index_reader {
    tare_mcf_reader *r;
    const tare_mcf_section *data; /* NULL: there is none */
    tare_cursor section;
    tare_cursor entries, dims, strings; /* parts of it */
    index_header h;
    uint32_t *dtypes;
} index_reader;

/* One entry, and where its parts lie. */
typedef struct index_entry {
    uint64_t at;
    uint32_t name_off, name_len, dtype, rank, dim_off, reserved;
    uint64_t data_off, data_size;
} index_entry;

/* ---- the parts ------------------------------------------------------------------------------- */

/* A part of the section; `what` names its offset, which stands at `at`. */
static tare_status take_part(index_reader *x, tare_cursor *out, uint64_t offset, uint64_t size,
                             uint64_t at, const char *what, tare_error *err) {
    uint64_t all = tare_cursor_left(&x->section), base = x->section.base_offset;
    if (offset < TARE_MCF_INDEX_BYTES || offset > all || size > all - offset)
        return tare_fail_at(err, TARE_ERR_CORRUPT, base + at, what);
    tare_cursor_init(out, x->section.pos + offset, size, base + offset);
    return TARE_OK;
}

static tare_status read_index_header(index_reader *x, tare_error *err) {
    tare_cursor c = x->section;
    index_header *h = &x->h;
    const uint64_t base = c.base_offset;
    uint32_t version = tare_cursor_u32(&c, "tensor index: version");
    if (tare_cursor_ok(&c) && version != 1)
        tare_cursor_fail(&c, TARE_ERR_UNSUPPORTED, base, "tensor index: version, expected 1");
    h->flags = tare_cursor_u32(&c, "tensor index: flags");
    h->n_tensors = tare_cursor_u32(&c, "tensor_count");
    if (tare_cursor_ok(&c) && h->n_tensors == 0)
        tare_cursor_fail(&c, TARE_ERR_CORRUPT, base + 8, "tensor_count: expected at least 1");
    h->n_dims = tare_cursor_u32(&c, "dims_count");
    h->entries_off = tare_cursor_u64(&c, "entries_off");
    h->dims_off = tare_cursor_u64(&c, "dims_off");
    h->strings_off = tare_cursor_u64(&c, "strings_off");
    h->strings_size = tare_cursor_u64(&c, "strings_size");
    TARE_TRY(tare_cursor_status(&c, err));
    if (h->n_tensors > x->r->m->limits.tensors)
        return tare_fail_at(err, TARE_ERR_LIMIT, base + 8, "number of tensors");
    TARE_TRY(take_part(x, &x->entries, h->entries_off,
                       (uint64_t)h->n_tensors * TARE_MCF_ENTRY_BYTES, 16,
                       "entries_off: the entries are not inside the section", err));
    TARE_TRY(take_part(x, &x->dims, h->dims_off, (uint64_t)h->n_dims * 8, 24,
                       "dims_off: the dimensions are not inside the section", err));
    return take_part(x, &x->strings, h->strings_off, h->strings_size, 32,
                     "strings_off: the strings are not inside the section", err);
}

static index_entry take_entry(tare_cursor *c) {
    index_entry e = {.at = tare_cursor_offset(c)};
    e.name_off = tare_cursor_u32(c, "name_off");
    e.name_len = tare_cursor_u32(c, "name_len");
    e.dtype = tare_cursor_u32(c, "dtype");
    e.rank = tare_cursor_u32(c, "rank");
    e.dim_off = tare_cursor_u32(c, "dim_off");
    e.reserved = tare_cursor_u32(c, "reserved");
    e.data_off = tare_cursor_u64(c, "data_off");
    e.data_size = tare_cursor_u64(c, "data_size");
    return e;
}

/* ---- one tensor ------------------------------------------------------------------------------ */

static tare_status fault(const index_entry *e, uint32_t field, tare_status status, const char *what,
                         tare_error *err) {
    return tare_fail_at(err, status, e->at + field, what);
}

static tare_status read_name(index_reader *x, tare_tensor *t, const index_entry *e,
                             tare_error *err) {
    if (e->name_len == 0) return fault(e, 4, TARE_ERR_CORRUPT, "name_len: an empty name", err);
    if (e->name_len > x->r->m->limits.name_bytes)
        return fault(e, 4, TARE_ERR_LIMIT, "name_len", err);
    if (e->name_off > x->h.strings_size || e->name_len > x->h.strings_size - e->name_off)
        return fault(e, 0, TARE_ERR_CORRUPT, "name_off: the name is not inside the strings", err);
    t->name = (tare_str){(const char *)x->strings.base + e->name_off, e->name_len};
    t->offset = e->at;
    return TARE_OK;
}

static tare_status read_dims(index_reader *x, uint64_t *dims, const index_entry *e,
                             tare_error *err) {
    if (e->rank > x->r->m->limits.dims) return fault(e, 12, TARE_ERR_LIMIT, "rank", err);
    if (e->dim_off > x->h.n_dims || e->rank > x->h.n_dims - e->dim_off)
        return fault(e, 16, TARE_ERR_CORRUPT, "dim_off: the shape is not inside the dimensions",
                     err);
    tare_cursor c = x->dims;
    tare_cursor_take(&c, (uint64_t)e->dim_off * 8, "dims");
    for (uint32_t d = 0; d < e->rank; d++) dims[d] = tare_cursor_u64(&c, "dims");
    return tare_cursor_status(&c, err);
}

/* Regions of a quantized tensor begin at multiples of 64. */
static tare_status spread(tare_mcf_reader *r, tare_tensor *t, tare_error *err) {
    tare_plane *planes = TARE_NEW_ARRAY(&r->m->arena, tare_plane, t->encoding->n_planes);
    uint64_t at = t->planes[0].offset;
    if (!planes) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
        planes[p] = t->planes[p];
        if (!tare_align_u64(at, TARE_MCF_REGION, &planes[p].offset) ||
            !tare_add_u64(planes[p].offset, planes[p].size, &at))
            return tare_fail(err, TARE_ERR_CORRUPT, "offset and size of the data overflow");
    }
    t->planes = planes;
    return TARE_OK;
}

/* Fills *t for an encoding; *fits: data_size is what its shape asks for. */
static tare_status try_encoding(index_reader *x, tare_tensor *t, const tare_encoding *encoding,
                                const uint64_t *dims, const index_entry *e, bool *fits,
                                tare_error *err) {
    TARE_TRY(tare_tensor_set(x->r->m, t, encoding, dims, e->rank, x->r->file, e->data_off, err));
    if (encoding->n_planes > 1) TARE_TRY(spread(x->r, t, err));
    *fits = tare_mcf_data_size(t) == e->data_size;
    return TARE_OK;
}

/* Stored bytes whose meaning is unknown or unavailable. */
static tare_status set_unknown(index_reader *x, tare_tensor *t, const uint64_t *dims,
                               const index_entry *e, tare_error *err) {
    TARE_TRY(tare_tensor_set(x->r->m, t, tare_encoding_get(TARE_ENCODING_UNKNOWN), dims, e->rank,
                             x->r->file, e->data_off, err));
    if ((t->n_elements == 0) != (e->data_size == 0)) /* elements of any type take bytes */
        return fault(e, 32, TARE_ERR_CORRUPT, "data_size: not the size of the shape and type", err);
    tare_plane *plane = TARE_NEW(&x->r->m->arena, tare_plane);
    if (!plane) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    *plane = (tare_plane){x->r->file, e->data_off, e->data_size};
    t->planes = plane;
    t->size_bytes = e->data_size;
    return TARE_OK;
}

/* int8 and int4 with scale, with scale and zero, or as bare codes, which the public packer writes
 * and which cannot be decoded. The size tells them apart. */
static tare_status set_int(index_reader *x, tare_tensor *t, const uint64_t *dims,
                           const index_entry *e, size_t i, tare_error *err) {
    bool fits = false;
    for (int has_zero = 0; has_zero < 2 && !fits; has_zero++)
        TARE_TRY(try_encoding(x, t, tare_mcf_encoding_of(e->dtype, has_zero), dims, e, &fits, err));
    if (fits && e->data_off % TARE_MCF_REGION)
        return fault(e, 24, TARE_ERR_CORRUPT, "data_off: not a multiple of 64", err);
    if (fits) return TARE_OK;
    uint64_t bare = e->dtype == 0x10 ? t->n_elements : tare_ceil_div_u64(t->n_elements, 2);
    if (e->data_size != bare)
        return fault(e, 32, TARE_ERR_CORRUPT, "data_size: not the size of the shape and type", err);
    TARE_TRY(set_unknown(x, t, dims, e, err));
    tare_mcf_report(x->r, TARE_LEVEL_WARNING, "mcf.bare-codes", (int64_t)i, e->at + 8,
                    "codes without a scale: listed and copied, not decoded");
    return TARE_OK;
}

static tare_status set_quantized(index_reader *x, tare_tensor *t, const uint64_t *dims,
                                 const index_entry *e, size_t i, tare_error *err) {
    bool fits;
    if (e->rank != 2)
        return fault(e, 12, TARE_ERR_CORRUPT, "rank: quantized tensors have 2 dimensions", err);
    if (e->data_off % TARE_MCF_REGION)
        return fault(e, 24, TARE_ERR_CORRUPT, "data_off: not a multiple of 64", err);
    TARE_TRY(try_encoding(x, t, tare_mcf_encoding_of(e->dtype, false), dims, e, &fits, err));
    if (!fits)
        return fault(e, 32, TARE_ERR_CORRUPT, "data_size: not the size of the shape and type", err);
    if (!(x->r->flags & TARE_MCF_FLAG_ALIGNED))
        tare_mcf_report(x->r, TARE_LEVEL_ERROR, "mcf.flag-aligned", (int64_t)i, x->r->flags_at,
                        "a quantized tensor, but the header lacks FlagTensorDataAligned64");
    return TARE_OK;
}

static tare_status set_type(index_reader *x, tare_tensor *t, const uint64_t *dims,
                            const index_entry *e, size_t i, tare_error *err) {
    const tare_encoding *encoding = tare_mcf_encoding_of(e->dtype, false);
    bool fits;
    t->native_type = e->dtype;
    if (e->dtype > UINT16_MAX)
        return fault(e, 8, TARE_ERR_CORRUPT, "dtype: does not fit 16 bits", err);
    if (tare_mcf_is_int(e->dtype)) return set_int(x, t, dims, e, i, err);
    if (tare_mcf_is_block(e->dtype)) return set_quantized(x, t, dims, e, i, err);
    if (!encoding) return set_unknown(x, t, dims, e, err);
    TARE_TRY(try_encoding(x, t, encoding, dims, e, &fits, err));
    return fits ? TARE_OK
                : fault(e, 32, TARE_ERR_CORRUPT, "data_size: not the size of the shape and type",
                        err);
}

static tare_status check_range(const index_reader *x, const index_entry *e, tare_error *err) {
    const tare_mcf_section *d = x->data;
    uint64_t end;
    if (!d)
        return fault(e, 24, TARE_ERR_CORRUPT, "data_off: the file has no section TensorData", err);
    if (e->data_off < d->offset || e->data_off > d->offset + d->size)
        return fault(e, 24, TARE_ERR_CORRUPT, "data_off: not inside TensorData", err);
    if (!tare_add_u64(e->data_off, e->data_size, &end) || end > d->offset + d->size)
        return fault(e, 32, TARE_ERR_CORRUPT, "data_size: goes beyond TensorData", err);
    return TARE_OK;
}

static tare_status read_tensor(index_reader *x, size_t i, const index_entry *e, tare_error *err) {
    tare_tensor *t = &x->r->m->catalog.tensors[i];
    uint64_t dims[TARE_MAX_DIMS];
    TARE_TRY(read_name(x, t, e, err));
    TARE_TRY(read_dims(x, dims, e, err));
    TARE_TRY(check_range(x, e, err));
    tare_status status = set_type(x, t, dims, e, i, err);
    if (status != TARE_OK) {
        if (err && err->offset == TARE_NO_OFFSET) err->offset = e->at + 16;
        return status;
    }
    x->dtypes[i] = e->dtype;
    x->r->data_places[i] = e->at + 24;
    if (e->reserved)
        tare_mcf_report(x->r, TARE_LEVEL_ERROR, "mcf.reserved", (int64_t)i, e->at + 20,
                        "reserved is not 0");
    if (t->n_elements == 0)
        tare_mcf_report(x->r, TARE_LEVEL_WARNING, "mcf.empty-tensor", (int64_t)i, e->at + 16,
                        "a dimension of 0");
    return TARE_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* What the flags promise about the names. */
static void check_names(const index_reader *x) {
    const tare_catalog *c = &x->r->m->catalog;
    const uint64_t at = x->section.base_offset + 4;
    for (size_t i = 0; i < c->n_tensors; i++) {
        if (x->h.flags & TARE_MCF_FLAG_SORTED && i > 0 &&
            tare_str_compare(c->tensors[i - 1].name, c->tensors[i].name) >= 0)
            tare_mcf_report(x->r, TARE_LEVEL_ERROR, "mcf.not-sorted", (int64_t)i, at,
                            "flagged as sorted by name, but sorts before its predecessor");
        if (x->h.flags & TARE_MCF_FLAG_UTF8 && !tare_str_is_utf8(c->tensors[i].name))
            tare_mcf_report(x->r, TARE_LEVEL_ERROR, "mcf.not-utf8", (int64_t)i, at,
                            "flagged as UTF-8, but the name is not");
    }
}

static uint64_t place_of(const void *ctx, size_t tensor) {
    return ((const tare_mcf_reader *)ctx)->data_places[tensor];
}

/* The largest alignment, up to the usual one, that all tensors have. */
static uint32_t alignment_of(const tare_catalog *c) {
    uint32_t alignment = TARE_MCF_ALIGNMENT;
    for (size_t i = 0; i < c->n_tensors; i++)
        while (c->tensors[i].planes[0].offset % alignment) alignment /= 2;
    return alignment;
}

static tare_status check_places(index_reader *x, tare_layout *layout, tare_error *err) {
    if (!x->data) return TARE_OK;
    tare_layout_rules rules = {.file = x->r->file,
                               .base = x->data->offset,
                               .end = x->data->offset + x->data->size,
                               .alignment = 1,
                               .allows_gaps = true,
                               .allows_aliases = true,
                               .place = place_of,
                               .place_ctx = x->r};
    tare_filler *fillers;
    layout->data_offset = x->data->offset;
    layout->alignment = alignment_of(&x->r->m->catalog);
    TARE_TRY(tare_layout_check(x->r->m, &rules, &fillers, &layout->n_fillers, x->r->report, err));
    layout->fillers = fillers;
    return TARE_OK;
}

static tare_status read_entries(index_reader *x, tare_error *err) {
    tare_catalog *c = &x->r->m->catalog;
    for (size_t i = 0; i < x->h.n_tensors; i++) {
        index_entry e = take_entry(&x->entries);
        TARE_TRY(tare_cursor_status(&x->entries, err));
        tare_status status = read_tensor(x, i, &e, err);
        if (status != TARE_OK) {
            tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, c->tensors[i].name);
            return status;
        }
        c->n_tensors = i + 1;
    }
    return TARE_OK;
}

tare_status tare_mcf_read_tensors(tare_mcf_reader *r, tare_layout *layout, tare_error *err) {
    const tare_mcf_section *s = tare_mcf_find(r, TARE_MCF_TENSOR_INDEX);
    tare_arena *arena = &r->m->arena;
    if (!s) return tare_mcf_check_quants(r, NULL, err);
    index_reader x = {.r = r, .data = tare_mcf_find(r, TARE_MCF_TENSOR_DATA)};
    TARE_TRY(tare_mcf_load(r, s, 0, s->size, &x.section, err));
    TARE_TRY(read_index_header(&x, err));
    size_t n = x.h.n_tensors;
    r->m->catalog.tensors = TARE_NEW_ARRAY(arena, tare_tensor, n);
    x.dtypes = TARE_NEW_ARRAY(arena, uint32_t, n);
    r->data_places = TARE_NEW_ARRAY(arena, uint64_t, n);
    if (!r->m->catalog.tensors || !x.dtypes || !r->data_places)
        return tare_fail(err, TARE_ERR_NOMEM, "list of tensors");
    TARE_TRY(read_entries(&x, err));
    check_names(&x);
    TARE_TRY(check_places(&x, layout, err));
    return tare_mcf_check_quants(r, x.dtypes, err);
}
