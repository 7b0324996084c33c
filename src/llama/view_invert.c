/* SPDX-License-Identifier: MIT
 *
 * Views backwards. A view tells for each element of a result where it lies in the source; sorted by
 * the source's strides, its axes tell for each element of the source where it lies in the result. */
#include "llama/view.h"

/* An axis as both sides see it. */
typedef struct both {
    uint64_t extent, in_source, in_result;
} both;

/* Axes by their strides in the source, largest first. */
static uint32_t sort_axes(both *out, const tare_llama_view *view) {
    uint64_t stride = 1;
    uint32_t n = 0;
    for (uint32_t a = view->n_axes; a-- > 0;) {
        const both axis = {view->axes[a].extent, view->axes[a].stride, stride};
        stride *= axis.extent;
        if (axis.extent == 1) continue;
        uint32_t at = n++;
        for (; at > 0 && out[at - 1].in_source < axis.in_source; at--) out[at] = out[at - 1];
        out[at] = axis;
    }
    return n;
}

bool tare_llama_view_invert(tare_llama_share *out, const tare_llama_view *view, uint64_t n_source,
                            uint64_t base) {
    both axes[TARE_LLAMA_AXES];
    const tare_llama_view all = {0, 1, {{n_source, 1}}};
    if (!view) view = &all;
    uint32_t n = sort_axes(axes, view);
    uint64_t run = 1; /* elements of the source that the axes so far fill without a gap */
    uint32_t a = n;
    while (a > 0 && axes[a - 1].in_source == run) run *= axes[--a].extent;
    *out = (tare_llama_share){.turn = a ? axes[a - 1].in_source : n_source, .n = run};
    for (uint64_t whole = out->turn; a > 0; a--) { /* the slower axes count whole turns */
        if (axes[a - 1].in_source != whole) return false;
        whole *= axes[a - 1].extent;
        if (a == 1 && whole != n_source) return false;
    }
    out->begin = view->offset;
    if (out->begin > out->turn || run > out->turn - out->begin) return false;
    out->view = (tare_llama_view){.offset = base, .n_axes = n};
    for (uint32_t i = 0; i < n; i++)
        out->view.axes[i] = (tare_llama_axis){axes[i].extent, axes[i].in_result};
    return true;
}

tare_llama_arithmetic tare_llama_undo(const tare_llama_piece *piece, float *constant) {
    *constant = piece->constant;
    switch (piece->arithmetic) {
    case TARE_LLAMA_ADD:
        *constant = -piece->constant;
        return TARE_LLAMA_ADD;
    case TARE_LLAMA_MUL:
        return TARE_LLAMA_DIV;
    case TARE_LLAMA_MUL_TWICE:
        *constant = piece->constant * piece->second;
        return TARE_LLAMA_DIV;
    case TARE_LLAMA_NEG_EXP:
        return TARE_LLAMA_LOG_NEG;
    case TARE_LLAMA_DIV:
        return TARE_LLAMA_MUL;
    case TARE_LLAMA_LOG_NEG:
        return TARE_LLAMA_NEG_EXP;
    case TARE_LLAMA_AS_IS:
        break;
    }
    return TARE_LLAMA_AS_IS;
}
