/* SPDX-License-Identifier: MIT
 *
 * A model whose weights are packed: the parts of each stand where it stood, their bytes are computed
 * when they are read. */
#include "ops/schemes/scheme_model.h"

#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "mlx/mlx_plain.h"
#include "quantized/quantized.h"

TARE_DEFINE_INIT(tare_scheme_info)
TARE_DEFINE_INIT(tare_scheme_options)

#define KEPT_BYTES ((size_t)16 << 20) /* of encoded blocks */

/* ---- reading ----------------------------------------------------------------------------------- */

static tare_status fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    tare_scheme_work *work = ctx;
    uint8_t *to = buf;
    const tare_part_place *places = work->places;
    for (size_t i = tare_part_of(&places->start, work->n_places, sizeof *places, offset); n > 0;
         i++) {
        const tare_stored_part *p = &work->parts[places[i].part];
        const uint64_t from = offset - p->start;
        const size_t take = (size_t)tare_min_u64(n, p->size - from);
        TARE_TRY(tare_scheme_part_bytes(to, work, p, from, take, err));
        to += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}

static void free_value(void *ctx, void *value, size_t cost) {
    tare_free(ctx, value, cost);
}

static void free_work(void *data) {
    tare_scheme_work *work = data;
    tare_cache_free(work->blocks);
    tare_cache_free(work->factors);
    tare_model_free(work->plain);
}

/* ---- the catalog ------------------------------------------------------------------------------- */

typedef struct making {
    const tare_scheme_search *s;
    tare_model *out;
    tare_scheme_work *work;
    uint32_t file;
    uint64_t end; /* of the virtual file */
    tare_origin *origins;
    tare_error *err;
} making;

/* The shape of a part: the weight's, but for the last of its dimensions. */
static uint32_t dims_of(uint64_t *dims, const tare_tensor *from, const tare_packed_weight *w,
                        const tare_stored_part *p, uint32_t word) {
    uint32_t n = from->n_dims;
    memcpy(dims, from->dims, n * sizeof *dims);
    if (w->is_slice) {
        n = 2;
        dims[0] = w->n_rows;
        dims[1] = w->cols;
    }
    switch (p->kind) {
    case TARE_WRITTEN_SHAPE:
        dims[0] = 2;
        return 1;
    case TARE_WRITTEN_FACTOR:
        dims[0] = 1;
        return 1;
    case TARE_WRITTEN_MULTIPLIER:
    case TARE_WRITTEN_INPUT:
        return 0;
    case TARE_WRITTEN_NOTE:
        dims[0] = tare_writer_note(NULL, 0, w->scheme.writer);
        return 1;
    case TARE_WRITTEN_NUMBERS:
        return n;
    default:
        dims[n - 1] = p->line / word;
        if (p->rows > 1) dims[n - 2] = (w->n_rows + p->rows - 1) / p->rows;
        return n;
    }
}

static tare_status name_of(tare_str *out, const making *k, const tare_packed_weight *w,
                           const char *suffix) {
    const tare_str module = w->stack.len ? w->stack : w->module;
    const size_t n = strlen(suffix);
    char *text = tare_arena_take(&k->out->arena, module.len + n);
    if (!text) return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    memcpy(text, module.ptr, module.len);
    memcpy(text + module.len, suffix, n);
    *out = (tare_str){text, module.len + n};
    return TARE_OK;
}

/* The next one of a stack; NULL: there is none. */
static tare_packed_weight *next_of(const making *k, const tare_packed_weight *w) {
    return w->next_in_stack == SIZE_MAX ? NULL : &k->work->weights[w->next_in_stack];
}

/* The codes are what the bytes of weights become, the other parts come from nowhere. */
static void note_origin(making *k, size_t tensor, const tare_packed_weight *w, bool is_codes) {
    tare_origin *origin = &k->origins[k->out->catalog.n_tensors];
    *origin = tare_tensor_origin(k->s->in, tensor);
    if (!is_codes) origin->size_bytes = 0;
    for (w = w && is_codes ? next_of(k, w) : NULL; w; w = next_of(k, w))
        origin->size_bytes += tare_tensor_origin(k->s->in, w->tensor).size_bytes;
}

/* Part i of a weight, and of those that are stacked on it. */
static tare_status place_parts(making *k, tare_packed_weight *w, uint64_t size, size_t i) {
    for (; w; w = next_of(k, w)) {
        tare_stored_part *p = &k->work->parts[w->first_part + i];
        p->weight = (size_t)(w - k->work->weights);
        p->start = k->end;
        p->size = size;
        k->work->places[k->work->n_places++] =
            (tare_part_place){k->end, (size_t)(p - k->work->parts)};
        if (!tare_add_u64(k->end, size, &k->end))
            return tare_fail(k->err, TARE_ERR_LIMIT, "size of all tensors");
    }
    return TARE_OK;
}

static uint64_t stack_size(const making *k, const tare_packed_weight *w) {
    uint64_t n = 0;
    for (; w; w = next_of(k, w)) n++;
    return n;
}

static tare_status add_part(making *k, tare_packed_weight *w, size_t i) {
    const tare_tensor *from = &k->s->in->catalog.tensors[w->tensor];
    const tare_written_part *form = w->scheme.writer ? &w->scheme.writer->parts[i] : NULL;
    const tare_encoding *type = tare_encoding_get(form ? tare_scheme_type_of(w, form) : w->type);
    const uint64_t n = stack_size(k, w), stacked = w->stack.len > 0;
    uint64_t dims[TARE_MAX_DIMS + 1];
    note_origin(k, w->tensor, w, i == 0 && w->first_row == 0);
    k->origins[k->out->catalog.n_tensors].is_made = form != NULL;
    tare_tensor *t = &k->out->catalog.tensors[k->out->catalog.n_tensors++];
    const uint32_t n_dims = dims_of(dims + stacked, from, w, &k->work->parts[w->first_part + i],
                                    type->planes[0].unit_bytes);
    if (stacked) dims[0] = n;
    *t = (tare_tensor){.name = from->name, .offset = TARE_NO_OFFSET};
    if (form) TARE_TRY(name_of(&t->name, k, w, form->suffix));
    TARE_TRY(tare_tensor_set(k->out, t, type, dims, n_dims + (uint32_t)stacked, k->file, k->end,
                             k->err));
    return place_parts(k, w, t->size_bytes / n, i);
}

static size_t count_parts(const tare_packed_weight *w) {
    const tare_writer *writer = w->scheme.writer;
    size_t n = 0;
    if (!writer) return 1;
    while (n < TARE_WRITTEN_PARTS && writer->parts[n].suffix) n++;
    return n - (w->input == 0 && tare_writer_has(writer, TARE_WRITTEN_INPUT));
}

/* The first of a stack stands for all of it. */
static tare_status add_weight(making *k, tare_packed_weight *w) {
    if (w->place > 0) return TARE_OK;
    const tare_str stack = tare_arena_str(&k->out->arena, w->stack);
    if (w->is_slice) w->module = tare_arena_str(&k->out->arena, w->module);
    if (!stack.ptr || (w->is_slice && !w->module.ptr))
        return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    for (tare_packed_weight *each = w; each; each = next_of(k, each)) {
        each->stack = stack;
        each->first_part = k->work->n_parts;
        each->n_parts = count_parts(each);
        k->work->n_parts += each->n_parts;
        tare_scheme_lay_out(each, &k->work->parts[each->first_part]);
    }
    for (size_t i = 0; i < w->n_parts; i++) TARE_TRY(add_part(k, w, i));
    return TARE_OK;
}

static tare_status add_tensors(making *k) {
    const tare_catalog *from = &k->s->in->catalog;
    tare_catalog *to = &k->out->catalog;
    const size_t most = from->n_tensors + k->s->n_weights * TARE_WRITTEN_PARTS;
    to->n_tensors = 0;
    to->bounds = NULL;
    to->digests = NULL;
    to->layout = NULL;
    to->tensors = TARE_NEW_ARRAY(&k->out->arena, tare_tensor, most);
    k->work->parts =
        TARE_NEW_ARRAY(&k->out->arena, tare_stored_part, k->s->n_weights * TARE_WRITTEN_PARTS);
    k->work->weights = TARE_NEW_ARRAY(&k->out->arena, tare_packed_weight, k->s->n_weights);
    k->origins = TARE_NEW_ARRAY(&k->out->arena, tare_origin, most);
    k->work->places =
        TARE_NEW_ARRAY(&k->out->arena, tare_part_place, k->s->n_weights * TARE_WRITTEN_PARTS);
    if (!to->tensors || !k->work->places || !k->work->parts || !k->work->weights || !k->origins)
        return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    memcpy(k->work->weights, k->s->weights, k->s->n_weights * sizeof *k->work->weights);
    k->work->n_weights = k->s->n_weights;
    for (size_t i = 0; i < from->n_tensors; i++)
        if (k->s->weight_of[i] < 0) {
            note_origin(k, i, NULL, true);
            to->tensors[to->n_tensors++] = from->tensors[i];
        } else {
            for (size_t w = (size_t)k->s->weight_of[i]; w != SIZE_MAX;
                 w = k->work->weights[w].next_slice)
                TARE_TRY(add_weight(k, &k->work->weights[w]));
        }
    k->out->origins = k->origins;
    return TARE_OK;
}

/* ---- side files and metadata ------------------------------------------------------------------- */

static tare_status copy_resources(making *k) {
    tare_catalog *c = &k->out->catalog;
    const tare_resource_entry *from = k->s->in->catalog.resources;
    tare_str config, beside;
    TARE_TRY(tare_scheme_config(&config, &beside, k->s, &k->out->arena, k->err));
    c->resources = TARE_NEW_ARRAY(&k->out->arena, tare_resource_entry, c->n_resources + 1);
    if (!c->resources) return tare_fail(k->err, TARE_ERR_NOMEM, "resources");
    size_t n = 0;
    for (size_t i = 0; i < c->n_resources; i++) {
        if (tare_quantized_is_settings(from[i].info.name)) continue;
        c->resources[n] = from[i];
        if (tare_str_is(from[i].info.name, "config.json")) {
            c->resources[n].bytes = (const uint8_t *)config.ptr;
            c->resources[n].info.size = config.len;
        }
        n++;
    }
    if (beside.ptr)
        c->resources[n++] =
            (tare_resource_entry){.info = {.name = TARE_STR(TARE_SCHEME_FILE), .size = beside.len},
                                  .bytes = (const uint8_t *)beside.ptr};
    c->n_resources = n;
    return TARE_OK;
}

/* mlx-lm knows its own files by the format that safetensors' metadata name. */
static tare_status name_format(making *k) {
    tare_catalog *c = &k->out->catalog;
    const tare_metadata *from = k->s->in->catalog.metadata;
    const tare_writer *w = k->s->scheme.writer;
    if (!w || w->family != TARE_WRITER_MLX) return TARE_OK;
    c->metadata = TARE_NEW_ARRAY(&k->out->arena, tare_metadata, c->n_metadata + 1);
    if (!c->metadata) return tare_fail(k->err, TARE_ERR_NOMEM, "metadata");
    size_t n = 0;
    for (size_t i = 0; i < c->n_metadata; i++)
        if (from[i].space != TARE_KEYS_SAFETENSORS || !tare_str_is(from[i].key, "format"))
            c->metadata[n++] = from[i];
    c->metadata[n++] =
        (tare_metadata){.key = TARE_STR("format"),
                        .space = TARE_KEYS_SAFETENSORS,
                        .offset = TARE_NO_OFFSET,
                        .value = {.type = TARE_VALUE_STRING, .as.s = TARE_STR("mlx")}};
    c->n_metadata = n;
    return TARE_OK;
}

/* ---- all --------------------------------------------------------------------------------------- */

static tare_status add_file(making *k) {
    tare_reader reader;
    const tare_model *in = k->s->in;
    const char *name = in->n_files ? in->files[0].name : in->format;
    tare_reader_callback(&reader, NULL, k->work, 0, name);
    reader.fetch = fetch;
    TARE_TRY(tare_model_add_file(k->out, &reader, name, &k->file, k->err));
    k->out->files[k->file].is_decoded = true;
    return TARE_OK;
}

static tare_status new_work(making *k) {
    const tare_allocator *allocator = k->out->allocator;
    void *ctx = (void *)(uintptr_t)allocator;
    tare_scheme_work *work = TARE_NEW(&k->out->arena, tare_scheme_work);
    if (!work) return tare_fail(k->err, TARE_ERR_NOMEM, "model");
    *work = (tare_scheme_work){.in = k->s->in, .allocator = allocator};
    k->work = work;
    work->blocks = tare_cache_new(KEPT_BYTES, free_value, ctx, allocator);
    work->factors = tare_cache_new(SIZE_MAX, free_value, ctx, allocator);
    if (work->blocks && work->factors) {
        k->out->private_data = work;
        k->out->free_private = free_work;
        return TARE_OK;
    }
    if (work->blocks) tare_cache_free(work->blocks);
    if (work->factors) tare_cache_free(work->factors);
    return tare_fail(k->err, TARE_ERR_NOMEM, "model");
}

static tare_status fill(making *k) {
    const tare_model *in = k->s->in;
    tare_model *out = k->out;
    out->format = in->format;
    out->held_format = in->held_format;
    out->left_out = in->left_out;
    out->n_left_out = in->n_left_out;
    out->catalog = in->catalog;
    TARE_TRY(tare_model_share_files(out, in, k->err));
    TARE_TRY(new_work(k));
    TARE_TRY(add_file(k));
    TARE_TRY(add_tensors(k));
    out->files[k->file].reader.size = k->end;
    TARE_TRY(copy_resources(k));
    TARE_TRY(name_format(k));
    out->has_own_form = k->s->scheme.writer && k->s->scheme.writer->family == TARE_WRITER_MLX;
    return tare_model_finish(out, NULL, k->err);
}

static tare_status read_choices(tare_scheme_search *s, tare_error *err) {
    const tare_scheme_options *o = s->options;
    tare_scheme_choice *of_rules = TARE_NEW_ARRAY(s->arena, tare_scheme_choice, o->n_rules);
    if (!of_rules) return tare_fail(err, TARE_ERR_NOMEM, "rules");
    TARE_TRY(tare_scheme_read(&s->scheme, o->scheme, err));
    for (size_t i = 0; i < o->n_rules; i++) {
        of_rules[i] = (tare_scheme_choice){.writer = NULL};
        if (strcmp(o->rules[i].scheme, "none") == 0) continue;
        TARE_TRY(tare_scheme_read(&of_rules[i], o->rules[i].scheme, err));
        if (of_rules[i].writer->family != s->scheme.writer->family)
            return tare_fail(err, TARE_ERR_ARG,
                             "a rule's scheme cannot stand in one model with the others");
    }
    s->of_rules = of_rules;
    return TARE_OK;
}

/* Servers have transformers' names, and what MLX has in another form in transformers'; MLX its own. */
static tare_status take_plain(tare_model *out, tare_scheme_search *s, tare_error *err) {
    tare_context open = tare_context_default();
    open.allocator = out->allocator;
    open.limits = &out->limits;
    if (s->scheme.writer->family == TARE_WRITER_MLX)
        TARE_TRY(tare_mlx_formed(&s->plain, s->in, &open, err));
    else
        TARE_TRY(tare_mlx_plain(&s->plain, s->in, TARE_MLX_AS_MODEL, &open, err));
    if (s->plain) s->in = s->plain;
    return TARE_OK;
}

static tare_status make(tare_model *out, tare_scheme_search *s, tare_error *err) {
    making k = {.s = s, .out = out, .err = err};
    TARE_TRY(read_choices(s, err));
    TARE_TRY(tare_model_check_packed(s->in, err));
    TARE_TRY(take_plain(out, s, err));
    TARE_TRY(tare_quantized_check(s->in, s->options->context->report, err));
    if (tare_model_is_big_endian(s->in))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "a big-endian file: convert it first");
    TARE_TRY(tare_scheme_choose(s, err));
    return fill(&k);
}

tare_status tare_scheme_apply(tare_model **out, const tare_model *in,
                              const tare_scheme_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(in, err);
    tare_scheme_options o = tare_scheme_options_default();
    tare_context context;
    tare_arena arena;
    tare_model *model;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_REQUIRE(o.scheme && (o.n_rules == 0 || o.rules), err);
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    if (!context.limits) context.limits = &in->limits;
    TARE_TRY(tare_model_new(&model, &context, err));
    tare_arena_init(&arena, model->allocator);
    tare_scheme_search s = {.in = in,
                            .options = &o,
                            .arena = &arena,
                            .strict = {.report = context.report, .is_strict = o.strict}};
    const tare_status status = make(model, &s, err);
    tare_arena_free(&arena);
    tare_scheme_work *work = model->private_data;
    if (work)
        work->plain = s.plain;
    else
        tare_model_free(s.plain);
    if (status == TARE_OK)
        *out = model;
    else
        tare_model_free(model);
    return status;
}
