/* SPDX-License-Identifier: MIT
 *
 * The driver of whisper.cpp's models, writing: the order is that of the catalog, and what the form
 * has no place for is refused by name, as is what whisper.cpp would not load. */
#include "base/arith.h"
#include "base/buffer.h"
#include "base/byte_alphabet.h"
#include "base/str.h"
#include "format/gguf/gguf_types.h"
#include "format/whisper/whisper.h"

/* ---- what there is --------------------------------------------------------------------------- */

static tare_status refuse(tare_error *err, tare_item_kind kind, size_t i, tare_str name,
                          const char *what) {
    tare_fail(err, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(err, kind, (int64_t)i, name);
    return TARE_ERR_UNSUPPORTED;
}

static const tare_metadata *find_key(const tare_catalog *c, const char *key) {
    for (size_t i = 0; i < c->n_metadata; i++)
        if (c->metadata[i].space == TARE_KEYS_MODEL && tare_str_is(c->metadata[i].key, key))
            return &c->metadata[i];
    return NULL;
}

static bool is_known(tare_str key) {
    for (size_t i = 0; i < TARE_WHISPER_NUMBERS; i++)
        if (tare_str_is(key, tare_whisper_numbers[i])) return true;
    return tare_str_is(key, TARE_WHISPER_TOKENS);
}

static tare_status check_keys(const tare_catalog *c, tare_error *err) {
    for (size_t i = 0; i < c->n_metadata; i++) {
        const tare_metadata *m = &c->metadata[i];
        if (m->space == TARE_KEYS_MODEL && is_known(m->key)) continue;
        return refuse(err, TARE_ITEM_KEY, i, m->key,
                      tare_str_is(m->key, TARE_STAND_IN_KEY)
                          ? "whisper.cpp's models hold no tensors of such types or shapes"
                          : "whisper.cpp's models have no place for such a key");
    }
    if (!c->n_resources) return TARE_OK;
    return refuse(err, TARE_ITEM_RESOURCE, 0, c->resources[0].info.name,
                  "whisper.cpp's models have no place for side files");
}

/* ---- types ----------------------------------------------------------------------------------- */

/* That of the matrices; NULL: there are none. */
static const tare_encoding *type_of_matrices(const tare_catalog *c) {
    for (size_t i = 0; i < c->n_tensors; i++)
        if (!tare_whisper_fixed_type(c->tensors[i].name, c->tensors[i].n_dims))
            return c->tensors[i].encoding;
    return NULL;
}

void tare_whisper_restate(tare_catalog *catalog) {
    const tare_encoding *type = type_of_matrices(catalog);
    uint32_t number;
    if (!type || !tare_whisper_file_type(&number, type)) return;
    for (size_t i = 0; i < catalog->n_metadata; i++) {
        tare_metadata *m = &catalog->metadata[i];
        uint64_t old;
        if (!tare_str_is(m->key, TARE_WHISPER_FILE_TYPE) || !tare_value_u64(&old, &m->value) ||
            old % 1000 == number % 1000)
            continue;
        m->value = (tare_value){.type = TARE_VALUE_U32, .as.u = number};
    }
}

static bool is_of_type(const tare_tensor *t, const tare_encoding *matrices) {
    const tare_encoding_id id = t->encoding->id;
    switch (tare_whisper_fixed_type(t->name, t->n_dims)) {
    case TARE_FIXED_NONE:
        return t->encoding == matrices;
    case TARE_FIXED_F16_UNLESS_F32:
        return id == (matrices && matrices->id == TARE_ENCODING_F32 ? TARE_ENCODING_F32
                                                                    : TARE_ENCODING_F16);
    default:
        return id == TARE_ENCODING_F32;
    }
}

static tare_status check_tensors(const tare_catalog *c, tare_error *err) {
    const tare_encoding *matrices = type_of_matrices(c);
    for (size_t i = 0; i < c->n_tensors; i++) {
        const tare_tensor *t = &c->tensors[i];
        uint32_t type;
        if (!tare_whisper_has_encoding(t->encoding) || !tare_gguf_type_of(t->encoding, &type) ||
            !is_of_type(t, matrices))
            return refuse(err, TARE_ITEM_TENSOR, i, t->name,
                          "whisper.cpp does not load the tensor in this type: vectors, positions "
                          "and biases are F32, convolutions F16 or, in a file of F32, F32, and "
                          "all matrices of one type");
        for (uint32_t d = 0; d < t->n_dims; d++)
            if (t->dims[d] > INT32_MAX)
                return refuse(err, TARE_ITEM_TENSOR, i, t->name, "a dimension beyond 31 bits");
    }
    return TARE_OK;
}

/* ---- before the tensors ---------------------------------------------------------------------- */

static tare_status put_numbers(tare_buffer *b, const tare_catalog *c, tare_error *err) {
    tare_buffer_put_text(b, TARE_WHISPER_MAGIC);
    for (size_t i = 0; i < TARE_WHISPER_NUMBERS; i++) {
        const tare_metadata *m = find_key(c, tare_whisper_numbers[i]);
        uint64_t number;
        if (!m || !tare_value_u64(&number, &m->value) || number > INT32_MAX)
            return refuse(err, TARE_ITEM_KEY, m ? (size_t)(m - c->metadata) : 0,
                          tare_str_of(tare_whisper_numbers[i]),
                          "the output's format needs a number of 31 bits under this key, as models "
                          "of whisper.cpp have, and Whisper models of Hugging Face get");
        if (i == 0 &&
            (number < TARE_WHISPER_VOCABULARY_LEAST || number > TARE_WHISPER_VOCABULARY_MOST))
            return refuse(err, TARE_ITEM_KEY, (size_t)(m - c->metadata), m->key,
                          "no Whisper model has a vocabulary of this size");
        tare_buffer_put_u32(b, (uint32_t)number, false);
    }
    return TARE_OK;
}

static tare_status put_tokens(tare_buffer *b, const tare_catalog *c, tare_arena *arena,
                              tare_error *err) {
    const tare_metadata *m = find_key(c, TARE_WHISPER_TOKENS);
    tare_array_walk walk;
    tare_value token;
    if (!m || m->value.type != TARE_VALUE_ARRAY || m->value.as.a.type != TARE_VALUE_STRING ||
        m->value.as.a.count > INT32_MAX)
        return refuse(err, TARE_ITEM_KEY, m ? (size_t)(m - c->metadata) : 0,
                      TARE_STR(TARE_WHISPER_TOKENS), "an array of texts is needed");
    tare_buffer_put_u32(b, (uint32_t)m->value.as.a.count, false);
    tare_array_begin(&walk, &m->value.as.a);
    while (tare_array_next(&token, &walk)) {
        char *bytes = tare_arena_take(arena, token.as.s.len + 1);
        size_t n;
        if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
        if (token.as.s.len > INT32_MAX)
            return refuse(err, TARE_ITEM_KEY, (size_t)(m - c->metadata), m->key,
                          "a token beyond 31 bits of length");
        if (!tare_byte_alphabet_bytes(bytes, &n, token.as.s))
            return refuse(err, TARE_ITEM_KEY, (size_t)(m - c->metadata), m->key,
                          "a token that is not in GPT-2's alphabet of bytes");
        tare_buffer_put_u32(b, (uint32_t)n, false);
        tare_buffer_put_str(b, (tare_str){bytes, n});
    }
    return TARE_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

typedef struct writer {
    tare_write_plan *out;
    const tare_catalog *catalog;
    tare_buffer bytes; /* since the last tensor */
    uint64_t at;
    uint32_t file;
} writer;

/* Lays out what was collected. */
static tare_status flush(writer *w, tare_error *err) {
    tare_str text;
    TARE_TRY(tare_buffer_text(&text, &w->bytes, w->out->arena, err));
    const tare_extent extent = {.kind = TARE_EXTENT_BYTES,
                                .file = w->file,
                                .offset = w->at,
                                .size = text.len,
                                .bytes = (const uint8_t *)text.ptr};
    w->bytes.size = 0;
    w->at += text.len;
    return tare_write_plan_add(w->out, &extent, err);
}

static tare_status put_data(writer *w, size_t i, tare_error *err) {
    const tare_extent extent = {.kind = TARE_EXTENT_TENSOR,
                                .file = w->file,
                                .offset = w->at,
                                .size = w->catalog->tensors[i].size_bytes,
                                .item = i};
    if (!tare_add_u64(w->at, extent.size, &w->at) || w->at > INT64_MAX)
        return tare_fail(err, TARE_ERR_LIMIT, "size of all tensors");
    return tare_write_plan_add(w->out, &extent, err);
}

static tare_status put_filters(writer *w, size_t *filters, tare_error *err) {
    const tare_catalog *c = w->catalog;
    size_t i = 0;
    while (i < c->n_tensors && !tare_str_is(c->tensors[i].name, TARE_WHISPER_FILTERS)) i++;
    if (i == c->n_tensors || c->tensors[i].n_dims != 2)
        return refuse(err, TARE_ITEM_TENSOR, i < c->n_tensors ? i : SIZE_MAX,
                      TARE_STR(TARE_WHISPER_FILTERS),
                      "the output's format needs a matrix of this name");
    *filters = i;
    for (size_t d = 0; d < 2; d++)
        tare_buffer_put_u32(&w->bytes, (uint32_t)c->tensors[i].dims[d], false);
    TARE_TRY(flush(w, err));
    return put_data(w, i, err);
}

static tare_status put_tensor(writer *w, size_t i, tare_error *err) {
    const tare_tensor *t = &w->catalog->tensors[i];
    uint32_t type;
    if (!tare_gguf_type_of(t->encoding, &type)) return tare_fail(err, TARE_ERR_ARG, "type");
    tare_buffer_put_u32(&w->bytes, t->n_dims, false);
    tare_buffer_put_u32(&w->bytes, (uint32_t)t->name.len, false);
    tare_buffer_put_u32(&w->bytes, type, false);
    for (uint32_t d = t->n_dims; d-- > 0;)
        tare_buffer_put_u32(&w->bytes, (uint32_t)t->dims[d], false);
    tare_buffer_put_str(&w->bytes, t->name);
    TARE_TRY(flush(w, err));
    return put_data(w, i, err);
}

static tare_status put_all(writer *w, tare_error *err) {
    size_t filters;
    TARE_TRY(tare_write_plan_add_file(w->out, NULL, &w->file, err));
    TARE_TRY(put_numbers(&w->bytes, w->catalog, err));
    TARE_TRY(put_filters(w, &filters, err));
    TARE_TRY(put_tokens(&w->bytes, w->catalog, w->out->arena, err));
    for (size_t i = 0; i < w->catalog->n_tensors; i++)
        if (i != filters) TARE_TRY(put_tensor(w, i, err));
    TARE_TRY(flush(w, err)); /* tokens of a model without tensors */
    w->out->files[w->file].size = w->at;
    return TARE_OK;
}

tare_status tare_whisper_plan(tare_write_plan *out, const tare_catalog *catalog,
                              const tare_write_options *options, tare_error *err) {
    if (options->order == TARE_ORDER_BIG)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "whisper.cpp's models are little-endian");
    if (options->alignment > 1)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "whisper.cpp's models have no alignment to choose");
    if (options->shard_size || options->part_of)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "whisper.cpp's models are one file");
    TARE_TRY(check_keys(catalog, err));
    TARE_TRY(check_tensors(catalog, err));
    writer w = {.out = out, .catalog = catalog};
    tare_buffer_init(&w.bytes, out->arena->allocator);
    const tare_status status = put_all(&w, err);
    tare_buffer_free(&w.bytes);
    return status;
}
