/* SPDX-License-Identifier: MIT
 *
 * tare_verify_against: what a model lost of the one it was made from, by the rules of convert and
 * pack (ops/strict.h). Anything additional is not a loss. */
#include <inttypes.h>

#include <tare/experimental/adapter.h>
#include <tare/inspect.h>
#include <tare/model.h>

#include "base/report.h"
#include "base/str.h"
#include "ops/strict.h"

/* Equal numbers are all that is tolerated, but with it so are the keys that follow from types. */
#define LEAST_TOLERANCE 1e-300

static void tell_tensor(tare_report *report, const tare_diff_item *item, const char *code,
                        const char *text) {
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CORRUPT, code);
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = item->b;
    f.item_name = item->name;
    tare_report_addf(report, &f, "%s", text);
}

static void note_numbers(tare_strict *s, const tare_diff_item *item, const tare_model *source) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "convert.lossy");
    const tare_tensor *t = tare_model_tensor(source, (size_t)item->a);
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = item->b;
    f.item_name = item->name;
    if (!item->is_decoded)
        tare_strict_note(s, &f, "numbers cannot be compared", "its numbers cannot be compared");
    else if (item->n_different)
        tare_strict_note(
            s, &f, "numbers differ from the source's",
            "%" PRIu64 " of %" PRIu64
            " numbers differ from the source's: relative RMSE %.3g, largest difference %.3g",
            item->n_different, t->n_elements, item->relative_rmse, item->max_abs);
}

static void note_key(tare_strict *s, const tare_diff_item *item, const char *what) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "lost.key");
    f.item_kind = TARE_ITEM_KEY;
    f.item_name = item->name;
    tare_strict_note(s, &f, what, "%s", what);
}

static void note_item(tare_strict *s, const tare_diff_item *item, const tare_model *source) {
    switch (item->kind) {
    case TARE_DIFF_KEY_ONLY_A:
        note_key(s, item, "missing: the source has it");
        break;
    case TARE_DIFF_KEY_VALUE:
        if (!item->is_tolerated) note_key(s, item, "not the source's value");
        break;
    case TARE_DIFF_TENSOR_ONLY_A:
        tell_tensor(s->report, item, "lost.tensor", "missing: the source has it");
        break;
    case TARE_DIFF_SHAPE:
        tell_tensor(s->report, item, "lost.shape", "not the source's shape");
        break;
    case TARE_DIFF_ENCODING:
    case TARE_DIFF_VALUE:
        note_numbers(s, item, source);
        break;
    case TARE_DIFF_RESOURCE_ONLY_A:
        tare_strict_file(s, item->name, "missing: the source has it");
        break;
    case TARE_DIFF_RESOURCE:
        tare_strict_file(s, item->name, "not what the source has");
        break;
    case TARE_DIFF_KEY_ONLY_B:
    case TARE_DIFF_TENSOR_ONLY_B:
    case TARE_DIFF_RESOURCE_ONLY_B:
        break;
    }
}

static void note_adapters(tare_strict *s, const tare_model *model, const tare_model *source) {
    const tare_adapter_set *had = tare_model_adapters(source), *has = tare_model_adapters(model);
    size_t n_had = 0, n_has = 0;
    while (had && tare_adapters_at(had, n_had)) n_had++;
    while (has && tare_adapters_at(has, n_has)) n_has++;
    if (n_has >= n_had) return;
    const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "convert.adapters-left");
    tare_strict_note(s, &f, "adapters of the source are missing",
                     "%zu of %zu pairs of adapter factors are missing", n_had - n_has, n_had);
}

tare_status tare_verify_against(const tare_model *model, const tare_model *source,
                                const tare_context *context, tare_error *err) {
    TARE_REQUIRE(model && source, err);
    tare_context o = tare_context_default();
    TARE_TRY(tare_options_read(&o, sizeof o, context, err));
    tare_diff_options how = tare_diff_options_default();
    how.tolerance = LEAST_TOLERANCE;
    how.context = &o;
    tare_diff *diff;
    TARE_TRY(tare_diff_new(&diff, source, model, &how, err));
    tare_strict strict = {.report = o.report};
    const tare_diff_item *item;
    for (size_t i = 0; (item = tare_diff_at(diff, i)) != NULL; i++)
        note_item(&strict, item, source);
    tare_diff_free(diff);
    note_adapters(&strict, model, source);
    tare_strict_left_out(&strict, source);
    return TARE_OK;
}
