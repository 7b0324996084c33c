/* SPDX-License-Identifier: MIT
 *
 * Setting up the structs of the verbs, for callers that have no macros. */
#include <tare/convert.h>
#include <tare/experimental/containers.h>
#include <tare/experimental/gguf_name.h>
#include <tare/experimental/unpack.h>
#include <tare/inspect.h>
#include <tare/model.h>
#include <tare/output.h>
#include <tare/private/bench.h>

#include "base/status.h"

TARE_DEFINE_INIT(tare_format_info)
TARE_DEFINE_INIT(tare_mix_options)
TARE_DEFINE_INIT(tare_convert_mcf_options)
TARE_DEFINE_INIT(tare_convert_infq_options)
TARE_DEFINE_INIT(tare_convert_wcodec_options)
TARE_DEFINE_INIT(tare_convert_options)
TARE_DEFINE_INIT(tare_convert_result)
TARE_DEFINE_INIT(tare_output)
TARE_DEFINE_INIT(tare_diff_options)
TARE_DEFINE_INIT(tare_memory_needs)
TARE_DEFINE_INIT_WITH(tare_tensor_part, .layer = -1, .expert = -1)
TARE_DEFINE_INIT(tare_extract_options)
TARE_DEFINE_INIT(tare_bench_options)
TARE_DEFINE_INIT(tare_bench)
TARE_DEFINE_INIT_WITH(tare_gguf_name, .sidecar = {"", 0}, .base_name = {"", 0},
                      .size_label = {"", 0}, .fine_tune = {"", 0}, .version = {"", 0},
                      .encoding = {"", 0}, .type = {"", 0})
TARE_DEFINE_INIT(tare_pack_options)
TARE_DEFINE_INIT(tare_lossy_options)
TARE_DEFINE_INIT(tare_lossy_info)
TARE_DEFINE_INIT(tare_pack_summary)
TARE_DEFINE_INIT(tare_unpack_options)
TARE_DEFINE_INIT(tare_unpack_result)
TARE_DEFINE_INIT(tare_container_info)
TARE_DEFINE_INIT(tare_container_base)
TARE_DEFINE_INIT(tare_container_layer)
TARE_DEFINE_INIT(tare_container_file)
