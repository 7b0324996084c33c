/* SPDX-License-Identifier: MIT
 *
 * Resources when writing and reading a container: as files of a directory, or as one JSON text. */
#ifndef TARE_FORMAT_RESOURCES_H
#define TARE_FORMAT_RESOURCES_H

#include "base/buffer.h"
#include "model/catalog.h"
#include "model/write_plan.h"

/* Adds the resources of a catalog to the files of a directory. UNSUPPORTED: a name that is not a
 * valid file name there, or that another file already has. */
tare_status tare_plan_resource_files(tare_write_plan *out, const tare_catalog *catalog,
                                     tare_error *err);

/* Resources as a JSON text: {"name":{"text":"..."},"name":{"base64":"..."}}. */
tare_status tare_resources_from_json(tare_resource_entry **out, size_t *n, tare_str text,
                                     tare_arena *arena, tare_error *err);
/* Those that lie in files are read from `source`, whole, one after the other. */
tare_status tare_resources_to_json(tare_buffer *out, const tare_resource_entry *resources, size_t n,
                                   const tare_model *source, tare_error *err);

#endif
