/* SPDX-License-Identifier: MIT
 *
 * The codebooks of the IQ formats; see codebooks.h. */
#include "encoding/codebooks.h"

#include "encoding/codebook_points.h"

#define ENTRY(point) point,

const uint16_t tare_iq2_xxs_points[256] = {TARE_IQ2_XXS_POINTS(ENTRY)};
const uint16_t tare_iq2_xs_points[512] = {TARE_IQ2_XS_POINTS(ENTRY)};
const uint16_t tare_iq2_s_points[1024] = {TARE_IQ2_S_POINTS(ENTRY)};
const uint16_t tare_iq1_points[2048] = {TARE_IQ1_POINTS(ENTRY)};
const uint16_t tare_iq3_xxs_points[256] = {TARE_IQ3_XXS_POINTS(ENTRY)};
const uint16_t tare_iq3_s_points[512] = {TARE_IQ3_S_POINTS(ENTRY)};
