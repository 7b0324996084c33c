/* SPDX-License-Identifier: MIT
 *
 * A GGUF file as the Hugging Face model that it could have been made of. */
#include "llama/restore/restore.h"

#include <math.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "llama/tower.h"

enum { STEP = 4096 }; /* elements that are looked at at once */

static const char format_name[] = "restored";

/* ---- what it is ------------------------------------------------------------------------------ */

static bool is_tower(tare_str architecture) {
    return tare_str_is(architecture, tare_llama_tower_at(0)->name);
}

/* The kind of a tower's projector; empty: it says none. */
static tare_str projector_of(const tare_model *gguf) {
    static const char *const keys[] = {"clip.projector_type", "clip.vision.projector_type",
                                       "clip.audio.projector_type"};
    tare_str type = TARE_STR("");
    for (size_t i = 0; i < 3 && type.len == 0; i++)
        type = tare_catalog_get_str(&gguf->catalog, keys[i]);
    return type;
}

/* Whether tare knows the way back for models of this row. */
static bool is_row_of(const tare_llama_arch *a, const tare_model *gguf, tare_str architecture) {
    return a->back && tare_str_is(architecture, a->name) &&
           (!a->tower || tare_str_is(projector_of(gguf), a->tower->projector));
}

/* The first row of an architecture whose conditions the keys fulfil. */
static tare_status find_row(tare_llama_restoring *r, tare_str architecture, tare_error *err) {
    const tare_llama_arch *(*const at)(size_t i) =
        is_tower(architecture) ? tare_llama_tower_at : tare_llama_arch_at;
    const tare_llama_arch *a;
    for (size_t i = 0; (a = at(i)) && !r->arch; i++) {
        bool holds = is_row_of(a, r->gguf, architecture);
        const char *otherwise =
            a->tower ? NULL : a->requires; /* that of a tower is of config.json */
        const char *condition = holds && a->back->when ? a->back->when : otherwise;
        if (holds && condition) {
            tare_llama_value v;
            TARE_TRY(tare_llama_formula(&v, tare_str_of(condition), &r->by_keys, NULL, err));
            holds = v.kind != TARE_LLAMA_ABSENT && v.number != 0;
        }
        if (holds) r->arch = a;
    }
    return TARE_OK;
}

bool tare_llama_can_restore(tare_str *architecture, const tare_model *model) {
    if (architecture) *architecture = TARE_STR("");
    if (!model || tare_model_find_resource(model, TARE_STR("config.json")) >= 0) return false;
    tare_str name = tare_catalog_get_str(&model->catalog, "general.architecture");
    if (architecture) *architecture = name;
    const tare_llama_arch *a;
    if (is_tower(name)) {
        for (size_t i = 0; (a = tare_llama_tower_at(i)); i++)
            if (is_row_of(a, model, name)) return true;
        return false;
    }
    if (tare_model_find_tensor(model, TARE_STR("token_embd.weight")) < 0) return false;
    if (tare_llama_is_draft(model) && /* of layers that are none without the model's */
        tare_model_find_tensor(model, TARE_STR("blk.0.attn_norm.weight")) < 0)
        return false;
    for (size_t i = 0; (a = tare_llama_arch_at(i)); i++)
        if (is_row_of(a, model, name)) return true;
    return false;
}

/* What formulas over a tower's keys call text_architecture. */
static tare_status add_text_architecture(tare_llama_restoring *r, tare_error *err) {
    tare_json_node *node = tare_json_new(&r->out->arena, TARE_JSON_STRING, r->text_architecture);
    if (!node) return tare_fail(err, TARE_ERR_NOMEM, "keys");
    tare_json_add(r->keys, TARE_STR("text_architecture"), node);
    return TARE_OK;
}

static tare_status find_arch(tare_llama_restoring *r, tare_error *err) {
    tare_str architecture = tare_catalog_get_str(&r->gguf->catalog, "general.architecture");
    tare_arena *arena = &r->out->arena;
    if (tare_model_is_big_endian(r->gguf))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "big-endian models cannot be restored");
    TARE_TRY(tare_llama_keys_tree(&r->keys, r->gguf, architecture, arena, err));
    if (is_tower(architecture)) TARE_TRY(add_text_architecture(r, err));
    r->by_keys = (tare_llama_config){.root = r->keys, .arena = arena, .facts = r->facts};
    TARE_TRY(find_row(r, architecture, err));
    if (r->arch)
        return tare_llama_names_init(&r->names, r->arch->name, r->arch->tensors, arena, err);
    tare_fail(err, TARE_ERR_UNSUPPORTED,
              is_tower(architecture)
                  ? "tare cannot map encoders of this clip.projector_type back to Hugging Face"
                  : "tare cannot map this general.architecture back to Hugging Face");
    tare_error_item(err, TARE_ITEM_KEY, -1,
                    is_tower(architecture) ? projector_of(r->gguf) : architecture);
    return TARE_ERR_UNSUPPORTED;
}

/* The type that most elements of matrices have, F16 for those that are quantized. */
static void find_usual_type(tare_llama_restoring *r) {
    static const tare_encoding_id floats[] = {TARE_ENCODING_F32, TARE_ENCODING_BF16,
                                              TARE_ENCODING_F16};
    uint64_t elements[3] = {0}, most = 0;
    for (size_t i = 0; i < r->gguf->catalog.n_tensors; i++) {
        const tare_tensor *t = &r->gguf->catalog.tensors[i];
        size_t k = 0;
        if (t->n_dims < 2) continue;
        while (k < 2 && tare_tensor_origin(r->gguf, i).encoding->id != floats[k]) k++;
        elements[k] += t->n_elements;
    }
    r->usual = tare_encoding_get(TARE_ENCODING_F16);
    for (size_t k = 0; k < 3; k++)
        if (elements[k] > most) {
            most = elements[k];
            r->usual = tare_encoding_get(floats[k]);
        }
    if (r->options->type) r->usual = r->options->type;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Tensors by their names and shapes, whose numbers are not there yet, and the side files. */
static tare_status fill_catalog(tare_llama_restoring *r, tare_error *err) {
    tare_catalog *c = &r->out->catalog;
    tare_reader reader;
    uint32_t index;
    TARE_TRY(tare_model_share_files(r->out, r->gguf, err));
    tare_reader_callback(&reader, NULL, NULL, 0, format_name);
    TARE_TRY(tare_model_add_file(r->out, &reader, format_name, &index, err));
    c->tensors = TARE_NEW_ARRAY(&r->out->arena, tare_tensor, r->n_expected);
    c->resources = TARE_NEW_ARRAY(&r->out->arena, tare_resource_entry, r->n_files);
    if (!c->tensors || !c->resources) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    if (r->n_files) memcpy(c->resources, r->files, r->n_files * sizeof *r->files);
    c->n_resources = r->n_files;
    for (size_t i = 0; i < r->n_expected; i++) {
        tare_tensor *t = &c->tensors[i];
        *t = (tare_tensor){.name = r->expected[i].name, .offset = TARE_NO_OFFSET};
        TARE_TRY(tare_tensor_set(r->out, t, r->usual, r->expected[i].dims, r->expected[i].n_dims,
                                 index, 0, err));
        c->n_tensors++;
    }
    return tare_model_finish(r->out, r->options->context->report, err);
}

/* Whether all numbers of a tensor are ones of the usual type; logarithms are so but for their last
 * bits. */
static tare_status fits(bool *out, const tare_llama_restoring *r, size_t tensor, bool is_rounded,
                        tare_error *err) {
    float values[STEP], again[STEP];
    uint8_t raw[STEP * sizeof(float)];
    const uint64_t n = r->out->catalog.tensors[tensor].n_elements;
    *out = true;
    for (uint64_t at = 0; at < n && *out;) {
        uint64_t take = tare_min_u64(n - at, STEP);
        tare_rows_mut rows = {.planes = {raw}, .n_rows = 1, .cols = take};
        const tare_rows back = {.planes = {raw}, .n_rows = 1, .cols = take};
        TARE_TRY(tare_tensor_values_f32(values, r->out, tensor, at, take, err));
        TARE_TRY(tare_encode_rows(&rows, r->usual, values, NULL, err));
        TARE_TRY(tare_decode_rows(again, r->usual, &back, err));
        for (uint64_t i = 0; i < take; i++) {
            float far = is_rounded ? 2e-7F * (1 + fabsf(values[i])) : 0;
            *out = *out && fabsf(values[i] - again[i]) <= far;
        }
        at += take;
    }
    return TARE_OK;
}

/* F32 is what llama.cpp wants of norms and the like, whatever they were; where the usual type holds
 * the same numbers, they are of that. Matrices that were quantized become the usual type. */
static tare_status choose_types(tare_llama_restoring *r, tare_error *err) {
    tare_model_types *types = TARE_NEW(&r->out->arena, tare_model_types);
    const tare_catalog *c = &r->out->catalog;
    if (!types) return tare_fail(err, TARE_ERR_NOMEM, "types");
    *types = (tare_model_types){.usual = r->usual,
                                .program = TARE_PROGRAM_TRANSFORMERS,
                                .origins = r->origins,
                                .same_rows = r->same_rows};
    types->fixed = TARE_NEW_ARRAY(&r->out->arena, tare_fixed_type, c->n_tensors);
    if (!types->fixed) return tare_fail(err, TARE_ERR_NOMEM, "types");
    for (size_t i = 0; i < c->n_tensors; i++) {
        bool is_same = true, is_rounded = r->is_rounded[i];
        if (r->is_f32[i]) TARE_TRY(fits(&is_same, r, i, is_rounded, err));
        types->fixed[i] = is_same ? TARE_FIXED_NONE : TARE_FIXED_F32;
    }
    r->out->types = types;
    return TARE_OK;
}

/* ---- what became of the keys ----------------------------------------------------------------- */

/* A list of one number for all layers says what the number alone does. */
static bool is_same_value(const tare_value *is, const tare_value *was) {
    tare_value number;
    uint64_t a, b;
    return tare_value_equal(is, was) ||
           (was->type == TARE_VALUE_ARRAY && tare_llama_is_uniform(&number, was) &&
            tare_value_u64(&a, is) && tare_value_u64(&b, &number) && a == b);
}

static const tare_value *value_of(const tare_metadata *list, size_t n, tare_str key) {
    for (size_t i = 0; i < n; i++)
        if (tare_str_equal(list[i].key, key)) return &list[i].value;
    return NULL;
}

/* Whether numbers come out wrong where it has another value: how rows are cut into heads. */
static bool decides_numbers(tare_str key) {
    static const char *const ends[] = {".attention.head_count", ".attention.head_count_kv",
                                       ".feed_forward_length"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (tare_str_ends(key, tare_str_of(ends[i]))) return true;
    return false;
}

static tare_status fail_key(tare_str key, tare_error *err) {
    tare_fail(err, TARE_ERR_UNSUPPORTED,
              "config.json has no place for this value in this architecture");
    tare_error_item(err, TARE_ITEM_KEY, -1, key);
    return TARE_ERR_UNSUPPORTED;
}

/* Keys that the restored model would not have again, or with another value. */
static tare_status check_keys(const tare_llama_restoring *r, const tare_model *again,
                              tare_error *err) {
    static const char of_file[] =
        "general.file_type general.quantization_version general.alignment general.size_label "
        "split.no split.count split.tensors.count";
    const tare_catalog *was = &r->gguf->catalog, *is = &again->catalog;
    for (size_t i = 0; i < was->n_metadata; i++) {
        const tare_metadata *m = &was->metadata[i];
        if (m->space != TARE_KEYS_MODEL || tare_llama_is_one_of(m->key, of_file)) continue;
        if (tare_llama_is_of_numbers(r, m->key)) continue; /* they are tensors again */
        const tare_value *v = value_of(is->metadata, is->n_metadata, m->key);
        tare_value number;
        if (!v)
            tare_llama_not_restored(r, TARE_ITEM_KEY, m->key,
                                    "no file of the output holds this any more");
        else if (!is_same_value(v, &m->value) && decides_numbers(m->key) &&
                 v->type != TARE_VALUE_ARRAY && !tare_llama_is_uniform(&number, &m->value))
            return fail_key(m->key, err);
        else if (!is_same_value(v, &m->value))
            tare_llama_not_restored(r, TARE_ITEM_KEY, m->key, "another value on the way there");
    }
    return TARE_OK;
}

/* The way there and round: the converter maps the model that is to be. */
static tare_status rehearse(tare_llama_restoring *r, tare_error *err) {
    tare_llama_options options = tare_llama_options_default();
    tare_context open = tare_context_default();
    bool has_tokenizer = tare_model_find_resource(r->out, TARE_STR("tokenizer.json")) >= 0 ||
                         tare_model_find_resource(r->out, TARE_STR("tokenizer.model")) >= 0;
    const tare_value *pre = tare_llama_key_of(r->gguf, "tokenizer.ggml.pre");
    options.no_tokenizer = !has_tokenizer;
    options.tower = r->arch->tower != NULL;
    if (pre && pre->type == TARE_VALUE_STRING && !tare_llama_has_splitting(pre->as.s))
        options.pre = tare_arena_str(&r->out->arena, pre->as.s).ptr;
    open.allocator = r->out->allocator;
    open.limits = &r->out->limits;
    options.context = &open;
    tare_llama_mapping m = {.hf = r->out, .options = &options, .is_rehearsal = true};
    TARE_TRY(tare_model_new(&m.out, &open, err));
    tare_status status = tare_llama_mapping_fill(&m, err);
    if (status == TARE_OK) status = tare_llama_invert(r, &m, err);
    if (status == TARE_OK) status = check_keys(r, m.out, err);
    tare_llama_mapping_free(&m);
    tare_model_free(m.out);
    return status;
}

static tare_status restore(tare_llama_restoring *r, tare_error *err) {
    TARE_TRY(find_arch(r, err));
    find_usual_type(r);
    TARE_TRY(tare_llama_restore_config(r, err));
    if (r->arch->tower) {
        TARE_TRY(tare_llama_list_tower(r, err));
    } else {
        TARE_TRY(tare_llama_restore_generation(r, err));
        TARE_TRY(tare_llama_restore_tokenizer(r, err));
        TARE_TRY(tare_llama_restore_pooling(r, err));
        TARE_TRY(tare_llama_list_expected(r, err));
        TARE_TRY(tare_llama_expect_numbers(r, err));
    }
    TARE_TRY(tare_llama_restore_card(r, err));
    TARE_TRY(fill_catalog(r, err));
    TARE_TRY(rehearse(r, err));
    TARE_TRY(choose_types(r, err));
    tare_model_note_summary(r->out);
    return TARE_OK;
}

tare_status tare_llama_restore_one(tare_model **out, const tare_model *in,
                                   const tare_llama_restore_options *options,
                                   tare_str text_architecture, const tare_llama_arch **arch,
                                   tare_error *err) {
    tare_context open = tare_context_default();
    open.allocator = options->context->allocator;
    open.limits = options->context->limits ? options->context->limits : &in->limits;
    tare_llama_restoring r = {
        .gguf = in, .options = options, .text_architecture = text_architecture};
    TARE_TRY(tare_model_new(&r.out, &open, err));
    r.out->format = format_name;
    tare_status status = restore(&r, err);
    tare_free(r.out->allocator, r.expected, r.expected_capacity * sizeof *r.expected);
    tare_free(r.out->allocator, r.files, r.files_capacity * sizeof *r.files);
    if (arch) *arch = r.arch;
    if (status == TARE_OK)
        *out = r.out;
    else
        tare_model_free(r.out);
    return status;
}
