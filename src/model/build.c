/* SPDX-License-Identifier: MIT
 *
 * Models from memory. All planes are laid out one after the other in one virtual file: its reader
 * knows which plane a byte belongs to and where that plane has it. */
#include <tare/build.h>

#include "base/arith.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/str.h"
#include "model/model_internal.h"

TARE_DEFINE_INIT(tare_build_options)
TARE_DEFINE_INIT(tare_build_tensor)

/* ---- the file -------------------------------------------------------------------------------- */

typedef struct part {
    uint64_t start; /* in the file; first, as they are searched by it */
    uint64_t size;
    const uint8_t *bytes; /* NULL: `read` makes them */
    tare_plane_read_fn read;
    void *read_ctx;
    uint32_t plane;
} part;

typedef struct parts {
    const tare_allocator *allocator;
    part *list;
    size_t n, capacity;
    uint64_t size;
} parts;

static tare_status read_part(const part *p, uint64_t offset, void *buf, size_t n, tare_error *err) {
    if (p->bytes) {
        memcpy(buf, p->bytes + offset, n);
        return TARE_OK;
    }
    const tare_status s = p->read(p->read_ctx, p->plane, offset, buf, n);
    return s == TARE_OK ? s : tare_fail(err, s, "reading through the caller's function");
}

static tare_status read_parts(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const parts *all = ctx;
    uint8_t *dst = buf;
    for (size_t i = tare_part_of(&all->list->start, all->n, sizeof *all->list, offset); n > 0;
         i++) {
        const part *p = &all->list[i];
        const uint64_t skip = offset - p->start;
        const size_t take = (size_t)tare_min_u64(n, p->size - skip);
        TARE_TRY(read_part(p, skip, dst, take, err));
        dst += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}

static const uint8_t *lend_part(void *ctx, uint64_t offset, uint64_t n) {
    const parts *all = ctx;
    if (!all->n) return NULL;
    const part *p = &all->list[tare_part_of(&all->list->start, all->n, sizeof *all->list, offset)];
    const uint64_t skip = offset - p->start;
    return p->bytes && skip <= p->size && n <= p->size - skip ? p->bytes + skip : NULL;
}

static void close_parts(void *ctx) {
    parts *all = ctx;
    const tare_allocator *a = all->allocator;
    tare_free(a, all->list, all->capacity * sizeof *all->list);
    tare_free(a, all, sizeof *all);
}

/* ---- the builder ----------------------------------------------------------------------------- */

struct tare_builder {
    tare_model *m;
    parts *parts; /* of the model's file, which closes them */
    size_t tensors_capacity, keys_capacity, resources_capacity;
};

static tare_status no_memory(tare_error *err) {
    return tare_fail(err, TARE_ERR_NOMEM, "model");
}

static tare_status add_file(tare_builder *b, const char *name, tare_error *err) {
    uint32_t index;
    parts *all = tare_alloc(b->m->allocator, sizeof *all);
    if (!all) return no_memory(err);
    *all = (parts){.allocator = b->m->allocator};
    tare_reader reader = {
        .fd = -1, .fetch = read_parts, .lend = lend_part, .read_ctx = all, .close = close_parts};
    const tare_status s = tare_model_add_file(b->m, &reader, name ? name : "memory", &index, err);
    if (s != TARE_OK)
        tare_reader_close(&reader);
    else
        b->parts = all;
    return s;
}

tare_status tare_builder_new(tare_builder **out, const tare_build_options *options,
                             tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    tare_build_options o = tare_build_options_default();
    tare_context context;
    tare_context open = tare_context_default();
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    open.allocator = o.context->allocator;
    open.limits = o.context->limits;
    tare_builder *b = tare_alloc(o.context->allocator, sizeof *b);
    if (!b) return no_memory(err);
    *b = (tare_builder){.m = NULL};
    tare_status s = tare_model_new(&b->m, &open, err);
    if (s == TARE_OK) {
        b->m->format = "memory";
        b->m->catalog.has_pairs = o.has_pairs;
        s = add_file(b, o.name, err);
    }
    if (s == TARE_OK)
        *out = b;
    else if (b->m)
        tare_builder_free(b);
    else
        tare_free(o.context->allocator, b, sizeof *b);
    return s;
}

/* A list that the model has not taken over. */
static void free_list(tare_builder *b, void *list, size_t capacity, size_t item_size) {
    if (capacity) tare_free(b->m->allocator, list, capacity * item_size);
}

void tare_builder_free(tare_builder *builder) {
    if (!builder) return;
    const tare_allocator *a = builder->m->allocator;
    const tare_catalog *c = &builder->m->catalog;
    free_list(builder, c->tensors, builder->tensors_capacity, sizeof *c->tensors);
    free_list(builder, c->metadata, builder->keys_capacity, sizeof *c->metadata);
    free_list(builder, c->resources, builder->resources_capacity, sizeof *c->resources);
    tare_model_free(builder->m);
    tare_free(a, builder, sizeof *builder);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static tare_status add_part(tare_builder *b, const tare_build_tensor *from, const tare_plane *plane,
                            uint32_t number, tare_error *err) {
    parts *all = b->parts;
    if (plane->size == 0) return TARE_OK;
    if (!from->read && !from->planes[number])
        return tare_fail(err, TARE_ERR_ARG, "planes: one of them has no bytes");
    if (!tare_grow(all->allocator, (void **)&all->list, &all->capacity, all->n + 1,
                   sizeof *all->list))
        return no_memory(err);
    all->list[all->n++] = (part){.start = plane->offset,
                                 .size = plane->size,
                                 .bytes = from->read ? NULL : from->planes[number],
                                 .read = from->read,
                                 .read_ctx = from->read_ctx,
                                 .plane = number};
    all->size = plane->offset + plane->size;
    return TARE_OK;
}

static bool has_list(const tare_encoding *e) {
    for (uint32_t p = 0; p < e->n_planes; p++)
        if (e->planes[p].scope == TARE_PLANE_LIST) return true;
    return false;
}

static tare_status fill_tensor(tare_tensor *t, tare_builder *b, const tare_build_tensor *from,
                               tare_error *err) {
    tare_model *m = b->m;
    TARE_TRY(
        tare_tensor_set(m, t, from->encoding, from->dims, from->n_dims, 0, b->parts->size, err));
    if (from->list_bytes) {
        if (!has_list(from->encoding))
            return tare_fail(err, TARE_ERR_ARG, "list_bytes: the encoding has no records");
        TARE_TRY(tare_tensor_set_list(t, from->list_bytes, &m->arena, err));
    }
    for (uint32_t p = 0; p < from->encoding->n_planes; p++)
        TARE_TRY(add_part(b, from, &t->planes[p], p, err));
    return TARE_OK;
}

tare_status tare_builder_add_tensor(tare_builder *builder, const tare_build_tensor *tensor,
                                    tare_error *err) {
    TARE_REQUIRE(builder && tensor, err);
    tare_build_tensor from = tare_build_tensor_default();
    tare_catalog *c = &builder->m->catalog;
    TARE_TRY(tare_options_read(&from, sizeof from, tensor, err));
    TARE_REQUIRE(from.encoding && from.encoding->id != TARE_ENCODING_UNKNOWN, err);
    TARE_REQUIRE((from.dims || !from.n_dims) && from.name.ptr, err);
    if (c->n_tensors >= builder->m->limits.tensors)
        return tare_fail(err, TARE_ERR_LIMIT, "number of tensors");
    if (from.name.len > builder->m->limits.name_bytes)
        return tare_fail(err, TARE_ERR_LIMIT, "length of a name");
    if (!tare_grow(builder->m->allocator, (void **)&c->tensors, &builder->tensors_capacity,
                   c->n_tensors + 1, sizeof *c->tensors))
        return no_memory(err);
    tare_tensor *t = &c->tensors[c->n_tensors];
    *t = (tare_tensor){.name = tare_arena_str(&builder->m->arena, from.name),
                       .offset = TARE_NO_OFFSET};
    if (!t->name.ptr) return no_memory(err);
    tare_status s = fill_tensor(t, builder, &from, err);
    if (s == TARE_ERR_CORRUPT && err) err->status = TARE_ERR_ARG; /* the caller's dimensions */
    if (s != TARE_OK)
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)c->n_tensors, from.name);
    else
        c->n_tensors++;
    return s == TARE_ERR_CORRUPT ? TARE_ERR_ARG : s;
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* Whether the elements of an array, and of arrays nested in it, exactly fill its bytes. */
static bool is_sound(const tare_array *a, uint32_t nesting) {
    tare_array_walk walk;
    tare_value element;
    uint64_t n = 0, size;
    if (!a->bytes && a->size_bytes) return false;
    if (a->is_big_endian || a->has_short_lengths) return false;
    if (tare_value_type_size(a->type))
        return tare_mul_u64(a->count, tare_value_type_size(a->type), &size) &&
               size == a->size_bytes;
    if ((a->type != TARE_VALUE_STRING && a->type != TARE_VALUE_ARRAY) || !nesting) return false;
    tare_array_begin(&walk, a);
    for (; tare_array_next(&element, &walk); n++)
        if (element.type == TARE_VALUE_ARRAY && !is_sound(&element.as.a, nesting - 1)) return false;
    return n == a->count && walk.position == a->size_bytes;
}

static tare_status copy_value(tare_value *out, tare_builder *b, const tare_value *value,
                              tare_error *err) {
    tare_arena *arena = &b->m->arena;
    *out = *value;
    if (value->type == TARE_VALUE_STRING) {
        out->as.s = tare_arena_str(arena, value->as.s);
        return out->as.s.ptr ? TARE_OK : no_memory(err);
    }
    if (value->type == TARE_VALUE_ARRAY) {
        const tare_array *a = &value->as.a;
        if (a->count > b->m->limits.array_elements || a->size_bytes > SIZE_MAX / 2)
            return tare_fail(err, TARE_ERR_LIMIT, "array: number of elements");
        if (!is_sound(a, b->m->limits.nesting))
            return tare_fail(err, TARE_ERR_ARG, "array: its elements do not fill its bytes");
        const tare_str bytes = {(const char *)a->bytes, (size_t)a->size_bytes};
        const tare_str kept = tare_arena_str(arena, bytes.len ? bytes : TARE_STR(""));
        out->as.a.bytes = (const uint8_t *)kept.ptr;
        return kept.ptr ? TARE_OK : no_memory(err);
    }
    return tare_value_type_size(value->type) ? TARE_OK
                                             : tare_fail(err, TARE_ERR_ARG, "value: unknown type");
}

tare_status tare_builder_add_key(tare_builder *builder, tare_key_space space, tare_str key,
                                 const tare_value *value, tare_error *err) {
    TARE_REQUIRE(builder && value && (key.ptr || !key.len), err);
    TARE_REQUIRE(space == TARE_KEYS_MODEL || space == TARE_KEYS_SAFETENSORS, err);
    tare_catalog *c = &builder->m->catalog;
    if (space == TARE_KEYS_SAFETENSORS && value->type != TARE_VALUE_STRING)
        return tare_fail(err, TARE_ERR_ARG, "value: pairs of safetensors are strings");
    if (c->n_metadata >= builder->m->limits.keys || key.len > builder->m->limits.name_bytes)
        return tare_fail(err, TARE_ERR_LIMIT, "number or length of keys");
    if (!tare_grow(builder->m->allocator, (void **)&c->metadata, &builder->keys_capacity,
                   c->n_metadata + 1, sizeof *c->metadata))
        return no_memory(err);
    tare_metadata *e = &c->metadata[c->n_metadata];
    *e = (tare_metadata){.key = tare_arena_str(&builder->m->arena, key.len ? key : TARE_STR("")),
                         .space = space,
                         .offset = TARE_NO_OFFSET};
    tare_status s = e->key.ptr ? copy_value(&e->value, builder, value, err) : no_memory(err);
    if (s != TARE_OK)
        tare_error_item(err, TARE_ITEM_KEY, (int64_t)c->n_metadata, key);
    else
        c->n_metadata++;
    return s;
}

tare_status tare_builder_add_strings(tare_builder *builder, tare_str key, const tare_str *strings,
                                     size_t n, tare_error *err) {
    TARE_REQUIRE(builder && (strings || n == 0), err);
    tare_buffer packed;
    tare_buffer_init(&packed, builder->m->allocator);
    for (size_t i = 0; i < n; i++) {
        tare_buffer_put_u64(&packed, strings[i].len, false);
        tare_buffer_put_str(&packed, strings[i]);
    }
    tare_status s = tare_buffer_status(&packed, err);
    const tare_value value = {.type = TARE_VALUE_ARRAY,
                              .as.a = {.type = TARE_VALUE_STRING,
                                       .count = n,
                                       .bytes = packed.data,
                                       .size_bytes = packed.size}};
    if (s == TARE_OK) s = tare_builder_add_key(builder, TARE_KEYS_MODEL, key, &value, err);
    tare_buffer_free(&packed);
    return s;
}

/* ---- resources ------------------------------------------------------------------------------- */

tare_status tare_builder_add_resource(tare_builder *builder, tare_str name, const void *bytes,
                                      size_t n, tare_error *err) {
    TARE_REQUIRE(builder && name.ptr && name.len && (bytes || n == 0), err);
    tare_catalog *c = &builder->m->catalog;
    if (n > builder->m->limits.resource_bytes || name.len > builder->m->limits.name_bytes)
        return tare_fail(err, TARE_ERR_LIMIT, "size of a resource");
    if (!tare_grow(builder->m->allocator, (void **)&c->resources, &builder->resources_capacity,
                   c->n_resources + 1, sizeof *c->resources))
        return no_memory(err);
    const tare_str text = {bytes, n};
    const tare_str own_name = tare_arena_str(&builder->m->arena, name);
    const tare_str kept = tare_arena_str(&builder->m->arena, n ? text : TARE_STR(""));
    if (!own_name.ptr || !kept.ptr) return no_memory(err);
    c->resources[c->n_resources++] =
        (tare_resource_entry){.info = {own_name, n}, .bytes = (const uint8_t *)kept.ptr};
    return TARE_OK;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Hands a list over to the model. */
static tare_status keep(tare_builder *b, void *list, size_t *capacity, size_t item_size,
                        tare_error *err) {
    if (*capacity) TARE_TRY(tare_model_keep(b->m, list, *capacity * item_size, err));
    *capacity = 0;
    return TARE_OK;
}

static tare_status finish(tare_builder *b, tare_error *err) {
    tare_catalog *c = &b->m->catalog;
    TARE_TRY(keep(b, c->tensors, &b->tensors_capacity, sizeof *c->tensors, err));
    TARE_TRY(keep(b, c->metadata, &b->keys_capacity, sizeof *c->metadata, err));
    TARE_TRY(keep(b, c->resources, &b->resources_capacity, sizeof *c->resources, err));
    b->m->files[0].reader.size = b->parts->size;
    return tare_model_finish(b->m, NULL, err);
}

tare_status tare_builder_end(tare_model **out, tare_builder *builder, tare_error *err) {
    TARE_REQUIRE(out && builder, err);
    *out = NULL;
    tare_status s = finish(builder, err);
    if (s == TARE_ERR_CORRUPT) { /* the fault is not in a file */
        s = TARE_ERR_ARG;
        if (err) err->status = s;
    }
    if (s != TARE_OK) {
        tare_builder_free(builder);
        return s;
    }
    *out = builder->m;
    tare_free(builder->m->allocator, builder, sizeof *builder);
    return TARE_OK;
}
