/* SPDX-License-Identifier: MIT
 *
 * Reading computed tensors: a range of the virtual file is elements of pieces, these are runs of
 * elements of the source. Where the view's fastest axis is not the source's, a block of rows is
 * gathered, a run of the source for each column. */
#include "llama/view.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "encoding/float16.h"
#include "quantized/quantized.h"

enum {
    STEP = 2048,             /* elements that arithmetic is done on at once */
    GATHER_BYTES = 64 << 10, /* of one run of the source while a block is gathered */
    SHORT_TURN = 4096,       /* elements of a turn that is not read piece by piece */
    MOST_SHORT = 1 << 20,    /* elements of such turns that are read at once */
    LONG_RUN = 512,          /* bytes; shorter ones are read from far apart, best many at once */
    PORTION = 256 << 10,     /* bytes that are made at once: they stay in a processor's own cache */
    MOST_BYTES = 64,         /* of an element */
};

typedef struct job {
    const tare_llama_virtual *file;
    const tare_llama_piece *piece;
    uint32_t element_bytes; /* of what is read, before arithmetic */
    bool is_decoded;
    bool is_blocks; /* of a packed weight, which has the same codes */
} job;

bool tare_llama_is_decoded(const tare_model *source, size_t tensor) {
    const tare_encoding *e = source->catalog.tensors[tensor].encoding;
    return e->kind == TARE_KIND_BLOCK || e->n_planes != 1 || e->planes[0].unit != 1;
}

/* ---- elements of the source ------------------------------------------------------------------ */

/* Floats of a tensor that decodes in whole rows only. */
static tare_status decoded_run(uint8_t *out, const job *j, uint64_t from, uint64_t n,
                               tare_error *err) {
    const tare_model *m = j->file->source;
    const uint64_t cols = m->catalog.tensors[j->piece->source].cols;
    uint64_t bytes;
    size_t size;
    if (!tare_mul_u64(cols, sizeof(float), &bytes) || !tare_size_of_u64(bytes, &size))
        return tare_fail(err, TARE_ERR_LIMIT, "row too long to decode");
    float *row = tare_alloc(j->file->allocator, size);
    if (!row) return tare_fail(err, TARE_ERR_NOMEM, "row");
    tare_status status = TARE_OK;
    while (n > 0 && status == TARE_OK) {
        uint64_t skip = from % cols, take = tare_min_u64(cols - skip, n);
        status = tare_tensor_values_f32(row, m, j->piece->source, from - skip, cols, err);
        for (uint64_t i = 0; i < take && status == TARE_OK; i++)
            tare_store_le32(out + 4 * i, tare_f32_bits(row[skip + i]));
        out += take * sizeof(float);
        from += take;
        n -= take;
    }
    tare_free(j->file->allocator, row, size);
    return status;
}

static tare_status source_run(uint8_t *out, const job *j, uint64_t from, uint64_t n,
                              tare_error *err) {
    if (j->is_decoded) return decoded_run(out, j, from, n, err);
    if (j->is_blocks)
        return tare_quantized_blocks_read(out, j->file->source, j->piece->source, from, n, err);
    return tare_tensor_read(out, j->file->source, j->piece->source, 0, from * j->element_bytes,
                            (size_t)(n * j->element_bytes), err);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* The element of the source for element `at` of the view; *run: how many follow it one by one
 * before the slower axes move on. */
static uint64_t place(const tare_llama_view *v, uint64_t at, uint64_t *left) {
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

static transposition find_transposition(const tare_llama_view *v) {
    const tare_llama_axis *last = v->n_axes ? &v->axes[v->n_axes - 1] : NULL;
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
    const tare_llama_view *v = j->piece->view;
    const bool is_run = v->n_axes == 0 || v->axes[v->n_axes - 1].stride == 1;
    while (n > 0) {
        uint64_t left, from = place(v, first, &left), take = is_run ? tare_min_u64(left, n) : 1;
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
            uint64_t from = place(j->piece->view, at, &left);
            TARE_TRY(source_run(run, j, from, count * t->unit, err));
            for (uint64_t k = 0; k < count; k++)
                memcpy(out + ((done + k) * t->inner + i) * size, run + k * size, size);
        }
    }
    return TARE_OK;
}

static tare_status read_gathered(uint8_t *out, const job *j, const transposition *t, uint64_t first,
                                 uint64_t n, tare_error *err) {
    const tare_llama_axis *dense = &j->piece->view->axes[t->dense];
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
    const tare_llama_view *v = j->piece->view;
    if (!v) return source_run(out, j, first, n, err);
    const transposition t = find_transposition(v);
    if (t.dense == v->n_axes || t.unit > GATHER_BYTES / 2 / j->element_bytes)
        return read_runs(out, j, first, n, err);
    return read_gathered(out, j, &t, first, n, err);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static float compute(const tare_llama_piece *p, float x) {
    switch (p->arithmetic) {
    case TARE_LLAMA_ADD:
        return x + p->constant;
    case TARE_LLAMA_MUL:
        return x * p->constant;
    case TARE_LLAMA_MUL_TWICE:
        return x * p->constant * p->second;
    case TARE_LLAMA_NEG_EXP:
        return (float)-exp((double)x);
    case TARE_LLAMA_DIV:
        return x / p->constant;
    case TARE_LLAMA_TERNARY:
        return fminf(fmaxf(nearbyintf(x * p->constant), -1), 1) / p->constant;
    case TARE_LLAMA_LOG_NEG:
        return (float)log(-(double)x);
    case TARE_LLAMA_SOFTPLUS: /* as torch has it */
        return x > 20 ? x : (float)log1p(exp((double)x));
    case TARE_LLAMA_AS_IS:
        break;
    }
    return x;
}

static tare_status read_computed(uint8_t *out, const job *j, const tare_llama_made *made,
                                 uint64_t first, uint64_t n, tare_error *err) {
    uint8_t raw[STEP * sizeof(double)];
    float values[STEP];
    const tare_encoding *from = j->is_decoded
                                    ? tare_encoding_get(TARE_ENCODING_F32)
                                    : j->file->source->catalog.tensors[j->piece->source].encoding;
    while (n > 0) {
        uint64_t take = tare_min_u64(n, STEP);
        tare_rows rows = {.planes = {raw}, .n_rows = 1, .cols = take};
        tare_rows_mut result = {.planes = {out}, .n_rows = 1, .cols = take};
        TARE_TRY(read_raw(raw, j, first, take, err));
        TARE_TRY(tare_decode_rows(values, from, &rows, err));
        for (uint64_t i = 0; i < take; i++) values[i] = compute(j->piece, values[i]);
        TARE_TRY(tare_encode_rows(&result, made->encoding, values, NULL, err));
        out += take * made->element_bytes;
        first += take;
        n -= take;
    }
    return TARE_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static tare_status read_piece(uint8_t *out, const tare_llama_virtual *f,
                              const tare_llama_made *made, const tare_llama_piece *p,
                              uint64_t first, uint64_t n, tare_error *err) {
    job j = {.file = f, .piece = p};
    if (p->source == TARE_LLAMA_ZEROS) {
        memset(out, 0, (size_t)(n * made->element_bytes));
        return TARE_OK;
    }
    const tare_encoding *e = f->source->catalog.tensors[p->source].encoding;
    if (made->encoding->kind == TARE_KIND_BLOCK) {
        j.is_blocks = e != made->encoding;
        j.element_bytes = made->element_bytes;
        return read_raw(out, &j, first, n, err);
    }
    j.is_decoded = tare_llama_is_decoded(f->source, p->source);
    j.element_bytes = j.is_decoded ? (uint32_t)sizeof(float) : e->planes[0].unit_bytes;
    if (j.is_decoded) e = tare_encoding_get(TARE_ENCODING_F32);
    if (p->arithmetic == TARE_LLAMA_AS_IS && e == made->encoding)
        return read_raw(out, &j, first, n, err);
    return read_computed(out, &j, made, first, n, err);
}

/* The first piece that ends beyond an element of a turn. */
static size_t piece_at(const tare_llama_made *made, uint64_t at) {
    size_t low = 0, high = made->n_pieces;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (made->pieces[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The pieces that elements [at, at + n) of turn `turn` lie in, one after the other. */
static tare_status read_in_turn(uint8_t *out, const tare_llama_virtual *f,
                                const tare_llama_made *made, uint64_t turn, uint64_t at, uint64_t n,
                                tare_error *err) {
    for (size_t low = piece_at(made, at); n > 0; low++) {
        const tare_llama_piece *p = &made->pieces[low];
        uint64_t begin = low ? made->pieces[low - 1].end : 0;
        uint64_t take = tare_min_u64(p->end - at, n);
        TARE_TRY(read_piece(out, f, made, p, turn * (p->end - begin) + at - begin, take, err));
        out += take * made->element_bytes;
        at += take;
        n -= take;
    }
    return TARE_OK;
}

/* Whole turns that are short: what each piece has of all of them is read at once, then dealt out.
 */
static tare_status read_short_turns(uint8_t *out, const tare_llama_virtual *f,
                                    const tare_llama_made *made, uint64_t turn, uint64_t n,
                                    tare_error *err) {
    const size_t size = made->element_bytes;
    const uint64_t period = made->pieces[made->n_pieces - 1].end;
    const size_t n_scratch = (size_t)(n * period * size);
    uint8_t *scratch = tare_alloc(f->allocator, n_scratch);
    if (!scratch) return tare_fail(err, TARE_ERR_NOMEM, "turns of a tensor");
    tare_status status = TARE_OK;
    uint64_t begin = 0;
    for (size_t i = 0; i < made->n_pieces && status == TARE_OK; i++) {
        const tare_llama_piece *p = &made->pieces[i];
        const uint64_t share = p->end - begin;
        status = read_piece(scratch, f, made, p, turn * share, n * share, err);
        for (uint64_t k = 0; k < n && status == TARE_OK; k++)
            memcpy(out + (k * period + begin) * size, scratch + k * share * size,
                   (size_t)(share * size));
        begin = p->end;
    }
    tare_free(f->allocator, scratch, n_scratch);
    return status;
}

static tare_status read_elements(uint8_t *out, const tare_llama_virtual *f,
                                 const tare_llama_made *made, uint64_t first, uint64_t n,
                                 tare_error *err) {
    const uint64_t period = made->pieces[made->n_pieces - 1].end;
    while (n > 0) {
        uint64_t turn = first / period, at = first % period;
        uint64_t take = tare_min_u64(period - at, n);
        if (at == 0 && n >= period && period <= SHORT_TURN) {
            uint64_t n_turns = tare_min_u64(n, MOST_SHORT) / period;
            take = n_turns * period;
            TARE_TRY(read_short_turns(out, f, made, turn, n_turns, err));
        } else {
            TARE_TRY(read_in_turn(out, f, made, turn, at, take, err));
        }
        out += take * made->element_bytes;
        first += take;
        n -= take;
    }
    return TARE_OK;
}

/* Elements that are not asked for as a whole are read aside. */
static tare_status read_made(uint8_t *out, const tare_llama_virtual *f, const tare_llama_made *made,
                             uint64_t at, size_t n, tare_error *err) {
    const uint32_t size = made->element_bytes;
    if (made->bytes) {
        memcpy(out, made->bytes + at, n);
        return TARE_OK;
    }
    while (n > 0) {
        uint8_t one[MOST_BYTES];
        size_t skip = (size_t)(at % size), take;
        if (skip || n < size) {
            take = (size_t)tare_min_u64(size - skip, n);
            TARE_TRY(read_elements(one, f, made, at / size, 1, err));
            memcpy(out, one + skip, take);
        } else {
            take = n - n % size;
            TARE_TRY(read_elements(out, f, made, at / size, take / size, err));
        }
        out += take;
        at += take;
        n -= take;
    }
    return TARE_OK;
}

tare_status tare_llama_virtual_fetch(void *ctx, uint64_t offset, void *buf, size_t n,
                                     tare_error *err) {
    const tare_llama_virtual *f = ctx;
    uint8_t *out = buf;
    size_t i = tare_part_of(&f->made->offset, f->n_made, sizeof *f->made, offset);
    for (; n > 0; i++) {
        const tare_llama_made *made = &f->made[i];
        uint64_t at = offset - made->offset;
        size_t take = (size_t)tare_min_u64(n, made->size - at);
        TARE_TRY(read_made(out, f, made, at, take, err));
        out += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}

/* The file that the elements of a piece lie in; NULL: they have to be decoded, or are elsewhere. */
static const tare_reader *file_of(const tare_llama_virtual *f, const tare_llama_piece *p) {
    if (p->source == TARE_LLAMA_ZEROS || tare_llama_is_decoded(f->source, p->source)) return NULL;
    const tare_tensor *t = &f->source->catalog.tensors[p->source];
    const tare_reader *r = &f->source->files[t->planes[0].file].reader;
    return r->fd < 0 ? NULL : r;
}

static bool has_long_runs(const tare_llama_piece *p, uint64_t element_bytes) {
    return !p->view || find_transposition(p->view).unit * element_bytes >= LONG_RUN;
}

bool tare_llama_virtual_locate(void *ctx, uint64_t offset, uint64_t *n, const tare_reader **file,
                               uint64_t *at) {
    const tare_llama_virtual *f = ctx;
    const size_t i = tare_part_of(&f->made->offset, f->n_made, sizeof *f->made, offset);
    const tare_llama_made *made = &f->made[i];
    const uint64_t from = offset - made->offset, size = made->element_bytes;
    *n = tare_min_u64(*n, made->size - from);
    if (made->bytes || made->pieces[made->n_pieces - 1].end * size != made->size) return false;
    const size_t k = piece_at(made, from / size);
    const tare_llama_piece *p = &made->pieces[k];
    const tare_reader *r = file_of(f, p);
    if (!r) return false;
    const tare_tensor *t = &f->source->catalog.tensors[p->source];
    if (p->view || p->arithmetic != TARE_LLAMA_AS_IS || t->encoding != made->encoding) {
        if (has_long_runs(p, size)) *n = tare_min_u64(*n, PORTION);
        return false;
    }
    *n = tare_min_u64(*n, p->end * size - from);
    *file = r;
    *at = t->planes[0].offset + from - (k ? made->pieces[k - 1].end : 0) * size;
    return true;
}
