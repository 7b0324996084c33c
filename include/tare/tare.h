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

#include <tare/adapter.h>
#include <tare/base.h>
#include <tare/build.h>
#include <tare/convert.h>
#include <tare/device.h>
#include <tare/edit.h>
#include <tare/encoding.h>
#include <tare/fitting.h>
#include <tare/importance.h>
#include <tare/inspect.h>
#include <tare/llama.h>
#include <tare/model.h>
#include <tare/ops.h>
#include <tare/options.h>
#include <tare/output.h>
#include <tare/packing.h>
#include <tare/pattern.h>
#include <tare/read.h>
#include <tare/remote.h>
#include <tare/unpack.h>
#include <tare/wcodec.h>

#endif
