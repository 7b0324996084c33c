/* SPDX-License-Identifier: MIT
 *
 * The driver of whisper.cpp's models, reading (what its whisper_model_load reads): a magic, eleven
 * numbers, the mel filters, tokens, and tensors one after the other to the end of the file, all
 * little-endian. The filters are a tensor, tokens and numbers are keys: tokens, which are bytes, in
 * GPT-2's alphabet, as the keys of other containers are texts. */
#include "base/arith.h"
#include "base/byte_alphabet.h"
#include "base/bytes.h"
#include "base/small_reads.h"
#include "base/str.h"
#include "encoding/table.h"
#include "format/gguf/gguf_types.h"
#include "format/whisper/whisper.h"

typedef struct whisper_file {
    tare_model *m;
    tare_reader main; /* file 0; not ours to close */
    tare_small_reads file;
    uint64_t at;
    uint32_t numbers[TARE_WHISPER_NUMBERS];
    tare_tensor *tensors;
    size_t n, capacity;
} whisper_file;

static tare_status take_u32(uint32_t *out, whisper_file *w, tare_error *err) {
    uint8_t bytes[4];
    TARE_TRY(tare_small_read(&w->file, w->at, bytes, sizeof bytes, err));
    *out = tare_load_le32(bytes);
    w->at += sizeof bytes;
    return TARE_OK;
}

static tare_tensor *new_tensor(whisper_file *w, tare_error *err) {
    void *items = w->tensors;
    if (w->n == w->m->limits.tensors) {
        tare_fail(err, TARE_ERR_LIMIT, "number of tensors");
        return NULL;
    }
    if (!tare_grow(w->m->allocator, &items, &w->capacity, w->n + 1, sizeof *w->tensors)) {
        tare_fail(err, TARE_ERR_NOMEM, "tensors");
        return NULL;
    }
    w->tensors = items;
    return &w->tensors[w->n];
}

/* Adds a tensor whose data is next. */
static tare_status add_tensor(whisper_file *w, tare_str name, const tare_encoding *encoding,
                              const uint64_t *dims, uint32_t n_dims, uint64_t record,
                              tare_error *err) {
    tare_tensor *t = new_tensor(w, err);
    if (!t) return err ? err->status : TARE_ERR_NOMEM;
    *t = (tare_tensor){.name = name, .offset = record};
    tare_status status = tare_tensor_set(w->m, t, encoding, dims, n_dims, 0, w->at, err);
    if (status == TARE_OK && t->size_bytes > w->main.size - w->at)
        status = tare_fail_at(err, TARE_ERR_TRUNCATED, w->at,
                              "data of a tensor beyond the end of the file");
    if (status != TARE_OK) tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)w->n, name);
    TARE_TRY(status);
    w->at += t->size_bytes;
    w->n++;
    return TARE_OK;
}

/* ---- before the tensors ---------------------------------------------------------------------- */

static tare_status read_filters(whisper_file *w, tare_error *err) {
    const uint64_t record = w->at;
    uint32_t rows, cols;
    TARE_TRY(take_u32(&rows, w, err));
    TARE_TRY(take_u32(&cols, w, err));
    const uint64_t dims[] = {rows, cols};
    return add_tensor(w, TARE_STR(TARE_WHISPER_FILTERS), tare_encoding_get(TARE_ENCODING_F32), dims,
                      2, record, err);
}

/* Goes past n tokens, a length and bytes each; *size: all their bytes, *longest: most of one. */
static tare_status pass_tokens(uint64_t *size, size_t *longest, whisper_file *w, uint32_t n,
                               tare_error *err) {
    uint32_t length;
    *size = *longest = 0;
    for (uint32_t i = 0; i < n; i++) {
        TARE_TRY(take_u32(&length, w, err));
        if (length > w->m->limits.name_bytes)
            return tare_fail_at(err, TARE_ERR_LIMIT, w->at - 4, "length of a token");
        if (length > w->main.size - w->at)
            return tare_fail_at(err, TARE_ERR_TRUNCATED, w->at,
                                "bytes of a token: the file ends inside them");
        w->at += length;
        *size += length;
        if (length > *longest) *longest = length;
    }
    return TARE_OK;
}

/* Tokens whose bytes lie from `start` to the place that was reached, as GGUF has texts: 64 bits of length,
 * and the text. *size: of `to`, and what of it is taken. */
static tare_status spell_tokens(uint8_t *to, uint64_t *size, char *token, whisper_file *w,
                                uint64_t start, tare_error *err) {
    const uint64_t end = w->at;
    uint64_t n = 0;
    for (w->at = start; w->at < end;) {
        uint32_t length;
        TARE_TRY(take_u32(&length, w, err));
        if (length > end - w->at || 2 * (uint64_t)length + 8 > *size - n)
            return tare_fail_at(err, TARE_ERR_IO, w->at, "tokens: the file changes");
        TARE_TRY(tare_small_read(&w->file, w->at, token, length, err));
        w->at += length;
        const size_t taken = tare_byte_alphabet_text((char *)to + n + 8, (tare_str){token, length});
        tare_store_le64(to + n, taken);
        n += 8 + taken;
    }
    *size = n;
    return TARE_OK;
}

static tare_status read_tokens(tare_array *out, whisper_file *w, tare_error *err) {
    const uint64_t record = w->at;
    uint32_t n;
    uint64_t size;
    size_t longest;
    TARE_TRY(take_u32(&n, w, err));
    const uint64_t start = w->at;
    if (n > (w->main.size - start) / 4)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, record,
                            "tokens: more than the file has bytes");
    TARE_TRY(pass_tokens(&size, &longest, w, n, err));
    size = 2 * size + 8 * (uint64_t)n; /* at most */
    if (size > w->m->limits.metadata_bytes)
        return tare_fail_at(err, TARE_ERR_LIMIT, record, "bytes of all tokens");
    uint8_t *to = tare_arena_take(&w->m->arena, (size_t)size + 1);
    char *token = tare_alloc(w->m->allocator, longest + 1);
    tare_status status = TARE_OK;
    if (!to || !token) status = tare_fail(err, TARE_ERR_NOMEM, "tokens");
    if (status == TARE_OK) status = spell_tokens(to, &size, token, w, start, err);
    tare_free(w->m->allocator, token, longest + 1);
    *out = (tare_array){.type = TARE_VALUE_STRING, .count = n, .bytes = to, .size_bytes = size};
    return status;
}

static tare_status read_head(whisper_file *w, tare_error *err) {
    tare_catalog *c = &w->m->catalog;
    uint32_t magic;
    c->metadata = TARE_NEW_ARRAY(&w->m->arena, tare_metadata, TARE_WHISPER_NUMBERS + 1);
    if (!c->metadata) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    TARE_TRY(take_u32(&magic, w, err));
    for (size_t i = 0; i < TARE_WHISPER_NUMBERS; i++) {
        const uint64_t at = w->at;
        TARE_TRY(take_u32(&w->numbers[i], w, err));
        c->metadata[c->n_metadata++] =
            (tare_metadata){.key = tare_str_of(tare_whisper_numbers[i]),
                            .value = {.type = TARE_VALUE_U32, .as.u = w->numbers[i]},
                            .offset = at};
    }
    const uint32_t type = w->numbers[TARE_WHISPER_NUMBERS - 1];
    if (type % 1000 > 1 && type / 1000 != TARE_WHISPER_BLOCKS_NOW)
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, 4 * TARE_WHISPER_NUMBERS,
                            "quantized in a form that whisper.cpp dropped in 2023: quantize the "
                            "model anew with its tools");
    TARE_TRY(read_filters(w, err));
    tare_metadata *tokens = &c->metadata[c->n_metadata++];
    *tokens = (tare_metadata){
        .key = TARE_STR(TARE_WHISPER_TOKENS), .value = {.type = TARE_VALUE_ARRAY}, .offset = w->at};
    return read_tokens(&tokens->value.as.a, w, err);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static tare_status read_tensor(whisper_file *w, tare_error *err) {
    const uint64_t record = w->at;
    uint32_t n_dims, length, type, size;
    uint64_t dims[TARE_WHISPER_DIMS];
    TARE_TRY(take_u32(&n_dims, w, err));
    TARE_TRY(take_u32(&length, w, err));
    TARE_TRY(take_u32(&type, w, err));
    if (n_dims > TARE_WHISPER_DIMS)
        return tare_fail_at(err, TARE_ERR_CORRUPT, record, "number of dimensions: more than 4");
    if (!length || length > w->m->limits.name_bytes)
        return tare_fail_at(err, TARE_ERR_LIMIT, record + 4, "length of a name");
    for (uint32_t d = n_dims; d-- > 0;) { /* the fastest first */
        TARE_TRY(take_u32(&size, w, err));
        dims[d] = size;
    }
    if (length > w->main.size - w->at)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, w->at,
                            "name of a tensor: the file ends inside it");
    char *name = tare_arena_take(&w->m->arena, length);
    if (!name) return tare_fail(err, TARE_ERR_NOMEM, "tensor names");
    TARE_TRY(tare_reader_read(&w->main, w->at, name, length, err));
    w->at += length;
    const tare_encoding *encoding = tare_gguf_type_encoding(type);
    if (!encoding) return tare_fail_at(err, TARE_ERR_UNSUPPORTED, record + 8, "type of a tensor");
    return add_tensor(w, (tare_str){name, length}, encoding, dims, n_dims, record, err);
}

static tare_status read_all(whisper_file *w, tare_report *report, tare_error *err) {
    tare_catalog *c = &w->m->catalog;
    TARE_TRY(read_head(w, err));
    while (w->at < w->main.size) TARE_TRY(read_tensor(w, err));
    c->tensors = TARE_NEW_ARRAY(&w->m->arena, tare_tensor, w->n);
    if (!c->tensors) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    if (w->n) memcpy(c->tensors, w->tensors, w->n * sizeof *w->tensors);
    c->n_tensors = w->n;
    w->m->directory_bytes = w->file.n_read;
    return tare_model_finish(w->m, report, err);
}

/* ---- the driver ------------------------------------------------------------------------------ */

static tare_status open_whisper(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    whisper_file w = {.m = m};
    uint32_t file;
    if (ctx->source->kind == TARE_SOURCE_SHARDS)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "whisper.cpp's models are opened one by one");
    TARE_TRY(tare_model_add_file(m, ctx->first, ctx->first->name, &file, err));
    w.main = m->files[file].reader;
    tare_small_reads_init(&w.file, &w.main);
    const tare_status status = read_all(&w, ctx->options->context->report, err);
    tare_free(m->allocator, w.tensors, w.capacity * sizeof *w.tensors);
    return status;
}

static bool probe(const tare_probe *p) {
    if (p->is_directory || p->head_size < 8 || memcmp(p->head, TARE_WHISPER_MAGIC, 4) != 0)
        return false;
    const uint32_t vocabulary = tare_load_le32(p->head + 4);
    return vocabulary >= TARE_WHISPER_VOCABULARY_LEAST &&
           vocabulary <= TARE_WHISPER_VOCABULARY_MOST;
}

static const tare_format_caps caps = {
    .has_encoding = tare_whisper_has_encoding,
    .fixed_type = tare_whisper_fixed_type,
    .max_dims = TARE_WHISPER_DIMS,
    .max_name = 65535,
    .bytes_type = &tare_encoding_table[TARE_ENCODING_F32],
};

const tare_format tare_format_whisper = {
    .name = "whisper",
    .description = "models of whisper.cpp (ggml-*.bin)",
    .suffix = "",
    .caps = &caps,
    .read = {.probe = probe, .open = open_whisper},
    .write = {.plan = tare_whisper_plan, .restate = tare_whisper_restate},
    .stored = {.program = TARE_PROGRAM_WHISPER_CPP, .has_one_type = true},
};
