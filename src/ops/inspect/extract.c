/* SPDX-License-Identifier: MIT
 *
 * tare_extract: one tensor, or some of its rows, as a NumPy file (format version 1.0 of
 * numpy.lib.format) or as its stored planes. */
#include <inttypes.h>
#include <string.h>

#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/inspect.h>
#include <tare/model.h>
#include <tare/output.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/outfile.h"
#include "base/pool.h"
#include "base/report.h"
#include "base/str.h"
#include "encoding/slab.h"
#include "model/hidden_scales.h"
#include "ops/inspect/value_pieces.h"
#include "ops/item_walk.h"
#include "ops/output/destination.h"
#include "ops/output/replaced.h"
#include "ops/steps.h"

/* ---- where the bytes go ---------------------------------------------------------------------- */

typedef struct extraction {
    const tare_model *model;
    size_t tensor;
    const tare_tensor *t;
    uint64_t first, n; /* rows */
    const tare_extract_options *options;
    tare_outset *set; /* NULL: write to fd */
    uint32_t index;
    int fd;
    uint64_t done, total;      /* bytes */
    tare_nonfinite_counts odd; /* among the numbers that were decoded */
    uint8_t *scratch;
    size_t scratch_size;
} extraction;

static tare_status put(extraction *x, const void *bytes, size_t n, tare_error *err) {
    if (x->set)
        TARE_TRY(tare_outset_write(x->set, x->index, x->done, bytes, n, err));
    else
        TARE_TRY(tare_descriptor_write(x->fd, bytes, n, err));
    x->done += n;
    const tare_extract_options *o = x->options;
    TARE_TRY(tare_cancel_check(o->context->cancel, err));
    if (o->context->progress && o->context->progress(o->context->progress_ctx, x->done, x->total))
        return tare_fail(err, TARE_ERR_CANCELLED, "cancelled");
    return TARE_OK;
}

/* ---- stored bytes ---------------------------------------------------------------------------- */

/* The range of a plane that the rows take. */
static tare_status plane_range(uint64_t *offset, uint64_t *size, const extraction *x,
                               uint32_t plane, tare_error *err) {
    const tare_plane_info *info = &x->t->encoding->planes[plane];
    const bool is_whole = x->first == 0 && x->n == x->t->n_rows;
    *offset = 0;
    *size = x->t->planes[plane].size;
    if (is_whole || info->scope == TARE_PLANE_TENSOR) return TARE_OK;
    if (info->scope == TARE_PLANE_LIST && *size == 0) return TARE_OK;
    if (x->t->encoding->kind == TARE_KIND_UNKNOWN || info->scope == TARE_PLANE_LIST)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "rows of this type cannot be addressed one by one");
    if (x->t->encoding->is_bit_packed) {
        uint64_t begin = x->first * x->t->cols, count = x->n * x->t->cols;
        if (begin % info->unit || count % info->unit)
            return tare_fail(err, TARE_ERR_ARG, "rows: they begin or end within a byte");
        *offset = begin / info->unit * info->unit_bytes;
        *size = count / info->unit * info->unit_bytes;
        return TARE_OK;
    }
    tare_slab rows = {
        .row = x->first, .n_rows = x->n, .n_cols = x->t->cols, .row_length = x->t->cols};
    tare_slab_range(&rows, x->t->encoding, plane, offset, size);
    return TARE_OK;
}

static tare_status measure_planes(uint64_t *total, const extraction *x, tare_error *err) {
    uint64_t offset, size;
    *total = 0;
    for (uint32_t p = 0; p < x->t->encoding->n_planes; p++) {
        TARE_TRY(plane_range(&offset, &size, x, p, err));
        *total += size; /* all planes together fit: the catalog has added them up */
    }
    return TARE_OK;
}

static tare_status put_planes(extraction *x, tare_error *err) {
    uint64_t offset, size;
    for (uint32_t p = 0; p < x->t->encoding->n_planes; p++) {
        TARE_TRY(plane_range(&offset, &size, x, p, err));
        const size_t piece = tare_walk_piece(x->t, p);
        for (uint64_t at = 0; at < size; at += piece) {
            size_t n = (size_t)tare_min_u64(size - at, piece);
            TARE_TRY(tare_tensor_read(x->scratch, x->model, x->tensor, p, offset + at, n, err));
            TARE_TRY(put(x, x->scratch, n, err));
        }
    }
    return TARE_OK;
}

/* ---- NumPy ----------------------------------------------------------------------------------- */

/* The type in NumPy's words, for what is written as it is stored; NULL: written as f32. */
static const char *stored_type(const tare_encoding *e) {
    switch (e->id) {
    case TARE_ENCODING_BOOL:
        return "|b1";
    case TARE_ENCODING_I8:
        return "|i1";
    case TARE_ENCODING_U8:
        return "|u1";
    case TARE_ENCODING_I16:
        return "<i2";
    case TARE_ENCODING_U16:
        return "<u2";
    case TARE_ENCODING_I32:
        return "<i4";
    case TARE_ENCODING_U32:
        return "<u4";
    case TARE_ENCODING_I64:
        return "<i8";
    case TARE_ENCODING_U64:
        return "<u8";
    case TARE_ENCODING_C64:
        return "<c8";
    default:
        return NULL;
    }
}

/* All dimensions for the whole tensor; rows by columns for some of its rows. */
static void put_shape(tare_buffer *text, const extraction *x) {
    const bool is_whole = x->first == 0 && x->n == x->t->n_rows;
    const uint64_t rows_and_cols[2] = {x->n, x->t->cols};
    const uint64_t *dims = is_whole ? x->t->dims : rows_and_cols;
    const uint32_t n = is_whole ? x->t->n_dims : 2;
    tare_buffer_put_text(text, "(");
    for (uint32_t i = 0; i < n; i++)
        tare_buffer_printf(text, i ? ", %" PRIu64 : "%" PRIu64, dims[i]);
    tare_buffer_put_text(text, n == 1 ? ",)" : ")");
}

/* Magic, version 1.0, u16 length, a dictionary; spaces and a newline fill it to a multiple of 64.
 */
static void put_header(tare_buffer *header, const extraction *x) {
    const char *type = stored_type(x->t->encoding);
    static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    tare_buffer_put(header, magic, sizeof magic);
    tare_buffer_put(header, "\0", 2); /* the length, set below */
    tare_buffer_printf(header,
                       "{'descr': '%s', 'fortran_order': False, 'shape': ", type ? type : "<f4");
    put_shape(header, x);
    tare_buffer_put_text(header, ", }");
    while (!header->failed && (header->size + 1) % 64) tare_buffer_put_u8(header, ' ');
    tare_buffer_put_u8(header, '\n');
    /* eight dimensions of 20 digits: well below 65,536 */
    if (!header->failed) tare_store_le16(header->data + 8, (uint16_t)(header->size - 10));
}

static tare_status put_floats(extraction *x, tare_error *err) {
    const uint64_t begin = x->first * x->t->cols, end = begin + x->n * x->t->cols;
    const uint64_t piece = tare_values_piece(x->model, x->tensor);
    float *values = (float *)(void *)x->scratch;
    for (uint64_t at = begin; at < end; at += piece) {
        uint64_t n = tare_min_u64(end - at, piece);
        TARE_TRY(tare_tensor_values_f32(values, x->model, x->tensor, at, n, err));
        tare_count_nonfinite(&x->odd, values, n, at);
        TARE_TRY(tare_count_hidden(&x->odd, x->model, x->tensor, at, n, err));
        /* Elsewhere they are the bytes of the file already. */
        for (size_t i = 0; TARE_HOST_IS_BIG_ENDIAN && i < n; i++)
            tare_store_le32(x->scratch + 4 * i, tare_f32_bits(values[i]));
        TARE_TRY(put(x, x->scratch, (size_t)n * sizeof *values, err));
    }
    return TARE_OK;
}

/* What a damaged scale makes of its block, and what else is no number. */
static tare_status report_odd(const extraction *x, tare_error *err) {
    const uint64_t counts[] = {x->odd.n_nan, x->odd.n_inf};
    const uint64_t first[] = {x->odd.first_nan, x->odd.first_inf};
    static const char *const codes[] = {"extract.nan", "extract.inf"}, *const words[] = {"NaN",
                                                                                         "Inf"};
    for (size_t i = 0; i < 2; i++) {
        if (counts[i] == 0) continue;
        tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, codes[i]);
        f.item_kind = TARE_ITEM_TENSOR;
        f.item = (int64_t)x->tensor;
        f.item_name = x->t->name;
        tare_report_addf(x->options->context->report, &f,
                         "%" PRIu64 " %s, first at element %" PRIu64, counts[i], words[i],
                         first[i]);
    }
    if (counts[0] + counts[1] == 0 || !x->options->output->strict) return TARE_OK;
    tare_fail(err, TARE_ERR_UNSUPPORTED, "NaN or Inf among the numbers");
    tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)x->tensor, x->t->name);
    return TARE_ERR_UNSUPPORTED;
}

/* ---- both ------------------------------------------------------------------------------------ */

static tare_status put_npy(extraction *x, const tare_buffer *header, tare_error *err) {
    TARE_TRY(put(x, header->data, header->size, err));
    return stored_type(x->t->encoding) ? put_planes(x, err) : put_floats(x, err);
}

static tare_status measure(extraction *x, tare_extract_form form, tare_buffer *header,
                           tare_error *err) {
    uint64_t piece;
    if (form == TARE_EXTRACT_BIN || stored_type(x->t->encoding)) {
        TARE_TRY(measure_planes(&x->total, x, err));
        x->scratch_size = TARE_PIECE;
    } else {
        TARE_TRY(tare_tensor_check_packed(x->model, x->tensor, err));
        if (!tare_tensor_can_decode(x->model, x->tensor))
            return tare_fail(err, TARE_ERR_UNSUPPORTED,
                             "this type cannot be decoded: extract it as .bin");
        if (!tare_mul_u64(x->n * x->t->cols, sizeof(float), &x->total) ||
            !tare_mul_u64(tare_values_piece(x->model, x->tensor), sizeof(float), &piece) ||
            !tare_size_of_u64(tare_max_u64(piece, 1), &x->scratch_size))
            return tare_fail(err, TARE_ERR_LIMIT, "tensor too large");
    }
    if (form == TARE_EXTRACT_NPY) {
        put_header(header, x);
        TARE_TRY(tare_buffer_status(header, err));
        if (!tare_add_u64(x->total, header->size, &x->total))
            return tare_fail(err, TARE_ERR_LIMIT, "tensor too large");
    }
    return TARE_OK;
}

/* Opens the output, unless it is the descriptor. */
static tare_status open_output(extraction *x, const char *path, tare_error *err) {
    if (!path) return TARE_OK;
    const tare_out_options out = {.force = x->options->output->force,
                                  .no_sync = x->options->output->no_sync,
                                  .withheld = tare_model_withheld(x->model),
                                  .total_size = x->total,
                                  .report = x->options->context->report,
                                  .store = tare_output_store(x->options->output)};
    TARE_TRY(tare_walk_guard(x->model, path, err));
    if (x->options->output->dry_run) return tare_outset_check(path, &out, x->model->allocator, err);
    TARE_TRY(tare_outset_new(&x->set, path, &out, x->model->allocator, err));
    return tare_outset_add(x->set, NULL, x->total, &x->index, err);
}

static tare_status set_rows(extraction *x, tare_error *err) {
    const uint64_t rows = x->t->n_rows;
    x->first = x->options->first_row;
    if (x->first > rows || (x->first == rows && rows))
        return tare_fail(err, TARE_ERR_ARG, "rows: the tensor has fewer rows");
    x->n = x->options->n_rows ? x->options->n_rows : rows - x->first;
    return x->n <= rows - x->first
               ? TARE_OK
               : tare_fail(err, TARE_ERR_ARG, "rows: the tensor has fewer rows");
}

/* `path` NULL: into the descriptor. */
static tare_status extract(const char *path, int fd, const tare_model *model, size_t tensor,
                           tare_extract_form form, const tare_extract_options *options,
                           tare_error *err) {
    TARE_REQUIRE(model && tensor < model->catalog.n_tensors, err);
    TARE_REQUIRE(form == TARE_EXTRACT_NPY || form == TARE_EXTRACT_BIN, err);
    tare_extract_options o = tare_extract_options_default();
    tare_context context;
    tare_output_options output;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    TARE_TRY(tare_output_keep(&output, &o.output, err));
    extraction x = {.model = model,
                    .tensor = tensor,
                    .t = &model->catalog.tensors[tensor],
                    .options = &o,
                    .odd = tare_nonfinite_counts_default(),
                    .fd = fd};
    tare_buffer header;
    tare_buffer_init(&header, model->allocator);
    const tare_context quiet = tare_steps_context_quiet(o.context);
    tare_status s = set_rows(&x, err);
    if (s == TARE_OK && !output.dry_run) s = tare_tensor_check(model, tensor, &quiet, err);
    if (s == TARE_OK) s = measure(&x, form, &header, err);
    if (s != TARE_OK) {
        tare_buffer_free(&header);
        return tare_walk_blame(s, model, tensor, err);
    }
    x.scratch = tare_alloc(model->allocator, x.scratch_size);
    if (!x.scratch) s = tare_fail(err, TARE_ERR_NOMEM, "extracting");
    if (s == TARE_OK) s = open_output(&x, path, err);
    if (s == TARE_OK && !output.dry_run)
        s = form == TARE_EXTRACT_NPY ? put_npy(&x, &header, err) : put_planes(&x, err);
    if (s == TARE_OK) s = report_odd(&x, err);
    if (s == TARE_OK && x.set) s = tare_outset_commit(x.set, err);
    if (s == TARE_OK && o.written_bytes) *o.written_bytes = x.total;
    tare_outset_free(x.set);
    if (x.scratch) tare_free(model->allocator, x.scratch, x.scratch_size);
    tare_buffer_free(&header);
    return s;
}

tare_status tare_extract(const char *path, const tare_model *model, size_t tensor,
                         tare_extract_form form, const tare_extract_options *options,
                         tare_error *err) {
    TARE_REQUIRE(path, err);
    return extract(path, -1, model, tensor, form, options, err);
}

tare_status tare_extract_fd(int fd, const tare_model *model, size_t tensor, tare_extract_form form,
                            const tare_extract_options *options, tare_error *err) {
    return extract(NULL, fd, model, tensor, form, options, err);
}
