/* SPDX-License-Identifier: MIT
 *
 * Digests and the lines of a manifest. */
#ifndef TARE_OPS_DIGEST_H
#define TARE_OPS_DIGEST_H

#include <tare/inspect.h>
#include <tare/model.h>

#include "base/buffer.h"
#include "ops/item_walk.h"

#define TARE_WRONG_DIGEST "sha256 of the tensor is not the one that is stated"

/* Calls `take` with each line of the manifest of a model with these tensors, in its order. */
typedef void (*tare_line_fn)(void *ctx, const tare_buffer *line);
tare_status tare_manifest_lines(const tare_tensor *tensors, const tare_digest *digests, size_t n,
                                const tare_allocator *allocator, tare_line_fn take, void *ctx,
                                tare_error *err);

/* The tensors in the order of their lines; a line, appended. */
void tare_manifest_order(const tare_tensor **order, const tare_tensor *tensors, size_t n);
void tare_manifest_line(tare_buffer *line, const tare_digest *digest, tare_str name);

/* Compares all tensors, and all members of archives, whose digests the container states with these, and those of
 * the models whose files it shares: what is computed from damaged ones would look sound. */
tare_status tare_digests_check(const tare_model *model, const tare_context *context,
                               tare_error *err);

/* The same of adapters' factors, but where they are tensors of `in`, which is compared itself. */
struct tare_adapter_set;
tare_status tare_factors_check(const struct tare_adapter_set *set, const tare_model *in,
                               const tare_allocator *allocator, tare_error *err);

/* The digest of a tensor in a visit of it; scratch has TARE_PIECE bytes, or those of the tensor. */
tare_status tare_digest_visit(tare_digest *out, const tare_model *model, size_t tensor,
                              const tare_walk_job *job, tare_error *err);
/* That of a model whose tensors have these names and digests. */
tare_status tare_digest_of_tensors(uint8_t out[32], const tare_tensor *tensors,
                                   const tare_digest *digests, size_t n,
                                   const tare_allocator *allocator, tare_error *err);
/* That of a model whose tensors have these. */
tare_status tare_digest_of_digests(tare_digest *out, const tare_model *model,
                                   const tare_digest *digests, const tare_allocator *allocator,
                                   tare_error *err);

#endif
