/* SPDX-License-Identifier: MIT
 *
 * What types are chosen for: the tensors that a mix may change; and the types that each of them can
 * have. A wish of the caller leaves one. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "ops/convert/type_rules.h"
#include "ops/fit/fit_parts.h"
#include "ops/mix/importance_matrix.h"

enum { NEAR = 64 }; /* units: experts of a layer lie within so many */

static const tare_tensor *tensor(const tare_fit *f, size_t i) {
    return &f->in->catalog.tensors[i];
}

size_t tare_fit_type_index(const tare_fit *f, const tare_encoding *type) {
    for (size_t k = 0; k < f->n_types; k++)
        if (f->types[k] == type) return k;
    return SIZE_MAX;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static tare_status check_type(const tare_fit *f, const tare_encoding *type, tare_error *err) {
    tare_convert_mcf_options mcf = tare_convert_mcf_options_default();
    TARE_TRY(tare_options_read(&mcf, sizeof mcf, f->convert.mcf, err));
    TARE_TRY(tare_type_check(type, f->convert.quality, &mcf, err));
    if (f->format->caps->has_encoding(type)) return TARE_OK;
    tare_fail_code(err, TARE_ERR_UNSUPPORTED, TARE_CODE_CANNOT_HOLD,
                   "the target cannot hold this type, which is one of those to choose from");
    tare_error_detail(err, "%s", type->name);
    return TARE_ERR_UNSUPPORTED;
}

static void add_type(tare_fit *f, const tare_encoding *type, unsigned use) {
    _Static_assert(TARE_ENCODING_COUNT <= TARE_FIT_TYPES_MAX, "all types have room");
    const size_t k = tare_fit_type_index(f, type);
    if (k != SIZE_MAX) {
        f->uses[k] |= use;
        return;
    }
    f->uses[f->n_types] = use;
    f->types[f->n_types++] = type;
}

static tare_status find_types(tare_fit *f, const tare_fit_options *options, tare_error *err) {
    for (size_t i = 0; i < options->n_types; i++) {
        TARE_REQUIRE(options->types[i], err);
        TARE_TRY(check_type(f, options->types[i], err));
        add_type(f, options->types[i], TARE_FIT_ALWAYS);
    }
    const tare_fit_candidate *c;
    for (size_t i = 0; options->n_types == 0 && (c = tare_fit_candidate_at(i)) != NULL; i++) {
        const tare_encoding *type = tare_encoding_get(c->type);
        if (check_type(f, type, NULL) == TARE_OK) add_type(f, type, c->use);
    }
    for (size_t u = 0; u < f->n_units; u++)
        if (f->units[u].pinned) add_type(f, f->units[u].pinned, TARE_FIT_PINNED);
    for (size_t i = 0; options->n_types == 0 && i < f->in->catalog.n_tensors; i++)
        if (f->unit_of[i] >= 0 && f->format->caps->has_encoding(tensor(f, i)->encoding))
            add_type(f, tensor(f, i)->encoding, TARE_FIT_AS_IT_IS);
    return TARE_OK;
}

/* ---- what is chosen for ---------------------------------------------------------------------- */

/* What a wish of the caller makes of an open tensor, in the order of mix_choose.c; NULL: there is none. */
static const tare_encoding *wish_for(const tare_fit *f, size_t i) {
    const tare_mix_part part = f->model.tensors[i].part;
    if (f->mix.embedding && part == TARE_PART_EMBEDDING) return f->mix.embedding;
    if (f->mix.output && part == TARE_PART_OUTPUT) return f->mix.output;
    if (f->manual[i]) return f->manual[i];
    return part == TARE_PART_EMBEDDING && !f->model.has_output ? f->mix.output : NULL;
}

static bool lacks_importance(const tare_fit *f, size_t i, const tare_encoding *type) {
    const tare_mix_part part = f->model.tensors[i].part;
    return tare_mix_needs_importance(TARE_MIX_F16, part, type) &&
           !tare_importance_has(f->convert.importance, tensor(f, i));
}

static bool can_become(const tare_fit *f, size_t i, const tare_encoding *type) {
    if (tensor(f, i)->encoding == type) return f->format->caps->has_encoding(type);
    return !tare_type_obstacle(f->in, f->format->caps, i, type) && !lacks_importance(f, i, type);
}

/* The name without the number of its expert. Experts of a layer that are tensors of their own are
 * one unit: in most files they are one tensor, and a choice for each would be one of noise. */
static bool is_same_unit(const tare_fit *f, const tare_fit_unit *u, size_t i,
                         const tare_role_info *role) {
    const tare_tensor *t = tensor(f, i), *first = tensor(f, u->tensors[0]);
    return wish_for(f, i) == u->pinned && role->expert >= 0 && u->role.expert >= 0 &&
           role->layer == u->role.layer && role->role == u->role.role &&
           t->encoding == first->encoding && t->cols == first->cols && t->n_rows == first->n_rows &&
           t->n_dims == first->n_dims;
}

/* Units are searched from the newest. */
static int64_t find_unit(const tare_fit *f, size_t i, const tare_role_info *role) {
    if (role->expert < 0) return -1;
    for (size_t back = 1; back <= f->n_units && back <= NEAR; back++)
        if (is_same_unit(f, &f->units[f->n_units - back], i, role))
            return (int64_t)(f->n_units - back);
    return -1;
}

static void begin_unit(tare_fit *f, size_t i, size_t *members, const tare_role_info *role) {
    const tare_tensor *t = tensor(f, i);
    members[0] = i;
    f->unit_of[i] = (int64_t)f->n_units;
    f->units[f->n_units++] = (tare_fit_unit){.tensors = members,
                                             .n_tensors = 1,
                                             .role = *role,
                                             .pinned = wish_for(f, i),
                                             .cols = t->cols};
}

/* Whether its type is chosen, or known from a wish; the conversion decides for the others, or refuses. */
static bool is_unit(const tare_fit *f, size_t i) {
    const tare_mix_tensor *t = &f->model.tensors[i];
    const tare_encoding *wish = wish_for(f, i);
    if (!t->is_open || t->is_tower || (f->mix.leave_output && t->part == TARE_PART_OUTPUT))
        return false;
    return !wish || can_become(f, i, wish);
}

/* Experts of a layer are several units if only some of them are pinned: each has its share of what they
 * all do. */
static void share_experts(tare_fit *f) {
    for (size_t u = 0; u < f->n_units; u++) {
        const tare_role_info *role = &f->units[u].role;
        size_t n = f->units[u].n_tensors;
        for (size_t v = u > NEAR ? u - NEAR : 0; v < f->n_units && v <= u + NEAR; v++) {
            const tare_role_info *other = &f->units[v].role;
            if (v != u && role->expert >= 0 && other->expert >= 0 && other->role == role->role &&
                other->layer == role->layer)
                n += f->units[v].n_tensors;
        }
        f->units[u].share = (double)f->units[u].n_tensors / (double)n;
    }
}

/* Gives each unit room for its tensors: they are numbered twice. */
static tare_status group(tare_fit *f, tare_error *err) {
    const size_t n = f->in->catalog.n_tensors;
    size_t *members = TARE_NEW_ARRAY(&f->arena, size_t, n);
    f->units = TARE_NEW_ARRAY(&f->arena, tare_fit_unit, n);
    if (!members || !f->units) return tare_fail(err, TARE_ERR_NOMEM, "units");
    for (size_t i = 0; i < n; i++) {
        f->unit_of[i] = -1;
        if (!is_unit(f, i)) continue;
        const tare_role_info role = tare_role_of_name(tensor(f, i)->name);
        f->unit_of[i] = find_unit(f, i, &role);
        if (f->unit_of[i] >= 0)
            f->units[f->unit_of[i]].n_tensors++;
        else
            begin_unit(f, i, &members[i], &role);
    }
    for (size_t u = 0; u < f->n_units; u++) {
        f->units[u].tensors = members;
        members += f->units[u].n_tensors;
        f->units[u].n_tensors = 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (f->unit_of[i] < 0) continue;
        tare_fit_unit *u = &f->units[f->unit_of[i]];
        u->tensors[u->n_tensors++] = i;
        u->n_weights += tensor(f, i)->n_elements;
        u->n_rows += tensor(f, i)->n_rows;
    }
    share_experts(f);
    return TARE_OK;
}

/* ---- what each of them can have -------------------------------------------------------------- */

/* Whether a long block fits the rows: then types with short ones are no candidates. */
static bool has_long_blocks(const tare_fit *f, const tare_fit_unit *u) {
    bool has = false;
    for (size_t k = 0; k < f->n_types; k++)
        has |= (f->uses[k] & TARE_FIT_ALWAYS) && f->types[k]->block == 256;
    return has && u->cols % 256 == 0;
}

static bool can_have(const tare_fit *f, const tare_fit_unit *u, size_t k) {
    for (size_t i = 0; i < u->n_tensors; i++)
        if (!can_become(f, u->tensors[i], f->types[k])) return false;
    return true;
}

static tare_status find_usable(tare_fit *f, tare_fit_unit *u, tare_error *err) {
    const tare_encoding *own = tensor(f, u->tensors[0])->encoding;
    const bool is_long = has_long_blocks(f, u);
    for (size_t k = 0; k < f->n_types; k++) {
        const uint64_t bit = UINT64_C(1) << k;
        const bool is_own = f->types[k] == own && f->uses[k] != TARE_FIT_PINNED;
        if (u->pinned && u->pinned != f->types[k]) continue;
        const bool is_always = u->pinned || is_own || (f->uses[k] & TARE_FIT_ALWAYS) ||
                               (!is_long && (f->uses[k] & TARE_FIT_SHORT_BLOCKS));
        if (!is_always && !(f->uses[k] & TARE_FIT_ON_GRID)) continue;
        if (!can_have(f, u, k)) continue;
        u->usable |= bit;
        if (!is_always) u->grids |= bit;
        if (f->types[k] == own) u->known |= bit; /* copied: no error */
    }
    if (u->usable & ~u->grids) return TARE_OK;
    return tare_fail_tensor(err, TARE_ERR_ARG, tensor(f, u->tensors[0]), u->tensors[0],
                            "none of the types to choose from fits it: its rows are not a whole "
                            "number of blocks, or the types need an importance matrix");
}

/* ---- what they cost -------------------------------------------------------------------------- */

uint64_t tare_fit_bytes(const tare_fit *f, const tare_fit_unit *u, size_t type, bool is_padded) {
    uint64_t sum = 0, planes[TARE_MAX_PLANES] = {0};
    if (u->bytes) return u->bytes[type];
    for (size_t i = 0; i < u->n_tensors; i++) {
        const tare_tensor *t = tensor(f, u->tensors[i]);
        const tare_encoding *e = f->types[type];
        if (tare_encoding_sizes(planes, e, t->dims, t->n_dims, NULL) != TARE_OK) return UINT64_MAX;
        for (uint32_t p = 0; p < e->n_planes; p++)
            sum +=
                is_padded ? tare_ceil_div_u64(planes[p], f->alignment) * f->alignment : planes[p];
    }
    return sum;
}

/* Some models multiply their scores by a number below 1, or divide them by one above. */
double tare_fit_scale_of_scores(const tare_model *in) {
    char key[192];
    double scale;
    const tare_str arch = tare_model_architecture(in);
    if (arch.len > 128) return 1;
    const int n = snprintf(key, sizeof key, "%.*s.logit_scale", (int)arch.len, arch.ptr);
    const int64_t at = tare_model_find_key(in, (tare_str){key, (size_t)n});
    if (at < 0 || !tare_value_f64(&scale, &in->catalog.metadata[at].value) || !(scale > 0))
        return 1;
    return scale > 1 ? 1 / scale : scale;
}

/* How errors of a unit count, and what they do. */
static tare_status weigh_unit(tare_fit *f, tare_fit_unit *u, double share, tare_error *err) {
    const size_t first = u->tensors[0];
    const bool is_tied = tare_mix_is_tied(&f->model, f->in, first);
    const tare_fit_constant c = tare_fit_constant_of(&f->model, &u->role, is_tied, share);
    const double scale = tare_fit_scale_of_scores(f->in);
    TARE_TRY(tare_importance_of_output(&u->estimate, f->convert.importance, &f->model, f->in, first,
                                       &f->arena, err));
    const bool is_weighed =
        u->estimate || tare_importance_has(f->convert.importance, tensor(f, first));
    f->summary.predicts_tokens |= is_tied;
    u->kind = c.kind;
    u->alpha = u->share * (is_weighed ? c.weighed_alpha : c.alpha);
    u->by_energy = is_weighed ? c.by_energy * scale * scale : 0;
    u->weighing = c.weighing;
    return TARE_OK;
}

static tare_status weigh(tare_fit *f, tare_error *err) {
    uint64_t all = 0;
    for (size_t u = 0; u < f->n_units; u++) all += f->units[u].n_weights;
    f->summary.predicts_tokens = f->model.has_output;
    for (size_t u = 0; u < f->n_units; u++) {
        const double share = all ? (double)f->units[u].n_weights / (double)all : 0;
        TARE_TRY(weigh_unit(f, &f->units[u], share, err));
    }
    return TARE_OK;
}

tare_status tare_fit_find_units(tare_fit *f, const tare_fit_options *options, tare_error *err) {
    const size_t n = f->in->catalog.n_tensors;
    f->unit_of = TARE_NEW_ARRAY(&f->arena, int64_t, n);
    if (!f->unit_of) return tare_fail(err, TARE_ERR_NOMEM, "units");
    TARE_TRY(group(f, err));
    TARE_TRY(find_types(f, options, err));
    for (size_t u = 0; u < f->n_units; u++) TARE_TRY(find_usable(f, &f->units[u], err));
    return weigh(f, err);
}
