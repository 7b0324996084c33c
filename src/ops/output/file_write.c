/* SPDX-License-Identifier: MIT
 *
 * Writing bytes in memory to a file: manifests, and whatever callers derived from a model. */
#include <tare/model.h>
#include <tare/output.h>

#include "base/outfile.h"
#include "ops/item_walk.h"
#include "ops/output/destination.h"
#include "ops/output/replaced.h"

tare_status tare_file_write(const char *path, const void *bytes, size_t n, const tare_model *model,
                            const tare_output_options *output, const tare_context *context,
                            tare_error *err) {
    TARE_REQUIRE(path && (bytes || n == 0), err);
    tare_context c;
    tare_output_options o;
    TARE_TRY(tare_context_keep(&c, &context, err));
    TARE_TRY(tare_output_keep(&o, &output, err));
    tare_outset *set;
    uint32_t index;
    const tare_out_options out = {.force = o.force,
                                  .no_sync = o.no_sync,
                                  .withheld = model ? tare_model_withheld(model) : 0,
                                  .total_size = n,
                                  .report = c.report,
                                  .store = tare_output_store(&o)};
    if (model) TARE_TRY(tare_walk_guard(model, path, err));
    if (o.dry_run) return tare_outset_check(path, &out, c.allocator, err);
    TARE_TRY(tare_outset_new(&set, path, &out, c.allocator, err));
    tare_status s = tare_outset_add(set, NULL, n, &index, err);
    if (s == TARE_OK) s = tare_outset_write(set, index, 0, bytes, n, err);
    if (s == TARE_OK) s = tare_outset_commit(set, err);
    tare_outset_free(set);
    return s;
}
