/* SPDX-License-Identifier: MIT
 *
 * The catalog of a model in transformers' form: what becomes of each tensor of MLX's. */
#include "mlx/mlx_plain.h"

#include <string.h>

#include "base/str.h"
#include "mlx/mlx_parts.h"

/* ---- whether it is MLX's ----------------------------------------------------------------------- */

static bool is_format(const tare_metadata *e) {
    return e->space == TARE_KEYS_SAFETENSORS && tare_str_is(e->key, "format") &&
           e->value.type == TARE_VALUE_STRING;
}

/* mlx-lm names itself in the metadata; experts in one tensor have a name that is its alone. */
static bool is_mlx(const tare_model *m) {
    const tare_catalog *c = &m->catalog;
    for (size_t i = 0; i < c->n_metadata; i++)
        if (is_format(&c->metadata[i]) && tare_str_is(c->metadata[i].value.as.s, "mlx"))
            return true;
    for (size_t i = 0; i < c->n_tensors; i++)
        if (tare_mlx_is_in(c->tensors[i].name, ".switch_mlp.") ||
            tare_mlx_is_in(c->tensors[i].name, ".switch_glu.") ||
            (m->packed && m->notes && m->notes[i].scheme &&
             strncmp(m->notes[i].scheme, "mlx", 3) == 0))
            return true;
    return false;
}

/* Whether codes of MLX's are tensors here, and not weights. */
static bool has_codes(const tare_model *m) {
    for (size_t i = 0; i < m->catalog.n_tensors; i++)
        if (tare_str_ends(m->catalog.tensors[i].name, TARE_STR(".scales"))) return true;
    return false;
}

/* ---- what becomes of tensors ------------------------------------------------------------------- */

static const tare_tensor *tensor(const tare_mlx_making *k, size_t i) {
    return &k->in->catalog.tensors[i];
}

static bool is_convolution(const tare_tensor *t, const tare_mlx_row *row) {
    return row && row->form == TARE_MLX_LAST_TWO && t->n_dims == 3 && t->dims[2] == 1 &&
           t->dims[1] > 1;
}

/* Whether nothing else than transformers' form would be found under that name. */
static bool is_undone(const tare_tensor *t) {
    return t->n_dims == 3 && t->dims[1] == 1;
}

/* The weight of a convolution of pictures, [out, height, width, in] and [out, time, height, width, in], where
 * transformers has `in` behind `out`. mlx-vlm turns them, but not always those whose kernel is as wide as
 * it has channels. */
static bool may_have_channels_last(const tare_tensor *t) {
    return t->n_dims > 3 && tare_str_ends(t->name, TARE_STR(".weight")) &&
           t->dims[t->n_dims - 3] == t->dims[t->n_dims - 2];
}

static bool has_channels_last(const tare_tensor *t) {
    return may_have_channels_last(t) && t->dims[t->n_dims - 1] != t->dims[t->n_dims - 2];
}

static bool has_channels_first(const tare_tensor *t) {
    return t->n_dims > 3 && tare_str_ends(t->name, TARE_STR(".weight")) &&
           t->dims[t->n_dims - 2] == t->dims[t->n_dims - 1] && !may_have_channels_last(t);
}

/* Whether convolutions are of the form that is to become the other, and what goes with them. */
static void find_form(tare_mlx_making *k) {
    for (size_t i = 0; i < k->in->catalog.n_tensors; i++) {
        const tare_tensor *t = tensor(k, i);
        const tare_mlx_row *row = tare_mlx_other_row(t->name, &k->kind);
        k->is_formed |= (k->is_for_mlx ? row && row->form == TARE_MLX_LAST_TWO && is_undone(t)
                                       : is_convolution(t, row)) ||
                        tare_mlx_tells_norms(t->name, &k->kind, k->is_for_mlx);
        k->has_channels_last |= has_channels_last(t);
        k->has_channels_first |= has_channels_first(t);
    }
}

/* A row holds for a tensor of its form only: a name may be transformers', too. */
static bool holds(const tare_mlx_making *k, size_t i, const tare_mlx_row *row) {
    const tare_tensor *t = tensor(k, i);
    switch (row->form) {
    case TARE_MLX_LAST_TWO:
        return is_convolution(t, row) || strcmp(row->name, row->plain) != 0;
    case TARE_MLX_CHANNELS_LAST:
        return has_channels_last(t);
    case TARE_MLX_VECTOR:
        return t->n_dims != 1 && t->n_elements > 0;
    case TARE_MLX_NOT_UNDONE:
        return !is_undone(t);
    case TARE_MLX_DIVIDED:
        return k->is_formed;
    case TARE_MLX_LESS_ONE:
        return t->n_dims == 1 && k->is_formed;
    default:
        return true;
    }
}

/* The name of experts that stay in one tensor. */
static tare_str as_stack(const tare_mlx_making *k, tare_str name, const tare_mlx_row *row) {
    static const char *const stacks[] = {".experts.switch_glu.", ".switch_mlp."};
    char plain[96];
    const size_t before = strcspn(row->plain, "#");
    if (row->form == TARE_MLX_SAME) return tare_mlx_replaced(name, row->name, row->plain, k->arena);
    if (row->form == TARE_MLX_EACH) { /* without the number: "#." */
        memcpy(plain, row->plain, before);
        memcpy(plain + before, row->plain + before + 2, strlen(row->plain) - before - 1);
        return tare_mlx_replaced(name, row->name, plain, k->arena);
    }
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        if (tare_mlx_is_in(name, stacks[i]))
            return tare_mlx_replaced(name, stacks[i], ".experts.", k->arena);
    return name;
}

/* The other tensor that one is made of. */
static tare_status fail_half(const tare_mlx_making *k, size_t i) {
    return tare_fail_tensor(k->err, TARE_ERR_CORRUPT, tensor(k, i), i,
                            "MLX has two tensors here of which transformers' is made, and the "
                            "other one is missing");
}

static tare_status find_second(tare_mlx_making *k, size_t i, const tare_mlx_row *row) {
    const tare_str name = tensor(k, i)->name;
    const tare_str other = tare_mlx_replaced(name, row->name, row->second, k->arena);
    if (!other.ptr) return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    const int64_t at = tare_model_find_tensor(k->in, other);
    k->uses[i].second = at;
    if (at < 0) return fail_half(k, i);
    k->uses[at].is_second = true;
    return TARE_OK;
}

/* All experts' tensors that one is made of, of which this is the first. */
static tare_status find_all(tare_mlx_making *k, size_t i, const tare_mlx_row *row) {
    uint32_t *all = NULL;
    size_t n = 0, room = 0;
    for (int64_t at = (int64_t)i; at >= 0; n++) {
        if (n == room) { /* as many as there are, and no more than twice as many */
            uint32_t *more = TARE_NEW_ARRAY(k->arena, uint32_t, room = room ? 2 * room : 16);
            if (!more) return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
            if (n) memcpy(more, all, n * sizeof *all);
            all = more;
        }
        all[n] = (uint32_t)at;
        if (n > 0) k->uses[at].is_second = true;
        const tare_str next = tare_mlx_numbered(tensor(k, i)->name, row->name, n + 1, k->arena);
        if (!next.ptr) return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
        at = tare_model_find_tensor(k->in, next);
    }
    k->uses[i].all = all;
    k->uses[i].n_all = n;
    return TARE_OK;
}

static bool is_gathered(const tare_mlx_row *row) {
    return row && (row->form == TARE_MLX_GATHERED || row->form == TARE_MLX_GATHERED_TURNED);
}

/* Convolutions of an encoder whose names and form tare does not know. */
static tare_status check_tower(const tare_mlx_making *k, size_t i) {
    const tare_tensor *t = tensor(k, i);
    const bool is_unknown = has_channels_last(t) && !tare_mlx_has_tower(&k->kind);
    const bool is_plain = k->has_channels_first && !k->has_channels_last;
    const bool is_unclear = may_have_channels_last(t) && !has_channels_last(t) &&
                            t->dims[t->n_dims - 1] > 1 && !is_plain;
    if (k->use_of == TARE_MLX_AS_TEXT) return TARE_OK;
    if (is_unknown)
        return tare_fail_tensor(k->err, TARE_ERR_UNSUPPORTED, t, i,
                                "a convolution whose channels are last, as mlx-vlm stores it: tare "
                                "does not know what else mlx-vlm makes of such models");
    return is_unclear ? tare_fail_tensor(k->err, TARE_ERR_UNSUPPORTED, t, i,
                                         "a convolution whose shape does not tell whether its "
                                         "channels are last, as mlx-vlm stores them")
                      : TARE_OK;
}

static tare_status take_row(tare_mlx_making *k, size_t i, const tare_mlx_row *row) {
    const tare_str name = tensor(k, i)->name;
    tare_mlx_use *use = &k->uses[i];
    use->row = row;
    use->name = tare_mlx_replaced(name, row->name, row->plain, k->arena);
    if (row->second) return find_second(k, i, row);
    return is_gathered(row) ? find_all(k, i, row) : TARE_OK;
}

static tare_status use_tensor(tare_mlx_making *k, size_t i) {
    const tare_str name = tensor(k, i)->name;
    tare_mlx_use *use = &k->uses[i];
    const tare_mlx_row *stack = tare_mlx_stack_row(name, &k->kind);
    const tare_mlx_row *row = stack ? stack : tare_mlx_other_row(name, &k->kind);
    use->name = name;
    TARE_TRY(check_tower(k, i));
    if (row && !holds(k, i, row)) row = NULL;
    const bool is_other = row && ((row->second && !tare_mlx_is_in(name, row->name)) ||
                                  (is_gathered(row) && tare_mlx_number(name, row->name) != 0));
    if (row && stack && k->use_of != TARE_MLX_AS_MODEL && !row->is_always) {
        use->name = as_stack(k, name, row);
    } else if (is_other) {
        use->is_half = true; /* the first one finds it */
        return TARE_OK;
    } else if (row) {
        TARE_TRY(take_row(k, i, row));
    }
    if (use->name.ptr) use->name = tare_mlx_rooted(use->name, &k->kind, k->arena);
    if (!use->name.ptr) return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    use->differs = use->row || !tare_str_equal(use->name, name);
    return TARE_OK;
}

/* The same for MLX. */
static tare_status use_plain(tare_mlx_making *k, size_t i) {
    const tare_tensor *t = tensor(k, i);
    tare_mlx_use *use = &k->uses[i];
    const tare_mlx_row *row = tare_mlx_row_of_plain(t->name, &k->kind);
    use->name = t->name;
    const bool is_convolution_row =
        row && (row->form == TARE_MLX_LAST_TWO || row->form == TARE_MLX_NOT_UNDONE);
    if (is_convolution_row && !is_undone(t)) row = NULL;
    if (row && row->form == TARE_MLX_TURNED && strcmp(row->name, row->plain) == 0 &&
        tare_str_starts(t->name, TARE_STR("model.")))
        row = NULL; /* a name that GPT-2 has at MLX's alone */
    const bool goes_with = row && (row->form == TARE_MLX_LESS_ONE || row->form == TARE_MLX_DIVIDED);
    if (goes_with && !holds(k, i, row)) row = NULL;
    if (row) {
        use->row = row;
        use->name = tare_mlx_replaced(t->name, row->plain, row->name, k->arena);
        if (row->second)
            use->second_name = tare_mlx_replaced(t->name, row->plain, row->second, k->arena);
        if (row->second && !use->second_name.ptr) use->name.ptr = NULL;
    }
    if (use->name.ptr) use->name = tare_mlx_unrooted(use->name, &k->kind, k->arena);
    if (!use->name.ptr) return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    use->differs = use->row || !tare_str_equal(use->name, t->name);
    return TARE_OK;
}

static tare_status use_all(tare_mlx_making *k) {
    const size_t n = k->in->catalog.n_tensors;
    k->uses = TARE_NEW_ARRAY(k->arena, tare_mlx_use, n);
    if (!k->uses) return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < n; i++) k->uses[i].second = -1;
    find_form(k);
    for (size_t i = 0; i < n; i++) TARE_TRY(k->is_for_mlx ? use_plain(k, i) : use_tensor(k, i));
    for (size_t i = 0; i < n; i++)
        if (k->uses[i].is_half && !k->uses[i].is_second) return fail_half(k, i);
    return TARE_OK;
}

static bool differs(const tare_mlx_making *k) {
    for (size_t i = 0; i < k->in->catalog.n_tensors; i++)
        if (k->uses[i].differs) return true;
    return false;
}

/* ---- the model --------------------------------------------------------------------------------- */

/* mlx-vlm does not rearrange what says that it is MLX's. */
static tare_status name_format(tare_mlx_making *k) {
    tare_catalog *c = &k->out->catalog;
    tare_metadata *to = TARE_NEW_ARRAY(&k->out->arena, tare_metadata, c->n_metadata);
    if (!to) return tare_fail(k->err, TARE_ERR_NOMEM, "metadata");
    if (c->n_metadata) memcpy(to, c->metadata, c->n_metadata * sizeof *to);
    for (size_t i = 0; i < c->n_metadata; i++)
        if (is_format(&to[i])) to[i].value.as.s = TARE_STR("pt");
    c->metadata = to;
    return TARE_OK;
}

static tare_status take_room(tare_mlx_making *k) {
    tare_arena *arena = &k->out->arena;
    tare_reader reader;
    size_t n = 0;
    for (size_t i = 0; i < k->in->catalog.n_tensors; i++) {
        size_t made;
        TARE_TRY(tare_mlx_count(&made, k, i));
        n += made;
        if (n > k->in->limits.tensors)
            return tare_fail_tensor(k->err, TARE_ERR_LIMIT, tensor(k, i), i,
                                    "number of tensors that are made of MLX's");
    }
    k->out->catalog.tensors = TARE_NEW_ARRAY(arena, tare_tensor, n);
    k->origins = TARE_NEW_ARRAY(arena, tare_origin, n);
    k->same_rows = TARE_NEW_ARRAY(arena, tare_same_rows, n);
    k->sources = TARE_NEW_ARRAY(k->arena, size_t, n);
    k->file = TARE_NEW(arena, tare_made_file);
    if (k->in->notes) k->notes = TARE_NEW_ARRAY(arena, tare_tensor_note, n);
    if (!k->out->catalog.tensors || !k->origins || !k->same_rows || !k->sources || !k->file ||
        (k->in->notes && !k->notes))
        return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    *k->file = (tare_made_file){.source = k->in, .allocator = k->out->allocator};
    k->file->made = TARE_NEW_ARRAY(arena, tare_made, n);
    if (!k->file->made) return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_model_share_files(k->out, k->in, k->err));
    tare_reader_callback(&reader, NULL, k->file, 0, "plain");
    reader.fetch = tare_made_fetch;
    reader.locate = tare_made_locate;
    TARE_TRY(tare_model_add_file(k->out, &reader, "plain", &k->file_index, k->err));
    k->out->files[k->file_index].is_decoded = true;
    return TARE_OK;
}

/* The types that a program wants, of those that tensors are made of. */
static tare_status take_types(tare_mlx_making *k, tare_model_types *types) {
    const tare_model_types *from = k->in->types;
    const size_t n = k->out->catalog.n_tensors;
    *types = *from;
    types->origins = k->origins;
    types->fixed = from->fixed ? TARE_NEW_ARRAY(&k->out->arena, tare_fixed_type, n) : NULL;
    if (from->fixed && !types->fixed) return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < n; i++) {
        const size_t source = k->sources[i];
        if (from->fixed) types->fixed[i] = from->fixed[source];
        if (from->same_rows && from->same_rows[source].model) {
            const bool is_whole = k->same_rows[i].model &&
                                  k->out->catalog.tensors[i].n_rows == tensor(k, source)->n_rows;
            k->same_rows[i] = is_whole ? from->same_rows[source] : (tare_same_rows){.model = NULL};
        }
    }
    return TARE_OK;
}

static tare_status fill(tare_mlx_making *k) {
    const tare_model *in = k->in;
    tare_model *out = k->out;
    tare_model_types *types = TARE_NEW(&out->arena, tare_model_types);
    if (!types) return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    out->format = in->format;
    out->held_format = in->held_format;
    out->left_out = in->left_out;
    out->n_left_out = in->n_left_out;
    out->loss = in->loss;
    out->catalog = in->catalog;
    out->catalog.layout = NULL;
    out->catalog.bounds = NULL;
    out->catalog.digests = NULL;
    out->catalog.n_tensors = 0;
    TARE_TRY(take_room(k));
    for (size_t i = 0; i < in->catalog.n_tensors; i++) TARE_TRY(tare_mlx_make(k, i));
    out->files[k->file_index].reader.size = k->end;
    if (!k->is_for_mlx) TARE_TRY(name_format(k));
    out->private_data = k->file;
    TARE_TRY(tare_model_finish(out, NULL, k->err));
    if (in->types) TARE_TRY(take_types(k, types));
    types->same_rows = k->same_rows;
    out->types = types;
    out->origins = k->origins;
    out->notes = k->notes;
    out->refusal = in->refusal;
    out->stored = in->stored ? in->stored : in;
    out->packed = in->packed;
    return TARE_OK;
}

static tare_status make(tare_mlx_making *k, const tare_context *open) {
    TARE_TRY(tare_mlx_kind_of(&k->kind, k->in, k->arena, k->err));
    TARE_TRY(use_all(k));
    if (!differs(k) && (!k->in->packed || k->use_of != TARE_MLX_AS_MODEL || k->is_for_mlx))
        return TARE_OK;
    TARE_TRY(tare_model_new(&k->out, open, k->err));
    return fill(k);
}

static tare_status make_other(tare_model **out, tare_mlx_making *k, const tare_context *open) {
    tare_arena arena;
    tare_arena_init(&arena, k->in->allocator);
    k->arena = &arena;
    const tare_status status = make(k, open);
    tare_arena_free(&arena);
    if (status == TARE_OK)
        *out = k->out;
    else
        tare_model_free(k->out);
    return status;
}

tare_status tare_mlx_plain(tare_model **out, const tare_model *in, tare_mlx_use_of use,
                           const tare_context *open, tare_error *err) {
    tare_mlx_making k = {.in = in, .use_of = use, .err = err};
    *out = NULL;
    if (in->types || in->n_stand_ins || in->has_own_form || !is_mlx(in) ||
        (!in->packed && has_codes(in)))
        return TARE_OK;
    return make_other(out, &k, open);
}

tare_status tare_mlx_formed(tare_model **out, const tare_model *in, const tare_context *open,
                            tare_error *err) {
    tare_mlx_making k = {.in = in, .is_for_mlx = true, .err = err};
    *out = NULL;
    return in->n_stand_ins || is_mlx(in) ? TARE_OK : make_other(out, &k, open);
}

tare_status tare_mlx_left_out(const char **what, const tare_model *in, tare_error *err) {
    tare_mlx_kind kind;
    tare_arena arena;
    *what = NULL;
    if (in->n_stand_ins || !is_mlx(in)) return TARE_OK;
    tare_arena_init(&arena, in->allocator);
    const tare_status status = tare_mlx_kind_of(&kind, in, &arena, err);
    if (status == TARE_OK && tare_mlx_lacks_biases(&kind)) *what = "e_score_correction_bias";
    tare_arena_free(&arena);
    for (size_t i = 0; *what && i < in->catalog.n_tensors; i++)
        if (tare_str_ends(in->catalog.tensors[i].name, tare_str_of(*what))) *what = NULL;
    return status;
}

size_t tare_mlx_changed(const tare_model *plain, const tare_model *in) {
    size_t n = 0;
    for (size_t i = 0; i < in->catalog.n_tensors; i++) {
        const tare_tensor *t = &in->catalog.tensors[i];
        const int64_t at = tare_model_find_tensor(plain, t->name);
        n += at < 0 || plain->types->same_rows[at].model != in ||
             plain->types->same_rows[at].tensor != i ||
             plain->catalog.tensors[at].n_dims != t->n_dims ||
             memcmp(plain->catalog.tensors[at].dims, t->dims, t->n_dims * sizeof *t->dims) != 0;
    }
    return n;
}

tare_status tare_mlx_leave_norms(tare_model *formed, tare_error *err) {
    tare_arena arena;
    tare_mlx_kind kind;
    tare_arena_init(&arena, formed->allocator);
    tare_status status = tare_mlx_kind_of(&kind, formed, &arena, err);
    const bool is_meant = status == TARE_OK && tare_str_is(kind.whole, "qwen3_next");
    tare_arena_free(&arena);
    if (is_meant) tare_mlx_add_nothing(formed->private_data);
    return status;
}
