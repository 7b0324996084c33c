/* SPDX-License-Identifier: MIT
 *
 * Setting up the structs of the verbs, for callers that have no macros. */
#include <tare/inspect.h>
#include <tare/ops.h>
#include <tare/unpack.h>

#include "base/status.h"

TARE_DEFINE_INIT(tare_format_info, TARE_FORMAT_INFO_INIT)
TARE_DEFINE_INIT(tare_mix_options, TARE_MIX_OPTIONS_INIT)
TARE_DEFINE_INIT(tare_convert_mcf_options, TARE_CONVERT_MCF_OPTIONS_INIT)
TARE_DEFINE_INIT(tare_convert_infq_options, TARE_CONVERT_INFQ_OPTIONS_INIT)
TARE_DEFINE_INIT(tare_convert_wcodec_options, TARE_CONVERT_WCODEC_OPTIONS_INIT)
TARE_DEFINE_INIT(tare_convert_options, TARE_CONVERT_OPTIONS_INIT)
TARE_DEFINE_INIT(tare_convert_result, TARE_CONVERT_RESULT_INIT)
TARE_DEFINE_INIT(tare_run_options, TARE_RUN_OPTIONS_INIT)
TARE_DEFINE_INIT(tare_output, TARE_OUTPUT_INIT)
TARE_DEFINE_INIT(tare_diff_options, TARE_DIFF_OPTIONS_INIT)
TARE_DEFINE_INIT(tare_tensor_part, TARE_TENSOR_PART_INIT)
TARE_DEFINE_INIT(tare_extract_options, TARE_EXTRACT_OPTIONS_INIT)
TARE_DEFINE_INIT(tare_bench_options, TARE_BENCH_OPTIONS_INIT)
TARE_DEFINE_INIT(tare_bench, TARE_BENCH_INIT)
TARE_DEFINE_INIT(tare_gguf_name, TARE_GGUF_NAME_INIT)
TARE_DEFINE_INIT(tare_pack_options, TARE_PACK_OPTIONS_INIT)
TARE_DEFINE_INIT(tare_lossy_options, TARE_LOSSY_OPTIONS_INIT)
TARE_DEFINE_INIT(tare_lossy_info, TARE_LOSSY_INFO_INIT)
TARE_DEFINE_INIT(tare_pack_summary, TARE_PACK_SUMMARY_INIT)
TARE_DEFINE_INIT(tare_unpack_options, TARE_UNPACK_OPTIONS_INIT)
TARE_DEFINE_INIT(tare_unpack_result, TARE_UNPACK_RESULT_INIT)
TARE_DEFINE_INIT(tare_container_info, TARE_CONTAINER_INFO_INIT)
TARE_DEFINE_INIT(tare_container_base, TARE_CONTAINER_BASE_INIT)
TARE_DEFINE_INIT(tare_container_layer, TARE_CONTAINER_LAYER_INIT)
