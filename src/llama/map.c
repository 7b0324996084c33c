/* SPDX-License-Identifier: MIT
 *
 * A model of Hugging Face as a model of llama.cpp: its catalog has the new names and keys, its
 * files are the input's, for tensors that only change their name, and one that is computed when it
 * is read. */
#include <tare/experimental/llama.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "llama/mapping.h"
#include "llama/meta_names.h"
#include "llama/tower.h"
#include "mlx/mlx_plain.h"
#include "quantized/quantized.h"

/* What a mapped model has in addition to its catalog. */
typedef struct mapped {
    tare_made_file file;
    tare_llama_origin *origins; /* n_tensors */
    tare_composition *made_of;  /* n_tensors; of elements, also where types are blocks */
    tare_model_types types;
    tare_model *named; /* Meta's, under Hugging Face's names; NULL: it has these */
    tare_model
        *decoded; /* its packed weights as llama.cpp has them; NULL: the input itself, or that */
    tare_model *plain; /* what it is made of, MLX's, as transformers has it; NULL: one of these */
} mapped;

static void free_mapped(void *ctx) {
    mapped *own = ctx;
    tare_model_free(own->plain);
    tare_model_free(own->decoded);
    tare_model_free(own->named);
}

static const char format_name[] = "llama";

/* ---- what it is ------------------------------------------------------------------------------ */

/* Classes whose text_config names that of a plain text model, which their tensors are not. */
static const char whole_classes[] =
    "StepVLForConditionalGeneration Step3p7ForConditionalGeneration "
    "Eagle3Speculator Eagle3DraftModel DSparkSpeculator "
    "Sarashina2VisionForCausalLM Exaone4_5_ForConditionalGeneration";

static bool is_class_of(const tare_llama_arch *(*at)(size_t), tare_str name) {
    const tare_llama_arch *a;
    for (size_t i = 0; (a = at(i)); i++)
        if (tare_llama_is_one_of(name, a->classes)) return true;
    return false;
}

/* The class of a text model beside a tower, whose config has a model_type alone, as transformers writes
 * the parts of a model: the first of the row that comes back with that type. Empty: none does. */
static tare_str class_of_type(tare_str type) {
    static const char begin[] = "model_type = '";
    const tare_llama_arch *a;
    for (size_t i = 0; (a = tare_llama_arch_at(i)); i++)
        for (const char *const *row = a->back ? a->back->config : NULL; row && *row; row++)
            if (strncmp(*row, begin, strlen(begin)) == 0 &&
                tare_str_equal(
                    type, (tare_str){*row + strlen(begin), strcspn(*row + strlen(begin), "'")}))
                return (tare_str){a->classes, strcspn(a->classes, " ")};
    return TARE_STR("");
}

/* The Hugging Face class: architectures[0], of text_config where it has them; empty: none is named. */
static tare_str class_of(const tare_llama_config *config) {
    const tare_json_node *whole = tare_json_member(config->root, TARE_STR("architectures"));
    const tare_json_node *list = NULL;
    if (config->text) list = tare_json_member(config->text, TARE_STR("architectures"));
    if (whole && whole->type == TARE_JSON_ARRAY &&
        tare_llama_is_one_of(tare_json_node_text(whole->child), whole_classes))
        list = whole;
    if (!list) list = whole;
    if (list && list->type == TARE_JSON_ARRAY) {
        const tare_str name = tare_json_node_text(list->child);
        const tare_str type =
            tare_json_node_text(tare_json_member(config->text, TARE_STR("model_type")));
        const bool is_towers = list == whole && type.len &&
                               !is_class_of(tare_llama_arch_at, name) &&
                               is_class_of(tare_llama_tower_at, name);
        const tare_str of_text = is_towers ? class_of_type(type) : TARE_STR("");
        return of_text.len ? of_text : name;
    }
    const tare_json_node *ssm = tare_json_path(config->root, TARE_STR("ssm_cfg"));
    tare_str layer = tare_json_node_text(tare_json_member(ssm, TARE_STR("layer")));
    if (tare_str_is(layer, "Mamba2")) return TARE_STR("Mamba2ForCausalLM");
    return ssm ? TARE_STR("MambaForCausalLM") : TARE_STR("");
}

/* The row of the text model that config.json is of, and its class; NULL: tare maps none such. */
static const tare_llama_arch *arch_of(tare_str *hf_class, tare_llama_config *config) {
    *hf_class = class_of(config);
    return hf_class->len ? tare_llama_arch_find(*hf_class, config) : NULL;
}

bool tare_llama_can_map(tare_str *hf_class, const tare_model *model) {
    tare_arena arena;
    tare_llama_config config;
    bool is_known = false;
    if (hf_class) *hf_class = TARE_STR("");
    if (!model) return false;
    tare_arena_init(&arena, model->allocator);
    tare_status status = tare_llama_config_read(&config, model, &arena, NULL);
    /* whoever maps it says what cannot be read */
    if (status == TARE_ERR_IO || status == TARE_ERR_NOMEM) is_known = true;
    if (status == TARE_OK) {
        tare_str name;
        const tare_llama_arch *arch = arch_of(&name, &config);
        is_known = arch != NULL;
        /* the name of a known class lasts; another is told by config.json's own reader */
        if (hf_class && arch) *hf_class = tare_llama_class_name(arch, name);
    }
    tare_arena_free(&arena);
    return is_known;
}

static tare_status fail_config(const char *what, tare_error *err) {
    tare_fail(err, TARE_ERR_CORRUPT, what);
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, TARE_STR("config.json"));
    return TARE_ERR_CORRUPT;
}

static tare_status fail_unknown(const tare_llama_mapping *m, tare_error *err) {
    const bool is_whisper = tare_str_is(m->hf_class, "WhisperForConditionalGeneration");
    tare_fail(err, TARE_ERR_UNSUPPORTED,
              is_whisper        ? "llama.cpp does not run Whisper models, whisper.cpp does"
              : m->hf_class.len ? "tare does not map this architecture to llama.cpp"
                                : "it names no class of a model (architectures)");
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, TARE_STR("config.json"));
    if (m->hf_class.len)
        tare_error_detail(err, "%.*s", (int)tare_min_u64(m->hf_class.len, 80), m->hf_class.ptr);
    tare_error_code(err, is_whisper ? TARE_CODE_IS_WHISPER : TARE_CODE_UNKNOWN_ARCHITECTURE);
    return TARE_ERR_UNSUPPORTED;
}

/* Reads the config.json of the model that a draft is for. */
static tare_status read_target(tare_llama_mapping *m, tare_error *err) {
    const tare_model *target = m->options->target;
    if (!m->arch->is_draft)
        return target ? tare_fail(err, TARE_ERR_ARG,
                                  "it is no draft, and takes nothing of another model "
                                  "(`target_model`)")
                      : TARE_OK;
    if (!target)
        return tare_fail(
            err, TARE_ERR_ARG,
            "it is a draft, which takes the tokenizer of the model that it drafts for: "
            "name that model's directory with `target_model`");
    const tare_status status = tare_llama_config_read(&m->target, target, &m->out->arena, err);
    if (status != TARE_OK) {
        tare_error_detail(err, "of the model that it drafts for (`target_model`)");
        return status;
    }
    tare_str name;
    m->target_arch = arch_of(&name, &m->target);
    m->config.target = &m->target;
    return TARE_OK;
}

static tare_status find_arch(tare_llama_mapping *m, tare_error *err) {
    TARE_TRY(tare_llama_config_read(&m->config, m->hf, &m->out->arena, err));
    m->config.common = tare_llama_common_defaults;
    m->arch = arch_of(&m->hf_class, &m->config);
    if (!m->arch) return fail_unknown(m, err);
    tare_llama_value holds; /* which a fault in it does not contradict, so that it is told here */
    if (m->arch->requires)
        TARE_TRY(tare_llama_formula(&holds, tare_str_of(m->arch->requires), &m->config, NULL, err));
    TARE_TRY(read_target(m, err));
    double layers, extra, width;
    m->facts[0] = (tare_llama_binding){"nextn", tare_llama_nextn_layers(m)};
    m->config.facts = m->facts;
    TARE_TRY(tare_llama_number(&layers, m, tare_llama_layers(m->arch), -1, err));
    m->facts[3] = m->facts[0];
    m->facts[0] = (tare_llama_binding){"layers", 0};
    m->facts[1] = (tare_llama_binding){"tokens", 0};
    m->facts[2] = (tare_llama_binding){"file_type", 0};
    if (m->options->like_reference) tare_llama_add_fact(m, "like_reference", 1);
    if (tare_llama_is_one_of(TARE_STR("rope_factors_long"), m->arch->tensors))
        tare_llama_add_fact(m, "rope.has_lists", 1);
    tare_llama_add_fact(m, "is_classifier",
                        tare_str_ends(m->hf_class, TARE_STR("ForSequenceClassification")));
    TARE_TRY(tare_llama_count_extra_layers(m, layers, &extra, err));
    if (!(layers >= 0 && layers < 1e6 && extra >= 0 && extra < 1e6))
        return fail_config("it does not give the number of layers (num_hidden_layers)", err);
    if (layers != trunc(layers))
        return fail_config("the number of layers (num_hidden_layers) is not a whole number", err);
    /* without a width llama.cpp can do nothing, nor could the shapes be checked */
    TARE_TRY(tare_llama_number(
        &width, m, "hidden_size | n_embd | dim | d_model | model_dim | n_embed", 0, err));
    if (!(width >= 1)) return fail_config("it does not give the model's width (hidden_size)", err);
    m->n_layers = (uint64_t)(layers + extra);
    m->n_extra_layers = (uint64_t)extra;
    m->facts[0].number = (double)m->n_layers;
    TARE_TRY(tare_llama_check_lists(m, err));
    TARE_TRY(tare_llama_check_words(m, err));
    return tare_llama_names_init(&m->names, m->arch->name, m->arch->tensors, &m->out->arena, err);
}

static tare_status check_vocab_size(const tare_llama_mapping *m, tare_error *err) {
    tare_llama_value v;
    if (m->arch->tower || m->arch->ignores_vocab_size ||
        m->arch->tokenizer.family == TARE_LLAMA_VOCAB_NONE)
        return TARE_OK;
    TARE_TRY(tare_llama_formula(&v, TARE_STR("vocab_size"), &m->config, NULL, err));
    if (v.kind == TARE_LLAMA_ABSENT || (v.kind == TARE_LLAMA_NUMBER && v.number >= 1 &&
                                        v.number < 0x1p31 && v.number == trunc(v.number)))
        return TARE_OK;
    return fail_config("vocab_size: expected 1 to 2^31 - 1", err);
}

/* How many rows the embeddings have; formulas know it where config.json has no vocab_size. */
static tare_status find_embedding_rows(tare_llama_mapping *m, tare_error *err) {
    const tare_catalog *c = &m->hf->catalog;
    for (size_t i = 0; i < c->n_tensors; i++) {
        const tare_tensor *t = &c->tensors[i];
        tare_str target;
        if (t->n_dims != 2 || tare_llama_is_left_out(t->name)) continue;
        const tare_str name = tare_llama_normal_name(m, tare_llama_source_name(m, i));
        if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
        TARE_TRY(tare_llama_names_find(&target, &m->names, name, &m->out->arena, err));
        if (!target.ptr || !tare_str_is(target, "token_embd.weight")) continue;
        m->embedding_rows = t->dims[0];
        if (!tare_llama_config_find(&m->config, TARE_STR("vocab_size")))
            tare_llama_add_fact(m, "embedding_rows", (double)t->dims[0]);
        return TARE_OK;
    }
    return TARE_OK;
}

/* ---- the tokenizer --------------------------------------------------------------------------- */

static tare_status read_tokenizer(tare_llama_mapping *m, tare_error *err) {
    tare_llama_tokenizer_options o = (m->target_arch ? m->target_arch : m->arch)->tokenizer;
    const tare_model *in = m->arch->is_draft ? m->options->target : m->hf;
    double size = 0, types = 0;
    if (m->options->no_tokenizer) return TARE_OK;
    if (!m->arch->ignores_vocab_size)
        TARE_TRY(tare_llama_number(&size, m, "vocab_size | vocab_size_per_layer_input", 0, err));
    else if (!m->options->like_reference)
        size = (double)m->embedding_rows;
    TARE_TRY(tare_llama_number(&types, m, "type_vocab_size", 0, err));
    if (!(size >= 0 && size < 0x1p31 && types >= 0 && types < 0x1p31)) size = types = 0;
    o.vocab_size = (uint64_t)size;
    o.embedding_rows = m->options->like_reference ? 0 : m->embedding_rows;
    if (tare_llama_is_one_of(TARE_STR("token_types"), m->arch->tensors))
        o.token_types = (uint64_t)types;
    o.pre = m->options->pre;
    o.hf_class = m->hf_class;
    o.like_reference = m->options->like_reference;
    TARE_TRY(tare_llama_tokenizer_keys(&m->vocab, &m->n_vocab, in, &o, &m->out->arena,
                                       m->options->context->report, err));
    TARE_TRY(tare_llama_add_mask_token(m, err));
    for (size_t i = 0; i < m->n_vocab; i++)
        if (tare_str_is(m->vocab[i].key, "tokenizer.ggml.tokens"))
            m->facts[1].number = (double)m->vocab[i].value.as.a.count;
    return TARE_OK;
}

/* ---- the catalog ----------------------------------------------------------------------------- */

/* Whether the bytes are one run of those in the input's file. */
static bool is_renamed_only(const tare_llama_mapping *m, const tare_llama_target *t) {
    return !t->bytes && t->n_pieces == 1 && t->pieces[0].source != TARE_PIECE_ZEROS &&
           !t->pieces[0].view && t->pieces[0].arithmetic == TARE_PIECE_AS_IS &&
           t->encoding == m->hf->catalog.tensors[t->pieces[0].source].encoding;
}

/* The pieces with blocks as their elements. */
static tare_status count_blocks(const tare_piece **out, const tare_llama_target *t,
                                tare_arena *arena, tare_error *err) {
    const uint64_t block = t->encoding->block;
    tare_piece *pieces = TARE_NEW_ARRAY(arena, tare_piece, t->n_pieces);
    if (!pieces) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < t->n_pieces; i++) {
        pieces[i] = t->pieces[i];
        pieces[i].end /= block;
        if (!pieces[i].view) continue;
        tare_piece_view *view = TARE_NEW(arena, tare_piece_view);
        if (!view) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
        if (!tare_piece_view_of_runs(view, pieces[i].view, block))
            return tare_fail(err, TARE_ERR_UNSUPPORTED, "blocks of a tensor would be cut");
        pieces[i].view = view;
    }
    *out = pieces;
    return TARE_OK;
}

static tare_status add_tensor(tare_llama_mapping *m, mapped *own, const tare_llama_target *t,
                              uint32_t virtual_file, uint64_t *end, tare_error *err) {
    tare_catalog *c = &m->out->catalog;
    size_t at = c->n_tensors;
    tare_tensor *out = &c->tensors[at];
    *out = (tare_tensor){.name = t->name, .offset = TARE_NO_OFFSET};
    own->types.fixed[at] = tare_llama_fixed_type(t->name, t->n_dims, m->arch);
    own->origins[at] = (tare_llama_origin){.n_sources = t->n_pieces, .operation = t->operation};
    if (t->n_pieces && t->pieces[t->n_pieces - 1].source != TARE_PIECE_ZEROS)
        own->origins[at].source = m->hf->catalog.tensors[t->pieces[t->n_pieces - 1].source].name;
    uint32_t file = virtual_file;
    uint64_t offset = *end;
    own->made_of[at] = (tare_composition){t->pieces, t->bytes ? 0 : t->n_pieces, t->encoding};
    if (is_renamed_only(m, t)) {
        const tare_plane *p = &m->hf->catalog.tensors[t->pieces[0].source].planes[0];
        file = p->file;
        offset = p->offset;
        own->types.origins[at] = tare_tensor_origin(m->hf, t->pieces[0].source);
    }
    tare_status status =
        tare_tensor_set(m->out, out, t->encoding, t->dims, t->n_dims, file, offset, err);
    if (status != TARE_OK) {
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)at, t->name);
        return status;
    }
    c->n_tensors++;
    if (file != virtual_file) return TARE_OK;
    own->types.origins[at] =
        tare_llama_origin_of_pieces(m->hf, t->pieces, t->n_pieces, out->n_elements);
    const tare_piece *pieces = t->pieces;
    if (t->encoding->kind == TARE_KIND_BLOCK && !t->bytes)
        TARE_TRY(count_blocks(&pieces, t, &m->out->arena, err));
    own->file.made[own->file.n_made++] = (tare_made){.offset = *end,
                                                     .size = out->size_bytes,
                                                     .bytes = t->bytes,
                                                     .of = {pieces, t->n_pieces, t->encoding}};
    if (!tare_add_u64(*end, out->size_bytes, end))
        return tare_fail(err, TARE_ERR_LIMIT, "size of all tensors");
    return TARE_OK;
}

static tare_status add_tensors(tare_llama_mapping *m, mapped *own, tare_error *err) {
    tare_arena *arena = &m->out->arena;
    tare_reader reader;
    uint32_t index;
    uint64_t end = 0;
    size_t n = m->options->vocab_only ? 0 : m->n_targets;
    m->out->catalog.tensors = TARE_NEW_ARRAY(arena, tare_tensor, n);
    own->file.made = TARE_NEW_ARRAY(arena, tare_made, n);
    own->origins = TARE_NEW_ARRAY(arena, tare_llama_origin, n);
    own->made_of = TARE_NEW_ARRAY(arena, tare_composition, n);
    own->types.fixed = TARE_NEW_ARRAY(arena, tare_fixed_type, n);
    own->types.origins = TARE_NEW_ARRAY(arena, tare_origin, n);
    if (!m->out->catalog.tensors || !own->file.made || !own->origins || !own->made_of ||
        !own->types.fixed || !own->types.origins)
        return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_model_share_files(m->out, m->hf, err));
    tare_reader_callback(&reader, NULL, &own->file, 0, format_name);
    reader.fetch = tare_made_fetch;
    reader.locate = tare_made_locate;
    TARE_TRY(tare_model_add_file(m->out, &reader, "mapped", &index, err));
    for (size_t i = 0; i < n; i++) TARE_TRY(add_tensor(m, own, m->targets[i], index, &end, err));
    m->out->files[index].reader.size = end;
    return TARE_OK;
}

/* general.* first, then the architecture's, then the tokenizer's. */
static tare_status add_keys(tare_llama_mapping *m, tare_error *err) {
    tare_catalog *c = &m->out->catalog;
    TARE_TRY(tare_llama_general_keys(m, err));
    TARE_TRY(tare_llama_arch_keys(m, err));
    if (!m->arch->tower && !m->is_rehearsal) TARE_TRY(tare_llama_add_dense_modules(m, err));
    TARE_TRY(tare_llama_set_number(m, "general.quantization_version", TARE_VALUE_U32, 2, err));
    c->metadata = TARE_NEW_ARRAY(&m->out->arena, tare_metadata, m->n_keys + m->n_vocab);
    if (!c->metadata) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    if (m->n_keys) memcpy(c->metadata, m->keys, m->n_keys * sizeof *m->keys);
    c->n_metadata = m->n_keys;
    for (size_t i = 0; i < m->n_vocab;
         i++) { /* the files decide, where an architecture does, too */
        size_t at = 0;
        while (at < m->n_keys && !tare_str_equal(m->keys[at].key, m->vocab[i].key)) at++;
        if (at == m->n_keys) at = c->n_metadata++;
        c->metadata[at] = m->vocab[i];
    }
    return TARE_OK;
}

/* The number of general.file_type for what --outtype auto comes to. */
static double file_type(const tare_llama_mapping *m) {
    return m->usual_type == TARE_ENCODING_BF16 ? 32 : 1;
}

tare_status tare_llama_mapping_fill(tare_llama_mapping *m, tare_error *err) {
    if (tare_model_is_big_endian(m->hf))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "big-endian models cannot be mapped");
    m->is_read = TARE_NEW_ARRAY(&m->out->arena, bool, m->hf->catalog.n_tensors);
    if (!m->is_read) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    if (m->options->tower) {
        TARE_TRY(tare_llama_tower_begin(m, err));
        if (m->arch->tower->generate) TARE_TRY(m->arch->tower->generate(m, err));
    } else {
        TARE_TRY(find_arch(m, err));
        TARE_TRY(tare_llama_find_tied(m, err));
        TARE_TRY(check_vocab_size(m, err));
        TARE_TRY(find_embedding_rows(m, err));
        TARE_TRY(read_tokenizer(m, err));
        TARE_TRY(tare_llama_rope_tensors(m, err));
    }
    TARE_TRY(tare_llama_map_tensors(m, err));
    if (!m->arch->tower) {
        TARE_TRY(tare_llama_add_biases(m, err));
        TARE_TRY(tare_llama_add_shared_kv(m, err));
    }
    m->facts[2].number = file_type(m);
    TARE_TRY(add_keys(m, err));
    if (m->arch->tower)
        TARE_TRY(tare_llama_tower_check(m, err));
    else
        tare_llama_tower_note(m);
    if (m->is_rehearsal || m->options->vocab_only) return TARE_OK;
    TARE_TRY(tare_llama_check_config(m, err));
    if (m->arch->tower) {
        tare_llama_note_lost_of_tower(m);
        return tare_llama_note_uneven(m, err);
    }
    TARE_TRY(tare_llama_note_lost(m, err));
    TARE_TRY(tare_llama_note_head(m, err));
    TARE_TRY(tare_llama_note_uneven(m, err));
    return tare_llama_note_unapplied(m, err);
}

void tare_llama_mapping_free(tare_llama_mapping *m) {
    tare_free(m->out->allocator, m->keys, m->keys_capacity * sizeof *m->keys);
    tare_free(m->out->allocator, m->targets, m->targets_capacity * sizeof *m->targets);
}

/* The block type that most weights came in and keep; NULL: none did. */
static const tare_encoding *kept_type(const tare_llama_mapping *m) {
    uint64_t n[TARE_ENCODING_COUNT] = {0};
    const tare_encoding *most = NULL;
    for (size_t i = 0; i < m->n_targets; i++) {
        const tare_llama_target *t = m->targets[i];
        if (t->encoding->kind != TARE_KIND_BLOCK) continue;
        n[t->encoding->id] += t->pieces[t->n_pieces - 1].end;
        if (!most || n[t->encoding->id] > n[most->id]) most = t->encoding;
    }
    return most;
}

/* What mlx-lm leaves out, without which llama.cpp computes something else. */
static tare_status note_left_out_by_mlx(const tare_llama_mapping *m, tare_error *err) {
    const char *what;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "llama.mlx-left-out");
    TARE_TRY(tare_mlx_left_out(&what, m->hf, err));
    if (!what || m->options->tower) return TARE_OK;
    tare_report_addf(m->options->context->report, &f,
                     "MLX left %s out, with which routers choose experts: llama.cpp may choose "
                     "others",
                     what);
    f.text = TARE_STR("tensors of routers that MLX left out");
    if (m->out->loss.status == TARE_OK) m->out->loss = f;
    return TARE_OK;
}

/* The input with its packed weights as llama.cpp has them, where that makes a difference. */
static tare_status take_packed(tare_llama_mapping *m, mapped *own, const tare_context *open,
                               tare_error *err) {
    TARE_TRY(
        tare_quantized_for_llama(&own->decoded, m->hf, !m->options->like_reference, open, err));
    if (own->decoded) m->hf = own->decoded;
    TARE_TRY(note_left_out_by_mlx(m, err));
    TARE_TRY(tare_mlx_plain(&own->plain, m->hf,
                            m->options->tower ? TARE_MLX_AS_TOWER : TARE_MLX_AS_TEXT, open, err));
    if (own->plain) m->hf = own->plain;
    own->file.source = m->hf;
    return TARE_OK;
}

/* Adds a type to a list of those that are there. */
static void put_type(char *list, size_t size, const tare_encoding *e) {
    const size_t n = strlen(list);
    if (!tare_llama_is_one_of(tare_str_of(e->name), list))
        snprintf(list + n, size - n, "%s%s", n ? " " : "", e->name);
}

/* How many packed weights become blocks with the same numbers, and how many are decoded. */
static void note_packed(const tare_llama_mapping *m) {
    const tare_finding f = TARE_FINDING(INFO, TARE_OK, "llama.coded-weights");
    size_t n = 0, n_blocks = 0;
    char types[96] = "", schemes[256];
    if (!tare_quantized_count(m->hf)) return;
    tare_quantized_schemes(schemes, sizeof schemes, m->hf);
    for (size_t i = 0; i < m->n_targets; i++)
        for (size_t k = 0; k < m->targets[i]->n_pieces; k++) {
            const tare_llama_target *t = m->targets[i];
            const size_t source = t->pieces[k].source;
            if (source == TARE_PIECE_ZEROS || !tare_quantized_is_weight(m->hf, source)) continue;
            n++;
            if (t->encoding->kind != TARE_KIND_BLOCK) continue;
            n_blocks++;
            put_type(types, sizeof types, t->encoding);
        }
    if (n_blocks)
        tare_report_addf(
            m->options->context->report, &f,
            "%zu of %zu packed weights (%s) are read as blocks with the same numbers (%s)%s",
            n_blocks, n, schemes, types, n_blocks < n ? ", the others are decoded" : "");
    else
        tare_report_addf(m->options->context->report, &f, "%zu packed weights (%s) are decoded", n,
                         schemes);
}

static bool is_merged(const tare_model *in, size_t i) {
    return in->files[in->catalog.tensors[i].planes[0].file].is_merged;
}

/* Adapters are merged for what is written: where that has none of their tensors, it is not what was
 * meant. */
static tare_status note_merged(const tare_llama_mapping *m, const bool *is_used, tare_error *err) {
    const tare_catalog *c = &m->hf->catalog;
    size_t n = 0, n_used = 0;
    for (size_t i = 0; i < c->n_tensors; i++) {
        if (!is_merged(m->hf, i)) continue;
        n++;
        if (is_used[i]) {
            n_used++;
            continue;
        }
        tare_finding f = TARE_FINDING(WARNING, TARE_OK, "llama.merged-left-out");
        f.item_kind = TARE_ITEM_TENSOR;
        f.item = (int64_t)i;
        f.item_name = c->tensors[i].name;
        f.text = TARE_STR("an adapter changes it, and it is not part of the output");
        tare_report_add(m->options->context->report, &f);
    }
    return n == 0 || n_used
               ? TARE_OK
               : tare_fail(err, TARE_ERR_ARG, "adapters that change no tensor of the output");
}

/* Tensors that nothing is made of, such as poolers; buffers are no weights, and a tower may have been
 * reported. */
static tare_status note_unused(const tare_llama_mapping *m, tare_error *err) {
    const tare_catalog *c = &m->hf->catalog;
    bool *is_used = TARE_NEW_ARRAY(&m->out->arena, bool, c->n_tensors), is_unwanted;
    if (!is_used) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < m->n_targets; i++)
        for (size_t k = 0; k < m->targets[i]->n_pieces; k++)
            if (m->targets[i]->pieces[k].source != TARE_PIECE_ZEROS)
                is_used[m->targets[i]->pieces[k].source] = true;
    TARE_TRY(note_merged(m, is_used, err));
    if (m->options->vocab_only || m->arch->tower) return TARE_OK;
    for (size_t i = 0; i < c->n_tensors; i++) {
        const tare_str name = c->tensors[i].name;
        if (is_used[i] || m->is_read[i] || is_merged(m->hf, i) || tare_llama_is_buffer(name) ||
            (m->told && (tare_llama_is_left_out(name) ||
                         tare_llama_tower_takes(m->told, tare_llama_tower_name(name)))))
            continue;
        TARE_TRY(tare_llama_is_unwanted(&is_unwanted, m, i, err));
        if (is_unwanted) continue;
        tare_finding f = TARE_FINDING(INFO, TARE_OK, "llama.left-out");
        f.item_kind = TARE_ITEM_TENSOR;
        f.item = (int64_t)i;
        f.item_name = name;
        f.text = TARE_STR("llama.cpp has no use for it: it is left out");
        tare_report_add(m->options->context->report, &f);
    }
    return TARE_OK;
}

static tare_status fill(tare_llama_mapping *m, mapped *own, const tare_context *open,
                        tare_error *err) {
    if (tare_llama_is_meta(m->hf)) {
        TARE_TRY(tare_llama_name_meta(&own->named, m->hf, m->options->context, err));
        m->hf = own->named;
    }
    TARE_TRY(take_packed(m, own, open, err));
    TARE_TRY(tare_llama_mapping_fill(m, err));
    TARE_TRY(add_tensors(m, own, err));
    TARE_TRY(note_unused(m, err));
    note_packed(m);
    TARE_TRY(tare_quantized_check(m->hf, m->options->context->report, err));
    m->out->made_of = own->made_of;
    m->out->made_of_model = m->hf;
    own->types.program = TARE_PROGRAM_LLAMA_CPP;
    own->types.usual = tare_encoding_get(m->usual_type);
    own->types.mostly = kept_type(m);
    m->out->types = &own->types;
    TARE_TRY(tare_model_finish(m->out, m->options->context->report, err));
    return tare_quantized_open(m->out, false, err);
}

TARE_DEFINE_INIT(tare_llama_options)
TARE_DEFINE_INIT(tare_llama_known)

tare_status tare_llama_map(tare_model **out, const tare_model *in,
                           const tare_llama_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(in, err);
    tare_llama_options o = tare_llama_options_default();
    tare_context context;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    if (o.tower && (o.pre || o.vocab_only || o.nextn != TARE_LLAMA_NEXTN_TOO))
        return tare_fail(err, TARE_ERR_ARG,
                         "an encoder (`mmproj`) has no tokenizer and no MTP layers: neither `pre` "
                         "nor `vocab_only`, `mtp` or `no_mtp` goes with it");
    tare_context open = tare_context_default();
    open.allocator = o.context->allocator;
    open.limits = o.context->limits ? o.context->limits : &in->limits;
    tare_llama_mapping m = {.hf = in, .options = &o};
    TARE_TRY(tare_model_new(&m.out, &open, err));
    m.out->format = format_name;
    m.out->left_out = in->left_out;
    m.out->n_left_out = in->n_left_out;
    m.out->loss = in->loss;
    mapped *own = TARE_NEW(&m.out->arena, mapped);
    tare_status status = TARE_ERR_NOMEM;
    if (own) {
        own->file = (tare_made_file){.allocator = m.out->allocator};
        m.out->private_data = own;
        m.out->free_private = free_mapped;
        status = fill(&m, own, &open, err);
    } else {
        tare_fail(err, status, "model");
    }
    tare_llama_mapping_free(&m);
    if (status == TARE_OK)
        *out = m.out;
    else
        tare_model_free(m.out);
    return status;
}

const tare_llama_origin *tare_llama_origin_of(const tare_model *model, size_t tensor) {
    if (!model || model->format != format_name || tensor >= model->catalog.n_tensors) return NULL;
    int64_t at = (int64_t)tensor;
    if (model->stored)
        at = tare_model_find_tensor(model->stored, model->catalog.tensors[tensor].name);
    return at < 0 ? NULL : &((const mapped *)model->private_data)->origins[at];
}

bool tare_llama_known_at(tare_llama_known *out, size_t i) {
    size_t n_texts = 0;
    while (tare_llama_arch_at(n_texts)) n_texts++;
    const tare_llama_arch *arch =
        i < n_texts ? tare_llama_arch_at(i) : tare_llama_tower_at(i - n_texts);
    if (!arch || tare_result_check(out, NULL) != TARE_OK) return false;
    const tare_llama_known known = {.architecture = arch->name,
                                    .classes = arch->classes,
                                    .projector = arch->tower ? arch->tower->projector : NULL};
    tare_result_write(out, &known, sizeof known);
    return true;
}
