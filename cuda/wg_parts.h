/* SPDX-License-Identifier: MIT
 *
 * What kernels share: parts of the image, pages, padding. */
#ifndef TARE_CUDA_WG_PARTS_H
#define TARE_CUDA_WG_PARTS_H

#include "wg_image.h"
#include "wg_lanes.h"

template <class T> WG_FN const T *wg_part(const uint8_t *image, uint64_t at) {
    return (const T *)(const void *)(image + at);
}

/* Job number i of the image. */
WG_FN const wg_job *wg_job_of(const uint8_t *image, uint32_t i) {
    return wg_part<wg_job>(image, wg_part<wg_image>(image, 0)->jobs) + i;
}

/* Where a page of a segment begins; how many bytes it has: all but the last one are whole. */
WG_FN uint32_t wg_page_at(const wg_stream &s, uint32_t page) {
    return page * (s.value_bits == 6 ? WG_SIXES_PAGE : WG_PAGE);
}
WG_FN uint32_t wg_page_bytes(const wg_stream &s, const wg_job &job, uint32_t page) {
    uint32_t left = job.n_bytes - wg_page_at(s, page), whole = wg_page_at(s, 1);
    return left < whole ? left : whole;
}

/* Whether bytes first .. end - 1 of the stored ones are 0; fewer than 64. */
WG_FN bool wg_is_zero(const uint8_t *stored, uint32_t first, uint32_t end) {
    u32v any = 0;
    wg_each([&](uint32_t lane) {
        WG_ROLL
        for (uint32_t i = first + lane; i < end; i += WG_LANES) wg_of(any, lane) |= stored[i];
    });
    return !wg_ballot(any != 0u);
}

#endif
