/* SPDX-License-Identifier: MIT
 *
 * The ends of an output: docs/behaviour.md, "Writing". */
#include "ops/output/sinks.h"

#include <string.h>

#include "base/arith.h"
#include "base/descriptor.h"
#include "ops/scratch_slots.h"

/* ---- files ----------------------------------------------------------------------------------- */

/* Write-back starts this often: large enough for the disk, small enough that little is left to do
 * when the last byte is written. */
#define HINT_STEP ((uint64_t)8 << 20)

/* Tasks run nearly in order: when one has passed a step, everything before it has been or is about
 * to be written; a page that is dirtied again is merely written twice. */
static void hint(const tare_file_sink *s, uint32_t file, uint64_t end) {
    uint64_t from = atomic_load_explicit(&s->hinted[file], memory_order_relaxed);
    uint64_t upto = end / HINT_STEP * HINT_STEP;
    if (upto > from && atomic_compare_exchange_strong(&s->hinted[file], &from, upto))
        tare_outset_flush_hint(s->set, file, from, upto - from);
}

static tare_status put_in_file(void *ctx, uint32_t file, uint64_t offset, const void *bytes,
                               size_t n, tare_scratch *scratch, tare_error *err) {
    const tare_file_sink *s = ctx;
    (void)scratch;
    TARE_TRY(tare_outset_write(s->set, file, offset, bytes, n, err));
    hint(s, file, offset + n);
    return TARE_OK;
}

#define COPY_SCRATCH ((size_t)1 << 20) /* if the system cannot copy by itself */

static tare_status copy_to_file(void *ctx, uint32_t file, uint64_t offset, int in_fd,
                                uint64_t in_offset, uint64_t n, tare_scratch *scratch,
                                tare_error *err) {
    const tare_file_sink *s = ctx;
    uint8_t *buf = tare_scratch_get(scratch, TARE_SCRATCH_STORED, COPY_SCRATCH);
    if (!buf) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    TARE_TRY(tare_outset_copy(s->set, file, offset, in_fd, in_offset, n, buf, COPY_SCRATCH, err));
    hint(s, file, offset + n);
    return TARE_OK;
}

static tare_status file_is_done(void *ctx, uint32_t file, tare_error *err) {
    return tare_outset_member_done(((tare_file_sink *)ctx)->set, file, err);
}

static tare_status read_file(void *ctx, uint32_t file, uint64_t offset, void *buf, size_t n,
                             tare_error *err) {
    return tare_outset_read(((tare_file_sink *)ctx)->set, file, offset, buf, n, err);
}

tare_sink tare_sink_of_files(tare_file_sink *s) {
    return (tare_sink){.ctx = s,
                       .put = put_in_file,
                       .copy = copy_to_file,
                       .read = tare_outset_can_read(s->set) ? read_file : NULL,
                       .file_done = file_is_done};
}

/* ---- a stream -------------------------------------------------------------------------------- */

static tare_status put_in_output(void *ctx, uint32_t file, uint64_t offset, const void *bytes,
                                 size_t n, tare_scratch *scratch, tare_error *err) {
    const tare_output *output = ctx;
    (void)file, (void)scratch;
    const tare_status s = output->write(output->ctx, offset, bytes, n);
    if (s == TARE_OK) return s;
    return tare_fail_code(err, s, TARE_CODE_OUTPUT_WRITE, "the output cannot be written");
}

static tare_status stream_all(tare_stream_sink *s, const void *bytes, size_t n, tare_error *err) {
    void *output = (void *)(uintptr_t)s->output;
    if (n == 0) return TARE_OK;
    TARE_TRY(output ? put_in_output(output, 0, s->position, bytes, n, NULL, err)
                    : tare_descriptor_write(s->fd, bytes, n, err));
    s->position += n;
    return TARE_OK;
}

tare_status tare_stream_sink_finish(tare_stream_sink *s, uint64_t size, tare_error *err) {
    static const uint8_t zeros[4096];
    while (s->position < size)
        TARE_TRY(stream_all(s, zeros, (size_t)tare_min_u64(sizeof zeros, size - s->position), err));
    return TARE_OK;
}

static tare_status put_in_stream(void *ctx, uint32_t file, uint64_t offset, const void *bytes,
                                 size_t n, tare_scratch *scratch, tare_error *err) {
    (void)file, (void)scratch;
    TARE_TRY(tare_stream_sink_finish(ctx, offset, err));
    return stream_all(ctx, bytes, n, err);
}

tare_sink tare_sink_of_stream(tare_stream_sink *s) {
    return (tare_sink){.ctx = s, .put = put_in_stream, .is_sequential = true};
}

/* ---- an output in any order ------------------------------------------------------------------ */

tare_status tare_output_read(tare_output *out, const tare_output *theirs, tare_error *err) {
    const tare_output defaults = tare_output_default();
    *out = defaults;
    TARE_TRY(tare_options_read(out, sizeof *out, theirs, err));
    TARE_REQUIRE(out->write, err);
    return TARE_OK;
}

tare_sink tare_sink_of_output(const tare_output *output) {
    return (tare_sink){.ctx = (void *)(uintptr_t)output, .put = put_in_output};
}

/* ---- nothing --------------------------------------------------------------------------------- */

static tare_status put_nowhere(void *ctx, uint32_t file, uint64_t offset, const void *bytes,
                               size_t n, tare_scratch *scratch, tare_error *err) {
    (void)ctx, (void)file, (void)offset, (void)bytes, (void)n, (void)scratch, (void)err;
    return TARE_OK;
}

tare_sink tare_sink_of_nothing(void) {
    return (tare_sink){.put = put_nowhere};
}

/* ---- a comparison ---------------------------------------------------------------------------- */

static tare_status put_in_comparison(void *ctx, uint32_t file, uint64_t offset, const void *bytes,
                                     size_t n, tare_scratch *scratch, tare_error *err) {
    const tare_compare_sink *s = ctx;
    uint8_t *buf = tare_scratch_get(scratch, TARE_SCRATCH_READ_BACK, n);
    if (!buf) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    TARE_TRY(tare_outset_read(s->set, file, offset, buf, n, err));
    if (memcmp(buf, bytes, n) == 0) return TARE_OK;
    const uint8_t *expected = bytes;
    size_t i = 0;
    while (buf[i] == expected[i]) i++;
    return tare_fail_at(err, TARE_ERR_CHECKSUM, offset + i,
                        "the output does not read back as it was written");
}

static tare_status comparison_is_done(void *ctx, uint32_t file, tare_error *err) {
    return tare_outset_member_done(((tare_compare_sink *)ctx)->set, file, err);
}

static tare_status read_compared(void *ctx, uint32_t file, uint64_t offset, void *buf, size_t n,
                                 tare_error *err) {
    return tare_outset_read(((tare_compare_sink *)ctx)->set, file, offset, buf, n, err);
}

tare_sink tare_sink_of_comparison(tare_compare_sink *s) {
    return (tare_sink){
        .ctx = s, .put = put_in_comparison, .read = read_compared, .file_done = comparison_is_done};
}
