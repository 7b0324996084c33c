/* SPDX-License-Identifier: MIT
 *
 * What becomes of each tensor: docs/behaviour.md, "Conversion". Considered in this order: the
 * encoding requested by the user or a mix, if the tensor can have it; whether the target supports
 * that; a stand-in; decoding to F16 or F32. Whatever is lost or left unchanged is reported, and is
 * an error under `strict`.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "base/str.h"
#include "encoding/kernels.h"
#include "encoding/repack.h"
#include "encoding/slab.h"
#include "ops/convert/plan.h"
#include "ops/convert/type_rules.h"
#include "ops/mix/roles.h"

typedef struct decider {
    tare_plan *plan;
    bool *is_used;                /* for each rule */
    int64_t *rule;                /* for each source tensor, the one that decides; -1: none */
    tare_mix_choice *mix;         /* for each source tensor; NULL: there is no mix */
    const tare_encoding **wanted; /* for each source tensor; its own: stays as it is */
    bool *is_dropped;
    size_t n_repacked;
    const tare_encoding *lacks_code; /* what the current tensor would be repacked into if that did
                                        not lack one of its codes; NULL: not the case */
} decider;

static const tare_tensor *source_tensor(const decider *d, size_t i) {
    return &d->plan->in->catalog.tensors[i];
}

static tare_finding finding(const decider *d, size_t i, tare_level level, const char *code) {
    tare_finding f = TARE_FINDING(INFO, TARE_OK, code);
    f.level = level;
    f.status = level == TARE_LEVEL_INFO ? TARE_OK : TARE_ERR_UNSUPPORTED;
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)i;
    f.item_name = source_tensor(d, i)->name;
    return f;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static const char *obstacle(const decider *d, size_t i, const tare_encoding *to) {
    return tare_type_obstacle(d->plan->in, d->plan->format->caps, i, to);
}

/* `type` applies to matrices other than norms. */
static bool takes_type(const decider *d, size_t i) {
    const tare_tensor *t = source_tensor(d, i);
    return t->n_dims >= 2 && tare_tensor_is_real(t) && !tare_tensor_is_part(d->plan->in, i) &&
           tare_role_of_name(t->name).role != TARE_ROLE_NORM;
}

/* The type a format gives to matrices for which none was requested: to those that can be decoded
 * and are not quantized in a form it supports, unless everything is to be carried unchanged. Norms
 * and tensors of one row are small, and inference programs rely on their type. NULL: none. */
static const tare_encoding *made_by_format(const decider *d, size_t i) {
    const tare_format *f = d->plan->format;
    const tare_tensor *t = source_tensor(d, i);
    bool is_held = t->encoding->kind == TARE_KIND_BLOCK && f->caps->has_encoding(t->encoding);
    if (f->write.floats_become == TARE_ENCODING_UNKNOWN || d->plan->options.opaque || is_held ||
        !takes_type(d, i) || t->n_rows < 2 || !tare_tensor_can_decode(d->plan->in, i))
        return NULL;
    return tare_encoding_get(f->write.floats_become);
}

/* What a tensor is to become; `type` NULL: nothing is wanted. */
typedef struct wish {
    const tare_encoding *type;
    bool is_default; /* of the program that the model was mapped for: nobody asked for it */
} wish;

/* `requested`: what all others get; their own, where nothing is. */
static const tare_encoding *fixed_type(tare_fixed_type fixed, const tare_encoding *requested) {
    const bool is_f16 = fixed == TARE_FIXED_F16 ||
                        (fixed == TARE_FIXED_F16_OR_F32 && requested->id == TARE_ENCODING_F16) ||
                        (fixed == TARE_FIXED_F16_UNLESS_F32 && requested->id != TARE_ENCODING_F32);
    return tare_encoding_get(is_f16 ? TARE_ENCODING_F16 : TARE_ENCODING_F32);
}

/* Floats of four bits: what their maker left plain stays so. */
static bool is_of_makers(const tare_encoding *type) {
    return type->id == TARE_ENCODING_MXFP4 || type->id == TARE_ENCODING_NVFP4;
}

/* What llama.cpp's own converter writes for a mapped model: F32 where llama.cpp wants it, else
 * `type` (NULL: the usual one). Rows that do not fill whole blocks become F16, as they do there. Packed
 * weights that are blocks stay those, if no type is named and the target has them. */
static wish type_for_program(decider *d, size_t i, const tare_encoding *type) {
    const tare_tensor *t = source_tensor(d, i);
    const tare_model_types *types = tare_plan_types(d->plan);
    const tare_fixed_type fixed = tare_plan_fixed(d->plan, i);
    if (!tare_tensor_is_real(t) || tare_tensor_is_part(d->plan->in, i)) return (wish){NULL, false};
    if (fixed) {
        const tare_encoding *usual = types ? types->usual : t->encoding;
        return (wish){fixed_type(fixed, type ? type : usual), true};
    }
    if (type == types->mostly && type && is_of_makers(type)) type = NULL;
    if (t->encoding->kind == TARE_KIND_BLOCK && !type &&
        d->plan->format->caps->has_encoding(t->encoding))
        return (wish){t->encoding, true};
    if (!type) return (wish){types->usual, true};
    if (t->cols % type->block == 0) return (wish){type, false};
    tare_finding f = finding(d, i, TARE_LEVEL_WARNING, "convert.fallback");
    tare_strict_note(&d->plan->strict, &f, "its rows are not a whole number of blocks of the type",
                     "f16, not %s: its rows are not a whole number of blocks", type->name);
    return (wish){tare_encoding_get(TARE_ENCODING_F16), false};
}

/* What is requested: by a mix, which already took the rules into account; by a rule; for all
 * tensors; or what the program that a model was mapped for has. */
static wish asked_for(decider *d, size_t i) {
    const tare_convert_options *o = &d->plan->options;
    bool is_open = !d->mix || d->mix[i].is_open;
    if (d->rule[i] >= 0 && is_open) d->is_used[d->rule[i]] = true;
    const tare_model_types *types = tare_plan_types(d->plan);
    const bool is_fixed = tare_plan_fixed(d->plan, i) != TARE_FIXED_NONE;
    const tare_mix *mix = d->plan->mix.mix;
    if (d->mix && !d->mix[i].type && (types || is_fixed))
        return type_for_program(d, i, types || !mix ? NULL : mix->type);
    if (d->mix) return (wish){d->mix[i].type, false};
    if (d->rule[i] >= 0) return (wish){o->rules[d->rule[i]].encoding, false};
    if (types || is_fixed) return type_for_program(d, i, o->type);
    return (wish){o->type && takes_type(d, i) ? o->type : NULL, false};
}

/* It was not requested, and is therefore reported. */
static void make_by_format(decider *d, size_t i) {
    const tare_encoding *to = made_by_format(d, i);
    if (!to || obstacle(d, i, to)) return;
    tare_finding f = finding(d, i, TARE_LEVEL_WARNING, "convert.lossy");
    tare_strict_note(&d->plan->strict, &f,
                     "the target's format would quantize it: choose that with `type`, or keep the "
                     "stored numbers with `opaque`",
                     "%s quantized to %s, as %s does with matrices: `type %s` asks for it, "
                     "`opaque` carries the stored numbers",
                     source_tensor(d, i)->encoding->name, to->name, d->plan->format->name,
                     to->name);
    d->wanted[i] = to;
}

/* A default that changes numbers is reported: the tensor is read to see whether it does. */
static tare_status check_default(decider *d, size_t i, const tare_encoding *to, tare_error *err) {
    bool keeps;
    if (tare_merge_changes(d->plan->merge, i)) return TARE_OK;
    TARE_TRY(tare_plan_keeps_numbers(&keeps, d->plan, i, to, err));
    if (keeps) return TARE_OK;
    tare_finding f = finding(d, i, TARE_LEVEL_WARNING, "convert.lossy");
    tare_strict_note(&d->plan->strict, &f,
                     "the default type changes its numbers: confirm it with `type`, or keep them "
                     "with `type f32`",
                     "%s becomes %s, the default type, and its numbers change: `type %s` asks for "
                     "that, `type f32` keeps them",
                     tare_tensor_origin(d->plan->in, i).encoding->name, to->name, to->name);
    return TARE_OK;
}

static tare_status decide_requested(decider *d, size_t i, tare_error *err) {
    const tare_tensor *t = source_tensor(d, i);
    const wish to = d->plan->changes ? (wish){t->encoding, false} : asked_for(d, i);
    d->wanted[i] = t->encoding;
    if (!to.type) {
        make_by_format(d, i);
        return TARE_OK;
    }
    if (to.type == t->encoding) return TARE_OK;
    const char *why = obstacle(d, i, to.type);
    if (!why) {
        d->wanted[i] = to.type;
        return to.is_default ? check_default(d, i, to.type, err) : TARE_OK;
    }
    tare_finding f = finding(d, i, TARE_LEVEL_WARNING, "convert.kept");
    tare_strict_note(&d->plan->strict, &f, "the tensor cannot have the requested type",
                     "stays %s, not %s: %s", t->encoding->name, to.type->name, why);
    return TARE_OK;
}

static tare_status choose_by_mix(decider *d, tare_error *err) {
    tare_plan *p = d->plan;
    size_t n = p->in->catalog.n_tensors;
    int64_t fallback;
    if (!p->mix.mix) return TARE_OK;
    const tare_encoding **manual = TARE_NEW_ARRAY(&p->arena, const tare_encoding *, n);
    if (!manual) return tare_fail(err, TARE_ERR_NOMEM, "plan");
    for (size_t i = 0; i < n; i++)
        manual[i] = d->rule[i] >= 0 ? p->options.rules[d->rule[i]].encoding : NULL;
    TARE_TRY(tare_plan_mix(&d->mix, &fallback, p, manual, &p->arena, err));
    if (fallback >= 0) {
        const tare_finding f = finding(d, (size_t)fallback, TARE_LEVEL_WARNING, "mix.fallback");
        tare_strict_remember(&p->strict, &f,
                             "its rows are not a whole number of blocks of the mix's type");
    }
    return TARE_OK;
}

/* ---- what the target takes ------------------------------------------------------------------- */

/* The encoding that a tensor is decoded to because the target lacks its own. */
static tare_status choose_decoded(decider *d, size_t i, const tare_encoding **out,
                                  tare_error *err) {
    const tare_plan *p = d->plan;
    const tare_encoding *f16 = tare_encoding_get(TARE_ENCODING_F16);
    const tare_tensor *t = source_tensor(d, i);
    if (!tare_tensor_can_decode(p->in, i) || tare_tensor_is_part(p->in, i))
        return tare_fail_tensor(
            err, TARE_ERR_UNSUPPORTED, source_tensor(d, i), i,
            "the target lacks the type, and it cannot be decoded; `opaque` carries "
            "the stored bytes");
    /* Norms and vectors are F32 in files that llama.cpp runs; it rejects other types. */
    bool is_f32 = !takes_type(d, i) || !p->format->caps->has_encoding(f16);
    if (!is_f32) {
        tare_status status = tare_plan_overflows_f16(&is_f32, p, i, err);
        if (status != TARE_OK) {
            tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, t->name);
            return status;
        }
    }
    *out = is_f32 ? tare_encoding_get(TARE_ENCODING_F32) : f16;
    tare_finding f = finding(d, i, TARE_LEVEL_WARNING, "convert.lossy");
    static const char what[] =
        "the target lacks the type: decoding it loses the stored numbers; `opaque` carries them";
    if (d->lacks_code)
        tare_strict_note(&d->plan->strict, &f, what,
                         "%s decoded to %s: %s cannot hold it, and its lowest code is not in %s; "
                         "`type %s` encodes it anew",
                         t->encoding->name, (*out)->name, p->format->name, d->lacks_code->name,
                         d->lacks_code->name);
    else
        tare_strict_note(&d->plan->strict, &f, what, "%s decoded to %s: %s cannot hold it",
                         t->encoding->name, (*out)->name, p->format->name);
    return TARE_OK;
}

/* Stores a tensor that the target does not support under a stand-in. */
static tare_status carry(decider *d, const tare_planned *planned, tare_tensor *stored,
                         const tare_encoding *stand_in, tare_error *err) {
    tare_plan *p = d->plan;
    const tare_model *in = p->in;
    size_t number = planned->source;
    int64_t taken;
    do { /* until no other tensor has that name */
        TARE_TRY(tare_stand_in_tensor(stored, planned->becomes, p->format->caps, stand_in, number,
                                      &p->arena, err));
        taken = tare_name_index_find(&in->tensor_index, in->catalog.tensors,
                                     sizeof *in->catalog.tensors, stored->name);
        number += in->catalog.n_tensors;
    } while (taken >= 0 && (size_t)taken != planned->source);
    return TARE_OK;
}

static tare_status derive(tare_plan *p, const tare_tensor **out, const tare_tensor *from,
                          const tare_encoding *encoding, tare_error *err) {
    tare_tensor *t = TARE_NEW(&p->arena, tare_tensor);
    if (!t) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    *t = *from;
    *out = t;
    return tare_tensor_derive(t, encoding, from->dims, from->n_dims, &p->arena, err);
}

/* Whether the target supports what tensor i is to become. A type that is unknown to the file itself
 * is a number there, which is meaningful only in its format. */
static bool holds(const decider *d, size_t i, const tare_encoding *e) {
    const tare_plan *p = d->plan;
    const tare_encoding *stored = tare_model_stored(p->in, i)->encoding;
    if (e->kind == TARE_KIND_UNKNOWN && stored == e && p->in->catalog.layout)
        return p->catalog.layout != NULL;
    return p->format->caps->has_encoding(e);
}

/* Whether the bytes of a tensor can be rearranged into the requested type or, if that is its own
 * type and the target lacks it, into a type that the target supports: *to. */
static tare_status choose_repacked(bool *out, decider *d, size_t i, const tare_encoding **to,
                                   tare_error *err) {
    const tare_plan *p = d->plan;
    const tare_tensor *t = source_tensor(d, i);
    const tare_encoding *other = tare_repack_of(t->encoding);
    *out = false;
    d->lacks_code = NULL;
    if (tare_merge_changes(p->merge, i)) return TARE_OK;
    if (!other || t->cols % 32 != 0 || tare_tensor_is_part(p->in, i)) return TARE_OK;
    if (*to == t->encoding ? holds(d, i, *to) || !holds(d, i, other) || p->options.opaque
                           : *to != other)
        return TARE_OK;
    if (*to != t->encoding && (p->mcf.has_clip || p->mcf.compat != TARE_COMPAT_NONE))
        return TARE_OK;
    TARE_TRY(tare_plan_can_repack(out, p, i, err));
    if (!*out) {
        d->lacks_code = other;
        return TARE_OK;
    }
    *to = other;
    d->n_repacked++;
    return TARE_OK;
}

/* Whether a tensor that adapters change can keep its type. */
static tare_status check_merged(const decider *d, size_t i, tare_error *err) {
    const tare_tensor *t = source_tensor(d, i);
    const char *why = obstacle(d, i, t->encoding);
    if (!why && tare_tensor_origin(d->plan->in, i).encoding != t->encoding)
        why = "its codes and scales are stored apart";
    if (!why && !tare_encoding_can_encode(t->encoding)) why = "its type cannot be encoded";
    if (!why) return TARE_OK;
    tare_finding f = finding(d, i, TARE_LEVEL_WARNING, "convert.not-merged");
    tare_report_addf(d->plan->options.context->report, &f, "no adapter can be merged into %s: %s",
                     t->encoding->name, why);
    return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, source_tensor(d, i), i,
                            "an adapter applies to it, and its type cannot be merged with one: "
                            "choose another with `type` or `tensor_type`");
}

/* A tensor of the input under the name that it has in the output. */
static tare_status named(const tare_tensor **out, tare_plan *p, size_t i, tare_error *err) {
    *out = &p->in->catalog.tensors[i];
    if (!p->changes || tare_str_equal((*out)->name, p->changes->names[i])) return TARE_OK;
    tare_tensor *t = TARE_NEW(&p->arena, tare_tensor);
    if (!t) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    *t = **out;
    t->name = p->changes->names[i];
    *out = t;
    return TARE_OK;
}

static tare_status decide(decider *d, size_t i, tare_planned *planned, tare_tensor *stored,
                          tare_error *err) {
    tare_plan *p = d->plan;
    const tare_format_caps *h = p->format->caps;
    const tare_tensor *t;
    const tare_encoding *to = d->wanted[i], *stand_in;
    bool is_repacked;
    TARE_TRY(named(&t, p, i, err));
    *planned = (tare_planned){.from = p->in, .source = i, .becomes = t};
    TARE_TRY(choose_repacked(&is_repacked, d, i, &to, err));
    if (is_repacked) planned->action = TARE_ACTION_REPACK;
    stand_in = to;
    if (!holds(d, i, to)) {
        bool is_opaque =
            p->options.opaque && (to->kind == TARE_KIND_BLOCK || to->kind == TARE_KIND_UNKNOWN);
        stand_in = tare_stand_in_encoding(h, to, is_opaque);
        if (!stand_in && to != t->encoding) {
            tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, t, i,
                             "the target cannot hold the requested type");
            tare_error_code(err, TARE_CODE_CANNOT_HOLD);
            return TARE_ERR_UNSUPPORTED;
        }
        if (!stand_in) {
            planned->action = TARE_ACTION_LOSSY;
            TARE_TRY(choose_decoded(d, i, &to, err));
            stand_in = to;
        }
    }
    const bool is_merged = tare_merge_changes(p->merge, i);
    if (is_merged && to == t->encoding) TARE_TRY(check_merged(d, i, err));
    if ((is_merged || to != t->encoding) && planned->action == TARE_ACTION_COPY)
        planned->action = TARE_ACTION_ENCODE;
    if (to != t->encoding || is_merged) TARE_TRY(tare_tensor_check_packed(p->in, i, err));
    if (to != t->encoding) TARE_TRY(derive(p, &planned->becomes, t, to, err));
    *stored = *planned->becomes;
    if (stand_in == to && tare_format_caps_has_shape(h, planned->becomes)) return TARE_OK;
    if (planned->action == TARE_ACTION_COPY) planned->action = TARE_ACTION_STAND_IN;
    planned->is_carried = true;
    tare_status status = carry(d, planned, stored, stand_in, err);
    if (status != TARE_OK) tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, t->name);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static tare_status check_type(const tare_encoding *e, const tare_plan *p, tare_error *err) {
    return tare_type_check(e, p->options.quality, &p->mcf, err);
}

static bool asks_for_blocks(const tare_convert_options *o) {
    bool does = o->type && o->type->kind == TARE_KIND_BLOCK;
    for (size_t i = 0; i < o->n_rules; i++) does |= o->rules[i].encoding->kind == TARE_KIND_BLOCK;
    return does;
}

static tare_status check_types(const tare_plan *p, tare_error *err) {
    const tare_convert_options *o = &p->options;
    const tare_convert_mcf_options *mcf = &p->mcf;
    if (mcf->compat != TARE_COMPAT_NONE && o->quality != TARE_QUALITY_DEFAULT)
        return tare_fail(err, TARE_ERR_ARG, "quality and compatibility exclude each other");
    if (mcf->has_clip &&
        !(mcf->clip_min <= mcf->clip_max && mcf->clip_max - mcf->clip_min < INFINITY))
        return tare_fail(err, TARE_ERR_ARG, "bounds of values: the lower one is not below");
    if (o->type) TARE_TRY(check_type(o->type, p, err));
    for (size_t i = 0; i < o->n_rules; i++) {
        if (!o->rules[i].pattern || !o->rules[i].encoding)
            return tare_fail(err, TARE_ERR_ARG, "tensor type rule: expected a pattern and a type");
        TARE_TRY(check_type(o->rules[i].encoding, p, err));
    }
    if (mcf->has_clip && !asks_for_blocks(o))
        return tare_fail(
            err, TARE_ERR_ARG,
            "bounds of values only apply to MCF's types, and none of those is requested");
    bool has_types = o->type || o->n_rules || !p->format->write.imitate;
    if (mcf->compat != TARE_COMPAT_NONE && has_types && !asks_for_blocks(o))
        return tare_fail(err, TARE_ERR_ARG,
                         "compatibility: the other program encodes none of the requested types");
    return TARE_OK;
}

/* Whether the output will be the input again, byte for byte: nothing is requested that is not
 * already so. Shards are merged unless the format is a directory of them. */
static bool is_identity(const decider *d) {
    const tare_plan *p = d->plan;
    const tare_convert_options *o = &p->options;
    const tare_layout *layout = p->catalog.layout; /* NULL: of another format */
    if (!layout || layout->version != p->format->write.version) return false;
    if (!layout->is_kept) return false; /* whatever form the input has */
    tare_byte_order order = layout->is_big_endian ? TARE_ORDER_BIG : TARE_ORDER_LITTLE;
    if (o->order != TARE_ORDER_KEEP && o->order != order) return false;
    if (o->alignment != 0 && o->alignment != layout->alignment) return false;
    if (o->shard_size != 0 || o->keep_split || (p->in->n_files > 1 && !p->format->is_directory))
        return false;
    if (o->n_overrides > 0 || p->merge) return false;
    if (p->changes && p->changes->has_dropped) return false;
    if (p->in->stored) return false; /* its tensors are not those of the files */
    if (p->changes && p->changes->has_renamed && p->in->n_stand_ins) return false; /* new record */
    if (p->mix.mix && p->mix.mix->type) return false; /* general.file_type names the mix */
    for (size_t i = 0; i < p->in->catalog.n_tensors; i++)
        if (d->wanted[i] != source_tensor(d, i)->encoding) return false;
    return true;
}

/* Every tensor as its file has it, stand-ins too: their record goes back where it was. */
static tare_status keep_all(tare_plan *p, tare_error *err) {
    p->catalog.n_tensors = p->in->catalog.n_tensors;
    for (size_t i = 0; i < p->catalog.n_tensors; i++) {
        const tare_tensor *t = &p->in->catalog.tensors[i], *stored = tare_model_stored(p->in, i);
        const bool is_carried = stored != t;
        TARE_TRY(named(&t, p, i, err));
        p->catalog.tensors[i] = is_carried ? *stored : *t;
        p->tensors[i] = (tare_planned){
            .from = p->in,
            .source = i,
            .action = is_carried ? TARE_ACTION_STAND_IN : TARE_ACTION_COPY,
            .is_carried = is_carried,
            .becomes = t,
        };
    }
    return TARE_OK;
}

/* A rule that matches nothing is usually a mistyped name. */
static void check_rules(const decider *d) {
    const tare_convert_options *o = &d->plan->options;
    for (size_t i = 0; i < o->n_rules; i++) {
        if (d->is_used[i]) continue;
        const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "convert.rule-unused");
        tare_strict_note(&d->plan->strict, &f, "a tensor type rule decides for no tensor",
                         "the rule \"%s\" has no effect: no tensor has such a name, or earlier "
                         "rules decide for those that do",
                         o->rules[i].pattern);
    }
}

/* A type that nothing gets, because everything that it is for has it. */
static void report_unchanged(const decider *d) {
    const tare_plan *p = d->plan;
    if (!p->options.type || p->in->stored || p->in->types) return;
    for (size_t i = 0; i < p->in->catalog.n_tensors; i++)
        if (d->wanted[i] != source_tensor(d, i)->encoding) return;
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.type-unchanged");
    tare_report_addf(p->options.context->report, &f, "`type %s` changes no tensor",
                     p->options.type->name);
}

/* Reported once for all tensors; their actions show which ones. */
static void report_repacked(const decider *d) {
    if (d->n_repacked == 0) return;
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.repacked");
    tare_report_addf(d->plan->options.context->report, &f,
                     "repacked is without loss: the same codes and scales in the order of the "
                     "target's type");
}

static tare_status decide_all(decider *d, tare_error *err) {
    tare_plan *p = d->plan;
    size_t n = p->in->catalog.n_tensors;
    d->wanted = TARE_NEW_ARRAY(&p->arena, const tare_encoding *, n);
    d->is_dropped = TARE_NEW_ARRAY(&p->arena, bool, n);
    d->rule = TARE_NEW_ARRAY(&p->arena, int64_t, n);
    d->is_used = TARE_NEW_ARRAY(&p->arena, bool, p->options.n_rules);
    p->tensors = TARE_NEW_ARRAY(&p->arena, tare_planned, n);
    p->catalog.tensors = TARE_NEW_ARRAY(&p->arena, tare_tensor, n);
    if (!d->wanted || !d->is_dropped || !d->rule || !d->is_used || !p->tensors ||
        !p->catalog.tensors)
        return tare_fail(err, TARE_ERR_NOMEM, "plan");
    /* Missing data is detected now, not after hours of writing. */
    for (size_t i = 0; i < n; i++) TARE_TRY(tare_tensor_check_data(p->in, i, err));
    TARE_TRY(tare_type_rules_match(d->rule, p->in, p->options.rules, p->options.n_rules, err));
    TARE_TRY(choose_by_mix(d, err));
    for (size_t i = 0; i < n; i++) {
        TARE_TRY(decide_requested(d, i, err));
        if (d->wanted[i] != source_tensor(d, i)->encoding)
            TARE_TRY(check_type(d->wanted[i], p, err));
    }
    check_rules(d);
    report_unchanged(d);
    p->is_identity = is_identity(d);
    if (p->is_identity) return keep_all(p, err);
    for (size_t i = 0; i < n; i++) {
        if (d->is_dropped[i] || (p->changes && !p->changes->names[i].ptr)) continue;
        size_t at = p->catalog.n_tensors++;
        TARE_TRY(decide(d, i, &p->tensors[at], &p->catalog.tensors[at], err));
    }
    report_repacked(d);
    return TARE_OK;
}

/* Where the tensors come from, for writers that preserve per-tensor information of the input. */
static tare_status note_origins(tare_plan *p, tare_error *err) {
    size_t *origins = TARE_NEW_ARRAY(&p->arena, size_t, p->catalog.n_tensors);
    if (!origins) return tare_fail(err, TARE_ERR_NOMEM, "plan");
    for (size_t i = 0; i < p->catalog.n_tensors; i++) origins[i] = p->tensors[i].source;
    p->extras.origins = origins;
    return TARE_OK;
}

tare_status tare_plan_tensors(tare_plan *plan, tare_error *err) {
    decider d = {.plan = plan};
    TARE_TRY(check_types(plan, err));
    TARE_TRY(decide_all(&d, err));
    return note_origins(plan, err);
}
