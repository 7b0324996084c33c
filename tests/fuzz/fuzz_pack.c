/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: what is packed comes back. A model of any bytes that opens is packed with options
 * that its bytes decide, to the same container by one thread and by two; unpacked it is the very
 * file. Converted into a container it is the same model. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "open_input.h"
#include "scratch.h"

#define PACKED "packed.wcodec"

typedef struct content {
    uint8_t *bytes;
    size_t size;
} content;

/* Any of the ways to pack; small segments, so that a small file has several. */
static tare_pack_options choose_options(const uint8_t *data, size_t size) {
    tare_pack_options o = tare_pack_options_default();
    uint32_t choice = tare_crc32(0, data, size);
    o.effort = choice & 1 ? TARE_EFFORT_FULL : TARE_EFFORT_FAST;
    o.mode = choice & 2 ? TARE_CODED_SMALLEST : (tare_coded_mode)((choice >> 3 & 3) + 2);
    o.log2_segment = choice & 4 ? 14 : 0;
    return o;
}

static content pack(const tare_model *m, tare_pack_options options, unsigned threads) {
    char path[512];
    content c;
    tare_error err;
    tare_pack_summary sum = tare_pack_summary_default();
    const tare_context context = {.size = sizeof context, .threads = threads};
    const tare_output_options output = {.size = sizeof output, .force = true, .no_sync = true};
    options.context = &context;
    options.output = &output;
    scratch_path(path, sizeof path, PACKED);
    FUZZ_CHECK(tare_pack(&sum, path, m, &options, &err) == TARE_OK);
    c.bytes = scratch_read(PACKED, &c.size);
    FUZZ_CHECK(sum.n_files == 1 && sum.to_bytes == c.size);
    return c;
}

static tare_source source_of(const content *c) {
    return (tare_source){.size = sizeof(tare_source),
                         .kind = TARE_SOURCE_MEMORY,
                         .memory = c->bytes,
                         .n_bytes = c->size,
                         .name = PACKED,
                         .fd = -1};
}

static void check_unpacked(const content *packed, const uint8_t *data, size_t size) {
    const tare_source source = source_of(packed);
    tare_error err;
    uint8_t *back = malloc(size);
    int fd = memfd_create("tare-unpack", 0);
    FUZZ_CHECK(back && fd >= 0);
    FUZZ_CHECK(tare_unpack_fd(NULL, fd, &source, NULL, &err) == TARE_OK);
    FUZZ_CHECK(lseek(fd, 0, SEEK_END) == (off_t)size);
    FUZZ_CHECK(pread(fd, back, size, 0) == (ssize_t)size);
    FUZZ_CHECK(memcmp(back, data, size) == 0);
    close(fd);
    free(back);
}

static void check_converted(const tare_model *m) {
    tare_convert_options options = tare_convert_options_default();
    char path[512];
    content c;
    tare_error err;
    tare_model *back;
    const tare_context context = {.size = sizeof context, .threads = 1};
    const tare_output_options output = {.size = sizeof output, .force = true, .no_sync = true};
    options.context = &context;
    options.output = &output;
    options.opaque = true;
    scratch_path(path, sizeof path, PACKED);
    tare_status status = tare_convert(path, m, &options, &err);
    if (status != TARE_OK) {
        fuzz_check_error(status, &err);
        FUZZ_CHECK(status == TARE_ERR_UNSUPPORTED || status == TARE_ERR_LIMIT);
        return;
    }
    c.bytes = scratch_read(PACKED, &c.size);
    const tare_source source = source_of(&c);
    FUZZ_CHECK(tare_model_open(&back, &source, NULL, &err) == TARE_OK);
    fuzz_check_same(m, back);
    tare_model_free(back);
    free(c.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tare_model *m = fuzz_open(data, size, NULL);
    if (m == NULL) return 0;
    if (fuzz_is_damaged(m, data, size)) {
        tare_model_free(m);
        return 0;
    }
    const tare_model_summary *summary = tare_model_summarize(m);
    if (!summary->is_truncated && strcmp(summary->format, "wcodec") != 0) {
        const tare_pack_options options = choose_options(data, size);
        content one = pack(m, options, 1), two = pack(m, options, 2);
        FUZZ_CHECK(one.size == two.size && memcmp(one.bytes, two.bytes, one.size) == 0);
        check_unpacked(&one, data, size);
        free(one.bytes);
        free(two.bytes);
        check_converted(m);
    }
    tare_model_free(m);
    return 0;
}
