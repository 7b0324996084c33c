/* SPDX-License-Identifier: MIT */
#include "ops/packing/unpack_salvage.h"

#include <inttypes.h>
#include <stdio.h>

#include <tare/inspect.h>

#include "base/report.h"
#include "ops/packing/verify_packed.h"
#include "ops/steps.h"

static const char *why_unchecked(const tare_packed_damage *d) {
    if (d->is_cut) return "the file ends inside its index";
    if (d->n_missing)
        return "the beginning of the file is gone; its footer says where the index is";
    if (!d->has_header) return "the header is damaged; the footer says where the index is";
    if (!d->has_footer)
        return "the footer is missing or damaged; the header says where the index is";
    return "the CRC-32 of header and index is wrong, so their contents may be";
}

tare_status tare_unpack_salvage_begin(tare_unpack_result *result, const tare_packed_damage *damage,
                                      const tare_packed *store, tare_report *report,
                                      tare_error *err) {
    if (!damage->is_unchecked) return TARE_OK;
    const uint32_t n_lost = damage->n_files_lost;
    result->is_unchecked = true;
    result->n_files_lost = n_lost;
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CORRUPT, "unpack.directory");
    tare_report_addf(report, &f, "%s", why_unchecked(damage));
    if (!n_lost) return TARE_OK;
    if (tare_packed_describe(store).n_files == 0)
        return tare_fail(err, TARE_ERR_TRUNCATED,
                         "index: the file records are lost, without which nothing can be salvaged");
    tare_finding files = TARE_FINDING(ERROR, TARE_ERR_CORRUPT, "unpack.files-lost");
    tare_report_addf(report, &files,
                     "%" PRIu32 " file%s cannot be written: the index no longer describes %s",
                     n_lost, n_lost == 1 ? "" : "s", n_lost == 1 ? "it" : "them");
    return TARE_OK;
}

static size_t count_tensors(const tare_packed *store) {
    const uint32_t n_layers = tare_packed_describe(store).n_layers;
    size_t n = 0;
    for (uint32_t i = 0; i < n_layers; i++) n += tare_packed_describe_layer(store, i).is_tensor;
    return n;
}

/* What was written, if it is not all that was packed. */
static void report_incomplete(const tare_unpack_result *r, const tare_losses *lost,
                              const tare_packed *store, tare_report *report) {
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CORRUPT, "unpack.not-whole");
    char files[80] = "";
    if (r->n_files_lost)
        snprintf(files, sizeof files, "; %zu file%s missing", r->n_files_lost,
                 r->n_files_lost == 1 ? " is" : "s are");
    if (!r->n_lost) {
        tare_report_addf(report, &f, "this is not the whole model%s", files);
        return;
    }
    const bool has_others = tare_losses_layers(lost, store, false) > 0;
    tare_report_addf(
        report, &f,
        "this is not the whole model: %zu of %zu tensors have zeros where %zu "
        "segment%s lost%s%s",
        r->n_tensors_damaged, count_tensors(store), r->n_lost, r->n_lost == 1 ? " was" : "s were",
        has_others ? "; so have other bytes of its files, which may not open" : "", files);
}

tare_status tare_unpack_salvage_end(const tare_unpack_result *r, const tare_losses *lost,
                                    tare_packed *store, const tare_unpack_options *o,
                                    tare_error *err) {
    if (r->is_unchecked) {
        const tare_context run = tare_steps_context_quiet(o->context); /* heads alone are read */
        TARE_TRY(tare_verify_layers(store, &run, err));
    }
    if (r->n_lost || r->n_files_lost) report_incomplete(r, lost, store, o->context->report);
    return TARE_OK;
}
