/* SPDX-License-Identifier: MIT
 *
 * Views backwards. A view tells for each element of a result where it lies in the source; sorted by
 * the source's strides, its axes tell for each element of the source where it lies in the result. */
#include "base/arith.h"
#include "llama/view.h"

/* An axis as both sides see it. */
typedef struct both {
    uint64_t extent, in_source, in_result;
} both;

static void insert_axis(both *axes, uint32_t *n, both axis) {
    if (axis.extent == 1) return;
    uint32_t at = (*n)++;
    for (; at > 0 && axes[at - 1].in_source < axis.in_source; at--) axes[at] = axes[at - 1];
    axes[at] = axis;
}

/* Axes by their strides in the source, largest first. One that goes on over the end of a turn is
 * two: its steps in a turn, and the turns. False: too many, or a turn ends within a step. */
static bool sort_axes(both *out, uint32_t *n, const tare_piece_view *view,
                      const tare_llama_place *place) {
    uint64_t done = 1; /* elements of the piece that the faster axes make up */
    *n = 0;
    for (uint32_t a = view->n_axes; a-- > 0;) {
        const tare_piece_axis axis = view->axes[a];
        const uint64_t inside = done < place->n ? tare_min_u64(axis.extent, place->n / done) : 1;
        if (*n + 2 > TARE_PIECE_AXES || axis.extent % inside ||
            (inside < axis.extent && done * inside % place->n))
            return false;
        insert_axis(out, n, (both){inside, axis.stride, done});
        done *= inside;
        if (inside == axis.extent) continue;
        insert_axis(
            out, n,
            (both){axis.extent / inside, axis.stride * inside, done / place->n * place->turn});
        done *= axis.extent / inside;
    }
    return true;
}

bool tare_llama_view_invert(tare_llama_share *out, const tare_piece_view *view, uint64_t n_source,
                            const tare_llama_place *place) {
    both axes[TARE_PIECE_AXES];
    const tare_piece_view all = {0, 1, {{n_source, 1}}};
    uint32_t n;
    if (!sort_axes(axes, &n, view ? view : &all, place)) return false;
    if (!view) view = &all;
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
    out->view = (tare_piece_view){.offset = place->base, .n_axes = n};
    for (uint32_t i = 0; i < n; i++)
        out->view.axes[i] = (tare_piece_axis){axes[i].extent, axes[i].in_result};
    return true;
}

tare_piece_arithmetic tare_llama_undo(const tare_piece *piece, float *constant) {
    *constant = piece->constant;
    switch (piece->arithmetic) {
    case TARE_PIECE_ADD:
        *constant = -piece->constant;
        return TARE_PIECE_ADD;
    case TARE_PIECE_MUL:
        return TARE_PIECE_DIV;
    case TARE_PIECE_MUL_TWICE:
        *constant = piece->constant * piece->second;
        return TARE_PIECE_DIV;
    case TARE_PIECE_EXP:
        return TARE_PIECE_LOG;
    case TARE_PIECE_LOG:
        return TARE_PIECE_EXP;
    case TARE_PIECE_NEG_EXP:
        return TARE_PIECE_LOG_NEG;
    case TARE_PIECE_DIV:
        return TARE_PIECE_MUL;
    case TARE_PIECE_LOG_NEG:
        return TARE_PIECE_NEG_EXP;
    case TARE_PIECE_SOFTPLUS: /* no architecture with a way back has it */
    case TARE_PIECE_SUM:      /* nor this */
    case TARE_PIECE_TERNARY:  /* what was rounded stays so */
    case TARE_PIECE_AS_IS:
        break;
    }
    return TARE_PIECE_AS_IS;
}
