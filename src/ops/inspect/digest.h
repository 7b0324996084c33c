/* SPDX-License-Identifier: MIT
 *
 * Digests and the lines of a manifest. */
#ifndef TARE_OPS_INSPECT_DIGEST_H
#define TARE_OPS_INSPECT_DIGEST_H

#include <tare/ops.h>

#include "base/buffer.h"

#define TARE_WRONG_DIGEST "sha256 of the tensor is not the one that is stated"

/* Calls `take` with each line of the model's manifest, in its order. */
typedef void (*tare_line_fn)(void *ctx, const tare_buffer *line);
tare_status tare_manifest_lines(const tare_model *model, const tare_digest *digests,
                                const tare_allocator *allocator, tare_line_fn take, void *ctx,
                                tare_error *err);

#endif
