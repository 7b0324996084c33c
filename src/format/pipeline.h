/* SPDX-License-Identifier: MIT
 *
 * Pipelines of diffusers: a folder for each part, and an index. */
#ifndef TARE_FORMAT_PIPELINE_H
#define TARE_FORMAT_PIPELINE_H

#include "base/files.h"
#include "base/json_node.h"

/* Whether a folder is one. `files` NULL: the file system. */
bool tare_is_pipeline(const tare_files *files, const char *path);
/* The index of one, an object; errors name its file. */
tare_status tare_pipeline_index(const tare_json_node **out, const tare_files *files,
                                const char *path, tare_arena *arena, tare_error *err);
/* Fails if a folder is one and its index cannot be read. */
tare_status tare_pipeline_check(const tare_files *files, const char *path, tare_error *err);

#endif
