/* SPDX-License-Identifier: MIT
 *
 * In place of this folder where the library was built without it (TARE_LLAMA=OFF): models keep the
 * names that they have, and what would need others is an error that says so. Names that a conversion
 * is to give are chosen as ever (translate.c), so that nothing is converted with the wrong ones. */
#include <tare/experimental/llama.h>

#include "base/status.h"
#include "base/str.h"
#include "llama/config.h"
#include "llama/meta_names.h"
#include "llama/whisper/whisper_parts.h"

#ifdef TARE_NO_LLAMA

TARE_DEFINE_INIT(tare_llama_options)
TARE_DEFINE_INIT(tare_llama_restore_options)
TARE_DEFINE_INIT(tare_llama_known)

static tare_status refuse(tare_model **out, tare_error *err) {
    *out = NULL;
    return tare_fail(err, TARE_ERR_UNSUPPORTED,
                     "this build of tare knows no names of llama.cpp or whisper.cpp "
                     "(TARE_LLAMA=OFF): names can only be kept");
}

bool tare_llama_can_map(tare_str *hf_class, const tare_model *model) {
    (void)model;
    if (hf_class) *hf_class = TARE_STR("");
    return false;
}

tare_status tare_llama_map(tare_model **out, const tare_model *in,
                           const tare_llama_options *options, tare_error *err) {
    TARE_REQUIRE(out && in, err);
    (void)options;
    return refuse(out, err);
}

tare_status tare_llama_map_adapter(tare_model **out, const tare_model *factors,
                                   tare_str peft_config, const tare_model *base,
                                   const tare_llama_options *options, tare_error *err) {
    TARE_REQUIRE(out && factors && base, err);
    (void)peft_config;
    (void)options;
    return refuse(out, err);
}

tare_status tare_whisper_map(tare_model **out, const tare_model *in, const tare_context *context,
                             tare_error *err) {
    (void)in;
    (void)context;
    return refuse(out, err);
}

bool tare_llama_is_meta(const tare_model *model) {
    (void)model;
    return false;
}

tare_status tare_llama_name_meta(tare_model **out, const tare_model *in,
                                 const tare_context *context, tare_error *err) {
    (void)in;
    (void)context;
    return refuse(out, err);
}

bool tare_whisper_can_restore(const tare_model *model) {
    (void)model;
    return false;
}

tare_status tare_whisper_restore(tare_model **out, const tare_model *in,
                                 const tare_context *context, tare_error *err) {
    (void)in;
    (void)context;
    return refuse(out, err);
}

/* What a model with an architecture and without config.json is: it has to be refused. */
bool tare_llama_can_restore(tare_str *architecture, const tare_model *model) {
    const tare_str name =
        model ? tare_catalog_get_str(&model->catalog, "general.architecture") : TARE_STR("");
    if (architecture) *architecture = name;
    return name.len && tare_model_find_resource(model, TARE_STR("config.json")) < 0;
}

tare_status tare_llama_restore(tare_model **out, const tare_model *in,
                               const tare_llama_restore_options *options, tare_error *err) {
    TARE_REQUIRE(out && in, err);
    (void)options;
    return refuse(out, err);
}

tare_status tare_llama_map_like(tare_model **out, const tare_model *in, const tare_model *to,
                                const tare_llama_options *options, tare_error *err) {
    TARE_REQUIRE(out && in && to, err);
    (void)options;
    *out = NULL;
    return tare_model_shares_names(in, to) ? TARE_OK : refuse(out, err);
}

bool tare_llama_is_draft(const tare_model *model) {
    (void)model;
    return false;
}

bool tare_llama_can_run(const tare_model *model, tare_error *why) {
    (void)model;
    tare_fail(why, TARE_ERR_UNSUPPORTED, "this build of tare cannot tell (TARE_LLAMA=OFF)");
    return false;
}

const tare_llama_origin *tare_llama_origin_of(const tare_model *model, size_t tensor) {
    (void)model;
    (void)tensor;
    return NULL;
}

bool tare_llama_known_at(tare_llama_known *out, size_t i) {
    (void)i;
    (void)out;
    return false;
}

tare_status tare_llama_stated(bool *has_chat_template, char *license, size_t size,
                              const tare_model *model, const tare_context *context,
                              tare_error *err) {
    TARE_REQUIRE(license && size && has_chat_template && model, err);
    (void)context;
    return tare_fail(err, TARE_ERR_UNSUPPORTED,
                     "this build of tare reads no model cards and templates (TARE_LLAMA=OFF)");
}

#endif
