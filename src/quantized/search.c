/* SPDX-License-Identifier: MIT
 *
 * Which tensors of a model are parts of packed weights: the names of scales lead to codes, the first
 * scheme whose parts are there and fit counts. What is left and is named like a scale of codes makes
 * these no numbers. */
#include "quantized/search.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/str.h"
#include "quantized/scale_names.h"

static const tare_tensor *tensor(const tare_weight_search *s, int64_t i) {
    return &s->m->catalog.tensors[i];
}

/* ---- notes ------------------------------------------------------------------------------------- */

static tare_tensor_note *note_of(tare_weight_search *s, int64_t i) {
    tare_model *m = s->m;
    if (!m->notes) m->notes = TARE_NEW_ARRAY(&m->arena, tare_tensor_note, m->catalog.n_tensors);
    return m->notes ? &m->notes[i] : NULL;
}

/* The codes are no numbers; the first reason counts. `about`: a tensor that it is about; -1: none. */
static tare_status note_refusal(tare_weight_search *s, int64_t i, tare_status status,
                                const char *why, int64_t about, tare_error *err) {
    tare_tensor_note *n = note_of(s, i);
    if (!n) return tare_fail(err, TARE_ERR_NOMEM, "tensor notes");
    if (n->refusal) return TARE_OK;
    n->refusal = why;
    n->refused_as = status;
    n->refused_about = about;
    n->has_packed_codes = n->has_packed_codes || tensor(s, i)->encoding->kind != TARE_KIND_FLOAT;
    return TARE_OK;
}

static tare_status note_part(tare_weight_search *s, int64_t i, const tare_scheme_part *part,
                             tare_error *err) {
    tare_tensor_note *n = note_of(s, i);
    if (!n) return tare_fail(err, TARE_ERR_NOMEM, "tensor notes");
    if (n->scheme) return TARE_OK;
    n->scheme = part->label;
    /* scales that are whole numbers are codes themselves */
    n->has_packed_codes = part->kind == TARE_PART_CODES ||
                          (tensor(s, i)->encoding->kind == TARE_KIND_INTEGER &&
                           part->kind != TARE_PART_INDEX && part->kind != TARE_PART_STATE &&
                           part->kind != TARE_PART_INPUT && part->kind != TARE_PART_UNUSED);
    return TARE_OK;
}

/* Bytes that are small floats: tiles of them are filled up with others. */
static void note_scales(tare_weight_search *s, const tare_weight *w) {
    const int64_t i = w->parts[TARE_PART_SCALES];
    if (tensor(s, i)->encoding->id != TARE_ENCODING_U8 || w->scale_order == TARE_SCALES_TILED)
        return;
    if (w->scale_value == TARE_SCALE_E8M0)
        s->m->notes[i].numbers = tare_encoding_get(TARE_ENCODING_F8_E8M0);
    if (w->scale_value == TARE_SCALE_E4M3)
        s->m->notes[i].numbers = tare_encoding_get(TARE_ENCODING_F8_E4M3);
}

/* ---- schemes ----------------------------------------------------------------------------------- */

/* Finds the parts; false: one that is required is missing, or has another weight already. */
static bool find_parts(int64_t *found, tare_weight *w, const tare_weight_search *s,
                       const tare_scheme *row) {
    for (int k = 0; k < TARE_PART_KINDS; k++) w->parts[k] = -1;
    for (size_t p = 0; p < TARE_SCHEME_PARTS && row->parts[p].suffix; p++) {
        found[p] = tare_weight_find(s, w->stem, row->parts[p].suffix);
        if (found[p] < 0 && row->parts[p].is_required) return false;
        if (found[p] >= 0 && s->weight_of[found[p]] >= 0) return false;
        if (found[p] >= 0 && w->parts[row->parts[p].kind] < 0)
            w->parts[row->parts[p].kind] = found[p];
    }
    return true;
}

static tare_status count_elements(tare_weight *w, const tare_weight_search *s, tare_error *err) {
    uint64_t n = 1;
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (w->dims[d] == 0 || !tare_mul_u64(n, w->dims[d], &n) || n > UINT64_C(1) << 48)
            return tare_fail_tensor(err, TARE_ERR_LIMIT, tare_weight_part(w, s, TARE_PART_CODES),
                                    (size_t)w->parts[TARE_PART_CODES], "number of its elements");
    w->cols = w->dims[w->n_dims - 1];
    w->n_rows = n / w->cols;
    return TARE_OK;
}

static tare_status check_name(const tare_weight *w, const tare_weight_search *s,
                              const int64_t *found, tare_error *err) {
    const int64_t same = tare_model_find_tensor(s->m, w->name);
    for (size_t p = 0; p < TARE_SCHEME_PARTS && w->scheme->parts[p].suffix; p++)
        if (same < 0 || found[p] == same) return TARE_OK;
    return tare_fail_tensor(err, TARE_ERR_CORRUPT, tensor(s, same), (size_t)same,
                            "it is there in packed form, too");
}

/* A weight of which the parts are there. */
static tare_status take(tare_weight *w, tare_weight_search *s, const int64_t *found,
                        tare_error *err) {
    TARE_TRY(tare_weight_rename(w, s, w->stem, w->scheme->weight, err));
    s->settings.fault[0] = 0;
    const tare_status status = w->scheme->fits(w, s, err);
    const bool is_refused = status == TARE_ERR_UNSUPPORTED || status == TARE_ERR_CORRUPT;
    if (s->settings.fault[0] && (is_refused || (status == TARE_OK && w->n_dims))) {
        const char *why;
        TARE_TRY(tare_weight_settings_fault(&why, &s->settings, s->m, err));
        return tare_weight_refuse(w, s, why, err);
    }
    if (is_refused && s->settings.refusal)
        return tare_weight_refuse(w, s, s->settings.refusal, err);
    if (status != TARE_OK || w->n_dims == 0) return status;
    TARE_TRY(count_elements(w, s, err));
    TARE_TRY(check_name(w, s, found, err));
    if (s->settings.refusal) return tare_weight_refuse(w, s, s->settings.refusal, err);
    return TARE_OK;
}

/* *is_taken: the scheme's parts fit, or are known not to. */
static tare_status try_scheme(bool *is_taken, tare_weight_search *s, const tare_scheme *row,
                              size_t scales, tare_error *err) {
    const tare_str name = tensor(s, (int64_t)scales)->name;
    tare_weight w = {.scheme = row, .step = 1, .encoding = tare_encoding_get(TARE_ENCODING_F32)};
    int64_t found[TARE_SCHEME_PARTS];
    tare_error why = TARE_ERROR_NONE;
    w.stem = (tare_str){name.ptr, name.len - strlen(row->parts[1].suffix)};
    if (!find_parts(found, &w, s, row)) return TARE_OK;
    const int64_t codes = w.parts[TARE_PART_CODES];
    const size_t before = s->n_weights;
    const tare_status status = take(&w, s, found, &why);
    const bool is_refused = status == TARE_ERR_CORRUPT || status == TARE_ERR_UNSUPPORTED ||
                            status == TARE_ERR_LIMIT || status == TARE_ERR_TRUNCATED;
    if (status != TARE_OK && !is_refused) {
        if (err) *err = why;
        return status;
    }
    *is_taken = is_refused || w.n_dims > 0;
    if (!*is_taken) return TARE_OK;
    for (size_t p = 0; p < TARE_SCHEME_PARTS && row->parts[p].suffix; p++)
        if (found[p] >= 0) TARE_TRY(note_part(s, found[p], &row->parts[p], err));
    if (is_refused) {
        s->n_weights = before;
        return note_refusal(s, codes, status, why.what, why.item == codes ? -1 : why.item, err);
    }
    for (size_t p = 0; p < TARE_SCHEME_PARTS && row->parts[p].suffix; p++)
        if (found[p] >= 0) s->weight_of[found[p]] = (int64_t)s->n_weights;
    note_scales(s, &w);
    return tare_weight_add(s, &w, err);
}

static tare_status try_schemes(tare_weight_search *s, size_t i, tare_error *err) {
    const tare_str name = tensor(s, (int64_t)i)->name;
    bool is_taken = false;
    for (const tare_scheme *row = tare_schemes; row->name && !is_taken; row++)
        if (s->weight_of[i] < 0 && tare_str_ends(name, tare_str_of(row->parts[1].suffix)))
            TARE_TRY(try_scheme(&is_taken, s, row, i, err));
    return TARE_OK;
}

/* A word of a name that others have, too, which comes behind the name of codes. */
static tare_status try_word(tare_weight_search *s, size_t i, const tare_named_scheme *n,
                            tare_error *err) {
    const tare_str word = tare_str_of(n->suffix + 1);
    const int64_t codes = tare_codes_before_word(s, tensor(s, (int64_t)i)->name, word);
    return codes < 0 ? TARE_OK
                     : note_refusal(s, codes, TARE_ERR_UNSUPPORTED, n->why, (int64_t)i, err);
}

static tare_status try_names(tare_weight_search *s, size_t i, tare_error *err) {
    const tare_str name = tensor(s, (int64_t)i)->name;
    for (const tare_named_scheme *n = tare_named_schemes; n->suffix; n++) {
        const tare_str end = tare_str_of(n->suffix);
        if (n->is_common) TARE_TRY(try_word(s, i, n, err));
        if (!tare_str_ends(name, end) || (n->is_common && !s->settings.config)) continue;
        const tare_str stem = {name.ptr, name.len - end.len};
        const int64_t beside = n->beside ? tare_weight_find(s, stem, n->beside) : -1;
        const bool is_plain = beside >= 0 && tensor(s, beside)->encoding->kind == TARE_KIND_FLOAT &&
                              strcmp(n->beside, ".weight") == 0;
        if ((n->beside && beside < 0) || is_plain) continue;
        if (n->is_common && !s->m->refusal) s->m->refusal = n->why;
        TARE_TRY(note_refusal(s, (int64_t)i, TARE_ERR_UNSUPPORTED, n->why, -1, err));
        note_of(s, (int64_t)i)->has_packed_codes |= !n->is_common;
        int64_t codes = tare_codes_of(s, stem);
        if (codes < 0) codes = tare_weight_find(s, stem, ".weight");
        if (codes >= 0) TARE_TRY(note_refusal(s, codes, TARE_ERR_UNSUPPORTED, n->why, -1, err));
    }
    return TARE_OK;
}

/* ---- what is beside ---------------------------------------------------------------------------- */

static const char unused_scale[] =
    "named like the scale of its codes, and not used: they are not numbers without it";

/* Scales of activations serve a weight whose own scale is known; any other is one that nothing used.
 */
static tare_status note_beside(tare_weight_search *s, size_t i, tare_error *err) {
    const tare_str name = tensor(s, (int64_t)i)->name;
    if (s->weight_of[i] >= 0 || s->is_dropped[i] || (s->m->notes && s->m->notes[i].scheme))
        return TARE_OK;
    int64_t codes;
    TARE_TRY(tare_scaled_codes(&codes, s, name, err));
    if (codes < 0) { /* of codes that no scheme has an explanation of */
        codes = tare_codes_times(s, name);
        if (codes >= 0 && s->weight_of[codes] >= 0) codes = -1;
    }
    if (codes < 0 || codes == (int64_t)i) return TARE_OK;
    if (s->weight_of[codes] >= 0 && tare_is_activation_scale(name)) {
        static const tare_scheme_part part = {"", "activation scale", TARE_PART_UNUSED, false};
        return note_part(s, (int64_t)i, &part, err);
    }
    if (tensor(s, codes)->encoding->kind == TARE_KIND_INTEGER && s->weight_of[codes] < 0 &&
        tare_is_activation_scale(name))
        return TARE_OK; /* of whole numbers that nothing is known of */
    return note_refusal(s, codes, TARE_ERR_UNSUPPORTED, unused_scale, (int64_t)i, err);
}

/* What lies beside codes under a name that says that the weight is another number than theirs. */
static tare_status note_change(tare_weight_search *s, size_t i, tare_error *err) {
    if (s->weight_of[i] >= 0 || s->is_dropped[i] || (s->m->notes && s->m->notes[i].scheme))
        return TARE_OK;
    const int64_t codes = tare_codes_changed_by(s, tensor(s, (int64_t)i)->name);
    if (codes < 0 || codes == (int64_t)i || s->weight_of[codes] < 0) return TARE_OK;
    return note_refusal(
        s, codes, TARE_ERR_UNSUPPORTED,
        "beside its codes, named like what is added to them or changes their order, "
        "and not used: they are not the weight without it",
        (int64_t)i, err);
}

/* What else looks like a part of a weight, and stays a tensor of its own. */
static tare_status note_unused(tare_weight_search *s, size_t i, tare_error *err) {
    if (s->weight_of[i] >= 0 || s->is_dropped[i] || (s->m->notes && s->m->notes[i].scheme))
        return TARE_OK;
    const tare_str name = tensor(s, (int64_t)i)->name;
    const int64_t codes = tare_codes_around(s, name);
    const char *why = NULL;
    if (codes >= 0 && codes != (int64_t)i && s->weight_of[codes] >= 0)
        why = "beside the codes of a packed weight, which is read without it: it stays a tensor";
    else if (codes < 0 && (s->settings.config || s->n_weights) && tare_is_part_name(name))
        why =
            "named like a part of a packed weight, of which there are no codes: it stays a tensor";
    if (!why) return TARE_OK;
    tare_tensor_note *n = note_of(s, (int64_t)i);
    if (!n) return tare_fail(err, TARE_ERR_NOMEM, "tensor notes");
    n->unused = why;
    return TARE_OK;
}

/* Whether codes have a name that only those of a scheme have, or, where settings say that the model is
 * packed, that of a weight; small floats whatever name, where each has a scale by quant_method. */
static bool is_of_packed(const tare_weight_search *s, const tare_tensor *t) {
    static const char *const methods[] = {"fp8", "fbgemm_fp8", "ptpc_fp8", "compressed-tensors",
                                          "modelopt"};
    static const char *const names[] = {".qweight",
                                        ".weight_packed",
                                        ".W_q",
                                        "._weight_qdata",
                                        ".weight._data",
                                        ".weight._data._data",
                                        ".embedding_quantized"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tare_str_ends(t->name, tare_str_of(names[i]))) return true;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (t->encoding->kind == TARE_KIND_FLOAT && tare_str_is(s->settings.method, methods[i]))
            return true;
    return s->settings.config && (tare_str_ends(t->name, TARE_STR(".weight")) ||
                                  tare_str_ends(t->name, TARE_STR("_blocks")));
}

/* Whether ComfyUI says that codes are of a format which always has scales: those of two are 1 where there
 * are none. */
static tare_status is_scaled_in_comfy(bool *out, const tare_weight_search *s, tare_str name,
                                      tare_error *err) {
    const tare_str end = TARE_STR(".weight");
    tare_comfy_note note = {.format = TARE_STR("")};
    if (tare_str_ends(name, end))
        TARE_TRY(tare_weight_comfy(&note, s, (tare_str){name.ptr, name.len - end.len}, err));
    *out = note.format.len && !tare_str_is(note.format, "float8_e4m3fn") &&
           !tare_str_is(note.format, "float8_e5m2");
    return TARE_OK;
}

/* Codes that no scheme took, and no tensor is their scale. */
static tare_status note_unscaled(tare_weight_search *s, size_t i, tare_error *err) {
    const tare_tensor *t = tensor(s, (int64_t)i);
    if (s->weight_of[i] >= 0 || s->is_dropped[i] || t->n_dims < 2 ||
        !tare_is_codes(s, (int64_t)i) ||
        (s->m->notes && (s->m->notes[i].scheme || s->m->notes[i].refusal)))
        return TARE_OK;
    bool is_scaled = is_of_packed(s, t);
    if (!is_scaled) TARE_TRY(is_scaled_in_comfy(&is_scaled, s, t->name, err));
    if (!is_scaled) return TARE_OK;
    return note_refusal(s, (int64_t)i, TARE_ERR_UNSUPPORTED,
                        "codes of a packed weight, of which no scale was found", -1, err);
}

/* ---- ComfyUI ----------------------------------------------------------------------------------- */

/* "scaled_fp8", once in a model. */
static bool is_marker(const tare_tensor *t) {
    return t->n_elements <= 2 && t->encoding->kind == TARE_KIND_FLOAT &&
           t->encoding->planes[0].unit_bytes == 1 && tare_str_ends(t->name, TARE_STR("scaled_fp8"));
}

/* A module's own note, which the weight found for it obeys. */
static tare_status check_comfy(tare_weight_search *s, tare_str module, tare_error *err) {
    int64_t codes = tare_weight_find(s, module, ".weight");
    tare_comfy_note note;
    char name[1024]; /* the metadata may leave out where the module is */
    const int n = snprintf(name, sizeof name, "model.diffusion_model.%.*s.weight",
                           (int)tare_min_u64(module.len, 900), module.ptr);
    if (codes < 0) codes = tare_model_find_tensor(s->m, (tare_str){name, (size_t)n});
    s->settings.fault[0] = 0;
    TARE_TRY(tare_weight_comfy(&note, s, module, err));
    const char *why = tare_comfy_obstacle(&note);
    if (s->settings.fault[0]) TARE_TRY(tare_weight_settings_fault(&why, &s->settings, s->m, err));
    if (!why || codes < 0) return TARE_OK;
    return note_refusal(s, codes, TARE_ERR_UNSUPPORTED, why, -1, err);
}

/* The same of codes, whose module the metadata may name otherwise. */
static tare_status check_listed(tare_weight_search *s, size_t i, tare_error *err) {
    const tare_str end = TARE_STR(".weight"), name = tensor(s, (int64_t)i)->name;
    if (!tare_str_ends(name, end) || !tare_is_codes(s, (int64_t)i)) return TARE_OK;
    return check_comfy(s, (tare_str){name.ptr, name.len - end.len}, err);
}

typedef struct listed {
    const tare_json_node *layer;
    bool is_there;
} listed;

static int by_layer(const void *a, const void *b) {
    const uintptr_t x = (uintptr_t)((const listed *)a)->layer,
                    y = (uintptr_t)((const listed *)b)->layer;
    return (x > y) - (x < y);
}

/* The layer of the metadata that a weight is; NULL: none, or it is no weight. */
static const tare_json_node *layer_of(const tare_weight_search *s, size_t i) {
    const tare_str end = TARE_STR(".weight"), name = tensor(s, (int64_t)i)->name;
    if (!tare_str_ends(name, end)) return NULL;
    return tare_weight_comfy_layer(&s->settings, (tare_str){name.ptr, name.len - end.len});
}

/* *out: the metadata lists a layer that no weight is. */
static tare_status has_lost_layer(bool *out, const tare_weight_search *s, tare_error *err) {
    size_t n = 0;
    for (const tare_json_node *l = s->settings.layers->child; l; l = l->next) n++;
    listed *all = TARE_NEW_ARRAY(s->arena, listed, n);
    if (!all) return tare_fail(err, TARE_ERR_NOMEM, "packed weights");
    n = 0;
    for (const tare_json_node *l = s->settings.layers->child; l; l = l->next) all[n++].layer = l;
    if (n) qsort(all, n, sizeof *all, by_layer);
    for (size_t i = 0; n && i < s->m->catalog.n_tensors; i++) {
        const listed key = {layer_of(s, i), false};
        listed *found = key.layer ? bsearch(&key, all, n, sizeof key, by_layer) : NULL;
        if (found) found->is_there = true;
    }
    *out = false;
    for (size_t k = 0; k < n; k++) *out |= !all[k].is_there;
    return TARE_OK;
}

/* Codes that the metadata lists under no name, while it has a layer that is not there: it may be these,
 * rotated or in another form that only their entry tells. */
static tare_status note_unlisted(tare_weight_search *s, tare_error *err) {
    const tare_str end = TARE_STR(".weight");
    bool has_lost = false;
    if (s->settings.layers) TARE_TRY(has_lost_layer(&has_lost, s, err));
    for (size_t i = 0; has_lost && i < s->m->catalog.n_tensors; i++) {
        const tare_str name = tensor(s, (int64_t)i)->name;
        if (!tare_str_ends(name, end) || !tare_is_codes(s, (int64_t)i) || layer_of(s, i)) continue;
        const tare_str module = {name.ptr, name.len - end.len};
        if (tare_weight_find(s, module, ".comfy_quant") >= 0) continue;
        TARE_TRY(note_refusal(s, (int64_t)i, TARE_ERR_UNSUPPORTED,
                              "ComfyUI's metadata lists layers that are not in the file, and not "
                              "this one, which may be one of them",
                              -1, err));
    }
    return TARE_OK;
}

static tare_status note_comfy(tare_weight_search *s, size_t i, tare_error *err) {
    const tare_str end = TARE_STR(".comfy_quant"), name = tensor(s, (int64_t)i)->name;
    static const tare_scheme_part state = {"", "comfyui state", TARE_PART_UNUSED, false};
    static const tare_scheme_part marker = {"", "fp8 marker", TARE_PART_UNUSED, false};
    if (is_marker(tensor(s, (int64_t)i))) {
        s->is_dropped[i] = s->has_marker = true;
        return note_part(s, (int64_t)i, &marker, err);
    }
    if (!tare_str_ends(name, end)) return TARE_OK;
    s->is_dropped[i] = true;
    TARE_TRY(note_part(s, (int64_t)i, &state, err));
    return check_comfy(s, (tare_str){name.ptr, name.len - end.len}, err);
}

/* ---- torchao ----------------------------------------------------------------------------------- */

static tare_status note_torchao(tare_weight_search *s, size_t i, tare_error *err) {
    const tare_str end = TARE_STR("._weight_qdata"), name = tensor(s, (int64_t)i)->name;
    tare_torchao_note note;
    const char *why;
    if (!tare_str_ends(name, end)) return TARE_OK;
    TARE_TRY(tare_weight_torchao(&note, s, (tare_str){name.ptr, name.len - end.len}, err));
    TARE_TRY(tare_torchao_obstacle(&why, &note, s, err));
    return why ? note_refusal(s, (int64_t)i, TARE_ERR_UNSUPPORTED, why, -1, err) : TARE_OK;
}

/* ---- all --------------------------------------------------------------------------------------- */

/* Tensors that only quantized models have, and that say nothing of weights. */
static bool is_of_no_use(const tare_weight_search *s, size_t i) {
    const tare_str name = tensor(s, (int64_t)i)->name;
    const tare_str dummy = TARE_STR(".scale_weight");
    if (s->weight_of[i] >= 0) return false;
    if (s->has_marker && tare_str_ends(name, dummy)) {
        const int64_t w =
            tare_weight_find(s, (tare_str){name.ptr, name.len - dummy.len}, ".weight");
        return w >= 0 && !tare_is_codes(s, w);
    }
    return tare_is_activation_scale(name) || tare_str_ends(name, TARE_STR(".weight_format")) ||
           tare_str_ends(name, TARE_STR("_quantizer._amax"));
}

/* Weights that a note makes no numbers are none; the others move up. */
static void drop_refused(tare_weight_search *s) {
    const size_t n = s->m->catalog.n_tensors;
    size_t kept = 0;
    for (size_t i = 0; i < s->n_weights; i++) {
        const tare_weight *w = &s->weights[i];
        const bool is_refused = s->m->notes[w->parts[TARE_PART_CODES]].refusal != NULL;
        s->new_number[i] = is_refused ? -1 : (int64_t)kept;
        if (!is_refused) s->weights[kept++] = *w;
    }
    for (size_t i = 0; i < n; i++)
        if (s->weight_of[i] >= 0) s->weight_of[i] = s->new_number[s->weight_of[i]];
    s->n_weights = kept;
}

static tare_status find_all(tare_weight_search *s, tare_error *err) {
    const size_t n = s->m->catalog.n_tensors;
    for (size_t i = 0; i < n; i++) TARE_TRY(try_names(s, i, err));
    for (size_t i = 0; i < n; i++) TARE_TRY(note_comfy(s, i, err));
    for (size_t i = 0; i < n; i++) TARE_TRY(note_torchao(s, i, err));
    for (const tare_json_node *l = s->settings.layers ? s->settings.layers->child : NULL; l;
         l = l->next)
        TARE_TRY(check_comfy(s, l->key, err));
    for (size_t i = 0; s->settings.layers && i < n; i++) TARE_TRY(check_listed(s, i, err));
    for (size_t i = 0; i < n; i++) TARE_TRY(try_schemes(s, i, err));
    TARE_TRY(note_unlisted(s, err));
    const bool is_packed = s->n_weights > 0 || s->settings.config;
    for (size_t i = 0; i < n; i++)
        s->is_dropped[i] = s->is_dropped[i] || (is_packed && is_of_no_use(s, i));
    for (size_t i = 0; i < n; i++) TARE_TRY(note_beside(s, i, err));
    for (size_t i = 0; i < n; i++) TARE_TRY(note_unscaled(s, i, err));
    for (size_t i = 0; i < n; i++) TARE_TRY(note_change(s, i, err));
    for (size_t i = 0; i < n; i++) TARE_TRY(note_unused(s, i, err));
    s->new_number = TARE_NEW_ARRAY(s->arena, int64_t, s->n_weights);
    if (!s->new_number) return tare_fail(err, TARE_ERR_NOMEM, "packed weights");
    if (s->m->notes) drop_refused(s);
    return TARE_OK;
}

static bool is_of_named(tare_str name) {
    for (const tare_named_scheme *n = tare_named_schemes; n->suffix; n++)
        if (!n->is_common && tare_str_ends(name, tare_str_of(n->suffix))) return true;
    return false;
}

/* Codes may lie in tensors of any type; their scales are named as some scheme has them. */
static bool is_of_scheme(tare_str name) {
    for (const tare_scheme *row = tare_schemes; row->name; row++)
        if (tare_str_ends(name, tare_str_of(row->parts[1].suffix))) return true;
    return false;
}

/* Whether there may be anything to find: plain models are not asked for their settings. */
static bool may_be_packed(const tare_weight_search *s) {
    for (size_t i = 0; i < s->m->catalog.n_tensors; i++) {
        const tare_str name = tensor(s, (int64_t)i)->name;
        if (tare_is_codes(s, (int64_t)i) || tare_is_named_scale(name) || is_of_scheme(name) ||
            is_of_named(name))
            return true;
    }
    return false;
}

tare_status tare_weight_search_run(tare_weight_search *s, tare_error *err) {
    const size_t n = s->m->catalog.n_tensors;
    s->weight_of = TARE_NEW_ARRAY(s->arena, int64_t, n);
    s->is_dropped = TARE_NEW_ARRAY(s->arena, bool, n);
    if (!s->weight_of || !s->is_dropped) return tare_fail(err, TARE_ERR_NOMEM, "packed weights");
    for (size_t i = 0; i < n; i++) s->weight_of[i] = -1;
    if (!may_be_packed(s)) return TARE_OK;
    TARE_TRY(tare_weight_settings_read(&s->settings, s->m, s->arena, err));
    TARE_TRY(tare_weight_modules_read(&s->modules, &s->settings, s->m, s->arena, err));
    TARE_TRY(tare_weight_settings_check(&s->settings, s->m, err));
    s->m->refusal = s->settings.refusal;
    return find_all(s, err);
}
