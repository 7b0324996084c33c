/* SPDX-License-Identifier: MIT
 *
 * The converter says what the file's tensors are made of; turned round, that says what the restored
 * ones are made of. Each is one run of bytes of the file, or computed while it is read. */
#include <math.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/report.h"
#include "base/str.h"
#include "llama/restore/restore.h"

/* What a tensor of the file has of a restored one. */
typedef struct part {
    size_t expected, tensor;
    size_t order; /* among those of the converter's targets */
    tare_llama_share share;
    tare_piece_arithmetic arithmetic;
    float constant;
} part;

typedef struct turning {
    tare_llama_restoring *r;
    part *parts; /* sorted by what they are of */
    size_t n_parts;
    tare_made_file *file;
    uint32_t file_index;
    uint64_t end;
} turning;

/* ---- parts ----------------------------------------------------------------------------------- */

static tare_status fail_tensor(const turning *t, size_t tensor, tare_status status,
                               const char *what, tare_error *err) {
    return tare_fail_tensor(err, status, &t->r->gguf->catalog.tensors[tensor], tensor, what);
}

static bool has_shape(const tare_tensor *t, const tare_llama_target *target) {
    uint32_t a = 0, b = 0;
    while (a < t->n_dims || b < target->n_dims) { /* GGUF drops dimensions of 1 here and there */
        if (a < t->n_dims && t->dims[a] == 1) {
            a++;
        } else if (b < target->n_dims && target->dims[b] == 1) {
            b++;
        } else {
            if (a == t->n_dims || b == target->n_dims || t->dims[a] != target->dims[b])
                return false;
            a++;
            b++;
        }
    }
    return true;
}

/* Numbers that the conversion makes of config.json are about those of the file, or that is said. */
static tare_status check_generated(const turning *t, const tare_llama_target *target, size_t i,
                                   tare_error *err) {
    const tare_model *gguf = t->r->gguf;
    const uint64_t n = gguf->catalog.tensors[i].n_elements;
    float there[64];
    bool is_same = target->encoding->id == TARE_ENCODING_F32 && n == target->size / sizeof(float);
    for (uint64_t at = 0; is_same && at < n; at += 64) {
        const size_t count = (size_t)tare_min_u64(n - at, 64);
        TARE_TRY(tare_tensor_values_f32(there, gguf, i, at, count, err));
        for (size_t k = 0; k < count; k++) {
            const uint8_t *bytes = target->bytes + (at + k) * sizeof(float);
            const float made = tare_f32_of_bits(tare_load_u32(bytes, false));
            is_same &= fabsf(made - there[k]) <= 1e-4F * fabsf(there[k]);
        }
    }
    if (!is_same)
        tare_llama_not_restored(t->r, TARE_ITEM_TENSOR, gguf->catalog.tensors[i].name,
                                "config.json gives other numbers");
    return TARE_OK;
}

static tare_status take_target(turning *t, const tare_llama_target *target, bool *is_covered,
                               tare_error *err) {
    const tare_model *gguf = t->r->gguf;
    int64_t i = tare_model_find_tensor(gguf, target->name);
    tare_llama_place place = {.base = 0};
    if (i < 0) return TARE_OK; /* generated: of config.json */
    is_covered[i] = true;
    if (target->bytes) return check_generated(t, target, (size_t)i, err);
    if (!has_shape(&gguf->catalog.tensors[i], target))
        return fail_tensor(t, (size_t)i, TARE_ERR_CORRUPT, "its shape contradicts the keys", err);
    if (target->n_pieces) place.turn = target->pieces[target->n_pieces - 1].end;
    for (size_t k = 0; k < target->n_pieces; k++) {
        const tare_piece *p = &target->pieces[k];
        if (p->source == TARE_PIECE_ZEROS)
            return fail_tensor(t, (size_t)i, TARE_ERR_UNSUPPORTED,
                               "the conversion of this tensor cannot be undone", err);
        part *out = &t->parts[t->n_parts];
        *out = (part){.expected = p->source, .tensor = (size_t)i, .order = t->n_parts++};
        out->arithmetic = tare_llama_undo(p, &out->constant);
        place.n = p->end - place.base;
        if (!tare_llama_view_invert(&out->share, p->view,
                                    t->r->out->catalog.tensors[p->source].n_elements, &place))
            return fail_tensor(t, (size_t)i, TARE_ERR_UNSUPPORTED,
                               "the conversion of this tensor cannot be undone", err);
        place.base = p->end;
    }
    return TARE_OK;
}

static int by_place(const void *a, const void *b) {
    const part *x = a, *y = b;
    if (x->expected != y->expected) return x->expected < y->expected ? -1 : 1;
    if (x->share.begin != y->share.begin) return x->share.begin < y->share.begin ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Where the converter makes two tensors of one, the last counts; another that says something else is
 * lost. */
static tare_status drop_copies(turning *t, tare_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < t->n_parts; i++) {
        const part *p = &t->parts[i], *next = i + 1 < t->n_parts ? p + 1 : NULL;
        bool is_same = next && next->expected == p->expected &&
                       next->share.begin == p->share.begin && next->share.n == p->share.n &&
                       next->share.turn == p->share.turn;
        if (!is_same) {
            t->parts[n++] = *p;
            continue;
        }
        TARE_TRY(tare_llama_is_equal(&is_same, t->r->gguf, p->tensor, next->tensor, err));
        if (!is_same)
            tare_llama_not_restored(t->r, TARE_ITEM_TENSOR,
                                    t->r->gguf->catalog.tensors[p->tensor].name,
                                    "another tensor of the file takes its place");
    }
    t->n_parts = n;
    return TARE_OK;
}

/* Tensors of the file that nothing was made of would be lost. */
static tare_status check_covered(const turning *t, const bool *is_covered, tare_error *err) {
    static const char generated[] =
        "rope_freqs.weight rope_factors_long.weight rope_factors_short.weight";
    const tare_catalog *c = &t->r->gguf->catalog;
    for (size_t i = 0; i < c->n_tensors; i++) {
        if (is_covered[i] || tare_llama_is_of_text(t->r, c->tensors[i].name)) continue;
        if (!tare_llama_is_one_of(c->tensors[i].name, generated))
            return fail_tensor(t, i, TARE_ERR_UNSUPPORTED,
                               "models of this architecture have no such tensor", err);
        tare_llama_not_restored(t->r, TARE_ITEM_TENSOR, c->tensors[i].name,
                                "no rope_scaling of Hugging Face gives these factors");
    }
    return TARE_OK;
}

static tare_status take_targets(turning *t, const tare_llama_mapping *m, tare_error *err) {
    tare_arena *arena = &t->r->out->arena;
    bool *is_covered = TARE_NEW_ARRAY(arena, bool, t->r->gguf->catalog.n_tensors);
    size_t n = 0;
    for (size_t i = 0; i < m->n_targets; i++) n += m->targets[i]->n_pieces;
    t->parts = TARE_NEW_ARRAY(arena, part, n);
    if (!t->parts || !is_covered) return tare_fail(err, TARE_ERR_NOMEM, "list of tensors");
    for (size_t i = 0; i < m->n_targets; i++)
        TARE_TRY(take_target(t, m->targets[i], is_covered, err));
    if (t->n_parts) qsort(t->parts, t->n_parts, sizeof *t->parts, by_place);
    TARE_TRY(drop_copies(t, err));
    return check_covered(t, is_covered, err);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* The byte of the file's tensor where a restored one begins that is whole rows of it, one after the
 * other; false: it has to be computed. */
static bool is_run(uint64_t *offset, const tare_tensor *out, const part *p,
                   const tare_model *gguf) {
    const tare_tensor *t = &gguf->catalog.tensors[p->tensor];
    const tare_piece_view *v = &p->share.view;
    const tare_encoding *e = t->encoding;
    uint64_t row = out->n_dims ? out->dims[out->n_dims - 1] : 1;
    bool is_straight = v->n_axes == 0 || (v->n_axes == 1 && v->axes[0].stride == 1);
    bool has_rows = row == t->cols || e->block <= 1;
    if (!is_straight || !has_rows || p->share.n != out->n_elements || e->n_planes != 1 ||
        p->arithmetic != TARE_PIECE_AS_IS || v->offset % tare_max_u64(e->block, 1))
        return false;
    uint64_t unit = t->size_bytes / tare_max_u64(t->n_elements / tare_max_u64(e->block, 1), 1);
    *offset = t->planes[0].offset + v->offset / tare_max_u64(e->block, 1) * unit;
    return true;
}

/* Whether a part of its own is whole rows of the file's tensor, as they are: which. */
static bool is_rows(tare_same_rows *out, const tare_tensor *to, const part *p,
                    const tare_model *gguf) {
    *out = (tare_same_rows){.model = gguf, .tensor = p->tensor};
    return gguf->catalog.tensors[p->tensor].cols == to->cols && p->arithmetic == TARE_PIECE_AS_IS &&
           !p->share.begin && p->share.n == p->share.turn &&
           tare_piece_view_of_runs(&out->view, &p->share.view, to->cols);
}

static const tare_encoding *encoding_of(const turning *t, const part *p) {
    const tare_encoding *e = t->r->gguf->catalog.tensors[p->tensor].encoding;
    return p->arithmetic != TARE_PIECE_AS_IS || tare_made_is_decoded(t->r->gguf, p->tensor)
               ? tare_encoding_get(TARE_ENCODING_F32)
               : e;
}

/* Numbers that do not keep their type have to be decoded. */
static tare_status check_decoding(const turning *t, const part *parts, size_t n,
                                  const tare_encoding *to, tare_error *err) {
    const tare_model *gguf = t->r->gguf;
    for (size_t i = 0; i < n; i++)
        if (gguf->catalog.tensors[parts[i].tensor].encoding != to &&
            !tare_tensor_can_decode(gguf, parts[i].tensor))
            return fail_tensor(t, parts[i].tensor, TARE_ERR_UNSUPPORTED,
                               "this type cannot be decoded", err);
    return TARE_OK;
}

/* Whether undoing the operation gives the numbers but for their last bits. */
static bool is_rounded(const part *p) {
    return p->arithmetic == TARE_PIECE_LOG_NEG ||
           (p->arithmetic == TARE_PIECE_ADD && p->constant != rintf(p->constant));
}

/* Puts pieces one after the other as the parts say; where none lies, zeros. */
static tare_status fill_pieces(tare_composition *made, turning *t, const part *parts, size_t n,
                               const tare_tensor *out, bool *has_holes, tare_error *err) {
    tare_arena *arena = &t->r->out->arena;
    tare_piece *pieces = TARE_NEW_ARRAY(arena, tare_piece, 2 * n + 1);
    const uint64_t turn = parts[0].share.turn;
    uint64_t at = 0;
    if (!pieces) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    made->pieces = pieces;
    for (size_t i = 0; i <= n; i++) {
        uint64_t begin = i < n ? parts[i].share.begin : turn;
        if (turn == 0 || begin < at || (i < n && parts[i].share.turn != turn) ||
            out->n_elements % turn)
            return fail_tensor(t, parts[0].tensor, TARE_ERR_UNSUPPORTED,
                               "the conversion of this tensor cannot be undone", err);
        if (begin > at) {
            pieces[made->n_pieces++] = (tare_piece){.end = begin, .source = TARE_PIECE_ZEROS};
            *has_holes = true;
        }
        if (i == n) break;
        tare_piece_view *view = TARE_NEW(arena, tare_piece_view);
        if (!view) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
        *view = parts[i].share.view;
        at = begin + parts[i].share.n;
        pieces[made->n_pieces++] = (tare_piece){.end = at,
                                                .view = view,
                                                .source = (uint32_t)parts[i].tensor,
                                                .arithmetic = parts[i].arithmetic,
                                                .constant = parts[i].constant};
        t->r->is_rounded[parts[i].expected] |= is_rounded(&parts[i]);
        if (encoding_of(t, &parts[i]) != made->encoding)
            made->encoding = tare_encoding_get(TARE_ENCODING_F32);
    }
    return check_decoding(t, parts, n, made->encoding, err);
}

static tare_status make_tensor(turning *t, const part *parts, size_t n, tare_error *err) {
    tare_model *out = t->r->out;
    tare_tensor *tensor = &out->catalog.tensors[parts[0].expected];
    const tare_tensor *source = &t->r->gguf->catalog.tensors[parts[0].tensor];
    uint64_t offset;
    bool has_holes = false, is_f32 = true;
    for (size_t i = 0; i < n; i++)
        is_f32 = is_f32 &&
                 t->r->gguf->catalog.tensors[parts[i].tensor].encoding->id == TARE_ENCODING_F32;
    t->r->is_f32[parts[0].expected] = is_f32;
    tare_same_rows same;
    if (n == 1 && is_rows(&same, tensor, &parts[0], t->r->gguf))
        t->r->same_rows[parts[0].expected] = same;
    if (n == 1 && is_run(&offset, tensor, &parts[0], t->r->gguf))
        return tare_tensor_set(out, tensor, source->encoding, tensor->dims, tensor->n_dims,
                               source->planes[0].file, offset, err);
    tare_made *made = &t->file->made[t->file->n_made];
    *made = (tare_made){.offset = t->end, .of = {.encoding = encoding_of(t, &parts[0])}};
    TARE_TRY(fill_pieces(&made->of, t, parts, n, tensor, &has_holes, err));
    TARE_TRY(tare_tensor_set(out, tensor, made->of.encoding, tensor->dims, tensor->n_dims,
                             t->file_index, t->end, err));
    made->size = tensor->size_bytes;
    t->r->origins[parts[0].expected] = tare_llama_origin_of_pieces(
        t->r->gguf, made->of.pieces, made->of.n_pieces, tensor->n_elements);
    t->file->n_made++;
    if (has_holes)
        tare_llama_not_restored(t->r, TARE_ITEM_TENSOR, tensor->name,
                                "the rows that the file does not have are 0");
    if (!tare_add_u64(t->end, made->size, &t->end))
        return tare_fail(err, TARE_ERR_LIMIT, "size of all tensors");
    return TARE_OK;
}

/* A tensor of one number. */
static tare_status make_number(turning *t, size_t expected, tare_error *err) {
    tare_model *out = t->r->out;
    tare_tensor *tensor = &out->catalog.tensors[expected];
    const tare_encoding *f32 = tare_encoding_get(TARE_ENCODING_F32);
    uint8_t *bytes = tare_arena_array(&out->arena, 1, sizeof(float));
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    tare_store_le32(bytes, tare_f32_bits(t->r->expected[expected].number));
    tare_made *made = &t->file->made[t->file->n_made++];
    *made = (tare_made){
        .offset = t->end, .size = sizeof(float), .bytes = bytes, .of = {.encoding = f32}};
    t->r->is_f32[expected] = true;
    TARE_TRY(tare_tensor_set(out, tensor, f32, tensor->dims, tensor->n_dims, t->file_index, t->end,
                             err));
    return tare_add_u64(t->end, made->size, &t->end)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_LIMIT, "size of all tensors");
}

tare_status tare_llama_invert(tare_llama_restoring *r, const tare_llama_mapping *m,
                              tare_error *err) {
    turning t = {.r = r, .file_index = (uint32_t)r->out->n_files - 1};
    tare_open_file *file = &r->out->files[t.file_index];
    t.file = TARE_NEW(&r->out->arena, tare_made_file);
    if (!t.file) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    *t.file = (tare_made_file){.source = r->gguf, .allocator = r->out->allocator};
    t.file->made = TARE_NEW_ARRAY(&r->out->arena, tare_made, r->n_expected);
    r->is_rounded = TARE_NEW_ARRAY(&r->out->arena, bool, r->n_expected);
    r->is_f32 = TARE_NEW_ARRAY(&r->out->arena, bool, r->n_expected);
    r->origins = TARE_NEW_ARRAY(&r->out->arena, tare_origin, r->n_expected);
    r->same_rows = TARE_NEW_ARRAY(&r->out->arena, tare_same_rows, r->n_expected);
    if (!t.file->made || !r->is_rounded || !r->is_f32 || !r->origins || !r->same_rows)
        return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(take_targets(&t, m, err));
    for (size_t i = 0, expected = 0, n; expected < r->n_expected; i += n, expected++) {
        for (n = 0; i + n < t.n_parts && t.parts[i + n].expected == expected;) n++;
        if (n)
            TARE_TRY(make_tensor(&t, &t.parts[i], n, err));
        else if (r->expected[expected].is_number)
            TARE_TRY(make_number(&t, expected, err));
        else
            return tare_fail_tensor(err, TARE_ERR_CORRUPT, &r->out->catalog.tensors[expected],
                                    expected,
                                    "the keys require this tensor, and the file does not have it");
    }
    tare_reader_callback(&file->reader, NULL, t.file, t.end, "restored");
    file->reader.fetch = tare_made_fetch;
    return TARE_OK;
}
