/* SPDX-License-Identifier: MIT
 *
 * tare info --layers: how tensors are stored in a .wcodec, down to the position and size of each
 * segment. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"

#include <tare/experimental/unpack.h>

static const char *const tile_shapes[] = {"16x16", "8x32", "32x8", "1x256"};
static const char *const modes[] = {"", "raw", "constant", "zstd", "direct", "structured"};
static const char *const predictors[] = {"", "base", "scaled base"};

/* What the segments of a stream are, all that can be read of their headers. */
typedef struct stream_sum {
    uint64_t stored_bytes; /* of segments */
    uint64_t n_modes[TARE_CODED_STRUCTURED + 1];
    uint64_t n_referring;
} stream_sum;

static tare_status sum_up(stream_sum *out, const tare_coded *coded, unsigned stream,
                          tare_error *err) {
    const tare_coded_stream *of = &tare_coded_describe(coded)->streams[stream];
    *out = (stream_sum){.stored_bytes = 0};
    for (uint64_t i = 0; i < of->n_segments; i++) {
        tare_coded_segment s = tare_coded_segment_default();
        const tare_status status = tare_coded_parse_segment(&s, coded, stream, i, err);
        if (status != TARE_OK) return status;
        out->stored_bytes += s.stored_bytes;
        out->n_modes[s.mode]++;
        out->n_referring += s.predictor != TARE_CODED_NO_PREDICTOR;
    }
    return TARE_OK;
}

/* ---- as a table ------------------------------------------------------------------------------ */

/* "12 direct, 1 raw; 9 refer to the base" */
static void put_modes(char *buf, size_t size, const stream_sum *sum) {
    size_t n = 0;
    buf[0] = '\0';
    for (unsigned m = 0; m < sizeof modes / sizeof *modes && n < size; m++)
        if (sum->n_modes[m])
            n += (size_t)snprintf(buf + n, size - n, "%s%" PRIu64 " %s", n ? ", " : "",
                                  sum->n_modes[m], modes[m]);
    if (sum->n_referring && n < size)
        snprintf(buf + n, size - n, "; %" PRIu64 " refer%s to the base", sum->n_referring,
                 sum->n_referring == 1 ? "s" : "");
}

static void add_number(cli_table *table, uint64_t n) {
    cli_table_add(table, cli_exact_text(n).text);
}

static tare_status add_stream(cli_table *table, const char *name, const tare_coded *coded,
                              unsigned stream, tare_error *err) {
    const tare_coded_layer *l = tare_coded_describe(coded);
    const tare_coded_stream *of = &l->streams[stream];
    char what[32], kinds[128];
    stream_sum sum;
    const tare_status status = sum_up(&sum, coded, stream, err);
    if (status != TARE_OK) return status;
    snprintf(what, sizeof what, "%u.%u", (unsigned)of->field.region, stream);
    put_modes(kinds, sizeof kinds, &sum);
    cli_table_add(table, name);
    cli_table_add(table, what);
    add_number(table, of->field.value_bits);
    add_number(table, l->offset + of->position);
    add_number(table, of->head_bytes);
    add_number(table, of->n_segments);
    add_number(table, sum.stored_bytes);
    add_number(table, of->n_bytes);
    cli_table_add(table, kinds);
    return TARE_OK;
}

static void add_note(cli_table *table, const char *name, const char *note) {
    cli_table_add(table, name);
    for (unsigned i = 0; i < 7; i++) cli_table_add(table, "");
    cli_table_add(table, note);
}

static tare_status add_layer(cli_table *table, const tare_model *model, size_t tensor,
                             tare_error *err) {
    tare_coded *coded;
    char *name = cli_escape(tare_model_tensor(model, tensor)->name, false, 0);
    tare_status status = tare_tensor_coded(&coded, NULL, model, tensor, NULL, err);
    const unsigned n = status == TARE_OK ? tare_coded_describe(coded)->n_streams : 0;
    for (unsigned i = 0; i < n && status == TARE_OK; i++)
        status = add_stream(table, name, coded, i, err);
    if (status == TARE_OK) tare_coded_free(coded);
    if (status == TARE_ERR_UNSUPPORTED && n == 0) {
        add_note(table, name, err->what);
        status = TARE_OK;
    }
    free(name);
    return status;
}

int info_print_layers(const tare_model *model, const size_t *chosen, size_t n, const char *path) {
    cli_table *table = cli_table_new("~NAME|STREAM|>BITS|>OFFSET|>HEAD|>SEGMENTS|>STORED|>BYTES|"
                                     "MODES");
    tare_error err;
    tare_status status = TARE_OK;
    for (size_t i = 0; i < n && status == TARE_OK; i++)
        status = add_layer(table, model, chosen[i], &err);
    if (status == TARE_OK) cli_table_print(table, stdout, 0);
    cli_table_free(table);
    return status == TARE_OK ? CLI_YES : cli_fail(&err, path);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static tare_status json_segments(tare_json_node **out, const tare_coded *coded, unsigned stream,
                                 tare_error *err) {
    const tare_coded_layer *l = tare_coded_describe(coded);
    tare_json_node *list = *out = cli_json_array();
    for (uint64_t i = 0; i < l->streams[stream].n_segments; i++) {
        tare_coded_segment s = tare_coded_segment_default();
        const tare_status status = tare_coded_parse_segment(&s, coded, stream, i, err);
        if (status != TARE_OK) return status;
        tare_json_node *entry = cli_json_object();
        cli_json_u64(entry, "offset", l->offset + s.position);
        cli_json_u64(entry, "stored_bytes", s.stored_bytes);
        cli_json_u64(entry, "size_bytes", s.n_bytes);
        cli_json_text(entry, "mode", modes[s.mode]);
        if (s.predictor) cli_json_text(entry, "predictor", predictors[s.predictor]);
        if (s.mode == TARE_CODED_STRUCTURED)
            cli_json_text(entry, "tile_shape", tile_shapes[s.tile_shape]);
        cli_json_append(list, entry);
    }
    return TARE_OK;
}

static tare_status json_streams(tare_json_node **out, const tare_coded *coded, tare_error *err) {
    const tare_coded_layer *l = tare_coded_describe(coded);
    tare_json_node *list = *out = cli_json_array();
    for (unsigned i = 0; i < l->n_streams; i++) {
        const tare_coded_stream *of = &l->streams[i];
        tare_json_node *entry = cli_json_object(), *segments;
        cli_json_u64(entry, "region", of->field.region);
        cli_json_u64(entry, "bits", of->field.value_bits);
        cli_json_u64(entry, "offset", l->offset + of->position);
        cli_json_u64(entry, "head_bytes", of->head_bytes);
        cli_json_u64(entry, "size_bytes", of->n_bytes);
        cli_json_append(list, entry);
        const tare_status status = json_segments(&segments, coded, i, err);
        cli_json_add(entry, "segments", segments);
        if (status != TARE_OK) return status;
    }
    return TARE_OK;
}

int info_json_layer(tare_json_node *entry, const tare_model *model, size_t tensor,
                    const char *path) {
    tare_coded *coded;
    tare_error err;
    tare_status status = tare_tensor_coded(&coded, NULL, model, tensor, NULL, &err);
    if (status == TARE_ERR_UNSUPPORTED) return CLI_YES;
    if (status != TARE_OK) return cli_fail(&err, path);
    const tare_coded_layer *l = tare_coded_describe(coded);
    tare_json_node *object = cli_json_object(), *streams;
    cli_json_text(object, "file", l->file);
    cli_json_u64(object, "offset", l->offset);
    cli_json_u64(object, "size_bytes", l->size);
    if (l->base) cli_json_u64(object, "base_index", l->base - 1);
    status = json_streams(&streams, coded, &err);
    cli_json_add(object, "streams", streams);
    cli_json_add(entry, "layer", object);
    tare_coded_free(coded);
    return status == TARE_OK ? CLI_YES : cli_fail(&err, path);
}
