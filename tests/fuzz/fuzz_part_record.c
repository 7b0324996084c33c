/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the record of a part, as a stranger may leave it beside an output. What is read names
 * entries inside the output only and ranges inside of them, and says the same when written again. */
#include <string.h>

#include <tare/experimental/parts.h>

#include "base/files.h"
#include "fuzz_check.h"
#include "ops/parts/part_record.h"
#include "scratch.h"

#define RECORD "out.part-00001-of-00001.json"

static void check_piece(const tare_part_record *r, const tare_part_piece *p) {
    const tare_view_file *f = &p->file;
    FUZZ_CHECK(r->is_directory ? tare_is_inner_path(f->name) : f->name.len == 0);
    FUZZ_CHECK(p->offset <= f->n_bytes && p->n_bytes <= f->n_bytes - p->offset);
    FUZZ_CHECK(f->kind == TARE_VIEW_FILE || f->n_bytes == 0);
    FUZZ_CHECK((f->kind == TARE_VIEW_LINK) == (f->target.len > 0));
    FUZZ_CHECK(f->target.len == strlen(f->target.ptr));
}

static void check(const tare_part_record *r) {
    uint64_t sum = 0;
    FUZZ_CHECK(r->index >= 1 && r->index <= r->count && r->count <= TARE_PARTS_MOST);
    FUZZ_CHECK(r->begin <= r->end && r->end <= r->total);
    for (size_t i = 0; i < r->n_pieces; i++) {
        check_piece(r, &r->pieces[i]);
        sum += r->pieces[i].n_bytes;
    }
    FUZZ_CHECK(sum == tare_part_bytes(r));
    FUZZ_CHECK(!r->is_packed || (r->n_pieces == 1 && !r->is_shared && !r->is_directory));
}

/* A name that a record cannot state, half of a pair of surrogates, is not written. */
static void check_again(const tare_part_record *r, tare_arena *arena) {
    const tare_context context = tare_context_default();
    const tare_output_options output = tare_output_options_default();
    char path[512];
    tare_part_record again;
    tare_error err = {0};
    scratch_path(path, sizeof path, "again.json");
    const tare_status status = tare_part_record_write(path, r, &output, &context, &err);
    if (status == TARE_ERR_UNSUPPORTED) return;
    FUZZ_CHECK(status == TARE_OK);
    FUZZ_CHECK(tare_part_record_read(&again, path, arena, &err) == TARE_OK);
    FUZZ_CHECK(again.n_pieces == r->n_pieces && again.total == r->total);
    for (size_t i = 0; i < r->n_pieces; i++)
        FUZZ_CHECK(tare_str_equal(again.pieces[i].file.name, r->pieces[i].file.name) &&
                   tare_str_equal(again.pieces[i].file.target, r->pieces[i].file.target) &&
                   again.pieces[i].file.kind == r->pieces[i].file.kind &&
                   again.pieces[i].crc == r->pieces[i].crc);
}

static void look_at_parts(void) {
    char path[512];
    tare_parts *parts;
    tare_error err = {0};
    tare_output_options output = tare_output_options_default();
    output.dry_run = true; /* what it says is never done here */
    scratch_path(path, sizeof path, "out");
    if (tare_parts_open(&parts, path, NULL, &err) != TARE_OK) return;
    FUZZ_CHECK(tare_parts_done(parts) <= tare_parts_count(parts));
    FUZZ_CHECK(tare_parts_join(NULL, parts, NULL, true, &output, &err) == TARE_OK || err.what);
    tare_parts_free(parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[512];
    tare_part_record r;
    tare_arena arena;
    tare_error err = {0};
    tare_arena_init(&arena, NULL);
    scratch_clear();
    scratch_write(RECORD, data, size);
    scratch_write("out.part-00001-of-00001", (const uint8_t *)"abc", 3);
    scratch_path(path, sizeof path, RECORD);
    if (tare_part_record_read(&r, path, &arena, &err) == TARE_OK) {
        check(&r);
        check_again(&r, &arena);
    } else {
        FUZZ_CHECK(err.what && err.what[0]);
    }
    look_at_parts();
    tare_arena_free(&arena);
    return 0;
}
