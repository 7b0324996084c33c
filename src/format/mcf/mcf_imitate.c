/* SPDX-License-Identifier: MIT
 *
 * What `--compat mantle` changes beside number formats: tokenizer_config.json is what the public
 * packer makes of it and of chat_template.jinja (mcf_go_json.c has how). The template also stays as
 * a file: nothing the model has is lost. */
#include "base/arith.h"
#include "base/buffer.h"
#include "base/report.h"
#include "base/str.h"
#include "format/mcf/mcf.h"

#define CONFIG   "tokenizer_config.json"
#define TEMPLATE "chat_template.jinja"

/* The bytes of resource i; none where i is -1. */
static tare_status load(tare_str *out, const tare_model *m, int64_t i, tare_arena *arena,
                        tare_error *err) {
    *out = (tare_str){"", 0};
    if (i < 0) return TARE_OK;
    const tare_resource *r = tare_model_resource(m, (size_t)i);
    if (r->size > m->limits.resource_bytes) {
        tare_fail(err, TARE_ERR_LIMIT, "resource: length");
        tare_error_item(err, TARE_ITEM_RESOURCE, i, r->name);
        return TARE_ERR_LIMIT;
    }
    char *bytes = tare_arena_take(arena, (size_t)r->size);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "resource");
    TARE_TRY(tare_resource_read(bytes, m, (size_t)i, 0, (size_t)r->size, err));
    *out = (tare_str){bytes, (size_t)r->size};
    return TARE_OK;
}

/* Says where in which file the fault is. */
static void place(tare_error *err, const tare_model *m, int64_t i) {
    if (!err || i < 0 || err->status == TARE_ERR_NOMEM) return;
    const tare_resource_entry *r = &m->catalog.resources[i];
    tare_error_item(err, TARE_ITEM_RESOURCE, i, r->info.name);
    if (r->bytes) return;
    if (err->offset != TARE_NO_OFFSET) err->offset += r->offset;
    tare_error_file(err, m->files[r->file].name);
}

/* Replaces it in place, or appends it at the end: the others keep their numbers. */
static tare_status set_config(tare_catalog *c, int64_t i, const tare_buffer *text,
                              tare_arena *arena, tare_error *err) {
    size_t n = c->n_resources, at = i < 0 ? n : (size_t)i;
    uint8_t *bytes = tare_arena_take(arena, text->size);
    tare_resource_entry *list = TARE_NEW_ARRAY(arena, tare_resource_entry, (uint64_t)n + 1);
    if (!bytes || !list) return tare_fail(err, TARE_ERR_NOMEM, "resource");
    memcpy(bytes, text->data, text->size);
    if (n) memcpy(list, c->resources, n * sizeof *list);
    list[at] = (tare_resource_entry){.info = {TARE_STR(CONFIG), text->size}, .bytes = bytes};
    c->resources = list;
    c->n_resources = at == n ? n + 1 : n;
    return TARE_OK;
}

tare_status tare_mcf_imitate(tare_catalog *catalog, const tare_model *source, tare_arena *arena,
                             tare_report *report, tare_error *err) {
    int64_t at = tare_model_find_resource(source, TARE_STR(CONFIG));
    int64_t chat_at = tare_model_find_resource(source, TARE_STR(TEMPLATE));
    tare_str config, chat;
    tare_buffer text;
    TARE_TRY(load(&config, source, at, arena, err));
    TARE_TRY(load(&chat, source, chat_at, arena, err));
    tare_buffer_init(&text, arena->allocator);
    tare_status status = tare_mcf_merge_template(&text, config, chat, arena, err);
    if (status != TARE_OK) place(err, source, at);
    bool is_same =
        text.size == 0 || tare_str_equal(config, (tare_str){(const char *)text.data, text.size});
    if (status == TARE_OK && !is_same) {
        tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.rewritten");
        f.item_kind = TARE_ITEM_RESOURCE;
        f.item_name = TARE_STR(CONFIG);
        f.text = TARE_STR("written as the public packer does, with its chat template");
        tare_report_add(report, &f);
        status = set_config(catalog, at, &text, arena, err);
    }
    tare_buffer_free(&text);
    return status;
}
