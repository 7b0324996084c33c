/* SPDX-License-Identifier: MIT */
#include "llama/restore/restore.h"

tare_status tare_llama_restore_tokenizer(tare_llama_restoring *r, tare_error *err) {
    (void)r;
    (void)err;
    return TARE_OK;
}
