/* SPDX-License-Identifier: MIT
 *
 * The containers. Probes are asked in this order. */
#include "format/format.h"

const tare_format *const tare_formats[] = {
    &tare_format_gguf, &tare_format_mcf,    &tare_format_safetensors,
    &tare_format_infq, &tare_format_wcodec, &tare_format_dcp, /* has side files as hf has */
    &tare_format_hf,   &tare_format_torch,  &tare_format_numpy,
    &tare_format_onnx, &tare_format_tflite, &tare_format_whisper,
    &tare_format_flax, &tare_format_meta,   NULL, /* the end */
};
