/* SPDX-License-Identifier: MIT
 *
 * The contents of a super-block of an IQ1, IQ2 or IQ3 format, and their packing into bytes. */
#ifndef TARE_ENCODING_IQ_PACK_H
#define TARE_ENCODING_IQ_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "encoding/iq.h"

typedef struct tare_iq_codes {
    uint16_t points[64]; /* of each group of lanes */
    uint8_t signs[32];   /* of each eight elements, 7 bits where the eighth is implied; iq1: whether
                            a sub-block (s) or a group of eight (m) is shifted down */
    uint8_t scales[16];  /* of each sub-block, as stored */
    uint16_t d;          /* f16 */
    bool is_empty;       /* all scales are 0 */
} tare_iq_codes;

/* Writes all bytes of the block. In an empty one the scales and d are 0. */
void tare_pack_iq2_xxs(uint8_t *y, const tare_iq_codes *c);
void tare_pack_iq2_xs(uint8_t *y, const tare_iq_codes *c);
void tare_pack_iq2_s(uint8_t *y, const tare_iq_codes *c);
void tare_pack_iq3_xxs(uint8_t *y, const tare_iq_codes *c);
void tare_pack_iq3_s(uint8_t *y, const tare_iq_codes *c);
void tare_pack_iq1_s(uint8_t *y, const tare_iq_codes *c);
void tare_pack_iq1_m(uint8_t *y, const tare_iq_codes *c);

#endif
