/* SPDX-License-Identifier: MIT
 *
 * From the tensors of the input to those of llama.cpp: which are left out, how they are named,
 * which rules apply, and which are combined. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/report.h"
#include "base/str.h"
#include "llama/mapping.h"
#include "llama/size_rules.h"
#include "llama/tower.h"

#define STEM 128 /* bytes of a name of llama.cpp */

/* A tensor of several parts, until all are there. */
typedef struct tare_llama_join {
    struct tare_llama_join *next;
    tare_llama_target *target;
    tare_str first; /* name of a part, for messages */
    size_t first_index;
} join;

typedef struct pass {
    tare_llama_mapping *m;
    size_t index; /* of the input's tensor in hand */
    tare_str name;
    tare_str target;       /* what llama.cpp calls it, as the table of names says; ptr NULL: none */
    int64_t layer, number; /* the first and the last in its name; -1: none */
} pass;

static tare_status fail_tensor(const pass *p, tare_status status, const char *what,
                               tare_error *err) {
    return tare_fail_tensor(err, status, &p->m->hf->catalog.tensors[p->index], p->index, what);
}

/* ---- which are left out ---------------------------------------------------------------------- */

/* Packed weights that cannot be read, but for those that llama.cpp has no use for. */
static tare_status check_packed(const tare_model *hf, tare_error *err) {
    for (size_t i = 0; hf->notes && i < hf->catalog.n_tensors; i++)
        if (!tare_llama_is_left_out(hf->catalog.tensors[i].name))
            TARE_TRY(tare_tensor_check_packed(hf, i, err));
    return hf->refusal ? tare_fail(err, TARE_ERR_UNSUPPORTED, hf->refusal) : TARE_OK;
}

/* ---- targets --------------------------------------------------------------------------------- */

/* The blocks that the elements of a piece lie in and stay in; NULL: there are none. Those of several
 * planes cannot be moved, only kept. */
static const tare_encoding *blocks_of(const tare_llama_mapping *m, const tare_llama_draft *draft,
                                      const char *operation, tare_str target) {
    const tare_encoding *e = m->hf->catalog.tensors[draft->source].encoding;
    if (e->kind == TARE_KIND_BLOCK && operation[0] == '\0' && draft->n_slots == 0) return e;
    if (e->kind != TARE_KIND_BLOCK) e = tare_llama_scaled_blocks(m, draft, target);
    return e && e->n_planes == 1 && e->planes[0].unit == e->block &&
                   draft->arithmetic == TARE_PIECE_AS_IS &&
                   tare_llama_shape_keeps_blocks(&draft->shape, e->block)
               ? e
               : NULL;
}

/* What the elements of a piece are: the source's, floats where it has to be decoded or where
 * arithmetic is done; that of F16 is rounded to F16 again. */
static const tare_encoding *encoding_of(const tare_llama_mapping *m, const tare_llama_draft *draft,
                                        const char *operation, tare_str target) {
    const tare_encoding *e = m->hf->catalog.tensors[draft->source].encoding;
    const tare_encoding *blocks = blocks_of(m, draft, operation, target);
    if (blocks) return blocks;
    if (tare_made_is_decoded(m->hf, draft->source)) return tare_encoding_get(TARE_ENCODING_F32);
    if (draft->arithmetic == TARE_PIECE_AS_IS || e->id == TARE_ENCODING_F16) return e;
    return tare_encoding_get(TARE_ENCODING_F32);
}

static tare_status make_piece(tare_piece *out, const pass *p, const tare_llama_draft *draft,
                              tare_error *err) {
    const tare_tensor *source = &p->m->hf->catalog.tensors[draft->source];
    *out = (tare_piece){.source = draft->source,
                        .arithmetic = draft->arithmetic,
                        .constant = draft->constant,
                        .second = draft->second,
                        .n_terms = draft->n_terms,
                        .step = draft->step};
    return tare_llama_shape_finish(&out->view, &draft->shape, source->n_elements, &p->m->out->arena)
               ? TARE_OK
               : fail_tensor(p, TARE_ERR_LIMIT, "its parts are in too many places", err);
}

static void set_dims(tare_llama_target *t, const tare_llama_shape *s) {
    t->n_dims = s->n_dims;
    for (uint32_t d = 0; d < s->n_dims; d++) t->dims[d] = s->dims[d].extent;
}

static join *find_join(tare_llama_mapping *m, tare_str name, join ***place) {
    *place = &m->joins[tare_str_hash(name, &m->join_key) % m->n_join_slots];
    while (**place && !tare_str_equal((**place)->target->name, name)) *place = &(**place)->next;
    return **place;
}

static bool lies_in_turns(const tare_llama_target *t) {
    return t->joint == TARE_LLAMA_TURNS || t->joint == TARE_LLAMA_BESIDE;
}

/* Slices are of one shape; parts may differ in their rows. */
static bool fits(const tare_llama_target *t, const tare_llama_draft *draft) {
    const tare_llama_shape *s = &draft->shape;
    if (t->n_dims != s->n_dims || t->n_pieces != draft->n_slots) return false;
    const uint32_t joined = lies_in_turns(t) ? 1 : 0; /* dimension that may differ */
    for (uint32_t d = 0; d < t->n_dims; d++)
        if (t->dims[d] != s->dims[d].extent && (d != joined || t->joint == TARE_LLAMA_SLICES))
            return false;
    return true;
}

static bool is_experts(const tare_llama_target *t, const char *which) {
    return tare_llama_contains(t->name, which) && tare_llama_contains(t->name, "_exps.weight");
}

/* The stacks of a block are completed in the order of their names: down, gate, up. */
static void order_experts(tare_llama_mapping *m) {
    tare_llama_target **last = m->n_targets < 3 ? NULL : &m->targets[m->n_targets - 3];
    if (!last || !is_experts(last[0], "ffn_down") || !is_experts(last[1], "ffn_gate") ||
        !is_experts(last[2], "ffn_up"))
        return;
    tare_llama_target *down = last[0];
    last[0] = last[1];
    last[1] = last[2];
    last[2] = down;
}

/* All parts are there: where each ends in a turn, and the shape of the whole. */
static tare_status complete(pass *p, tare_llama_target *t, tare_error *err) {
    const uint64_t n_turns = lies_in_turns(t) ? t->dims[0] : 1;
    uint64_t end = 0, row = 1;
    for (size_t i = 0; i < t->n_pieces; i++) {
        end += t->pieces[i].end / n_turns; /* so far: its number of elements */
        t->pieces[i].end = end;
    }
    if (t->joint == TARE_LLAMA_SLICES) {
        if (t->n_dims == TARE_LLAMA_DIMS)
            return fail_tensor(p, TARE_ERR_CORRUPT, "it has too many dimensions", err);
        for (uint32_t d = t->n_dims++; d > 0; d--) t->dims[d] = t->dims[d - 1];
        t->dims[0] = t->n_pieces;
    } else if (t->joint == TARE_LLAMA_BESIDE) {
        t->dims[1] = end;
    } else {
        if (t->joint == TARE_LLAMA_TURNS) {
            t->n_dims--;
            for (uint32_t d = 1; d < t->n_dims; d++) t->dims[d] = t->dims[d + 1];
        }
        for (uint32_t d = 1; d < t->n_dims; d++) row *= t->dims[d];
        t->dims[0] = row ? n_turns * end / row : 0;
    }
    TARE_TRY(tare_llama_target_add(p->m, t, err));
    if (p->m->arch->gate_experts_first) order_experts(p->m);
    return TARE_OK;
}

static tare_status add_part(pass *p, tare_str name, const tare_llama_draft *draft,
                            const char *operation, tare_error *err) {
    tare_llama_mapping *m = p->m;
    join **place, *j = find_join(m, name, &place);
    const tare_encoding *encoding = encoding_of(m, draft, operation, name);
    uint64_t most = m->hf->limits.tensors;
    if (!j) {
        if (draft->n_slots > most) return fail_tensor(p, TARE_ERR_LIMIT, "number of its kind", err);
        j = TARE_NEW(&m->out->arena, join);
        if (!j) return tare_fail(err, TARE_ERR_NOMEM, "list of tensors");
        j->target = tare_llama_target_new(m, name, (size_t)draft->n_slots);
        if (!j->target) return tare_fail(err, TARE_ERR_NOMEM, "list of tensors");
        for (size_t i = 0; i < j->target->n_pieces; i++)
            j->target->pieces[i].source = TARE_PIECE_ZEROS;
        j->first = m->hf->catalog.tensors[p->index].name;
        j->first_index = p->index;
        j->target->joint = draft->joint;
        j->target->encoding = encoding;
        j->target->operation = operation;
        set_dims(j->target, &draft->shape);
        *place = j;
    }
    tare_llama_target *t = j->target;
    if (!fits(t, draft))
        return fail_tensor(p, TARE_ERR_CORRUPT,
                           "it has another shape than the others it is put together with", err);
    tare_piece *piece = &t->pieces[draft->slot];
    if (piece->source != TARE_PIECE_ZEROS)
        return fail_tensor(p, TARE_ERR_CORRUPT, "another tensor is the same part", err);
    TARE_TRY(make_piece(piece, p, draft, err));
    piece->end = tare_llama_shape_elements(&draft->shape);
    if (encoding != t->encoding) t->encoding = tare_encoding_get(TARE_ENCODING_F32);
    return ++t->n_there == t->n_pieces ? complete(p, t, err) : TARE_OK;
}

/* `first`: the name of a part that is there. */
static tare_status fail_join(const tare_llama_target *t, size_t first_index, tare_str first,
                             tare_error *err) {
    size_t lost = 0;
    while (t->pieces[lost].source != TARE_PIECE_ZEROS) lost++;
    tare_fail(err, TARE_ERR_CORRUPT,
              "others that belong together with it are missing: config.json asks for more");
    tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)first_index, first);
    tare_error_detail(err, "%s %zu of %zu, counted from 0",
                      tare_llama_contains(t->name, "exps") ? "expert" : "part", lost, t->n_pieces);
    return TARE_ERR_CORRUPT;
}

/* Reports what is still missing once all tensors have been seen: the first of it, in their order. */
static tare_status check_joins(const tare_llama_mapping *m, tare_error *err) {
    const join *lacking = NULL;
    for (size_t i = 0; i < m->n_join_slots; i++)
        for (const join *j = m->joins[i]; j; j = j->next) {
            if (j->target->n_there == j->target->n_pieces) continue;
            if (!lacking || j->first_index < lacking->first_index) lacking = j;
        }
    return lacking ? fail_join(lacking->target, lacking->first_index, lacking->first, err)
                   : TARE_OK;
}

/* ---- one tensor ------------------------------------------------------------------------------ */

/* "=blk.#.attn_k_b" with the number of the block; a second '#' is the last number of the name. */
static tare_str own_name(const pass *p, const char *pattern, int64_t block, tare_str suffix) {
    char buf[160];
    size_t n = 0;
    int64_t number = block;
    for (; *pattern && n + 24 < sizeof buf; pattern++) {
        if (*pattern != '#') {
            buf[n++] = *pattern;
            continue;
        }
        n += (size_t)snprintf(buf + n, sizeof buf - n, "%lld", (long long)number);
        number = p->number;
    }
    for (size_t i = 0; i < suffix.len && n < sizeof buf; i++) buf[n++] = suffix.ptr[i];
    return tare_arena_str(&p->m->out->arena, (tare_str){buf, n});
}

/* Where the number of an expert stands in a name: *from, *to. */
static bool find_expert(tare_str name, size_t *from, size_t *to, uint64_t *slot) {
    static const tare_str word = {"experts.", 8};
    for (size_t i = 0; i + word.len < name.len; i++) {
        if (memcmp(name.ptr + i, word.ptr, word.len) != 0) continue;
        *from = *to = i + word.len;
        *slot = 0;
        while (*to < name.len && name.ptr[*to] >= '0' && name.ptr[*to] <= '9' && *to - *from < 9)
            *slot = 10 * *slot + (uint64_t)(name.ptr[(*to)++] - '0');
        return *to > *from && *to < name.len && name.ptr[*to] == '.';
    }
    return false;
}

/* The name that the table has for a tensor, of whose experts all are one stack. */
static tare_status find_target(tare_str *out, const pass *p, tare_str name, tare_error *err) {
    tare_arena *arena = &p->m->out->arena;
    size_t from, to;
    uint64_t slot;
    if (find_expert(name, &from, &to, &slot))
        name = tare_llama_joined((tare_str){name.ptr, from}, tare_str_cut(name, to + 1), arena);
    if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    return tare_llama_names_find(out, &p->m->names, name, arena, err);
}

/* Makes a tensor of an expert a slice of the stack of all. */
static tare_status stack_expert(const pass *p, tare_str name, tare_llama_draft *draft,
                                tare_error *err) {
    size_t from, to;
    uint64_t slot;
    double n;
    if (!find_expert(name, &from, &to, &slot)) return TARE_OK;
    TARE_TRY(tare_llama_number(&n, p->m,
                               "experts | num_local_experts | num_experts | "
                               "n_routed_experts | moe_num_experts",
                               0, err));
    if (n == 0)
        return fail_tensor(p, TARE_ERR_CORRUPT, "config.json does not give the number of experts",
                           err);
    if ((double)slot >= n)
        return fail_tensor(p, TARE_ERR_CORRUPT, "config.json has fewer experts", err);
    draft->slot = slot;
    draft->n_slots = (uint64_t)n;
    draft->joint = TARE_LLAMA_SLICES;
    return TARE_OK;
}

/* Zeros before the only piece, or after it up to so many rows; none where it has as many. */
static tare_status pad_rows(const pass *p, tare_llama_target *t, const tare_llama_draft *draft,
                            tare_error *err) {
    const uint64_t row = t->pieces[0].end / t->dims[0], least = t->dims[0] + draft->led,
                   rows = tare_max_u64(draft->padded, least);
    uint64_t end;
    if (least < draft->led || !tare_mul_u64(row, rows, &end))
        return fail_tensor(p, TARE_ERR_LIMIT, "number of its rows", err);
    t->n_pieces = rows > t->dims[0] ? 2 : 1;
    t->pieces[1] = (tare_piece){.source = TARE_PIECE_ZEROS};
    if (draft->led) {
        t->pieces[1] = t->pieces[0];
        t->pieces[0] = (tare_piece){.source = TARE_PIECE_ZEROS, .end = row * draft->led};
    }
    t->pieces[t->n_pieces - 1].end = end;
    t->dims[0] = rows;
    return TARE_OK;
}

/* Whether there is a block for a tensor of blocks; a decoder may have more of them than its encoder. */
static tare_status has_layer(bool *out, const pass *p, tare_str target, tare_error *err) {
    const bool is_decoder = tare_str_starts(target, TARE_STR("dec."));
    double n = (double)p->m->n_layers;
    if (is_decoder) TARE_TRY(tare_llama_number(&n, p->m, "num_decoder_layers", n, err));
    *out = !tare_llama_contains(target, "blk.") || (double)p->layer < n;
    return TARE_OK;
}

static tare_status fail_layer(const pass *p, tare_error *err) {
    const uint64_t n = p->m->n_layers - p->m->n_extra_layers;
    const tare_str name =
        tare_llama_config_name(p->m, tare_llama_layers(p->m->arch), n, "num_hidden_layers");
    fail_tensor(p, TARE_ERR_CORRUPT, "config.json contradicts the tensors", err);
    tare_error_detail(err, "%.*s is %llu, this is layer %lld, counted from 0", (int)name.len,
                      name.ptr, (unsigned long long)n, (long long)p->layer);
    return TARE_ERR_CORRUPT;
}

static tare_status place(pass *p, tare_str name, tare_llama_draft *draft, const char *operation,
                         tare_error *err) {
    tare_llama_mapping *m = p->m;
    tare_str target = p->target;
    if (draft->n_slots == 0 && name.ptr[0] != '=') TARE_TRY(stack_expert(p, name, draft, err));
    if (name.ptr[0] == '=') {
        target = tare_str_cut(name, 1);
    } else {
        if (name.ptr != p->name.ptr) TARE_TRY(find_target(&target, p, name, err));
        bool is_there = true;
        if (target.ptr) TARE_TRY(has_layer(&is_there, p, target, err));
        if (!is_there) return fail_layer(p, err);
    }
    if (!target.ptr)
        return fail_tensor(p, TARE_ERR_UNSUPPORTED,
                           "llama.cpp has no such tensor in this architecture", err);
    if (draft->is_first_only && tare_llama_has_target(m, target)) return TARE_OK;
    if (draft->n_slots) return add_part(p, target, draft, operation, err);
    tare_llama_target *t = tare_llama_target_new(m, target, draft->padded || draft->led ? 2 : 1);
    if (!t) return tare_fail(err, TARE_ERR_NOMEM, "list of tensors");
    TARE_TRY(make_piece(&t->pieces[0], p, draft, err));
    t->pieces[0].end = tare_llama_shape_elements(&draft->shape);
    t->encoding = encoding_of(m, draft, operation, target);
    t->operation = operation;
    set_dims(t, &draft->shape);
    if (draft->padded || draft->led) TARE_TRY(pad_rows(p, t, draft, err));
    return tare_llama_target_add(m, t, err);
}

static tare_status begin(pass *p, tare_llama_draft *draft, tare_error *err) {
    const tare_tensor *t = &p->m->hf->catalog.tensors[p->index];
    *draft =
        (tare_llama_draft){.source = (uint32_t)p->index, .layer = p->layer, .number = p->number};
    if (t->n_elements == 0) return fail_tensor(p, TARE_ERR_CORRUPT, "it has no elements", err);
    if (!tare_llama_shape_init(&draft->shape, t->dims, t->n_dims))
        return fail_tensor(p, TARE_ERR_UNSUPPORTED, "it has too many dimensions", err);
    return TARE_OK;
}

/* The name a rule gives. */
static tare_str renamed(const pass *p, const tare_llama_rule *r, size_t tail, int64_t block,
                        tare_str suffix) {
    tare_arena *arena = &p->m->out->arena;
    if (!r->to) return p->name;
    if (r->to[0] == '=') return own_name(p, r->to, block, suffix);
    tare_str head = tare_llama_joined((tare_str){p->name.ptr, tail}, tare_str_of(r->to), arena);
    return head.ptr ? tare_llama_joined(head, suffix, arena) : head;
}

/* The constant of an operation that depends on all numbers of the tensor. */
static tare_status measure(const pass *p, tare_llama_draft *draft, tare_error *err) {
    double mean;
    if (draft->measure == TARE_LLAMA_NO_MEASURE || p->m->is_rehearsal) return TARE_OK;
    bool of_magnitudes = draft->measure == TARE_LLAMA_MEAN_MAGNITUDE;
    TARE_TRY(tare_llama_mean(&mean, p->m->hf, p->index, of_magnitudes, err));
    draft->constant = of_magnitudes ? 1 / fmaxf((float)mean, 1e-5F) : -(float)mean;
    return TARE_OK;
}

/* All numbers of a tensor of I64, which may be more than a float holds. */
static tare_status collect_whole(const pass *p, tare_llama_collected *to, tare_error *err) {
    const tare_tensor *t = &p->m->hf->catalog.tensors[p->index];
    if (t->n_elements > 4096)
        return fail_tensor(p, TARE_ERR_LIMIT, "more numbers than a key may have", err);
    to->n_whole = (size_t)t->n_elements;
    uint8_t *bytes = tare_arena_array(&p->m->out->arena, to->n_whole, 8);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    to->whole = bytes;
    return tare_tensor_read(bytes, p->m->hf, p->index, 0, 0, 8 * to->n_whole, err);
}

/* Makes a tensor's first number the block's element of a key, or outside of blocks the key; of whole
 * numbers all of them. */
static tare_status collect(const pass *p, const char *key, tare_error *err) {
    tare_llama_mapping *m = p->m;
    tare_arena *arena = &m->out->arena;
    size_t i = 0;
    float value;
    if (m->is_rehearsal) return TARE_OK;
    const bool is_single = p->layer < 0;
    if (!is_single && (uint64_t)p->layer >= m->n_layers)
        return fail_tensor(p, TARE_ERR_CORRUPT, "config.json has fewer layers", err);
    while (i < m->n_collected && strcmp(m->collected[i].key, key) != 0) i++;
    if (i == sizeof m->collected / sizeof *m->collected)
        return tare_fail(err, TARE_ERR_ARG, "rules: too many keys of values");
    if (i == m->n_collected) {
        double *numbers = TARE_NEW_ARRAY(arena, double, is_single ? 1 : m->n_layers);
        m->collected[i] =
            (tare_llama_collected){.key = key, .numbers = numbers, .is_single = is_single};
        m->n_collected += numbers != NULL;
    }
    if (!m->collected[i].numbers) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    m->is_read[p->index] = true;
    if (m->hf->catalog.tensors[p->index].encoding->id == TARE_ENCODING_I64)
        return collect_whole(p, &m->collected[i], err);
    TARE_TRY(tare_tensor_values_f32(&value, m->hf, p->index, 0, 1, err));
    m->collected[i].numbers[is_single ? 0 : p->layer] = (double)value;
    m->collected[i].n_there++;
    return TARE_OK;
}

/* A vector that is computed of several. */
static tare_status place_folded(const pass *p, tare_str name, const tare_llama_draft *draft,
                                tare_error *err) {
    tare_llama_mapping *m = p->m;
    const size_t n = (size_t)m->hf->catalog.tensors[p->index].n_elements;
    float *values = TARE_NEW_ARRAY(&m->out->arena, float, n);
    if (!values) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    if (!m->is_rehearsal) TARE_TRY(tare_llama_fold_vectors(values, m, p->index, draft->fold, err));
    return tare_llama_generate(m, name.ptr + 1, values, n, err); /* behind '=' */
}

/* Whole numbers, each below a limit, as I32. */
static tare_status place_ids(const pass *p, tare_str name, const tare_llama_draft *draft,
                             tare_error *err) {
    tare_llama_mapping *m = p->m;
    const tare_tensor *t = &m->hf->catalog.tensors[p->index];
    const size_t width = t->encoding->id == TARE_ENCODING_I64   ? 8
                         : t->encoding->id == TARE_ENCODING_I32 ? 4
                                                                : 0;
    if (!width) return fail_tensor(p, TARE_ERR_CORRUPT, "expected whole numbers, i64 or i32", err);
    const size_t n = (size_t)t->n_elements;
    uint8_t *ids = tare_arena_array(&m->out->arena, n, width);
    tare_llama_target *to = tare_llama_target_new(m, tare_str_cut(name, 1), 0); /* behind '=' */
    if (!ids || !to) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_tensor_read(ids, m->hf, p->index, 0, 0, n * width, err));
    for (size_t i = 0; i < n; i++) {
        const uint64_t id = width == 8 ? tare_load_le64(ids + 8 * i) : tare_load_le32(ids + 4 * i);
        if (id >= draft->n_ids) {
            fail_tensor(p, TARE_ERR_CORRUPT, "a number is none of those that config.json counts",
                        err);
            tare_error_detail(err, "element %zu, of %llu", i, (unsigned long long)draft->n_ids);
            return TARE_ERR_CORRUPT;
        }
        tare_store_le32(ids + 4 * i, (uint32_t)id);
    }
    m->is_read[p->index] = true;
    to->encoding = tare_encoding_get(TARE_ENCODING_I32);
    to->bytes = ids;
    to->size = 4 * (uint64_t)n;
    to->operation = "ids";
    to->n_dims = draft->shape.n_dims;
    for (uint32_t d = 0; d < to->n_dims; d++) to->dims[d] = draft->shape.dims[d].extent;
    return tare_llama_target_add(m, to, err);
}

/* A rule after which no other holds. */
static bool is_final(const tare_llama_rule *r) {
    const tare_str program = tare_str_of(r->program ? r->program : "");
    return tare_str_ends(program, TARE_STR("drop")) || tare_str_ends(program, TARE_STR("as_is"));
}

/* Applies a rule that matches; *held: false where its condition does not. */
static tare_status apply_rule(bool *held, pass *p, const tare_llama_rule *r, size_t tail,
                              tare_str suffix, tare_error *err) {
    tare_llama_draft draft;
    *held = false;
    TARE_TRY(begin(p, &draft, err));
    tare_status status = tare_llama_program_run(&draft, r->program, &p->m->config, err);
    if (status != TARE_OK) {
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)p->index,
                        p->m->hf->catalog.tensors[p->index].name);
        return status;
    }
    *held = !draft.is_skipped;
    if (draft.is_skipped || draft.is_dropped) return TARE_OK;
    if (draft.is_value) return collect(p, r->to, err);
    TARE_TRY(measure(p, &draft, err));
    tare_str name = renamed(p, r, tail, draft.layer, suffix);
    if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    if (draft.n_ids && !p->m->is_rehearsal) return place_ids(p, name, &draft, err);
    if (draft.drawn) return tare_llama_draw(p->m, name.ptr + 1, p->index, draft.drawn, err);
    return draft.fold ? place_folded(p, name, &draft, err)
                      : place(p, name, &draft, is_final(r) || !r->program ? "" : r->program, err);
}

/* Applies all rules of a list that match, or one that is final; *n: how many did. */
static tare_status apply_rules(pass *p, const tare_llama_rule *rules, size_t *n, tare_error *err) {
    for (int final = 1; final >= 0; final--)
        for (const tare_llama_rule *r = rules; r && r->match; r++) {
            tare_str suffix;
            size_t tail;
            bool held;
            if (is_final(r) != (final == 1) ||
                !tare_llama_rule_matches(r, p->name, p->target, &tail, &suffix))
                continue;
            TARE_TRY(apply_rule(&held, p, r, tail, suffix, err));
            *n += held;
            if (held && final == 1) return TARE_OK;
        }
    return TARE_OK;
}

/* What a rule on a tensor of another spelling calls for: it has a program beside its condition. */
static bool operates(const tare_llama_rule *r) {
    const char *program = r->program ? r->program : "";
    return program[0] && !is_final(r) && strcmp(program, "first") != 0 &&
           (strncmp(program, "if(", 3) != 0 || strstr(program, ") "));
}

/* "blk.#.ffn_up" of "blk.3.ffn_up.weight". */
static void stem_of(char *stem, size_t size, tare_str target) {
    uint64_t block;
    bool is_in_block;
    if (tare_str_ends(target, TARE_STR(".weight"))) target.len -= 7;
    tare_llama_stem(stem, size, &block, &is_in_block, target);
}

/* A rule that makes a tensor of the one that the table has in the same place under the name of its
 * pattern: the place's stem. False: the rule is none such. */
static tare_status place_of_rule(char *stem, size_t size, const pass *p, const tare_llama_rule *r,
                                 bool *is_of_place, tare_error *err) {
    const tare_str block = TARE_STR("model.layers.0");
    tare_arena *arena = &p->m->out->arena;
    char by_rule[STEM] = "";
    tare_str name, target;
    *is_of_place = false;
    if (r->match[0] != '*' || strpbrk(r->match + 1, "*#@") || !r->to || !operates(r))
        return TARE_OK;
    name = tare_llama_joined(block, tare_str_of(r->match + 1), arena);
    if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    TARE_TRY(find_target(&target, p, name, err));
    if (!target.ptr) return TARE_OK;
    stem_of(stem, size, target);
    name = tare_llama_joined(block, tare_str_of(r->to), arena);
    if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    target = tare_str_of(r->to + 1);
    if (r->to[0] != '=') TARE_TRY(find_target(&target, p, name, err));
    if (target.ptr) stem_of(by_rule, sizeof by_rule, target);
    *is_of_place = strcmp(stem, by_rule) == 0;
    return TARE_OK;
}

/* Finds the rules whose tensors must not come to their places by another name: an operation would be
 * missing. */
static tare_status find_guards(tare_llama_mapping *m, tare_error *err) {
    const pass p = {.m = m};
    size_t n = 0;
    for (const tare_llama_rule *r = m->arch->rules; r && r->match; r++) n++;
    m->guards = TARE_NEW_ARRAY(&m->out->arena, tare_llama_guard, n);
    if (!m->guards) return tare_fail(err, TARE_ERR_NOMEM, "rules");
    for (const tare_llama_rule *r = m->arch->rules; r && r->match; r++) {
        char stem[STEM];
        bool is_of_place;
        TARE_TRY(place_of_rule(stem, sizeof stem, &p, r, &is_of_place, err));
        if (!is_of_place) continue;
        const tare_str kept = tare_arena_str(&m->out->arena, tare_str_of(stem));
        if (!kept.ptr) return tare_fail(err, TARE_ERR_NOMEM, "rules");
        m->guards[m->n_guards++] = (tare_llama_guard){r, kept};
    }
    return TARE_OK;
}

/* "x.down_proj.weight" is the matrix of a linear layer, "x.down_proj" a parameter, transposed. */
static bool is_weight_of(tare_str name, const char *parameter) {
    if (!tare_str_ends(name, TARE_STR(".weight"))) return false;
    name.len -= 7;
    return tare_str_ends(name, tare_str_of(parameter));
}

/* No rule matches the tensor; one that makes what its name comes to says that it is another's. */
static tare_status check_spelling(const pass *p, tare_error *err) {
    const tare_llama_mapping *m = p->m;
    char stem[STEM];
    size_t from, to;
    uint64_t slot;
    if (!p->target.ptr || find_expert(p->name, &from, &to, &slot)) return TARE_OK;
    stem_of(stem, sizeof stem, p->target);
    for (size_t i = 0; i < m->n_guards; i++) {
        const tare_llama_rule *r = m->guards[i].rule;
        if (!tare_str_is(m->guards[i].stem, stem) || is_weight_of(p->name, r->match + 1)) continue;
        fail_tensor(p, TARE_ERR_UNSUPPORTED,
                    "llama.cpp wants it changed by a rule that this name does not match", err);
        tare_error_detail(err, "%s by \"%s\"", stem, r->match);
        return TARE_ERR_UNSUPPORTED;
    }
    return TARE_OK;
}

/* A bias that llama.cpp has no place for must not matter. */
static tare_status check_zero(const pass *p, tare_error *err) {
    bool is_zero;
    TARE_TRY(tare_llama_is_zero(&is_zero, p->m->hf, p->index, err));
    if (is_zero) return TARE_OK;
    return fail_tensor(p, TARE_ERR_UNSUPPORTED,
                       "it is not 0, and llama.cpp has no such bias in this architecture", err);
}

/* Experts as transformers has them since version 5, gate above up in one stack, whatever rows say. */
#define HALF_OF_STACK(name, from)                                                                  \
    {name, "=blk.#.ffn_gate_exps.weight", from " rows(1, 0, d1 / 2)"}, {                           \
        name, "=blk.#.ffn_up_exps.weight", from " rows(1, d1 / 2, d1 / 2)"                         \
    }
#define OF_WIDTH "if(d2 == (hidden_size | n_embd | dim))"
static const tare_llama_rule joined_experts[] = {
    HALF_OF_STACK("*.experts.gate_up_proj", OF_WIDTH),
    HALF_OF_STACK("*.experts.gate_up_proj.weight", OF_WIDTH),
    {NULL, NULL, NULL}};

/* A tensor of the tower, one that goes from the text model into it, or one of the text model. */
static tare_status map_tower_tensor(pass *p, tare_error *err) {
    const tare_str name = p->m->hf->catalog.tensors[p->index].name;
    size_t n = 0;
    p->name = tare_llama_cut_name(p->m, tare_llama_tower_name(name));
    if (!p->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    tare_llama_numbers_of(p->name, &p->layer, &p->number);
    TARE_TRY(apply_rules(p, p->m->arch->rules, &n, err));
    if (n || tare_llama_is_buffer(name)) return TARE_OK;
    if (tare_llama_tower_takes(p->m->arch->tower, p->name))
        return fail_tensor(p, TARE_ERR_UNSUPPORTED, "llama.cpp has no such tensor in this encoder",
                           err);
    if (tare_llama_is_left_out(name))
        return fail_tensor(p, TARE_ERR_UNSUPPORTED,
                           "it belongs neither to the text model nor to the encoder", err);
    return TARE_OK;
}

static const tare_llama_rule head_of_embeddings[] = {
    {"=token_embd.weight", "=output.weight", "first"}, {NULL, NULL, NULL}};

static tare_status map_tensor(pass *p, tare_error *err) {
    tare_llama_mapping *m = p->m;
    if (m->arch->tower) return map_tower_tensor(p, err);
    tare_llama_draft draft;
    size_t n = 0;
    if (tare_llama_is_left_out(m->hf->catalog.tensors[p->index].name)) {
        m->n_of_tower += !tare_llama_is_buffer(m->hf->catalog.tensors[p->index].name);
        return TARE_OK;
    }
    p->name = tare_llama_normal_name(m, tare_llama_source_name(m, p->index));
    if (!p->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    if (p->name.len == 0)
        return fail_tensor(p, TARE_ERR_UNSUPPORTED, "llama.cpp has no such tensor", err);
    tare_llama_numbers_of(p->name, &p->layer, &p->number);
    if (m->arch->drops_extra_layers && p->layer >= (int64_t)m->n_layers) return TARE_OK;
    if (m->arch->drops_zero_biases && !m->is_rehearsal && tare_str_ends(p->name, TARE_STR(".bias")))
        return check_zero(p, err);
    TARE_TRY(find_target(&p->target, p, p->name, err));
    if (tare_llama_is_beside(m, p->target, p->layer)) return TARE_OK;
    if (m->copies_head) TARE_TRY(apply_rules(p, head_of_embeddings, &n, err));
    n = 0;
    TARE_TRY(apply_rules(p, m->arch->rules, &n, err));
    if (n == 0 && tare_llama_is_one_of(TARE_STR("ffn_gate_exps"), m->arch->tensors))
        TARE_TRY(apply_rules(p, joined_experts, &n, err));
    if (n) return TARE_OK;
    TARE_TRY(check_spelling(p, err));
    TARE_TRY(begin(p, &draft, err));
    return place(p, p->name, &draft, "", err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

typedef struct entry {
    tare_str file, name;
    size_t index;
} entry;

static int by_file_and_name(const void *a, const void *b) {
    const entry *x = a, *y = b;
    int order = tare_str_compare(x->file, y->file);
    return order ? order : tare_str_compare(x->name, y->name);
}

/* What --outtype auto comes to: the first tensor of two dimensions in F16 or BF16 decides. */
static void note_usual_type(tare_llama_mapping *m, const tare_tensor *t) {
    tare_encoding_id id = t->encoding->id;
    if (m->usual_type == TARE_ENCODING_UNKNOWN && t->n_dims >= 2 &&
        (id == TARE_ENCODING_F16 || id == TARE_ENCODING_BF16))
        m->usual_type = id;
}

static tare_llama_target *target_named(const tare_llama_mapping *m, const char *name, size_t *at) {
    for (*at = 0; *at < m->n_targets; ++*at)
        if (tare_str_is(m->targets[*at]->name, name)) return m->targets[*at];
    return NULL;
}

/* llama.cpp takes the embeddings where there is no output matrix. */
static tare_status drop_equal_output(tare_llama_mapping *m, tare_error *err) {
    size_t at, other;
    bool is_equal;
    const tare_llama_target *embedding = target_named(m, "token_embd.weight", &other);
    const tare_llama_target *output = target_named(m, "output.weight", &at);
    if (!m->arch->drops_equal_output || m->is_rehearsal || !embedding || !output) return TARE_OK;
    TARE_TRY(tare_llama_is_equal(&is_equal, m->hf, embedding->pieces[0].source,
                                 output->pieces[0].source, err));
    if (!is_equal) return TARE_OK;
    m->n_targets--;
    memmove(&m->targets[at], &m->targets[at + 1], (m->n_targets - at) * sizeof *m->targets);
    return TARE_OK;
}

/* The file that a tensor counts as being in: where it lies, a packed weight where its codes lie. One
 * that its name is made up for comes after all files, as in llama.cpp's own converter. */
static tare_str file_of(const tare_model *hf, size_t i) {
    const tare_str name = hf->catalog.tensors[i].name;
    if (hf->stored && tare_model_find_tensor(hf->stored, name) < 0) return TARE_STR("\xff");
    return tare_str_of(hf->files[tare_tensor_origin(hf, i).file].name);
}

tare_status tare_llama_map_tensors(tare_llama_mapping *m, tare_error *err) {
    const tare_catalog *in = &m->hf->catalog;
    const size_t n = (size_t)in->n_tensors; /* all of them are in memory */
    entry *entries = tare_alloc(m->out->allocator, n * sizeof *entries);
    m->n_join_slots = n + 1;
    m->join_key = tare_hash_key_new();
    m->joins = TARE_NEW_ARRAY(&m->out->arena, join *, m->n_join_slots);
    if (!entries || !m->joins) {
        tare_free(m->out->allocator, entries, n * sizeof *entries);
        return tare_fail(err, TARE_ERR_NOMEM, "list of tensors");
    }
    for (size_t i = 0; i < n; i++) entries[i] = (entry){file_of(m->hf, i), in->tensors[i].name, i};
    tare_status status = check_packed(m->hf, err);
    if (n) qsort(entries, n, sizeof *entries, by_file_and_name);
    if (status == TARE_OK && !m->arch->tower) status = find_guards(m, err);
    for (size_t i = 0; i < n && status == TARE_OK; i++) {
        pass p = {.m = m, .index = entries[i].index};
        note_usual_type(m, &in->tensors[p.index]);
        status = map_tensor(&p, err);
    }
    tare_free(m->out->allocator, entries, n * sizeof *entries);
    if (m->usual_type == TARE_ENCODING_UNKNOWN) m->usual_type = TARE_ENCODING_F16;
    if (status == TARE_OK) status = check_joins(m, err);
    if (status == TARE_OK) status = drop_equal_output(m, err);
    return status == TARE_OK ? tare_llama_add_scales(m, err) : status;
}
