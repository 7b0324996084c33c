/* SPDX-License-Identifier: MIT
 *
 * Whether llama.cpp would run what a plan makes: tare info asks that of a file, a plan before there is
 * one. What the input could not do either is not held against the output. */
#include <tare/experimental/llama.h>

#include <string.h>

#include "base/report.h"
#include "base/str.h"
#include "ops/convert/plan.h"

/* The keys that are planned; for a model without a tokenizer one that says so, as it is to be judged
 * by what it has. */
static tare_status list_keys(tare_model *m, tare_arena *arena, tare_error *err) {
    const size_t n = m->catalog.n_metadata;
    const bool has_tokenizer = tare_catalog_get_str(&m->catalog, "tokenizer.ggml.model").len > 0;
    tare_metadata *keys = TARE_NEW_ARRAY(arena, tare_metadata, n + 1);
    if (!keys) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    if (n) memcpy(keys, m->catalog.metadata, n * sizeof *keys);
    keys[n] = (tare_metadata){.key = TARE_STR("tokenizer.ggml.model"),
                              .value = {.type = TARE_VALUE_STRING, .as.s = TARE_STR("no_vocab")},
                              .space = TARE_KEYS_MODEL,
                              .offset = TARE_NO_OFFSET};
    m->catalog.metadata = keys;
    m->catalog.n_metadata = n + !has_tokenizer;
    return tare_model_index_keys(m, arena, err);
}

static tare_status judge(bool *runs, const tare_plan *p, tare_arena *arena, tare_error *why,
                         tare_error *err) {
    tare_model m = {.format = p->format->name,
                    .allocator = p->options.context->allocator,
                    .limits = p->limits,
                    .catalog = p->catalog};
    m.catalog.layout = NULL; /* its byte order is whatever was asked for */
    TARE_TRY(tare_name_index_build(&m.tensor_index, arena, m.catalog.tensors, m.catalog.n_tensors,
                                   sizeof(tare_tensor), "two tensors would have this name", err));
    TARE_TRY(list_keys(&m, arena, err));
    *runs = tare_llama_can_run(&m, why);
    return TARE_OK;
}

/* Whether the input is what a conversion should lead to a model that runs: one of Hugging Face under
 * llama.cpp's names, or a file that runs, or did before its tensors were renamed. */
static bool is_expected_to_run(const tare_plan *p) {
    const tare_str type = tare_catalog_get_str(&p->catalog, "general.type");
    if (tare_str_is(type, "adapter") || tare_str_is(type, "mmproj")) return false;
    return tare_llama_origin_of(p->in, 0) || tare_llama_can_run(p->in, NULL) ||
           (p->in->named_as && tare_llama_can_run(p->in->named_as, NULL));
}

static tare_status refuse(const tare_error *why, tare_error *err) {
    if (!err) return TARE_ERR_UNSUPPORTED;
    *err = *why;
    tare_error_code(err, TARE_CODE_NOT_RUNNABLE);
    if (!err->field[0]) tare_error_detail(err, "llama.cpp would not run the result");
    return TARE_ERR_UNSUPPORTED;
}

static void warn(const tare_plan *p, const tare_error *why) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, TARE_CODE_NOT_RUNNABLE);
    f.item_kind = why->item_kind;
    f.item_name = tare_str_of(why->item_name);
    tare_report_addf(p->options.context->report, &f, "llama.cpp will not run the result: %s%s%s",
                     why->field, why->field[0] ? ": " : "", why->what);
}

tare_status tare_plan_verdict(const tare_plan *p, tare_error *err) {
    const bool is_forced = p->changes ? p->changes->is_forced : p->options.output->force;
    bool runs = true;
    tare_error why = {0};
    tare_arena arena;
    if (p->format->stored.program != TARE_PROGRAM_LLAMA_CPP || (p->is_identity && !p->changes) ||
        p->catalog.n_tensors == 0)
        return TARE_OK;
    tare_arena_init(&arena, p->options.context->allocator);
    const tare_status status = judge(&runs, p, &arena, &why, err);
    tare_arena_free(&arena);
    TARE_TRY(status);
    if (runs || !is_expected_to_run(p)) return TARE_OK;
    if (!is_forced) return refuse(&why, err);
    warn(p, &why);
    return TARE_OK;
}
