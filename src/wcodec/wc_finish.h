/* SPDX-License-Identifier: MIT
 *
 * From what a kernel has decoded to the stream's bytes, while they are in the cache: patches, byte
 * order, packed scales, CRC; then on to the taker. A predictor is applied after the last of these
 * steps. */
#ifndef TARE_WCODEC_FINISH_H
#define TARE_WCODEC_FINISH_H

#include "wcodec/wc_direct.h"
#include "wcodec/wc_patches.h"

typedef struct tare_wc_finish {
    const tare_wc_piece *piece;
    const tare_wc_direct *parts;
    const tare_wc_rule *rule;
    bool is_coarse;
    uint32_t n_done, crc; /* bytes */
    tare_wc_patches how;
    tare_wc_bits bits;
    uint32_t n_patches; /* that were read: */
    uint32_t patch_at;  /* the position of the last one, which waits for its value; at first -1 */
    uint16_t patch_top; /* of it */
    bool has_patch;     /* one waits */
    const char *fault;  /* what a patch has */
    uint64_t fault_at;  /* its byte */
} tare_wc_finish;

/* Sets job->ready, too; *f must stay where it is until the end. */
void tare_wc_finish_begin(tare_wc_finish *f, tare_wc_job *job, const tare_wc_direct *parts,
                          const tare_wc_piece *piece, bool is_coarse);
/* When the job is done: handles the last bytes, and checks that everything was valid. */
tare_status tare_wc_finish_end(tare_wc_finish *f, tare_wc_job *job, tare_error *err);

/* The last step of any mode: the predictor, the CRC (of coarse bytes it is not known), the taker. */
tare_status tare_wc_finish_whole(const tare_wc_piece *piece, bool is_coarse, tare_error *err);

#endif
