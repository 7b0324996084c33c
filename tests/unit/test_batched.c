/* SPDX-License-Identifier: MIT
 *
 * Guards against: a source read by callback in more calls than it needs, ranges that overlap or go
 * beyond the file, other bytes than the file has, a failure that loses the caller's words or stays
 * after the source has recovered, a folder of sources whose side files are not found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <tare/build.h>
#include <tare/experimental/packing.h>
#include <tare/experimental/unpack.h>
#include <tare/read.h>

#include "base/bytes.h"

/* ---- a file in memory that counts ------------------------------------------------------------ */

typedef struct counted {
    uint8_t *bytes;
    size_t size, room;
    pthread_mutex_t mutex;
    unsigned n_calls, n_ranges;
    uint64_t n_bytes;
    tare_status status; /* that all calls fail with */
    bool is_wrong;      /* ranges were not as promised */
} counted;

static tare_status take(void *ctx, uint64_t offset, const void *bytes, size_t n) {
    counted *c = ctx;
    pthread_mutex_lock(&c->mutex);
    if (offset + n > c->room) {
        c->bytes = realloc(c->bytes, c->room = 2 * (size_t)(offset + n));
        memset(c->bytes + c->size, 0, c->room - c->size);
    }
    memcpy(c->bytes + offset, bytes, n);
    if (offset + n > c->size) c->size = (size_t)offset + n;
    pthread_mutex_unlock(&c->mutex);
    return TARE_OK;
}

static tare_status give(void *ctx, const tare_read_range *ranges, size_t n, tare_error *err) {
    counted *c = ctx;
    uint64_t end = 0;
    pthread_mutex_lock(&c->mutex);
    c->n_calls++;
    c->n_ranges += (unsigned)n;
    for (size_t i = 0; i < n; i++) {
        if ((i > 0 && ranges[i].offset <= end) || ranges[i].offset + ranges[i].n > c->size)
            c->is_wrong = true;
        end = ranges[i].offset + ranges[i].n;
        if (!c->is_wrong) memcpy(ranges[i].buf, c->bytes + ranges[i].offset, ranges[i].n);
        c->n_bytes += ranges[i].n;
    }
    const tare_status status = c->status;
    pthread_mutex_unlock(&c->mutex);
    if (status == TARE_OK) return TARE_OK;
    err->os_error = ECONNRESET;
    err->what = "the bucket is closed";
    strcpy(err->field, "HTTP 503\x1b");
    return status;
}

static void clear(counted *c) {
    c->n_calls = c->n_ranges = 0;
    c->n_bytes = 0;
}

static tare_source source_of(counted *c, const char *name) {
    tare_source s = tare_source_default();
    s.kind = TARE_SOURCE_CALLBACK;
    s.name = name;
    s.n_bytes = c->size;
    s.read_many = give;
    s.read_ctx = c;
    return s;
}

/* ---- a .wcodec with one large tensor and a small one ----------------------------------------- */

enum { ROWS = 8192, COLS = 4000, SMALL = 64 }; /* 65 MB of BF16 */

static uint16_t *weights;
static counted packed = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int make(void **state) {
    static const uint64_t dims[2] = {ROWS, COLS}, small_dims[1] = {SMALL};
    static uint16_t small[SMALL];
    tare_build_tensor tensors[2] = {tare_build_tensor_default(), tare_build_tensor_default()};
    tare_builder *builder;
    tare_pack_options pack_options = tare_pack_options_default();
    tare_output output = tare_output_default();
    tare_model *m;
    tare_error err;
    uint64_t x = 1;
    (void)state;
    weights = malloc((size_t)2 * ROWS * COLS);
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        const unsigned size = (unsigned)__builtin_ctzll(x >> 40 | 1u << 20);
        const uint64_t bits = (x >> 63) << 15 | (120 - size) << 7 | (x >> 33 & 127);
        tare_store_le16((uint8_t *)(weights + i), (uint16_t)bits);
    }
    tensors[0].name = (tare_str){"large", 5}, tensors[1].name = (tare_str){"small", 5};
    tensors[0].encoding = tensors[1].encoding = tare_encoding_get(TARE_ENCODING_BF16);
    tensors[0].dims = dims, tensors[0].n_dims = 2, tensors[0].planes[0] = weights;
    tensors[1].dims = small_dims, tensors[1].n_dims = 1, tensors[1].planes[0] = small;
    assert_int_equal(tare_builder_new(&builder, NULL, &err), TARE_OK);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(tare_builder_add_tensor(builder, &tensors[i], &err), TARE_OK);
    assert_int_equal(tare_builder_finish(&m, builder, &err), TARE_OK);
    output.write = take;
    output.ctx = &packed;
    assert_int_equal(tare_pack_to(NULL, &output, m, &pack_options, &err), TARE_OK);
    tare_model_free(m);
    return 0;
}

static int drop(void **state) {
    (void)state;
    free(packed.bytes);
    free(weights);
    return 0;
}

static tare_model *open_it(const tare_source *source) {
    tare_model *m;
    tare_error err;
    if (tare_model_open(&m, source, NULL, &err) != TARE_OK) fail_msg("%s", err.what);
    return m;
}

static void few_calls(void **state) {
    (void)state;
    uint16_t *back = malloc((size_t)2 * ROWS * COLS);
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        const tare_source source = source_of(&packed, "far.wcodec");
        tare_read_options options = tare_read_options_default();
        tare_context context = tare_context_default();
        options.context = &context;
        tare_read_job job = tare_read_job_default();
        tare_error err;
        clear(&packed);
        tare_model *m = open_it(&source);
        assert_in_range(packed.n_calls, 1, 4);
        assert_true(packed.n_bytes < 4 << 20); /* nothing is read ahead */
        clear(&packed);
        context.threads = threads;
        job.tensor = (size_t)tare_model_find_tensor(m, (tare_str){"large", 5});
        job.dst = back;
        assert_int_equal(tare_read_many(m, &job, 1, &options, &err), TARE_OK);
        assert_memory_equal(back, weights, (size_t)2 * ROWS * COLS);
        assert_false(packed.is_wrong);
        /* Several threads may lag behind each other, and read again what was dropped meanwhile. */
        if (threads == 1) {
            assert_in_range(packed.n_calls, 1, 12); /* of 4 MB on average; there are 126 segments */
            assert_true(packed.n_bytes <= packed.size);
        }
        tare_model_free(m);
    }
    free(back);
}

static void own_words(void **state) {
    (void)state;
    const tare_source source = source_of(&packed, "far.wcodec");
    uint16_t back[SMALL];
    tare_error err;
    tare_model *m;
    packed.status = TARE_ERR_IO;
    assert_int_equal(tare_model_open(&m, &source, NULL, &err), TARE_ERR_IO);
    assert_string_equal(err.what, "the bucket is closed");
    assert_string_equal(err.field, "HTTP 503\\x1b");
    assert_string_equal(err.file, "far.wcodec");
    assert_int_equal(err.os_error, ECONNRESET);
    assert_int_equal(err.offset, 0);
    packed.status = TARE_OK;
    m = open_it(&source);
    const size_t large = (size_t)tare_model_find_tensor(m, (tare_str){"large", 5});
    packed.status = TARE_ERR_NOSPACE;
    clear(&packed);
    assert_int_equal(tare_tensor_read(back, m, large, 0, 60 << 20, sizeof back, &err),
                     TARE_ERR_NOSPACE);
    assert_string_equal(err.what, "the bucket is closed");
    assert_string_equal(err.item_name, "large");
    assert_int_equal(packed.n_calls, 1); /* tried once */
    packed.status = TARE_OK;
    assert_int_equal(tare_tensor_read(back, m, large, 0, 60 << 20, sizeof back, &err), TARE_OK);
    assert_memory_equal(back, weights + (30 << 20), sizeof back);
    tare_model_free(m);
}

typedef struct reading {
    const tare_model *model;
    unsigned seed;
    bool is_good;
} reading;

static void *read_here_and_there(void *ctx) {
    reading *r = ctx;
    const size_t large = (size_t)tare_model_find_tensor(r->model, (tare_str){"large", 5});
    uint16_t back[512];
    r->is_good = true;
    for (int i = 0; i < 40; i++) {
        r->seed = r->seed * 1103515245 + 12345;
        const uint64_t at = (r->seed >> 4) % ((uint64_t)ROWS * COLS - 512);
        if (tare_tensor_read(back, r->model, large, 0, 2 * at, sizeof back, NULL) != TARE_OK ||
            memcmp(back, weights + at, sizeof back) != 0)
            r->is_good = false;
    }
    return NULL;
}

static void many_threads(void **state) {
    enum { THREADS = 8 };
    (void)state;
    const tare_source source = source_of(&packed, "far.wcodec");
    tare_model *m = open_it(&source);
    pthread_t threads[THREADS];
    reading r[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        r[i] = (reading){.model = m, .seed = i};
        assert_int_equal(pthread_create(&threads[i], NULL, read_here_and_there, &r[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(r[i].is_good);
    }
    assert_false(packed.is_wrong);
    tare_model_free(m);
}

/* ---- folders --------------------------------------------------------------------------------- */

static counted text_file(const char *head, const char *text) {
    const size_t n_head = head ? strlen(head) : 0, n = strlen(text);
    counted c = {.mutex = PTHREAD_MUTEX_INITIALIZER, .size = n + (head ? 8 + n_head : 0)};
    uint8_t *at = c.bytes = calloc(1, c.size + 1);
    for (unsigned i = 0; head && i < 8; i++) *at++ = (uint8_t)((uint64_t)n_head >> 8 * i);
    if (n_head) memcpy(at, head, n_head);
    memcpy(at + n_head, text, n);
    return c;
}

static void folder(void **state) {
    (void)state;
    counted files[] = {
        text_file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "abcd"),
        text_file("{\"b\":{\"dtype\":\"I8\",\"shape\":[2],\"data_offsets\":[0,2]}}", "xy"),
        text_file(NULL, "{\"weight_map\":{\"a\":\"m-00001-of-00002.safetensors\","
                        "\"b\":\"m-00002-of-00002.safetensors\"}}"),
        text_file(NULL, "{\"model_type\":\"llama\"}"),
        text_file(NULL, "{}"),
    };
    const char *const names[] = {"m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors",
                                 "model.safetensors.index.json", "config.json",
                                 "1_Pooling/config.json"};
    enum { N = sizeof files / sizeof *files };
    tare_source sources[N], set = tare_source_default();
    char text[32] = "";
    tare_error err;
    for (unsigned i = 0; i < N; i++) sources[i] = source_of(&files[i], names[i]);
    set.kind = TARE_SOURCE_FOLDER;
    set.name = "bucket";
    set.shards = sources;
    set.n_shards = N;
    tare_model *m = open_it(&set);
    assert_string_equal(tare_model_summarize(m)->format, "hf");
    assert_int_equal(tare_model_summarize(m)->n_tensors, 2);
    assert_int_equal(tare_model_summarize(m)->n_resources, 2);
    assert_string_equal(tare_model_file(m, 0)->name, "bucket/m-00001-of-00002.safetensors");
    const int64_t config = tare_model_find_resource(m, (tare_str){"config.json", 11});
    assert_true(config >= 0);
    assert_int_equal(tare_resource_read(text, m, (size_t)config, 0, 22, &err), TARE_OK);
    assert_string_equal(text, "{\"model_type\":\"llama\"}");
    assert_true(tare_model_find_resource(m, (tare_str){"1_Pooling/config.json", 21}) >= 0);
    const int64_t b = tare_model_find_tensor(m, (tare_str){"b", 1});
    assert_int_equal(tare_tensor_read(text, m, (size_t)b, 0, 0, 2, &err), TARE_OK);
    assert_memory_equal(text, "xy", 2);
    tare_model_free(m);
    /* Names that are none, leave the folder, or are there twice; files that are none. */
    const char *const bad[] = {NULL, "", "..", "../x", "/x", "a//b", "config.json"};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        sources[4].name = bad[i];
        assert_int_equal(tare_model_open(&m, &set, NULL, &err), TARE_ERR_ARG);
        assert_null(m);
    }
    sources[4].name = names[4];
    sources[4].kind = TARE_SOURCE_PATH;
    assert_int_equal(tare_model_open(&m, &set, NULL, &err), TARE_ERR_ARG);
    sources[4].kind = TARE_SOURCE_FOLDER;
    assert_int_equal(tare_model_open(&m, &set, NULL, &err), TARE_ERR_ARG);
    set.n_shards = 0;
    assert_int_equal(tare_model_open(&m, &set, NULL, &err), TARE_ERR_ARG);
    /* A shard that the index names is missing. */
    sources[4] = source_of(&files[4], names[4]);
    set.shards = sources + 1;
    set.n_shards = N - 1;
    assert_int_equal(tare_model_open(&m, &set, NULL, &err), TARE_ERR_IO);
    assert_string_equal(err.file, "bucket/m-00001-of-00002.safetensors");
    for (unsigned i = 0; i < N; i++) free(files[i].bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_calls),
        cmocka_unit_test(own_words),
        cmocka_unit_test(many_threads),
        cmocka_unit_test(folder),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
