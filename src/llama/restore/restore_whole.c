/* SPDX-License-Identifier: MIT
 *
 * A text model and its tower, two files of llama.cpp, as the one Hugging Face model that both were
 * made of: each is restored alone, then their tensors get the names and their config.json the places
 * that they have in the whole. A file by itself is restored as it is. */
#include <stdio.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "llama/restore/restore_whole.h"

/* What the joined model is made of. */
typedef struct halves {
    tare_model *text, *tower;
} halves;

static void free_halves(void *ctx) {
    const halves *h = ctx;
    tare_model_free(h->text);
    tare_model_free(h->tower);
}

/* ---- what must fit --------------------------------------------------------------------------- */

static uint64_t key_u64(const tare_model *gguf, const char *key) {
    const tare_value *v = tare_llama_key_of(gguf, key);
    uint64_t n;
    return v && tare_value_u64(&n, v) ? n : 0;
}

/* The encoder's last matrix gives vectors of the text model's width. */
static tare_status check_width(const tare_model *text, tare_str architecture,
                               const tare_model *tower, tare_error *err) {
    char key[160]; /* longer names are those of no architecture that is known */
    snprintf(key, sizeof key, "%.*s.embedding_length", (int)tare_min_u64(architecture.len, 128),
             architecture.ptr);
    const char *projected = key_u64(tower, "clip.vision.projection_dim")
                                ? "clip.vision.projection_dim"
                                : "clip.audio.projection_dim";
    const uint64_t width = key_u64(text, key), projection = key_u64(tower, projected);
    if (width == projection) return TARE_OK;
    tare_fail(err, TARE_ERR_CORRUPT, "the encoder is of a text model of another width");
    tare_error_item(err, TARE_ITEM_KEY, -1, tare_str_of(projected));
    tare_error_detail(err, "%llu, that of the text model is %llu", (unsigned long long)projection,
                      (unsigned long long)width);
    return TARE_ERR_CORRUPT;
}

static tare_status check_kinds(tare_str text, tare_str tower, tare_error *err) {
    const tare_str clip = tare_str_of(tare_llama_tower_at(0)->name);
    const bool is_tower = tare_str_equal(tower, clip);
    if (is_tower && text.len && !tare_str_equal(text, clip)) return TARE_OK;
    tare_fail(err, TARE_ERR_UNSUPPORTED,
              is_tower ? "this is not a text model, so no encoder can be joined to it"
                       : "the file beside the text model is no encoder (mmproj)");
    tare_error_item(err, TARE_ITEM_KEY, -1, TARE_STR("general.architecture"));
    return TARE_ERR_UNSUPPORTED;
}

/* ---- side files ------------------------------------------------------------------------------ */

static bool is_same_file(const tare_resource_entry *a, const tare_resource_entry *b) {
    return a->info.size == b->info.size &&
           (a->info.size == 0 || memcmp(a->bytes, b->bytes, (size_t)a->info.size) == 0);
}

/* Those of the text model, and those that the tower alone has. */
static tare_status join_files(tare_llama_whole *w, tare_error *err) {
    const tare_catalog *text = &w->text->catalog, *tower = &w->tower->catalog;
    tare_catalog *c = &w->out->catalog;
    tare_str config;
    c->resources =
        TARE_NEW_ARRAY(&w->out->arena, tare_resource_entry, text->n_resources + tower->n_resources);
    if (!c->resources) return tare_fail(err, TARE_ERR_NOMEM, "side files");
    memcpy(c->resources, text->resources, text->n_resources * sizeof *c->resources);
    c->n_resources = text->n_resources;
    TARE_TRY(tare_llama_whole_config(&config, w, err));
    for (size_t i = 0; i < c->n_resources; i++)
        if (tare_str_is(c->resources[i].info.name, "config.json")) {
            c->resources[i].bytes = (const uint8_t *)config.ptr;
            c->resources[i].info.size = config.len;
        }
    for (size_t i = 0; i < tower->n_resources; i++) {
        const tare_resource_entry *file = &tower->resources[i];
        const int64_t at = tare_model_find_resource(w->text, file->info.name);
        if (at < 0)
            c->resources[c->n_resources++] = *file;
        else if (!tare_str_is(file->info.name, "config.json") &&
                 !is_same_file(file, &text->resources[at]))
            tare_llama_not_restored_in(w->out, w->report, TARE_ITEM_RESOURCE, file->info.name,
                                       "what the encoder's file says of the model is left out");
    }
    return TARE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* The name of a tensor of the text model in the whole; ptr NULL: memory is out. */
static tare_str name_in_whole(const tare_llama_whole *w, tare_str name) {
    const char *words = w->arch->back->text ? w->arch->back->text : "";
    for (tare_str word; (word = tare_llama_next_word(&words)).len;) {
        const char *equals = memchr(word.ptr, '=', word.len);
        const tare_str from = {word.ptr, (size_t)(equals - word.ptr)};
        if (tare_str_starts(name, from))
            return tare_llama_joined(tare_str_cut(word, from.len + 1), tare_str_cut(name, from.len),
                                     &w->out->arena);
    }
    return name;
}

/* The type of a half's matrices where the other's is the usual one. */
static tare_fixed_type other_type(const tare_model *half, const tare_model_types *types) {
    if (half->types->usual == types->usual) return TARE_FIXED_NONE;
    return half->types->usual->id == TARE_ENCODING_F16 ? TARE_FIXED_F16 : TARE_FIXED_F32;
}

/* Appends the tensors of a half, whose files are those from `file` on. */
static tare_status join_tensors(tare_llama_whole *w, const tare_model *half, uint32_t file,
                                tare_model_types *types, tare_error *err) {
    tare_catalog *c = &w->out->catalog;
    for (size_t i = 0; i < half->catalog.n_tensors; i++, c->n_tensors++) {
        tare_tensor *t = &c->tensors[c->n_tensors];
        *t = half->catalog.tensors[i];
        tare_plane *planes = TARE_NEW_ARRAY(&w->out->arena, tare_plane, t->encoding->n_planes);
        if (!planes) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
        for (uint32_t k = 0; k < t->encoding->n_planes; k++) {
            planes[k] = t->planes[k];
            planes[k].file += file;
        }
        t->planes = planes;
        if (half == w->text) t->name = name_in_whole(w, t->name);
        if (!t->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
        types->fixed[c->n_tensors] =
            half->types->fixed[i] ? half->types->fixed[i] : other_type(half, types);
        types->origins[c->n_tensors] = half->types->origins[i];
        types->same_rows[c->n_tensors] = half->types->same_rows[i];
    }
    return TARE_OK;
}

/* No type but BF16 is one that the other half's matrices could not be fixed to. */
static tare_status join_models(tare_llama_whole *w, tare_error *err) {
    tare_model *m = w->out;
    const size_t n = (size_t)(w->text->catalog.n_tensors + w->tower->catalog.n_tensors);
    tare_model_types *types = TARE_NEW(&m->arena, tare_model_types);
    m->catalog.tensors = TARE_NEW_ARRAY(&m->arena, tare_tensor, n);
    if (!types || !m->catalog.tensors) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    const bool is_tower_usual = w->tower->types->usual->id == TARE_ENCODING_BF16;
    *types = (tare_model_types){.usual = (is_tower_usual ? w->tower : w->text)->types->usual,
                                .program = TARE_PROGRAM_TRANSFORMERS,
                                .fixed = TARE_NEW_ARRAY(&m->arena, tare_fixed_type, n),
                                .origins = TARE_NEW_ARRAY(&m->arena, tare_origin, n),
                                .same_rows = TARE_NEW_ARRAY(&m->arena, tare_same_rows, n)};
    if (!types->fixed || !types->origins || !types->same_rows)
        return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_model_share_files(m, w->text, err));
    TARE_TRY(tare_model_share_files(m, w->tower, err));
    TARE_TRY(join_tensors(w, w->text, 0, types, err));
    TARE_TRY(join_tensors(w, w->tower, (uint32_t)w->text->n_files, types, err));
    TARE_TRY(join_files(w, err));
    m->types = types;
    if (!m->loss.code) m->loss = w->text->loss.code ? w->text->loss : w->tower->loss;
    return tare_model_finish(m, w->report, err);
}

/* An encoder of another model may give vectors of the same width; its class then is that of other text models. LLaVA's is
 * of any, and so are those that no text model has. */
static tare_status check_class(tare_llama_whole *w, tare_str architecture, tare_error *err) {
    const tare_json_node *config;
    const tare_llama_arch *arch;
    TARE_TRY(tare_model_json(&config, w->tower, "config.json", &w->out->arena, err));
    const tare_json_node *list = tare_json_member(config, TARE_STR("architectures"));
    const tare_str name = tare_json_node_text(list ? list->child : NULL);
    bool is_of_text = false;
    for (size_t i = 0; (arch = tare_llama_arch_at(i)); i++) {
        if (!tare_llama_is_one_of(name, arch->classes)) continue;
        if (tare_str_is(architecture, arch->name)) return TARE_OK;
        is_of_text = true;
    }
    if (!is_of_text || tare_str_is(name, "LlavaForConditionalGeneration")) return TARE_OK;
    tare_finding f = TARE_FINDING(WARNING, TARE_OK, "llama.other-encoder");
    f.item_kind = TARE_ITEM_KEY;
    f.item_name = TARE_STR("general.architecture");
    f.text = TARE_STR("the encoder is one of models whose text has another architecture: does it "
                      "belong to this model?");
    tare_report_add(w->report, &f);
    w->out->loss = f;
    return TARE_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

static tare_status restore_both(tare_llama_whole *w, const tare_model *in,
                                const tare_llama_restore_options *options, tare_error *err) {
    const tare_str text = tare_catalog_get_str(&in->catalog, "general.architecture");
    const tare_str tower = tare_catalog_get_str(&options->tower->catalog, "general.architecture");
    TARE_TRY(check_kinds(text, tower, err));
    TARE_TRY(check_width(in, text, options->tower, err));
    TARE_TRY(tare_llama_restore_one(&w->text, in, options, TARE_STR(""), NULL, err));
    const tare_status status =
        tare_llama_restore_one(&w->tower, options->tower, options, text, &w->arch, err);
    if (status != TARE_OK && options->tower->n_files)
        tare_error_file(err, options->tower->files[0].name);
    return status;
}

static tare_status restore_whole(tare_model **out, const tare_model *in,
                                 const tare_llama_restore_options *options, tare_error *err) {
    tare_context open = tare_context_default();
    tare_llama_whole w = {.text_gguf = in, .report = options->context->report};
    open.allocator = options->context->allocator;
    open.limits = options->context->limits ? options->context->limits : &in->limits;
    TARE_TRY(tare_model_new(&w.out, &open, err));
    tare_status status = restore_both(&w, in, options, err);
    halves *h = TARE_NEW(&w.out->arena, halves);
    if (!h && status == TARE_OK) status = tare_fail(err, TARE_ERR_NOMEM, "model");
    if (status == TARE_OK) {
        *h = (halves){w.text, w.tower};
        w.out->format = w.text->format;
        w.out->private_data = h;
        w.out->free_private = free_halves;
        status = join_models(&w, err);
        if (status == TARE_OK)
            status =
                check_class(&w, tare_catalog_get_str(&in->catalog, "general.architecture"), err);
    } else {
        tare_model_free(w.text);
        tare_model_free(w.tower);
    }
    if (status == TARE_OK)
        *out = w.out;
    else
        tare_model_free(w.out);
    return status;
}

/* What matrices of Hugging Face models are of. */
static bool is_usual(const tare_encoding *e) {
    return e->id == TARE_ENCODING_F32 || e->id == TARE_ENCODING_BF16 || e->id == TARE_ENCODING_F16;
}

TARE_DEFINE_INIT(tare_llama_restore_options)

tare_status tare_llama_restore(tare_model **out, const tare_model *in,
                               const tare_llama_restore_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(in, err);
    tare_llama_restore_options o = tare_llama_restore_options_default();
    tare_context context;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    TARE_REQUIRE(!o.type || is_usual(o.type), err);
    if (o.tower) return restore_whole(out, in, &o, err);
    return tare_llama_restore_one(out, in, &o, TARE_STR(""), NULL, err);
}
