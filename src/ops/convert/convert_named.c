/* SPDX-License-Identifier: MIT
 *
 * A conversion in one call, names included: what llama.cpp or transformers is to run gets their names
 * before it is planned, as the command does it. */
#include <tare/convert.h>
#include <tare/experimental/adapter.h>
#include <tare/experimental/llama.h>

#include <stdlib.h>
#include <string.h>

#include "base/os_path.h"
#include "base/str.h"
#include "format/format.h"
#include "model/catalog.h"

/* The input of the plan, and what was made of the given one on the way; NULL: nothing. */
typedef struct renamed {
    const tare_model *in;
    tare_model *merged, *translated;
} renamed;

/* Where the model lies, which its name may be taken from: the folder of its config.json, else the
 * file that holds it. "": it is computed, or a copy in memory ran out. */
static const char *place_of(const tare_model *in, tare_arena *arena) {
    const tare_str config = TARE_STR("config.json");
    const int64_t i = tare_model_find_resource(in, config);
    const tare_resource_entry *entry = i < 0 ? NULL : &in->catalog.resources[i];
    if (in->n_files == 0) return "";
    if (!entry || entry->bytes || entry->file >= in->n_files) return in->files[0].name;
    tare_str path = tare_str_of(in->files[entry->file].name);
    if (!tare_str_ends(path, config)) return path.ptr;
    path.len -= config.len;
    const char *revision = strstr(path.ptr, "/resolve/"); /* of a URL of the hub */
    if (strstr(path.ptr, "://") && revision) path.len = (size_t)(revision - path.ptr);
    while (path.len > 1 && path.ptr[path.len - 1] == '/') path.len--;
    const char *copy = tare_arena_str(arena, path).ptr;
    char *whole = copy ? tare_path_real(path.len ? copy : ".") : NULL;
    if (whole) copy = tare_arena_str(arena, tare_str_of(whole)).ptr;
    free(whole);
    return copy ? copy : "";
}

/* Adapters are merged under the names that they know, before these change. */
static tare_status merge(renamed *r, tare_convert_options *o, tare_error *err) {
    tare_open_options open = tare_open_options_default();
    open.context = o->context;
    TARE_TRY(tare_adapters_merge(&r->merged, r->in, o->merges, o->n_merges, &open, err));
    r->in = r->merged;
    o->merges = NULL;
    o->n_merges = 0;
    return TARE_OK;
}

static tare_status rename_tensors(renamed *r, const char *to, tare_convert_options *o,
                                  tare_llama_translate_options *names, tare_error *err) {
    tare_llama_options llama = tare_llama_options_default();
    tare_arena arena;
    TARE_TRY(tare_options_read(&llama, sizeof llama, names->llama, err));
    tare_arena_init(&arena, o->context->allocator);
    if (!llama.directory) llama.directory = place_of(r->in, &arena);
    names->llama = &llama;
    tare_status status = TARE_OK;
    const tare_llama_naming naming = tare_llama_naming_of(r->in, to, names);
    if (o->n_merges &&
        (naming == TARE_LLAMA_NAMES_LLAMA_CPP || naming == TARE_LLAMA_NAMES_WHISPER_CPP))
        status = merge(r, o, err);
    if (status == TARE_OK) status = tare_llama_translate(&r->translated, r->in, to, names, err);
    if (r->translated) r->in = r->translated;
    tare_arena_free(&arena);
    return status;
}

static tare_status run(const char *out_path, renamed *r, tare_convert_options *o, tare_error *err) {
    const tare_format *format;
    tare_plan *plan;
    tare_llama_translate_options names = tare_llama_translate_options_default();
    TARE_TRY(tare_options_read(&names, sizeof names, o->names, err));
    TARE_TRY(tare_format_of_output(&format, o->to, out_path, err));
    names.context = o->context;
    names.opaque = o->opaque;
    names.type = o->type;
    TARE_TRY(rename_tensors(r, format->name, o, &names, err));
    names = tare_llama_translate_options_default();
    names.keep_names = true; /* they are as they are to be */
    o->names = &names;
    TARE_TRY(tare_plan_new(&plan, out_path, r->in, o, err));
    const tare_status status = tare_plan_run(NULL, plan, err);
    tare_plan_free(plan);
    return status;
}

tare_status tare_convert(const char *out_path, const tare_model *in,
                         const tare_convert_options *options, tare_error *err) {
    tare_convert_options o = tare_convert_options_default();
    tare_context context;
    TARE_REQUIRE(out_path && in, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    renamed r = {.in = in};
    const tare_status status = run(out_path, &r, &o, err);
    tare_model_free(r.translated);
    tare_model_free(r.merged);
    return status;
}

tare_status tare_quantize(const char *out_path, const tare_model *in, tare_str mix,
                          const tare_convert_options *options, tare_error *err) {
    tare_convert_options o = tare_convert_options_default();
    tare_mix_options mix_options = tare_mix_options_default();
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_options_read(&mix_options, sizeof mix_options, o.mix, err));
    mix_options.mix = tare_mix_find(mix);
    if (!mix_options.mix)
        return tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_UNKNOWN_MIX, "unknown mix");
    o.mix = &mix_options;
    return tare_convert(out_path, in, &o, err);
}
