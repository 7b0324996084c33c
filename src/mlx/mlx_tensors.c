/* SPDX-License-Identifier: MIT
 *
 * Tensors of a model in transformers' form: matrices of a stack and what has another name or shape lie where MLX's
 * lie; the others are made of pieces of them. */
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "mlx/mlx_parts.h"

#define MOST_EXPERTS 65536 /* of one layer; the most in use are 1,024 */

static const tare_tensor *tensor(const tare_mlx_making *k, int64_t i) {
    return &k->in->catalog.tensors[i];
}

static tare_status misfit(const tare_mlx_making *k, size_t i) {
    return tare_fail_tensor(k->err, TARE_ERR_CORRUPT, tensor(k, (int64_t)i), i,
                            "its name or shape is none that MLX gives this tensor");
}

static tare_status no_memory(const tare_mlx_making *k) {
    return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
}

/* Experts of one layer that a stack may be made into. */
static bool is_stack(const tare_tensor *t) {
    return t->n_dims > 1 && t->n_elements > 0 && t->dims[0] <= MOST_EXPERTS &&
           !memchr(t->name.ptr, '#', t->name.len);
}

tare_status tare_mlx_count(size_t *n, const tare_mlx_making *k, size_t i) {
    const tare_mlx_use *use = &k->uses[i];
    const tare_tensor *t = tensor(k, (int64_t)i);
    const bool is_left_out = use->row && use->row->form == TARE_MLX_LEFT_OUT && k->is_for_mlx;
    *n = use->is_second || is_left_out ? 0 : 1;
    if (*n == 0) return TARE_OK;
    if (k->is_for_mlx) {
        *n += use->second_name.ptr != NULL;
    } else if (use->row && use->row->form == TARE_MLX_EACH) {
        if (!is_stack(t)) return misfit(k, i);
        *n = (size_t)t->dims[0];
    }
    return TARE_OK;
}

/* The next tensor of the output, made of one of the input. */
static tare_tensor *append(tare_mlx_making *k, size_t i, tare_str name) {
    const size_t at = k->out->catalog.n_tensors++;
    tare_tensor *t = &k->out->catalog.tensors[at];
    k->origins[at] = tare_tensor_origin(k->in, i);
    k->sources[at] = i;
    const bool is_weight = k->in->stored_of && k->in->stored_of[i] < 0;
    if (k->notes && !is_weight) k->notes[at] = k->in->notes[i]; /* it is no part of one */
    *t = *tensor(k, (int64_t)i);
    t->name = tare_arena_str(&k->out->arena, name);
    return t->name.ptr ? t : NULL;
}

/* ---- where MLX's lie --------------------------------------------------------------------------- */

/* Rows [first, first + n) of a tensor, in a shape. */
static tare_status lay(tare_mlx_making *k, size_t i, tare_str name, const uint64_t *dims,
                       uint32_t n_dims, uint64_t first, uint64_t n) {
    const tare_tensor *from = tensor(k, (int64_t)i);
    const size_t at = k->out->catalog.n_tensors;
    tare_tensor *t = append(k, i, name);
    if (!t) return no_memory(k);
    k->origins[at].size_bytes = n == from->n_rows ? k->origins[at].size_bytes
                                                  : k->origins[at].size_bytes / from->n_rows * n;
    k->same_rows[at] = (tare_same_rows){
        k->in, i, {.offset = first, .n_axes = 1, .axes = {{.extent = n, .stride = 1}}}};
    if (n == from->n_rows && n_dims == from->n_dims &&
        memcmp(dims, from->dims, n_dims * sizeof *dims) == 0)
        return TARE_OK;
    if (from->encoding->n_planes != 1 || from->n_rows == 0) return misfit(k, i);
    const uint64_t offset = from->planes[0].offset + from->size_bytes / from->n_rows * first;
    return tare_tensor_set(k->out, t, from->encoding, dims, n_dims, from->planes[0].file, offset,
                           k->err);
}

static tare_status lay_whole(tare_mlx_making *k, size_t i, tare_str name) {
    const tare_tensor *t = tensor(k, (int64_t)i);
    return lay(k, i, name, t->dims, t->n_dims, 0, t->n_rows);
}

/* The matrices of a stack, and in the same way the vectors of one of biases. */
static tare_status lay_each(tare_mlx_making *k, size_t i) {
    const tare_tensor *t = tensor(k, (int64_t)i);
    const tare_str name = k->uses[i].name;
    const size_t before = (size_t)((const char *)memchr(name.ptr, '#', name.len) - name.ptr);
    const uint64_t n_rows = t->n_rows / t->dims[0];
    for (uint64_t e = 0; e < t->dims[0]; e++) {
        char text[1024];
        const int n =
            snprintf(text, sizeof text, "%.*s%llu%.*s", (int)before, name.ptr,
                     (unsigned long long)e, (int)(name.len - before - 1), name.ptr + before + 1);
        if (n < 0 || (size_t)n >= sizeof text) return misfit(k, i);
        TARE_TRY(
            lay(k, i, (tare_str){text, (size_t)n}, t->dims + 1, t->n_dims - 1, e * n_rows, n_rows));
    }
    return TARE_OK;
}

/* ---- made of pieces ---------------------------------------------------------------------------- */

/* A tensor that is being made. */
typedef struct made_tensor {
    uint64_t dims[TARE_MAX_DIMS];
    uint32_t n_dims;
    tare_piece pieces[TARE_MLX_FACTORS];
    const tare_piece *all; /* of experts, in place of those */
    size_t n_pieces;
} made_tensor;

/* Every matrix of a tensor, rows as columns. */
static const tare_piece_view *turned(const tare_mlx_making *k, const tare_tensor *t) {
    tare_piece_view *v = TARE_NEW(&k->out->arena, tare_piece_view);
    const uint64_t rows = t->dims[t->n_dims - 2], cols = t->cols;
    if (!v) return NULL;
    *v = (tare_piece_view){.n_axes = 3,
                           .axes = {{t->n_elements / tare_max_u64(rows * cols, 1), rows * cols},
                                    {cols, 1},
                                    {rows, cols}}};
    return v;
}

/* The type of what is made of two tensors: theirs, if it is one and the same, and rows stay whole where it is
 * one of blocks. */
static const tare_encoding *type_of(const tare_mlx_making *k, size_t i) {
    const int64_t other = k->uses[i].second;
    const tare_mlx_form form = k->uses[i].row->form;
    const tare_encoding *e = tensor(k, (int64_t)i)->encoding;
    const bool has_blocks = e->kind == TARE_KIND_BLOCK && form == TARE_MLX_ABOVE;
    bool is_made = form == TARE_MLX_LESS_ONE || form == TARE_MLX_DIVIDED ||
                   (tare_made_is_decoded(k->in, i) && !has_blocks) ||
                   (other >= 0 && tensor(k, other)->encoding != e);
    for (size_t n = 0; n < k->uses[i].n_all; n++)
        is_made |= tensor(k, k->uses[i].all[n])->encoding != e;
    return is_made ? tare_encoding_get(TARE_ENCODING_F32) : e;
}

/* A piece of blocks counts these. */
static tare_status count_blocks(tare_mlx_making *k, tare_piece *piece, const tare_encoding *type,
                                size_t i) {
    if (type->kind != TARE_KIND_BLOCK) return TARE_OK;
    piece->end /= type->block;
    if (!piece->view) return TARE_OK;
    tare_piece_view *view = TARE_NEW(&k->out->arena, tare_piece_view);
    if (!view) return no_memory(k);
    if (!tare_piece_view_of_runs(view, piece->view, type->block)) return misfit(k, i);
    piece->view = view;
    return TARE_OK;
}

static tare_status make(tare_mlx_making *k, size_t i, tare_str name, const made_tensor *of) {
    const tare_encoding *type = type_of(k, i);
    const int64_t other = k->uses[i].second;
    tare_piece *pieces = TARE_NEW_ARRAY(&k->out->arena, tare_piece, of->n_pieces);
    tare_made *made = &k->file->made[k->file->n_made++];
    const size_t at = k->out->catalog.n_tensors;
    tare_tensor *t = append(k, i, name);
    if (!pieces || !t) return no_memory(k);
    memcpy(pieces, of->all ? of->all : of->pieces, of->n_pieces * sizeof *pieces);
    for (size_t p = 0; p < of->n_pieces; p++) {
        const size_t source = of->all ? of->all[p].source : p == 0 || other < 0 ? i : (size_t)other;
        if (tensor(k, (int64_t)source)->encoding != type && !tare_tensor_can_decode(k->in, source))
            return tare_fail_tensor(k->err, TARE_ERR_UNSUPPORTED, tensor(k, (int64_t)source),
                                    source, "this type cannot be decoded");
        pieces[p].source = (uint32_t)source;
        TARE_TRY(count_blocks(k, &pieces[p], type, i));
    }
    TARE_TRY(tare_tensor_set(k->out, t, type, of->dims, of->n_dims, k->file_index, k->end, k->err));
    *made = (tare_made){k->end, t->size_bytes, NULL, {pieces, of->n_pieces, type}};
    for (size_t n = 1; n < k->uses[i].n_all; n++)
        k->origins[at].size_bytes += tare_tensor_origin(k->in, k->uses[i].all[n]).size_bytes;
    if (other >= 0)
        k->origins[at].size_bytes += tare_tensor_origin(k->in, (size_t)other).size_bytes;
    return tare_add_u64(k->end, t->size_bytes, &k->end)
               ? TARE_OK
               : tare_fail(k->err, TARE_ERR_LIMIT, "size of all tensors");
}

static made_tensor shaped_as(const tare_tensor *t) {
    made_tensor of = {.n_dims = t->n_dims, .n_pieces = 1};
    memcpy(of.dims, t->dims, t->n_dims * sizeof *t->dims);
    return of;
}

/* Whether two tensors are alike, but for the rows of each matrix. */
static bool are_alike(const tare_tensor *a, const tare_tensor *b) {
    if (a->n_dims != b->n_dims || a->n_dims < 2 || a->cols != b->cols) return false;
    for (uint32_t d = 0; d + 2 < a->n_dims; d++)
        if (a->dims[d] != b->dims[d]) return false;
    return a->n_elements > 0 && b->n_elements > 0;
}

static tare_status make_above(tare_mlx_making *k, size_t i) {
    const tare_tensor *a = tensor(k, (int64_t)i), *b = tensor(k, k->uses[i].second);
    if (!are_alike(a, b)) return misfit(k, i);
    const uint32_t row = a->n_dims - 2;
    made_tensor of = shaped_as(a);
    of.dims[row] += b->dims[row];
    of.n_pieces = 2;
    of.pieces[0].end = a->dims[row] * a->cols;
    of.pieces[1].end = of.dims[row] * a->cols;
    return make(k, i, k->uses[i].name, &of);
}

/* Columns of two, all of one and then of the other, or in turns. */
static tare_status make_beside(tare_mlx_making *k, size_t i, bool in_turns) {
    const tare_tensor *a = tensor(k, (int64_t)i), *b = tensor(k, k->uses[i].second);
    made_tensor of = shaped_as(a);
    const bool are_vectors = a->n_dims == 2 && in_turns; /* of biases */
    if (!are_alike(a, b) || a->n_elements != b->n_elements) return misfit(k, i);
    const uint64_t n = are_vectors ? a->cols : a->dims[a->n_dims - 2];
    if (!are_vectors) of.dims[of.n_dims - 2] = a->cols;
    of.dims[of.n_dims - 1] = 2 * n;
    of.n_pieces = 2;
    of.pieces[0].end = in_turns ? 1 : n;
    of.pieces[1].end = 2 * of.pieces[0].end;
    if (are_vectors) return make(k, i, k->uses[i].name, &of);
    of.pieces[0].view = turned(k, a);
    of.pieces[1].view = turned(k, b);
    return of.pieces[0].view && of.pieces[1].view ? make(k, i, k->uses[i].name, &of) : no_memory(k);
}

static tare_status make_turned(tare_mlx_making *k, size_t i) {
    const tare_tensor *t = tensor(k, (int64_t)i);
    made_tensor of = shaped_as(t);
    if (t->n_dims < 2 || t->n_elements == 0) return misfit(k, i);
    of.dims[t->n_dims - 1] = t->dims[t->n_dims - 2];
    of.dims[t->n_dims - 2] = t->cols;
    of.pieces[0].end = t->n_elements;
    of.pieces[0].view = turned(k, t);
    return of.pieces[0].view ? make(k, i, k->uses[i].name, &of) : no_memory(k);
}

/* A number more, or less. */
static tare_status make_one_off(tare_mlx_making *k, size_t i, float more) {
    const tare_tensor *t = tensor(k, (int64_t)i);
    made_tensor of = shaped_as(t);
    of.pieces[0] = (tare_piece){
        .end = tare_max_u64(t->n_elements, 1), .arithmetic = TARE_PIECE_ADD, .constant = more};
    return make(k, i, k->uses[i].name, &of);
}

/* The rows of all experts' matrices, or their columns as rows. */
static tare_status make_gathered(tare_mlx_making *k, size_t i, bool is_turned) {
    const tare_mlx_use *use = &k->uses[i];
    const tare_tensor *t = tensor(k, (int64_t)i);
    tare_piece *all = TARE_NEW_ARRAY(&k->out->arena, tare_piece, use->n_all);
    made_tensor of = {.n_dims = 2, .all = all, .n_pieces = use->n_all};
    if (!all) return no_memory(k);
    if (t->n_dims != 2 || t->n_elements == 0) return misfit(k, i);
    for (size_t n = 0; n < use->n_all; n++) {
        const tare_tensor *expert = tensor(k, use->all[n]);
        if (expert->n_dims != 2 || expert->dims[0] != t->dims[0] || expert->cols != t->cols)
            return misfit(k, use->all[n]);
        all[n] = (tare_piece){.end = (n + 1) * t->n_elements, .source = use->all[n]};
        if (is_turned && !(all[n].view = turned(k, expert))) return no_memory(k);
    }
    of.dims[0] = use->n_all * t->dims[is_turned];
    of.dims[1] = t->dims[!is_turned];
    return make(k, i, use->name, &of);
}

/* [out, in, height, width] of [out, height, width, in]. */
static tare_status make_channels_first(tare_mlx_making *k, size_t i) {
    const tare_tensor *t = tensor(k, (int64_t)i);
    made_tensor of = shaped_as(t);
    tare_piece_view *v = TARE_NEW(&k->out->arena, tare_piece_view);
    if (!v) return no_memory(k);
    if (t->n_elements == 0) return misfit(k, i);
    const uint64_t n_points = t->n_elements / t->dims[0] / t->cols;
    for (uint32_t d = 2; d < t->n_dims; d++) of.dims[d] = t->dims[d - 1];
    of.dims[1] = t->cols;
    *v = (tare_piece_view){
        .n_axes = 3, .axes = {{t->dims[0], n_points * t->cols}, {t->cols, 1}, {n_points, t->cols}}};
    of.pieces[0] = (tare_piece){.end = t->n_elements, .view = v};
    return make(k, i, k->uses[i].name, &of);
}

/* Numbers over what they were multiplied by, or the other way. */
static tare_status make_scaled(tare_mlx_making *k, size_t i, tare_piece_arithmetic arithmetic) {
    const tare_tensor *t = tensor(k, (int64_t)i);
    tare_mlx_factor factors[TARE_MLX_FACTORS];
    made_tensor of = shaped_as(t);
    uint64_t end = 0;
    of.n_pieces = tare_mlx_factors_of(factors, k->uses[i].name, &k->kind);
    if (of.n_pieces == 0)
        return tare_fail_tensor(k->err, TARE_ERR_UNSUPPORTED, t, i,
                                "mlx-lm multiplies it by numbers of config.json, which are not "
                                "there");
    if (t->n_elements == 0) return misfit(k, i);
    for (size_t n = 0; n < of.n_pieces; n++) {
        tare_piece_view *v = TARE_NEW(&k->out->arena, tare_piece_view);
        const uint64_t n_rows = of.n_pieces == 1 ? t->n_rows : factors[n].n_rows;
        if (!v) return no_memory(k);
        if (n_rows > t->n_rows - end) return misfit(k, i);
        *v = (tare_piece_view){end * t->cols, 1, {{n_rows * t->cols, 1}}};
        end += n_rows;
        of.pieces[n] = (tare_piece){
            .end = end * t->cols, .view = v, .arithmetic = arithmetic, .constant = factors[n].by};
    }
    return end == t->n_rows ? make(k, i, k->uses[i].name, &of) : misfit(k, i);
}

/* [heads, rank, keys] and [heads, values, rank]. */
static tare_status make_keys_values(tare_mlx_making *k, size_t i) {
    const tare_tensor *a = tensor(k, (int64_t)i), *b = tensor(k, k->uses[i].second);
    if (a->n_dims != 3 || b->n_dims != 3 || a->dims[0] != b->dims[0] || a->dims[1] != b->dims[2] ||
        a->n_elements == 0 || b->n_elements == 0)
        return misfit(k, i);
    made_tensor of = {.n_dims = 2, .n_pieces = 2};
    of.dims[0] = a->dims[0] * (a->dims[2] + b->dims[1]);
    of.dims[1] = a->dims[1];
    of.pieces[0].end = a->dims[1] * a->dims[2];
    of.pieces[1].end = a->dims[1] * (a->dims[2] + b->dims[1]);
    of.pieces[0].view = turned(k, a);
    return of.pieces[0].view ? make(k, i, k->uses[i].name, &of) : no_memory(k);
}

/* ---- for MLX ----------------------------------------------------------------------------------- */

/* Half a tensor of two: rows of each matrix, columns, or every other column; rows as columns, but for
 * the first. */
static tare_status make_half(tare_mlx_making *k, size_t i, tare_str name, uint64_t half) {
    const tare_tensor *t = tensor(k, (int64_t)i);
    const tare_mlx_form form = k->uses[i].row->form;
    const bool are_vectors = form == TARE_MLX_MINGLED && t->n_dims == 2; /* of biases */
    made_tensor of = shaped_as(t);
    tare_piece_view *v = TARE_NEW(&k->out->arena, tare_piece_view);
    if (!v) return no_memory(k);
    if (t->n_dims < 2 || t->n_elements == 0) return misfit(k, i);
    const uint64_t rows = t->dims[t->n_dims - 2], cols = t->cols, n = t->n_elements / rows / cols;
    const bool is_above = form == TARE_MLX_ABOVE, in_turns = form == TARE_MLX_MINGLED;
    const uint64_t hidden = is_above ? cols : rows, joined = is_above ? rows : cols;
    if (joined % 2 || (!are_vectors && k->kind.hidden && hidden != k->kind.hidden))
        return misfit(k, i);
    const uint64_t part = joined / 2;
    of.pieces[0] = (tare_piece){.end = t->n_elements / 2, .view = v};
    if (is_above) {
        of.dims[of.n_dims - 2] = part;
        *v = (tare_piece_view){half * part * cols, 2, {{n, rows * cols}, {part * cols, 1}}};
        const size_t at = k->out->catalog.n_tensors;
        k->same_rows[at] = (tare_same_rows){k->in, i, {half * part, 2, {{n, rows}, {part, 1}}}};
        return make(k, i, name, &of);
    }
    const uint64_t step = in_turns ? 2 : 1, first = in_turns ? half : half * part;
    of.dims[of.n_dims - 1] = are_vectors ? part : rows;
    if (!are_vectors) of.dims[of.n_dims - 2] = part;
    *v = are_vectors ? (tare_piece_view){first, 2, {{rows, cols}, {part, step}}}
                     : (tare_piece_view){first, 3, {{n, rows * cols}, {part, step}, {rows, cols}}};
    return make(k, i, name, &of);
}

void tare_mlx_add_nothing(tare_made_file *file) {
    for (size_t i = 0; i < file->n_made; i++) {
        const tare_composition *of = &file->made[i].of;
        tare_piece *pieces = (tare_piece *)(uintptr_t)of->pieces; /* made here */
        for (size_t p = 0; p < of->n_pieces; p++)
            if (pieces[p].arithmetic == TARE_PIECE_ADD) pieces[p].constant = 0;
    }
}

static tare_status make_for_mlx(tare_mlx_making *k, size_t i) {
    const tare_mlx_use *use = &k->uses[i];
    const tare_tensor *t = tensor(k, (int64_t)i);
    const tare_mlx_form form = use->row ? use->row->form : TARE_MLX_SAME;
    if (form == TARE_MLX_LEFT_OUT) return TARE_OK;
    if (form == TARE_MLX_NOT_UNDONE || form == TARE_MLX_GATHERED ||
        form == TARE_MLX_GATHERED_TURNED)
        return tare_fail_tensor(k->err, TARE_ERR_UNSUPPORTED, t, i,
                                "tare does not make what mlx-lm makes of such models, which it "
                                "cannot do itself where weights are packed");
    if (use->second_name.ptr) {
        TARE_TRY(make_half(k, i, use->name, 0));
        return make_half(k, i, use->second_name, 1);
    }
    if (form == TARE_MLX_TURNED) return make_turned(k, i);
    if (form == TARE_MLX_LESS_ONE) return make_one_off(k, i, 1);
    if (form == TARE_MLX_DIVIDED) return make_scaled(k, i, TARE_PIECE_MUL);
    if (form != TARE_MLX_LAST_TWO || t->n_dims != 3) return lay_whole(k, i, use->name);
    const uint64_t dims[] = {t->dims[0], t->dims[2], t->dims[1]};
    return lay(k, i, use->name, dims, 3, 0, t->n_elements / tare_max_u64(t->cols, 1));
}

/* ---- all --------------------------------------------------------------------------------------- */

static tare_status lay_last_two(tare_mlx_making *k, size_t i) {
    const tare_tensor *t = tensor(k, (int64_t)i);
    const bool is_moved = t->n_dims == 3 && t->dims[2] == 1;
    const made_tensor of = {.n_dims = 3, .dims = {t->dims[0], t->dims[2], t->dims[1]}};
    if (!is_moved) return lay_whole(k, i, k->uses[i].name);
    return lay(k, i, k->uses[i].name, of.dims, 3, 0, t->n_rows);
}

tare_status tare_mlx_make(tare_mlx_making *k, size_t i) {
    const tare_mlx_use *use = &k->uses[i];
    if (use->is_second) return TARE_OK;
    if (k->is_for_mlx) return make_for_mlx(k, i);
    switch (use->row ? use->row->form : TARE_MLX_SAME) {
    case TARE_MLX_EACH:
        return lay_each(k, i);
    case TARE_MLX_ABOVE:
        return make_above(k, i);
    case TARE_MLX_BESIDE:
    case TARE_MLX_MINGLED:
        return make_beside(k, i, use->row->form == TARE_MLX_MINGLED);
    case TARE_MLX_TURNED:
        return make_turned(k, i);
    case TARE_MLX_LAST_TWO:
        return lay_last_two(k, i);
    case TARE_MLX_LESS_ONE:
        return make_one_off(k, i, -1);
    case TARE_MLX_KEYS_VALUES:
        return make_keys_values(k, i);
    case TARE_MLX_VECTOR:
        return lay(k, i, use->name, &tensor(k, (int64_t)i)->n_elements, 1, 0,
                   tensor(k, (int64_t)i)->n_rows);
    case TARE_MLX_GATHERED:
    case TARE_MLX_GATHERED_TURNED:
        return make_gathered(k, i, use->row->form == TARE_MLX_GATHERED_TURNED);
    case TARE_MLX_CHANNELS_LAST:
        return make_channels_first(k, i);
    case TARE_MLX_DIVIDED:
        return make_scaled(k, i, TARE_PIECE_DIV);
    case TARE_MLX_NOT_UNDONE:
        return tare_fail_tensor(k->err, TARE_ERR_UNSUPPORTED, tensor(k, (int64_t)i), i,
                                "tare does not know how to undo what mlx-lm makes of such models");
    case TARE_MLX_LEFT_OUT:
    case TARE_MLX_SAME:
        break;
    }
    return lay_whole(k, i, use->name);
}
