/* SPDX-License-Identifier: MIT
 *
 * A text model and its tower on the way to the Hugging Face model of both. */
#ifndef TARE_LLAMA_RESTORE_WHOLE_H
#define TARE_LLAMA_RESTORE_WHOLE_H

#include "llama/restore/restore.h"

typedef struct tare_llama_whole {
    tare_model *out;
    tare_model *text, *tower;    /* restored */
    const tare_llama_arch *arch; /* of the tower */
    const tare_model *text_gguf;
    tare_report *report;
} tare_llama_whole;

/* config.json of the whole, in memory of `out`. */
tare_status tare_llama_whole_config(tare_str *out, const tare_llama_whole *w, tare_error *err);

#endif
