/* SPDX-License-Identifier: MIT
 *
 * Reading what is made of pieces: a range of the result is elements of pieces, these are runs of
 * elements of a source. Where the view's fastest axis is not the source's, a block of rows is
 * gathered, a run of the source for each column. */
#include "model/pieces.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"

enum {
    STEP = 2048,             /* elements that arithmetic is done on at once */
    GATHER_BYTES = 64 << 10, /* of one run of the source while a block is gathered */
    SHORT_TURN = 4096,       /* elements of a turn that is not read piece by piece */
    MOST_SHORT = 1 << 20,    /* elements of such turns that are read at once */
    MOST_BYTES = 64,         /* of an element */
};

typedef struct job {
    const tare_piece_sources *from;
    const tare_composition *of;
    const tare_piece *piece;
    const tare_encoding *type; /* of what is read, before arithmetic */
    uint32_t element_bytes;
} job;

static uint32_t bytes_of(const tare_composition *of) {
    return of->encoding->planes[0].unit_bytes;
}

static tare_status source_run(uint8_t *out, const job *j, uint64_t from, uint64_t n,
                              tare_error *err) {
    return j->from->read(out, j->from->ctx, j->of, j->piece->source, from, n, err);
}

/* ---- views ----------------------------------------------------------------------------------- */

uint64_t tare_piece_place(const tare_piece_view *v, uint64_t at, uint64_t *left) {
    uint64_t from = v->offset;
    *left = 1;
    for (uint32_t a = v->n_axes; a-- > 0;) {
        uint64_t step = at % v->axes[a].extent;
        if (a + 1 == v->n_axes) *left = v->axes[a].extent - step;
        from += step * v->axes[a].stride;
        at /= v->axes[a].extent;
    }
    return from;
}

/* What a view takes in another order than it lies in the source: neighbours there, `unit` elements
 * each, are the steps of the axis `dense`, a block of `inner` units apart in the result. */
typedef struct transposition {
    uint32_t dense; /* n_axes: no axis */
    uint64_t unit, inner;
} transposition;

static transposition find_transposition(const tare_piece_view *v) {
    const tare_piece_axis *last = v->n_axes ? &v->axes[v->n_axes - 1] : NULL;
    const bool is_run = last && last->stride == 1;
    const uint32_t n_outer = is_run ? v->n_axes - 1 : v->n_axes; /* those whose steps are units */
    transposition t = {0, is_run ? last->extent : 1, 1};
    while (t.dense < n_outer && v->axes[t.dense].stride != t.unit) t.dense++;
    for (uint32_t a = t.dense + 1; a < n_outer; a++) t.inner *= v->axes[a].extent;
    if (t.dense == n_outer) t.dense = v->n_axes;
    return t;
}

/* Elements along the fastest axis: runs of the source where its steps are neighbours there. */
static tare_status read_runs(uint8_t *out, const job *j, uint64_t first, uint64_t n,
                             tare_error *err) {
    const tare_piece_view *v = j->piece->view;
    const bool is_run = v->n_axes == 0 || v->axes[v->n_axes - 1].stride == 1;
    while (n > 0) {
        uint64_t left, from = tare_piece_place(v, first, &left),
                       take = is_run ? tare_min_u64(left, n) : 1;
        TARE_TRY(source_run(out, j, from, take, err));
        out += take * j->element_bytes;
        first += take;
        n -= take;
    }
    return TARE_OK;
}

/* Whole blocks, as many as there are steps of the dense axis left: for each unit of a block a run
 * of the source, dealt out to the blocks. */
static tare_status gather(uint8_t *out, const job *j, const transposition *t, uint64_t first,
                          uint64_t n_blocks, tare_error *err) {
    uint8_t run[GATHER_BYTES];
    const size_t size = (size_t)t->unit * j->element_bytes;
    const uint64_t most = sizeof run / size;
    for (uint64_t done = 0; done < n_blocks; done += most) {
        uint64_t count = tare_min_u64(most, n_blocks - done), left;
        for (uint64_t i = 0; i < t->inner; i++) {
            uint64_t at = first + (done * t->inner + i) * t->unit;
            uint64_t from = tare_piece_place(j->piece->view, at, &left);
            TARE_TRY(source_run(run, j, from, count * t->unit, err));
            for (uint64_t k = 0; k < count; k++)
                memcpy(out + ((done + k) * t->inner + i) * size, run + k * size, size);
        }
    }
    return TARE_OK;
}

static tare_status read_gathered(uint8_t *out, const job *j, const transposition *t, uint64_t first,
                                 uint64_t n, tare_error *err) {
    const tare_piece_axis *dense = &j->piece->view->axes[t->dense];
    const uint64_t block = t->inner * t->unit;
    while (n > 0) {
        uint64_t skip = first % block, take;
        if (skip || n < block) {
            take = tare_min_u64(block - skip, n);
            TARE_TRY(read_runs(out, j, first, take, err));
        } else {
            uint64_t step = first / block % dense->extent;
            uint64_t n_blocks = tare_min_u64(dense->extent - step, n / block);
            TARE_TRY(gather(out, j, t, first, n_blocks, err));
            take = n_blocks * block;
        }
        out += take * j->element_bytes;
        first += take;
        n -= take;
    }
    return TARE_OK;
}

static tare_status read_raw(uint8_t *out, const job *j, uint64_t first, uint64_t n,
                            tare_error *err) {
    const tare_piece_view *v = j->piece->view;
    if (!v) return source_run(out, j, first, n, err);
    const transposition t = find_transposition(v);
    if (t.dense == v->n_axes || t.unit > GATHER_BYTES / 2 / j->element_bytes)
        return read_runs(out, j, first, n, err);
    return read_gathered(out, j, &t, first, n, err);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static float compute(const tare_piece *p, float x) {
    switch (p->arithmetic) {
    case TARE_PIECE_ADD:
        return x + p->constant;
    case TARE_PIECE_MUL:
        return x * p->constant;
    case TARE_PIECE_MUL_TWICE:
        return x * p->constant * p->second;
    case TARE_PIECE_NEG_EXP:
        return (float)-exp((double)x);
    case TARE_PIECE_EXP:
        return (float)exp((double)x);
    case TARE_PIECE_LOG:
        return (float)log((double)x);
    case TARE_PIECE_DIV:
        return x / p->constant;
    case TARE_PIECE_TERNARY:
        return fminf(fmaxf(nearbyintf(x * p->constant), -1), 1) / p->constant;
    case TARE_PIECE_LOG_NEG:
        return (float)log(-(double)x);
    case TARE_PIECE_SOFTPLUS: /* as torch has it */
        return x > 20 ? x : (float)log1p(exp((double)x));
    case TARE_PIECE_SUM: /* of all terms already */
    case TARE_PIECE_AS_IS:
        break;
    }
    return x;
}

/* n <= STEP numbers of a piece before arithmetic. */
static tare_status read_floats(float *out, const job *j, uint64_t first, uint64_t n,
                               tare_error *err) {
    uint8_t raw[STEP * sizeof(double)];
    const tare_rows rows = {.planes = {raw}, .n_rows = 1, .cols = n};
    TARE_TRY(read_raw(raw, j, first, n, err));
    return tare_decode_rows(out, j->type, &rows, err);
}

/* Adds all terms behind the first ones. */
static tare_status add_terms(float *sums, const job *j, uint64_t first, uint64_t n,
                             tare_error *err) {
    float term[STEP];
    tare_piece_view view = *j->piece->view;
    tare_piece piece = *j->piece;
    job of_term = *j;
    piece.view = &view;
    of_term.piece = &piece;
    for (uint64_t t = 1; t < piece.n_terms; t++) {
        view.offset += piece.step;
        TARE_TRY(read_floats(term, &of_term, first, n, err));
        for (uint64_t i = 0; i < n; i++) sums[i] += term[i];
    }
    return TARE_OK;
}

static tare_status read_computed(uint8_t *out, const job *j, uint64_t first, uint64_t n,
                                 tare_error *err) {
    float values[STEP];
    while (n > 0) {
        uint64_t take = tare_min_u64(n, STEP);
        tare_rows_mut result = {.planes = {out}, .n_rows = 1, .cols = take};
        TARE_TRY(read_floats(values, j, first, take, err));
        if (j->piece->arithmetic == TARE_PIECE_SUM)
            TARE_TRY(add_terms(values, j, first, take, err));
        for (uint64_t i = 0; i < take; i++) values[i] = compute(j->piece, values[i]);
        TARE_TRY(tare_encode_rows(&result, j->of->encoding, values, NULL, err));
        out += take * bytes_of(j->of);
        first += take;
        n -= take;
    }
    return TARE_OK;
}

uint64_t tare_piece_run(const tare_piece_view *view) {
    return find_transposition(view).unit;
}

bool tare_piece_view_of_runs(tare_piece_view *out, const tare_piece_view *view, uint64_t n) {
    uint64_t run = 1; /* neighbours that the last axes take */
    *out = *view;
    while (out->n_axes > 0 && run < n && out->axes[out->n_axes - 1].stride == run)
        run *= out->axes[--out->n_axes].extent;
    if (run % n || out->offset % n) return false;
    out->offset /= n;
    for (uint32_t a = 0; a < out->n_axes; a++) {
        if (out->axes[a].extent > 1 && out->axes[a].stride % n) return false;
        out->axes[a].stride /= n;
    }
    if (run > n) out->axes[out->n_axes++] = (tare_piece_axis){run / n, 1};
    return true;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static tare_status read_piece(uint8_t *out, const tare_piece_sources *from,
                              const tare_composition *of, const tare_piece *p, uint64_t first,
                              uint64_t n, tare_error *err) {
    const bool is_block = of->encoding->kind == TARE_KIND_BLOCK;
    if (p->source == TARE_PIECE_ZEROS) {
        memset(out, 0, (size_t)(n * bytes_of(of)));
        return TARE_OK;
    }
    job j = {.from = from, .of = of, .piece = p, .type = of->encoding};
    if (!is_block) j.type = from->type(from->ctx, p->source);
    j.element_bytes = j.type->planes[0].unit_bytes;
    if (p->arithmetic == TARE_PIECE_AS_IS && j.type == of->encoding)
        return read_raw(out, &j, first, n, err);
    return read_computed(out, &j, first, n, err);
}

size_t tare_piece_at(const tare_composition *of, uint64_t at) {
    size_t low = 0, high = of->n_pieces;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of->pieces[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The pieces that elements [at, at + n) of turn `turn` lie in, one after the other. */
static tare_status read_in_turn(uint8_t *out, const tare_piece_sources *from,
                                const tare_composition *of, uint64_t turn, uint64_t at, uint64_t n,
                                tare_error *err) {
    for (size_t low = tare_piece_at(of, at); n > 0; low++) {
        const tare_piece *p = &of->pieces[low];
        uint64_t begin = low ? of->pieces[low - 1].end : 0;
        uint64_t take = tare_min_u64(p->end - at, n);
        TARE_TRY(read_piece(out, from, of, p, turn * (p->end - begin) + at - begin, take, err));
        out += take * bytes_of(of);
        at += take;
        n -= take;
    }
    return TARE_OK;
}

/* Whole turns that are short: what each piece has of all of them is read at once, then dealt out.
 */
static tare_status read_short_turns(uint8_t *out, const tare_piece_sources *from,
                                    const tare_composition *of, uint64_t turn, uint64_t n,
                                    tare_error *err) {
    const size_t size = bytes_of(of);
    const uint64_t period = of->pieces[of->n_pieces - 1].end;
    const size_t n_scratch = (size_t)(n * period * size);
    uint8_t *scratch = tare_alloc(from->allocator, n_scratch);
    if (!scratch) return tare_fail(err, TARE_ERR_NOMEM, "turns of a tensor");
    tare_status status = TARE_OK;
    uint64_t begin = 0;
    for (size_t i = 0; i < of->n_pieces && status == TARE_OK; i++) {
        const tare_piece *p = &of->pieces[i];
        const uint64_t share = p->end - begin;
        status = read_piece(scratch, from, of, p, turn * share, n * share, err);
        for (uint64_t k = 0; k < n && status == TARE_OK; k++)
            memcpy(out + (k * period + begin) * size, scratch + k * share * size,
                   (size_t)(share * size));
        begin = p->end;
    }
    tare_free(from->allocator, scratch, n_scratch);
    return status;
}

static tare_status read_elements(uint8_t *out, const tare_piece_sources *from,
                                 const tare_composition *of, uint64_t first, uint64_t n,
                                 tare_error *err) {
    const uint64_t period = of->pieces[of->n_pieces - 1].end;
    while (n > 0) {
        uint64_t turn = first / period, at = first % period;
        uint64_t take = tare_min_u64(period - at, n);
        if (at == 0 && n >= period && period <= SHORT_TURN) {
            uint64_t n_turns = tare_min_u64(n, MOST_SHORT) / period;
            take = n_turns * period;
            TARE_TRY(read_short_turns(out, from, of, turn, n_turns, err));
        } else {
            TARE_TRY(read_in_turn(out, from, of, turn, at, take, err));
        }
        out += take * bytes_of(of);
        first += take;
        n -= take;
    }
    return TARE_OK;
}

/* Elements that are not asked for as a whole are read aside. */
tare_status tare_pieces_read(uint8_t *out, const tare_composition *of,
                             const tare_piece_sources *from, uint64_t at, size_t n,
                             tare_error *err) {
    const uint32_t size = bytes_of(of);
    while (n > 0) {
        uint8_t one[MOST_BYTES];
        size_t skip = (size_t)(at % size), take;
        if (skip || n < size) {
            take = (size_t)tare_min_u64(size - skip, n);
            TARE_TRY(read_elements(one, from, of, at / size, 1, err));
            memcpy(out, one + skip, take);
        } else {
            take = n - n % size;
            TARE_TRY(read_elements(out, from, of, at / size, take / size, err));
        }
        out += take;
        at += take;
        n -= take;
    }
    return TARE_OK;
}
