/* SPDX-License-Identifier: MIT
 *
 * tare/tare.h: all of libtare.
 *
 *     tare_model *model;
 *     const tare_tensor *t;
 *     tare_error err;
 *     if (tare_open_path(&model, "model.gguf", NULL, &err) != TARE_OK) return say(&err);
 *     for (size_t i = 0; (t = tare_model_tensor(model, i)) != NULL; i++) look_at(t);
 *     tare_model_free(model);
 */
#ifndef TARE_TARE_H
#define TARE_TARE_H

#include <tare/base.h>
#include <tare/build.h>
#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/importance.h>
#include <tare/inspect.h>
#include <tare/model.h>
#include <tare/output.h>
#include <tare/read.h>

/* Not promised to stay as they are: docs/API.md. */
#include <tare/experimental/adapter.h>
#include <tare/experimental/containers.h>
#include <tare/experimental/derived.h>
#include <tare/experimental/device.h>
#include <tare/experimental/edit.h>
#include <tare/experimental/fitting.h>
#include <tare/experimental/folder.h>
#include <tare/experimental/gguf_name.h>
#include <tare/experimental/llama.h>
#include <tare/experimental/options.h>
#include <tare/experimental/packing.h>
#include <tare/experimental/parts.h>
#include <tare/experimental/pattern.h>
#include <tare/experimental/policy.h>
#include <tare/experimental/remote.h>
#include <tare/experimental/schemes.h>
#include <tare/experimental/unpack.h>
#include <tare/experimental/views.h>
#include <tare/experimental/wcodec.h>

#endif
