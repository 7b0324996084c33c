/* SPDX-License-Identifier: MIT
 *
 * The safetensors driver, writing a model back as it was read: the header's text is kept, white
 * space, order, escapes and all, and only the names and values that changed are replaced in it; the
 * data keeps its order. So an unchanged model gives the same bytes, and so does a name changed and
 * changed back. */
#include "base/arith.h"
#include "base/json.h"
#include "base/str.h"
#include "format/safetensors/safetensors.h"
#include "model/names.h"

#define SIZE_BYTES TARE_SAFETENSORS_SIZE_BYTES

/* The text of one file's header, copied but for replacements. */
typedef struct splice {
    tare_safetensors_writer *w;
    const tare_safetensors_layout *layout;
    const tare_safetensors_shard *shard;
    tare_arena scratch;
    tare_safetensors_pair *old; /* the source's plain pairs, in catalog order */
    size_t n_old;
    tare_name_index old_index;
    bool is_rebuilt; /* pairs were added or removed: __metadata__ is rewritten */
    bool is_renamed; /* a tensor has another name */
    tare_buffer out;
    const char *copied; /* what stands before it is in `out` */
    tare_json j;
} splice;

/* ---- whether --------------------------------------------------------------------------------- */

static bool is_same_tensor(const tare_tensor *a, const tare_tensor *b) {
    if (a->encoding != b->encoding || a->n_dims != b->n_dims) return false;
    for (uint32_t d = 0; d < a->n_dims; d++) {
        if (a->dims[d] != b->dims[d]) return false;
    }
    return true;
}

bool tare_safetensors_can_splice(const tare_safetensors_writer *w) {
    const tare_model *source = w->options->source;
    if (!w->options->is_identity || w->options->shard_size || !source || !w->catalog->layout) {
        return false;
    }
    const tare_safetensors_layout *layout = w->catalog->layout->detail;
    bool has_names = layout->shards[0].name && (layout->n_shards == 1 || layout->index_name);
    if (layout->has_copies) return false;
    if (w->out->is_directory ? !has_names : layout->n_shards > 1) return false;
    if (w->catalog->n_tensors != source->catalog.n_tensors) return false;
    for (size_t i = 0; i < w->catalog->n_tensors; i++) {
        if (!is_same_tensor(&w->catalog->tensors[i], tare_model_stored(source, i))) return false;
    }
    return true;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static const tare_safetensors_pair *find_ours(const splice *s, const char *key) {
    const tare_safetensors_pairs *pairs = &s->w->pairs;
    for (size_t i = pairs->n; i-- > 0 && pairs->items[i].is_ours;) { /* they stand last */
        if (tare_str_is(pairs->items[i].key, key)) return &pairs->items[i];
    }
    return NULL;
}

/* Lists the source's plain pairs and compares their number with what is to be written. */
static tare_status compare_pairs(splice *s, tare_error *err) {
    const tare_catalog *c = &s->w->options->source->catalog;
    s->old = TARE_NEW_ARRAY(&s->scratch, tare_safetensors_pair, c->n_metadata);
    if (!s->old) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    for (size_t i = 0; i < c->n_metadata; i++) {
        const tare_metadata *m = &c->metadata[i];
        if (m->space != TARE_KEYS_SAFETENSORS) continue;
        s->old[s->n_old++] = (tare_safetensors_pair){m->key, m->value.as.s, false};
    }
    bool has_typed = find_ours(s, TARE_SAFETENSORS_TYPED_KEY) != NULL;
    bool has_resources = find_ours(s, TARE_SAFETENSORS_RESOURCES_KEY) != NULL;
    size_t n_ours = has_typed + has_resources;
    if (find_ours(s, TARE_SAFETENSORS_FORMAT_KEY)) n_ours++;
    size_t n_plain = s->w->pairs.n - n_ours, n_shards = s->layout->n_shards;
    s->is_rebuilt = n_plain != s->n_old || has_typed != (s->layout->typed_shard < n_shards) ||
                    has_resources != (s->layout->resources_shard < n_shards);
    return tare_name_index_build(&s->old_index, &s->scratch, s->old, s->n_old, sizeof *s->old,
                                 "duplicate key", err);
}

/* Whether a text of typed metadata matches the catalog. */
static bool is_same_metadata(splice *s, tare_str text) {
    const tare_catalog *c = s->w->catalog;
    tare_limits limits = tare_limits_default();
    tare_metadata *entries = NULL;
    size_t n = 0, k = 0;
    if (tare_metadata_from_json(&entries, &n, text, &s->scratch, &limits, NULL) != TARE_OK) {
        return false;
    }
    for (size_t i = 0; i < c->n_metadata; i++) {
        const tare_metadata *m = &c->metadata[i];
        if (m->space != TARE_KEYS_MODEL) continue;
        if (k == n || !tare_str_equal(entries[k].key, m->key) ||
            !tare_value_equal(&entries[k].value, &m->value)) {
            return false;
        }
        k++;
    }
    return k == n;
}

static bool is_same_resources(splice *s, tare_str text) {
    const tare_catalog *c = s->w->catalog;
    tare_resource_entry *list = NULL;
    size_t n = 0;
    if (tare_resources_from_json(&list, &n, text, &s->scratch, NULL) != TARE_OK ||
        n != c->n_resources) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const tare_resource_entry *r = &c->resources[i];
        if (!tare_str_equal(list[i].info.name, r->info.name) || list[i].info.size != r->info.size ||
            !r->bytes || memcmp(list[i].bytes, r->bytes, (size_t)r->info.size) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Copies the old text up to `from`; the caller writes what replaces the part up to `to`. */
static void cut_out(splice *s, const char *from, const char *to) {
    tare_buffer_put(&s->out, s->copied, (size_t)(from - s->copied));
    s->copied = to;
}

static void replace_string(splice *s, const tare_json_value *old, tare_str text) {
    cut_out(s, old->raw.ptr, old->raw.ptr + old->raw.len);
    tare_buffer_put_json(&s->out, text);
}

static tare_status text_of(splice *s, const tare_json_value *v, tare_str *text, tare_error *err) {
    *text = tare_json_text(v, &s->scratch);
    return text->ptr ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "safetensors header");
}

/* One of our pairs, in the shard where it was taken from: kept while it says the same. */
static tare_status splice_ours(splice *s, const tare_json_value *value, bool is_typed,
                               tare_error *err) {
    tare_str text;
    TARE_TRY(text_of(s, value, &text, err));
    if (is_typed ? is_same_metadata(s, text) : is_same_resources(s, text)) return TARE_OK;
    replace_string(
        s, value,
        find_ours(s, is_typed ? TARE_SAFETENSORS_TYPED_KEY : TARE_SAFETENSORS_RESOURCES_KEY)
            ->value);
    return TARE_OK;
}

static tare_status splice_pair(splice *s, const tare_json_value *key, const tare_json_value *value,
                               tare_error *err) {
    tare_str name;
    TARE_TRY(text_of(s, key, &name, err));
    int64_t i = tare_name_index_find(&s->old_index, s->old, sizeof *s->old, name);
    if (i >= 0) {
        const tare_safetensors_pair *was = &s->old[i], *now = &s->w->pairs.items[i];
        if (!tare_str_equal(was->key, now->key)) replace_string(s, key, now->key);
        if (!tare_str_equal(was->value, now->value)) replace_string(s, value, now->value);
        return TARE_OK;
    }
    if (tare_str_is(name, TARE_SAFETENSORS_FORMAT_KEY))
        return TARE_OK; /* ours, and always the same */
    size_t shard = (size_t)(s->shard - s->layout->shards);
    bool is_typed = tare_str_is(name, TARE_SAFETENSORS_TYPED_KEY);
    if (shard != (is_typed ? s->layout->typed_shard : s->layout->resources_shard)) return TARE_OK;
    return splice_ours(s, value, is_typed, err);
}

static tare_status splice_metadata(splice *s, const tare_json_value *key, tare_error *err) {
    tare_json_value object, name, value;
    tare_json_next(&s->j, &object);
    if (s->is_rebuilt) {
        tare_str raw = object.raw;
        tare_json_skip(&s->j, &object, &raw);
        cut_out(s, key->raw.ptr, raw.ptr + raw.len);
        size_t before = s->out.size;
        tare_safetensors_put_metadata(&s->out, &s->w->pairs, s->shard == s->layout->shards);
        if (s->out.size == before) {
            tare_buffer_put_text(&s->out, "\"" TARE_SAFETENSORS_METADATA "\":{}");
        }
        return TARE_OK;
    }
    if (!s->shard->has_pairs) return TARE_OK; /* null, which stays */
    while (tare_json_key(&s->j, &name) != TARE_JSON_END) {
        tare_json_next(&s->j, &value);
        TARE_TRY(splice_pair(s, &name, &value, err));
    }
    return TARE_OK;
}

/* Adds pairs to a header that has none. */
static void insert_metadata(splice *s) {
    const char *inside = s->shard->header.ptr + 1;
    cut_out(s, inside, inside);
    size_t before = s->out.size;
    tare_safetensors_put_metadata(&s->out, &s->w->pairs, s->shard == s->layout->shards);
    if (s->out.size > before && s->shard->n_tensors) tare_buffer_put_u8(&s->out, ',');
}

static tare_status splice_members(splice *s, tare_error *err) {
    tare_json_value key, value;
    size_t i = s->shard->first_tensor;
    while (tare_json_key(&s->j, &key) != TARE_JSON_END) {
        if (tare_json_is(&key, TARE_SAFETENSORS_METADATA)) {
            TARE_TRY(splice_metadata(s, &key, err));
            continue;
        }
        const tare_tensor *t = &s->w->catalog->tensors[i++];
        tare_str name;
        TARE_TRY(text_of(s, &key, &name, err));
        if (!tare_str_equal(name, t->name)) {
            replace_string(s, &key, t->name);
            s->is_renamed = true;
        }
        tare_json_next(&s->j, &value);
        tare_json_skip(&s->j, &value, NULL);
    }
    return tare_json_status(&s->j, err);
}

/* The size of a header whose text now has `size` bytes without padding. A header that is a multiple
 * of eight stays one, with as many spaces beyond that as it had; any other keeps their number. So
 * undoing a change undoes its effect here, but where a header of the second kind looks like one of
 * the first by chance in between. */
static uint64_t padded_size(const splice *s, tare_str old, uint64_t size) {
    size_t padding = 0;
    uint64_t aligned = size;
    while (old.ptr[old.len - 1 - padding] == ' ') padding++;
    if (s->w->options->keeps_place && size <= old.len) return old.len;
    size += s->w->options->spare;
    if (old.len % 8 != 0) return size + padding;
    tare_align_u64(size, 8, &aligned);
    return aligned + padding / 8 * 8;
}

static tare_status splice_header(splice *s, uint32_t file, uint64_t *data_offset, tare_error *err) {
    tare_json_value object;
    tare_str old = s->shard->header;
    s->copied = old.ptr;
    tare_buffer_put_zeros(&s->out, SIZE_BYTES);
    tare_json_init(&s->j, old, SIZE_BYTES, TARE_JSON_MAX_DEPTH);
    tare_json_begin(&s->j, &object);
    if (s->is_rebuilt && !s->shard->has_metadata) insert_metadata(s);
    TARE_TRY(splice_members(s, err));
    const char *end = old.ptr + old.len;
    while (end[-1] == ' ') end--;
    cut_out(s, end, end);
    TARE_TRY(tare_buffer_status(&s->out, err));
    return tare_safetensors_add_header(
        s->w, file, &s->out, padded_size(s, old, s->out.size - SIZE_BYTES), data_offset, err);
}

/* ---- files ----------------------------------------------------------------------------------- */

static tare_status splice_file(splice *s, tare_error *err) {
    tare_write_plan *out = s->w->out;
    const tare_model *source = s->w->options->source;
    uint32_t file;
    uint64_t data_offset = 0;
    TARE_TRY(tare_write_plan_add_file(out, out->is_directory ? s->shard->name : NULL, &file, err));
    s->out.size = 0;
    TARE_TRY(splice_header(s, file, &data_offset, err));
    uint64_t end = data_offset;
    for (size_t i = s->shard->first_tensor; i < s->shard->first_tensor + s->shard->n_tensors; i++) {
        const tare_plane *plane = &tare_model_stored(source, i)->planes[0];
        tare_extent extent = {.kind = TARE_EXTENT_TENSOR,
                              .file = file,
                              .offset = plane->offset - s->shard->data_offset + data_offset,
                              .size = plane->size,
                              .item = i};
        end += plane->size;
        TARE_TRY(tare_write_plan_add(out, &extent, err));
    }
    out->files[file].size = end;
    return TARE_OK;
}

/* The index as it was, unless it names tensors that have other names now. */
static tare_status splice_index(splice *s, tare_error *err) {
    const tare_safetensors_layout *layout = s->layout;
    if (!layout->index_name) return TARE_OK;
    if (!s->is_renamed) {
        return tare_safetensors_plan_text(s->w, layout->index_name, layout->index_text, err);
    }
    tare_safetensors_part *parts =
        TARE_NEW_ARRAY(&s->scratch, tare_safetensors_part, layout->n_shards);
    if (!parts) return tare_fail(err, TARE_ERR_NOMEM, "index");
    for (size_t i = 0; i < layout->n_shards; i++) {
        const tare_safetensors_shard *shard = &layout->shards[i];
        parts[i] =
            (tare_safetensors_part){shard->name, shard->first_tensor, shard->n_tensors, false};
    }
    return tare_safetensors_plan_index(s->w, layout->index_name, parts, layout->n_shards, err);
}

static tare_status splice_all(splice *s, tare_error *err) {
    TARE_TRY(compare_pairs(s, err));
    for (size_t i = 0; i < s->layout->n_shards; i++) {
        s->shard = &s->layout->shards[i];
        TARE_TRY(splice_file(s, err));
    }
    return s->w->out->is_directory ? splice_index(s, err) : TARE_OK;
}

tare_status tare_safetensors_splice(tare_safetensors_writer *w, tare_error *err) {
    splice s = {.w = w, .layout = w->catalog->layout->detail};
    tare_arena_init(&s.scratch, w->out->arena->allocator);
    tare_buffer_init(&s.out, w->out->arena->allocator);
    tare_status status = splice_all(&s, err);
    tare_buffer_free(&s.out);
    tare_arena_free(&s.scratch);
    return status;
}
