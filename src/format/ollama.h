/* SPDX-License-Identifier: MIT
 *
 * Stores of Ollama: ROOT/manifests/HOST/SPACE/NAME/TAG lists the layers of a model, which are
 * ROOT/blobs/sha256-DIGEST. */
#ifndef TARE_FORMAT_OLLAMA_H
#define TARE_FORMAT_OLLAMA_H

#include "base/alloc.h"
#include "base/report.h"

/* What a path stands for, in the arena: of a manifest in a store the blob of its weights; else the path
 * itself. Other layers are reported by what they are. All blobs are there and have the sizes that are
 * stated, and small ones their digests: else IO, TRUNCATED or CHECKSUM, with the blob. */
tare_status tare_ollama_enter(const char **out, const char *path, tare_arena *arena,
                              tare_report *report, tare_error *err);

#endif
