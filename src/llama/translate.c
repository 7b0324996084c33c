/* SPDX-License-Identifier: MIT
 *
 * Which names a conversion gives a model: llama.cpp's to one of Hugging Face that becomes GGUF,
 * Hugging Face's to a GGUF file that becomes a directory, or those that it has. */
#include <tare/experimental/adapter.h>
#include <tare/experimental/llama.h>

#include <string.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/status.h"
#include "base/str.h"
#include "llama/config.h"
#include "llama/mapping.h"
#include "llama/meta_names.h"
#include "llama/whisper/whisper_parts.h"
#include "model/catalog.h"
#include "model/lora_dialect.h"
#include "model/peft.h"

TARE_DEFINE_INIT(tare_llama_translate_options)

/* ---- which ----------------------------------------------------------------------------------- */

/* Weights alone, such as a file without a tokenizer, are not a model that llama.cpp could run. */
static bool has_tokenizer(const tare_model *in) {
    static const char *const names[] = {
        "tokenizer", "tekken.json", "spiece.model", "vocab.", "sentencepiece.bpe.model",
        "rwkv_vocab"};
    for (size_t i = 0; i < in->catalog.n_resources; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (tare_str_starts(in->catalog.resources[i].info.name, tare_str_of(names[k])))
                return true;
    return false;
}

/* Whether a member is set that only a mapping to llama.cpp uses. */
static bool asks_for_mapping(const tare_llama_options *o) {
    return o && (o->name || o->metadata.len || o->pre || o->vocab_only || o->no_tokenizer ||
                 o->like_reference || o->tower || o->nextn != TARE_LLAMA_NEXTN_TOO || o->target);
}

/* A directory, or a file that holds what a directory would. */
static bool is_of_hugging_face(const tare_model *in, const tare_llama_translate_options *o) {
    static const char *const holders[] = {"safetensors", "wcodec", "mcf", "infq"};
    const char *format = tare_model_content_format(in);
    if (!format) return false; /* made by another verb, not read from files */
    if (strcmp(format, "hf") == 0 || tare_llama_is_meta(in)) return true;
    for (size_t i = 0; i < sizeof holders / sizeof *holders; i++)
        if (strcmp(format, holders[i]) == 0) return asks_for_mapping(o->llama) || has_tokenizer(in);
    return false;
}

static bool has_config(const tare_model *in) {
    return tare_model_find_resource(in, TARE_STR("config.json")) >= 0 || tare_llama_is_meta(in);
}

static tare_llama_naming find_naming(const tare_model *in, const char *to,
                                     const tare_llama_translate_options *o) {
    if (!to || o->keep_names) return TARE_LLAMA_NAMES_KEPT;
    if (strcmp(to, "gguf") == 0 && is_of_hugging_face(in, o)) return TARE_LLAMA_NAMES_LLAMA_CPP;
    if (strcmp(to, "whisper") == 0 && has_config(in)) return TARE_LLAMA_NAMES_WHISPER_CPP;
    if (strcmp(to, "hf") == 0 && !o->opaque) return TARE_LLAMA_NAMES_HUGGING_FACE;
    return TARE_LLAMA_NAMES_KEPT;
}

tare_llama_naming tare_llama_naming_of(const tare_model *in, const char *to,
                                       const tare_llama_translate_options *options) {
    tare_llama_translate_options o = tare_llama_translate_options_default();
    if (!in || tare_options_read(&o, sizeof o, options, NULL) != TARE_OK)
        return TARE_LLAMA_NAMES_KEPT;
    return find_naming(in, to, &o);
}

/* ---- to llama.cpp ---------------------------------------------------------------------------- */

static tare_status map(tare_model **out, const tare_model *in,
                       const tare_llama_translate_options *o, tare_error *err) {
    tare_llama_options options = tare_llama_options_default();
    TARE_TRY(tare_options_read(&options, sizeof options, o->llama, err));
    options.context = o->context;
    if (!options.type) options.type = o->type;
    int64_t config;
    TARE_TRY(tare_model_find_file(&config, in, "config.json", err));
    if (config < 0 && !asks_for_mapping(&options) && !tare_llama_is_meta(in)) {
        tare_finding f = TARE_FINDING(INFO, TARE_OK, "llama.no-config");
        f.text =
            TARE_STR("there is no config.json, which would name the architecture: tensors keep "
                     "their names");
        tare_report_add(o->context->report, &f);
        return TARE_OK;
    }
    return tare_llama_map(out, in, &options, err);
}

/* ---- and back -------------------------------------------------------------------------------- */

/* A file of llama.cpp that has a vocabulary alone. */
static bool is_vocabulary(const tare_model *in) {
    return in->catalog.n_tensors == 0 &&
           tare_model_find_key(in, TARE_STR("general.architecture")) >= 0;
}

static tare_status restore(tare_model **out, const tare_model *in,
                           const tare_llama_translate_options *o, tare_error *err) {
    tare_llama_restore_options options = tare_llama_restore_options_default();
    if (is_vocabulary(in))
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "it has keys but no tensors, so it cannot become a Hugging Face model; "
                         "`keep_names` stores the keys");
    if (tare_llama_is_meta(in) && !o->tower) return tare_llama_name_meta(out, in, o->context, err);
    if (tare_whisper_can_restore(in) && !o->tower)
        return tare_whisper_restore(out, in, o->context, err);
    if (!tare_llama_can_restore(NULL, in) && !o->tower) return TARE_OK;
    options.context = o->context;
    options.tower = o->tower;
    if (o->type && (o->type->id == TARE_ENCODING_F32 || o->type->id == TARE_ENCODING_F16 ||
                    o->type->id == TARE_ENCODING_BF16))
        options.type = o->type;
    return tare_llama_restore(out, in, &options, err);
}

bool tare_llama_changes_names(const tare_model *in, const char *to,
                              const tare_llama_translate_options *options) {
    tare_llama_translate_options o = tare_llama_translate_options_default();
    if (!in || tare_options_read(&o, sizeof o, options, NULL) != TARE_OK) return false;
    switch (find_naming(in, to, &o)) {
    case TARE_LLAMA_NAMES_LLAMA_CPP:
        return asks_for_mapping(o.llama) || tare_model_is_peft(in) || has_config(in);
    case TARE_LLAMA_NAMES_WHISPER_CPP:
        return true;
    case TARE_LLAMA_NAMES_HUGGING_FACE:
        return o.tower || is_vocabulary(in) || tare_llama_is_meta(in) ||
               tare_whisper_can_restore(in) || tare_llama_can_restore(NULL, in);
    default:
        return false;
    }
}

/* Whatever its dialect: under the names of its factors llama.cpp takes it for nothing. */
static tare_status check_no_adapter(const tare_model *in, tare_error *err) {
    if (tare_lora_is_llama_cpp(in)) return TARE_OK;
    if (!tare_model_is_peft(in) && (has_config(in) || !tare_model_adapter_dialect(in).len))
        return TARE_OK;
    if (!tare_model_is_peft(in) && tare_lora_method(in).len)
        return tare_fail(
            err, TARE_ERR_UNSUPPORTED,
            "an adapter, which is not a model, of a method that cannot be merged: `keep_names` "
            "stores its tensors as they are");
    return tare_fail_code(
        err, TARE_ERR_UNSUPPORTED, TARE_CODE_IS_ADAPTER,
        "an adapter, which is not a model: it is merged into its base, or written "
        "as an adapter that llama.cpp loads beside that");
}

tare_status tare_llama_translate(tare_model **out, const tare_model *in, const char *to,
                                 const tare_llama_translate_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(in, err);
    tare_llama_translate_options o = tare_llama_translate_options_default();
    tare_context context;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    if (to && strcmp(to, "gguf") == 0 && !o.keep_names) TARE_TRY(check_no_adapter(in, err));
    const tare_llama_naming naming = find_naming(in, to, &o);
    if (naming != TARE_LLAMA_NAMES_LLAMA_CPP && asks_for_mapping(o.llama))
        return tare_fail(err, TARE_ERR_ARG,
                         "options of a Hugging Face model that becomes GGUF, which it does not");
    if (naming != TARE_LLAMA_NAMES_HUGGING_FACE && o.tower)
        return tare_fail(err, TARE_ERR_ARG,
                         "an encoder beside a GGUF file that becomes a Hugging Face directory, "
                         "which it does not");
    if (naming == TARE_LLAMA_NAMES_WHISPER_CPP) return tare_whisper_map(out, in, o.context, err);
    if (naming == TARE_LLAMA_NAMES_LLAMA_CPP) return map(out, in, &o, err);
    return naming == TARE_LLAMA_NAMES_HUGGING_FACE ? restore(out, in, &o, err) : TARE_OK;
}
