/* SPDX-License-Identifier: MIT
 *
 * Reading MCF: header, section directory, and the dispatch of sections to their readers. Only
 * directories are read; a missing section is not an error. */
#include <stdlib.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/report.h"
#include "base/str.h"
#include "format/mcf/mcf.h"

static const char magic[4] = {'M', 'C', 'F', '\0'};

/* ---- header ---------------------------------------------------------------------------------- */

typedef struct header {
    uint16_t minor;
    uint32_t size, n_sections;
    uint64_t directory;
} header;

static tare_status read_header(tare_mcf_reader *r, header *h, tare_error *err) {
    tare_cursor c;
    uint64_t there = tare_min_u64(r->file_size, TARE_MCF_HEADER_BYTES);
    TARE_TRY(tare_mcf_load_at(r, 0, there, &c, err));
    const uint8_t *m = tare_cursor_take(&c, sizeof magic, "magic");
    if (m && memcmp(m, magic, sizeof magic) != 0)
        tare_cursor_fail(&c, TARE_ERR_CORRUPT, 0, "magic: not \"MCF\"");
    uint16_t major = tare_cursor_u16(&c, "major version");
    if (tare_cursor_ok(&c) && major != 1)
        tare_cursor_fail(&c, TARE_ERR_UNSUPPORTED, 4, "unsupported major version, expected 1");
    h->minor = tare_cursor_u16(&c, "minor version");
    h->size = tare_cursor_u32(&c, "header_size");
    if (tare_cursor_ok(&c) && h->size < TARE_MCF_HEADER_BYTES)
        tare_cursor_fail(&c, TARE_ERR_CORRUPT, 8, "header_size: expected at least 40");
    h->n_sections = tare_cursor_u32(&c, "section_count");
    if (tare_cursor_ok(&c) && h->n_sections == 0)
        tare_cursor_fail(&c, TARE_ERR_CORRUPT, 12, "section_count: expected at least 1");
    h->directory = tare_cursor_u64(&c, "section_dir_offset");
    uint64_t file_size = tare_cursor_u64(&c, "file_size");
    r->flags_at = tare_cursor_offset(&c);
    r->flags = tare_cursor_u64(&c, "flags");
    TARE_TRY(tare_cursor_status(&c, err));
    if (file_size > r->file_size)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, r->file_size,
                            "file_size: the file ends too early");
    if (file_size < r->file_size)
        return tare_fail_at(err, TARE_ERR_CORRUPT, 24,
                            "file_size: the file is longer than its header says");
    if (h->size > r->file_size)
        return tare_fail_at(err, TARE_ERR_CORRUPT, 8, "header_size: beyond the end of the file");
    if (h->directory < h->size)
        return tare_fail_at(err, TARE_ERR_CORRUPT, 16,
                            "section_dir_offset: the directory overlaps the header");
    return TARE_OK;
}

/* ---- directory ------------------------------------------------------------------------------- */

typedef struct span {
    uint64_t begin, end, at;
} span;

static int by_begin(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static tare_status check_section(const tare_mcf_reader *r, const tare_mcf_section *s,
                                 const header *h, tare_error *err) {
    uint64_t end;
    if (s->offset % 8)
        return tare_fail_at(err, TARE_ERR_CORRUPT, s->at + 8,
                            "section offset: not a multiple of 8");
    if (s->offset < h->size)
        return tare_fail_at(err, TARE_ERR_CORRUPT, s->at + 8,
                            "section offset: the section overlaps the header");
    if (s->offset > r->file_size)
        return tare_fail_at(err, TARE_ERR_CORRUPT, s->at + 8,
                            "section offset: beyond the end of the file");
    if (!tare_add_u64(s->offset, s->size, &end) || end > r->file_size)
        return tare_fail_at(err, TARE_ERR_CORRUPT, s->at + 16,
                            "section size: the section goes beyond the end of the file");
    return TARE_OK;
}

/* No section overlaps another or the directory. */
static tare_status check_overlaps(const tare_mcf_reader *r, span *spans, size_t n, const header *h,
                                  tare_error *err) {
    size_t used = 0;
    uint64_t directory_end = h->directory + (uint64_t)h->n_sections * TARE_MCF_SECTION_BYTES;
    for (size_t i = 0; i < n; i++) {
        const tare_mcf_section *s = &r->sections[i];
        if (s->size == 0) continue;
        spans[used++] = (span){s->offset, s->offset + s->size, s->at};
        if (s->offset < directory_end && s->offset + s->size > h->directory)
            return tare_fail_at(err, TARE_ERR_CORRUPT, s->at + 8,
                                "section overlaps the section directory");
    }
    qsort(spans, used, sizeof *spans, by_begin);
    for (size_t i = 1; i < used; i++)
        if (spans[i].begin < spans[i - 1].end)
            return tare_fail_at(err, TARE_ERR_CORRUPT, spans[i].at + 8,
                                "section overlaps another section");
    return TARE_OK;
}

static int by_type(const void *a, const void *b) {
    const tare_mcf_section *x = a, *y = b;
    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Of several sections of a type the first in the directory counts. */
static void drop_duplicates(tare_mcf_reader *r) {
    size_t n = 0;
    qsort(r->sections, r->n_sections, sizeof *r->sections, by_type);
    for (size_t i = 0; i < r->n_sections; i++) {
        if (n > 0 && r->sections[n - 1].type == r->sections[i].type)
            tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.duplicate-section", -1, r->sections[i].at,
                            "a second section of one type: ignored");
        else
            r->sections[n++] = r->sections[i];
    }
    r->n_sections = n;
}

static tare_status read_directory(tare_mcf_reader *r, const header *h, tare_error *err) {
    tare_cursor c;
    size_t n = h->n_sections;
    uint64_t size = (uint64_t)n * TARE_MCF_SECTION_BYTES, end;
    if (!tare_add_u64(h->directory, size, &end) || end > r->file_size)
        return tare_fail_at(err, TARE_ERR_CORRUPT, 16,
                            "section_dir_offset: the directory goes beyond the end of the file");
    TARE_TRY(tare_mcf_load_at(r, h->directory, size, &c, err));
    r->sections = TARE_NEW_ARRAY(&r->m->arena, tare_mcf_section, n);
    if (!r->sections) return tare_fail(err, TARE_ERR_NOMEM, "sections");
    r->n_sections = n;
    for (size_t i = 0; i < n; i++) {
        tare_mcf_section *s = &r->sections[i];
        s->at = tare_cursor_offset(&c);
        s->type = tare_cursor_u32(&c, "section type");
        s->version = tare_cursor_u32(&c, "section version");
        s->offset = tare_cursor_u64(&c, "section offset");
        s->size = tare_cursor_u64(&c, "section size");
        TARE_TRY(tare_cursor_status(&c, err));
        TARE_TRY(check_section(r, s, h, err));
    }
    span *spans = tare_alloc(r->m->allocator, n * sizeof *spans);
    if (!spans) return tare_fail(err, TARE_ERR_NOMEM, "sections");
    tare_status status = check_overlaps(r, spans, n, h, err);
    tare_free(r->m->allocator, spans, n * sizeof *spans);
    if (status == TARE_OK) drop_duplicates(r);
    return status;
}

/* ---- resources ------------------------------------------------------------------------------- */

/* Sections that are files, and unknown ones, which are carried under a descriptive name. */
static tare_status add_sections(tare_mcf_reader *r, tare_error *err) {
    tare_catalog *c = &r->m->catalog;
    c->resources = TARE_NEW_ARRAY(&r->m->arena, tare_resource_entry, r->n_sections);
    if (!c->resources) return tare_fail(err, TARE_ERR_NOMEM, "resources");
    for (size_t i = 0; i < r->n_sections; i++) {
        const tare_mcf_section *s = &r->sections[i];
        char text[64];
        const char *name = tare_mcf_resource_name(s->type);
        if (tare_mcf_is_own(s->type)) continue;
        if (!name || s->version != 1) {
            tare_mcf_section_name(text, sizeof text, s->type, s->version);
            name = text;
            tare_mcf_report(r, TARE_LEVEL_INFO, "mcf.unknown-section", -1, s->at,
                            "a section of unknown type or version: carried as it is");
        }
        tare_resource_entry *e = &c->resources[c->n_resources++];
        *e = (tare_resource_entry){
            .info = {tare_arena_str(&r->m->arena, tare_str_of(name)), s->size},
            .file = r->file,
            .offset = s->offset};
        if (!e->info.name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "resource");
    }
    const tare_mcf_section *files = tare_mcf_find(r, TARE_MCF_FILES);
    return files ? tare_mcf_read_files(r, files, err) : TARE_OK;
}

/* ---- the driver ------------------------------------------------------------------------------ */

static tare_status read_all(tare_mcf_reader *r, tare_error *err) {
    tare_model *m = r->m;
    header h;
    tare_layout *layout = TARE_NEW(&m->arena, tare_layout);
    tare_mcf_layout *detail = TARE_NEW(&m->arena, tare_mcf_layout);
    if (!layout || !detail) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    TARE_TRY(read_header(r, &h, err));
    TARE_TRY(read_directory(r, &h, err));
    *layout = (tare_layout){.version = 1, .alignment = 1, .detail = detail};
    m->catalog.layout = layout;
    if (h.minor > 1)
        tare_mcf_report(r, TARE_LEVEL_INFO, "mcf.minor-version", -1, 6,
                        "a later minor version than 1: what it adds is not known");
    const tare_mcf_section *metadata = tare_mcf_find(r, TARE_MCF_METADATA);
    TARE_TRY(tare_mcf_read_quant_info(r, err));
    TARE_TRY(tare_mcf_read_tensors(r, layout, err));
    TARE_TRY(tare_mcf_read_model_info(r, detail, !metadata, err));
    if (metadata) TARE_TRY(tare_mcf_read_metadata(r, metadata, err));
    return add_sections(r, err);
}

static tare_status open_mcf(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    if (ctx->source->kind == TARE_SOURCE_SHARDS || ctx->probe->is_directory)
        return tare_fail(err, TARE_ERR_ARG, "an MCF model is one file");
    tare_mcf_reader r = {
        .m = m, .report = ctx->options->context->report, .file_size = ctx->first->size};
    TARE_TRY(tare_model_add_file(m, ctx->first, ctx->first->name, &r.file, err));
    TARE_TRY(read_all(&r, err));
    return tare_model_finish(m, ctx->options->context->report, err);
}

static bool probe(const tare_probe *p) {
    return !p->is_directory && p->head_size >= sizeof magic &&
           memcmp(p->head, magic, sizeof magic) == 0;
}

const tare_format tare_format_mcf = {
    .name = "mcf",
    .description = "Model Container Format: sections, quantized tensors, Hugging Face files",
    .suffix = ".mcf",
    .caps = &tare_mcf_caps,
    .read = {.probe = probe, .open = open_mcf},
    .write = {.version = 1, .plan = tare_mcf_plan, .imitate = tare_mcf_imitate},
    .stored = {.extras = TARE_EXTRA_BOUNDS | TARE_EXTRA_SAME | TARE_EXTRA_FILES},
};
