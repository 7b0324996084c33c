/* SPDX-License-Identifier: MIT
 *
 * The prediction of a tile from its restored neighbours (docs/wcodec.md, 9, Prediction). */
#ifndef TARE_WCODEC_PREDICT_H
#define TARE_WCODEC_PREDICT_H

#include "wcodec/wc_structured.h"

enum {
    TARE_WC_PREDICT_NONE = 0,
    TARE_WC_PREDICT_DC = 1,
    TARE_WC_PREDICT_LEFT = 2,
    TARE_WC_PREDICT_TOP = 3,
    TARE_WC_PREDICT_AVG = 4,
    TARE_WC_PREDICT_PLANAR = 5,
    TARE_WC_PREDICTORS = 6
};

/* The prediction of each cell of a tile, from the padded matrix as far as it is restored. */
void tare_wc_predict(int16_t cells[TARE_WC_CELLS], unsigned predictor, const int16_t *matrix,
                     const tare_wc_view *v, uint32_t tile);

#endif
