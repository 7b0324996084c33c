/* SPDX-License-Identifier: MIT
 *
 * The PyTorch driver, reading: the zip form, whose members PREFIX/data.pkl and PREFIX/data/KEY are
 * the object and its storages (torch/serialization.py, _save; TorchScript's archives have both, too),
 * the legacy form (_legacy_save), which is pickles one after the other and then the storages, and a
 * pickle alone. */
#include <inttypes.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/report.h"
#include "base/str.h"
#include "format/torch/torch.h"
#include "model/foreign.h"
#include "model/names.h"

#define OBJECT    "data.pkl"
#define STORAGES  "data/"
#define CONSTANTS "constants" /* of TorchScript: a pickle, and a folder of storages */
#define BYTEORDER "byteorder"

enum { FIRST_WINDOW = 65536 };

/* ---- pickles in files ------------------------------------------------------------------------ */

/* Bytes of the file as long as the model lives: in place where they are in memory. */
static tare_status read_text(tare_str *out, tare_torch_file *f, uint64_t offset, size_t size,
                             tare_error *err) {
    const uint8_t *lent = tare_reader_borrow(f->reader, offset, size);
    *out = (tare_str){(const char *)lent, size};
    if (lent) return TARE_OK;
    uint8_t *bytes = tare_arena_take(&f->m->arena, size);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "pickle");
    out->ptr = (const char *)bytes;
    return tare_reader_read(f->reader, offset, bytes, size, err);
}

/* Adds what was read to what the directory is. */
static tare_status count_bytes(tare_torch_file *f, uint64_t n, uint64_t at, tare_error *err) {
    if (tare_add_u64(f->m->directory_bytes, n, &f->m->directory_bytes) &&
        f->m->directory_bytes <= f->m->limits.metadata_bytes)
        return TARE_OK;
    return tare_fail_at(err, TARE_ERR_LIMIT, at, "bytes of the pickle");
}

static tare_status read_pickle(tare_pickle *out, tare_torch_file *f, uint64_t offset, uint64_t size,
                               tare_error *err) {
    tare_str text;
    if (size > f->m->limits.metadata_bytes)
        return tare_fail_at(err, TARE_ERR_LIMIT, offset, "bytes of the pickle");
    TARE_TRY(read_text(&text, f, offset, (size_t)size, err));
    return tare_pickle_read(out, text, offset, &f->scratch, err);
}

/* A pickle whose end only reading it tells: it is read again with more of the file while it goes on
 * behind what has been read. */
static tare_status find_pickle(tare_pickle *out, tare_torch_file *f, uint64_t offset,
                               tare_error *err) {
    const uint64_t left = f->reader->size - tare_min_u64(offset, f->reader->size);
    uint64_t size = FIRST_WINDOW;
    for (;; size *= 2) {
        const bool is_all = size >= left;
        tare_error fault = TARE_ERROR_NONE;
        const tare_status status = read_pickle(out, f, offset, is_all ? left : size, &fault);
        if (status == TARE_OK) return count_bytes(f, out->end - offset, offset, err);
        if (status == TARE_ERR_TRUNCATED && !is_all) continue;
        if (err) *err = fault;
        return status;
    }
}

/* ---- the zip form ---------------------------------------------------------------------------- */

/* The archive's object, and what the names of its members begin with. */
static const tare_zip_member *find_object(const tare_zip *zip, tare_str *prefix) {
    const tare_zip_member *found = NULL;
    for (size_t i = 0; i < zip->n; i++) {
        const tare_str name = zip->members[i].name;
        if (!tare_str_ends(name, TARE_STR(OBJECT))) continue;
        const size_t length = name.len - strlen(OBJECT);
        if (length && name.ptr[length - 1] != '/') continue;
        if (found && length >= prefix->len) continue;
        found = &zip->members[i];
        *prefix = (tare_str){name.ptr, length};
    }
    return found;
}

/* The part of a member's name behind PREFIX and `folder`; false: it is no such member. */
static bool name_within(tare_str *out, tare_str name, tare_str prefix, const char *folder) {
    if (!tare_str_starts(name, prefix)) return false;
    name = tare_str_cut(name, prefix.len);
    if (!tare_str_starts(name, tare_str_of(folder))) return false;
    *out = tare_str_cut(name, strlen(folder));
    return true;
}

static tare_status read_order(tare_torch_file *f, const tare_zip_member *member, tare_error *err) {
    char word[8] = {0};
    TARE_TRY(tare_zip_check_stored(member, err));
    if (member->size < sizeof word)
        TARE_TRY(tare_reader_read(f->reader, member->offset, word, (size_t)member->size, err));
    f->is_big_endian = strcmp(word, "big") == 0;
    if (f->is_big_endian || strcmp(word, "little") == 0) return TARE_OK;
    return tare_fail_at(err, TARE_ERR_CORRUPT, member->offset, "byteorder: neither little nor big");
}

static tare_status list_members(tare_torch_file *f, const tare_zip *zip, tare_str prefix,
                                const char *folder, tare_error *err) {
    tare_str rest;
    f->n_storages = 0;
    f->storages = TARE_NEW_ARRAY(&f->scratch, tare_torch_storage, zip->n);
    if (!f->storages) return tare_fail(err, TARE_ERR_NOMEM, "storages");
    for (size_t i = 0; i < zip->n; i++) {
        const tare_zip_member *m = &zip->members[i];
        if (name_within(&rest, m->name, prefix, BYTEORDER) && rest.len == 0)
            TARE_TRY(read_order(f, m, err));
        if (!name_within(&rest, m->name, prefix, folder)) continue;
        TARE_TRY(tare_zip_check_stored(m, err));
        f->storages[f->n_storages++] = (tare_torch_storage){rest, m->offset, m->size, NULL};
    }
    return tare_name_index_build(&f->storage_index, &f->scratch, f->storages, f->n_storages,
                                 sizeof *f->storages, "zip: two members have one name", err);
}

static tare_status walk(tare_torch_file *f, const char *within, tare_error *err) {
    TARE_TRY(tare_torch_read_embedded(f, err));
    TARE_TRY(tare_torch_report_names(f, err));
    return tare_torch_walk(f, within, err);
}

/* A pickle of the archive, and the folder that its storages are in. */
static tare_status read_member(tare_torch_file *f, const tare_zip *zip, tare_str prefix,
                               const tare_zip_member *object, const char *folder,
                               const char *within, tare_error *err) {
    TARE_TRY(tare_zip_check_stored(object, err));
    TARE_TRY(tare_zip_check_crc(f->reader, object, err));
    TARE_TRY(list_members(f, zip, prefix, folder, err));
    TARE_TRY(count_bytes(f, object->size, object->record, err));
    TARE_TRY(read_pickle(&f->pickle, f, object->offset, object->size, err));
    return walk(f, within, err);
}

static tare_status read_zip(tare_torch_file *f, tare_error *err) {
    tare_zip zip;
    tare_str prefix = {NULL, 0}, rest;
    TARE_TRY(tare_zip_read(&zip, f->reader, f->m->limits.metadata_bytes, &f->scratch, err));
    TARE_TRY(tare_model_state_members(f->m, &zip, f->base, 0, err)); /* flushed with their file */
    const tare_zip_member *object = find_object(&zip, &prefix);
    if (!object)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "a zip archive without the data.pkl that PyTorch writes");
    for (const tare_zip_member *m = object + 1; m < zip.members + zip.n; m++)
        if (tare_str_equal(m->name, object->name))
            return tare_fail_at(err, TARE_ERR_CORRUPT, m->record,
                                "zip: two members are data.pkl, and programs differ in which one "
                                "they read");
    TARE_TRY(count_bytes(f, zip.directory_bytes, object->record, err));
    TARE_TRY(read_member(f, &zip, prefix, object, STORAGES, f->within, err));
    for (size_t i = 0; i < zip.n; i++)
        if (name_within(&rest, zip.members[i].name, prefix, CONSTANTS ".pkl") && rest.len == 0)
            return read_member(f, &zip, prefix, &zip.members[i], CONSTANTS "/", CONSTANTS, err);
    return TARE_OK;
}

/* ---- the legacy form ------------------------------------------------------------------------- */

/* Bytes of an element of the storage with this key; 0: nothing refers to it. */
static uint32_t element_bytes(tare_str key, const tare_name_index *index,
                              const tare_torch_storage *users) {
    const int64_t at = tare_name_index_find(index, users, sizeof *users, key);
    return at < 0 ? 0 : (uint32_t)users[at].size;
}

/* The keys that values refer to; `size` is that of an element. */
static tare_status list_users(tare_torch_storage **out, tare_name_index *index, tare_torch_file *f,
                              tare_error *err) {
    const tare_pickle *p = &f->pickle;
    tare_torch_storage *users = TARE_NEW_ARRAY(&f->scratch, tare_torch_storage, p->n_persistents);
    size_t n = 0;
    if (!users) return tare_fail(err, TARE_ERR_NOMEM, "storages");
    TARE_TRY(tare_name_index_init(index, &f->scratch, p->n_persistents, err));
    for (size_t i = 0; i < p->n_persistents; i++) {
        const tare_pickle_value *id = &p->persistents[i].as.object->items.items[0],
                                *key = tare_pickle_item(id, 2);
        const tare_torch_dtype *type = tare_torch_dtype_of(tare_pickle_item(id, 1));
        if (!type || !key || (key->kind != TARE_PICKLE_TEXT && key->kind != TARE_PICKLE_BYTES))
            continue;
        users[n] = (tare_torch_storage){key->as.s, 0, type->bytes, NULL};
        n += tare_name_index_add(index, users, sizeof *users, n, NULL) < 0;
    }
    *out = users;
    return TARE_OK;
}

/* One storage: a number of elements, then these. *at moves behind it. */
static tare_status read_storage(tare_torch_storage *out, const tare_torch_file *f, uint32_t bytes,
                                uint64_t *at, tare_error *err) {
    uint8_t count[8];
    uint64_t size, end;
    TARE_TRY(tare_reader_read(f->reader, *at, count, sizeof count, err));
    out->offset = *at + sizeof count;
    if (!tare_mul_u64(tare_load_le64(count), bytes, &size) ||
        !tare_add_u64(out->offset, size, &end))
        return tare_fail_at(err, TARE_ERR_CORRUPT, *at, "storage: its number of elements");
    if (end > f->reader->size)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, f->reader->size,
                            "storage: data beyond the end of the file");
    out->size = size;
    *at = end;
    return TARE_OK;
}

/* Bytes behind the last one that the file says anything of: Python stops there, too. */
static void note_more_bytes(const tare_torch_file *f, uint64_t end) {
    tare_finding finding = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "torch.more-bytes");
    if (end >= f->reader->size) return;
    finding.offset = f->base + end;
    tare_report_addf(f->report, &finding, "%" PRIu64 " bytes follow, which are not read",
                     f->reader->size - end);
}

/* *end: behind the last of them. */
static tare_status read_storages(uint64_t *end, tare_torch_file *f, const tare_pickle *keys,
                                 tare_error *err) {
    tare_name_index index = {NULL, 0, {{0}}};
    tare_torch_storage *users = NULL;
    const tare_pickle_value *key;
    uint64_t at = keys->end;
    if (keys->root.kind != TARE_PICKLE_LIST)
        return tare_fail_at(err, TARE_ERR_CORRUPT, keys->root.offset,
                            "keys of storages: a list expected");
    TARE_TRY(list_users(&users, &index, f, err));
    f->storages = TARE_NEW_ARRAY(&f->scratch, tare_torch_storage, keys->root.as.object->items.n);
    if (!f->storages) return tare_fail(err, TARE_ERR_NOMEM, "storages");
    while ((key = tare_pickle_item(&keys->root, f->n_storages)) != NULL) {
        tare_torch_storage *s = &f->storages[f->n_storages++];
        if (key->kind != TARE_PICKLE_TEXT && key->kind != TARE_PICKLE_BYTES)
            return tare_fail_at(err, TARE_ERR_CORRUPT, key->offset,
                                "key of a storage: a text expected");
        s->key = key->as.s;
        const uint32_t bytes = element_bytes(s->key, &index, users);
        if (!bytes)
            return tare_fail_at(err, TARE_ERR_CORRUPT, key->offset,
                                "key of a storage: nothing refers to it");
        TARE_TRY(read_storage(s, f, bytes, &at, err));
    }
    *end = at;
    return tare_name_index_build(&f->storage_index, &f->scratch, f->storages, f->n_storages,
                                 sizeof *f->storages, "storages: two have one key", err);
}

/* Magic, protocol, facts of the system, object, keys. Numbers are little-endian whatever the system
 * that wrote them. */
static tare_status read_pickles(tare_torch_file *f, tare_error *err) {
    tare_pickle part;
    uint64_t end = 0;
    TARE_TRY(find_pickle(&f->pickle, f, 0, err));
    if (!tare_torch_is_legacy(&f->pickle)) {
        TARE_TRY(tare_name_index_init(&f->storage_index, &f->scratch, 0, err));
        note_more_bytes(f, f->pickle.end);
        return walk(f, f->within, err);
    }
    TARE_TRY(find_pickle(&part, f, f->pickle.end, err));
    if (part.root.kind != TARE_PICKLE_INT || part.root.as.i != 1001)
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, part.root.offset,
                            "PyTorch's legacy form: another version than 1001");
    TARE_TRY(find_pickle(&part, f, part.end, err));
    TARE_TRY(find_pickle(&f->pickle, f, part.end, err));
    TARE_TRY(find_pickle(&part, f, f->pickle.end, err));
    TARE_TRY(read_storages(&end, f, &part, err));
    note_more_bytes(f, end);
    return walk(f, f->within, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

tare_status tare_torch_read(tare_torch_file *f, tare_error *err) {
    uint8_t head[64];
    const size_t n = (size_t)tare_min_u64(f->reader->size, sizeof head);
    TARE_TRY(tare_reader_read(f->reader, 0, head, n, err));
    return tare_zip_probe(head, n) ? read_zip(f, err) : read_pickles(f, err);
}

tare_status tare_torch_add_file(tare_torch_set *set, tare_reader *reader, const char *name,
                                tare_error *err) {
    tare_torch_file f;
    uint32_t file = 0;
    tare_torch_parts_begin(&f, set);
    f.reader = reader;
    tare_status status = tare_torch_read(&f, err);
    if (status == TARE_OK) status = tare_torch_rename(&f, err);
    if (status == TARE_OK) status = tare_torch_note_order(&f, err);
    if (status == TARE_OK) status = tare_model_add_file(set->m, reader, name, &file, err);
    if (status == TARE_OK) status = tare_torch_parts_flush(&f, file, err);
    if (status == TARE_OK) status = tare_torch_parts_end(&f, err);
    tare_torch_parts_free(&f);
    return status;
}

static tare_status open_torch(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    tare_torch_set set = {.m = m, .strided = {.m = m}, .report = ctx->options->context->report};
    if (ctx->source->kind == TARE_SOURCE_SHARDS)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "PyTorch files are opened one by one");
    TARE_TRY(tare_torch_add_file(&set, ctx->first, ctx->first->name, err));
    TARE_TRY(tare_strided_end(&set.strided, err));
    tare_layout *layout = TARE_NEW(&m->arena, tare_layout);
    if (!layout) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    *layout = (tare_layout){.is_big_endian = set.is_big_endian};
    m->catalog.layout = layout;
    return tare_model_finish(m, set.report, err);
}

/* Protocols 0 and 1 have no magic: what dicts, lists, arrays and objects begin with, and PyTorch's legacy
 * form. */
static bool is_old_pickle(tare_str head) {
    static const char *const begins[] = {"(dp0\n",
                                         "(dp1\n",
                                         "(lp0\n",
                                         "(lp1\n",
                                         "ccollections\n",
                                         "ccopy_reg\n",
                                         "ccopyreg\n",
                                         "cnumpy.core.multiarray\n",
                                         "cnumpy._core.multiarray\n",
                                         "ctorch.",
                                         "L" TARE_TORCH_LEGACY_TEXT "L\n."};
    static const char *const binary[] = {"}q", "]q"}; /* and the number 0 or 1 of a memo */
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (tare_str_starts(head, tare_str_of(begins[i]))) return true;
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
        if (head.len > 3 && tare_str_starts(head, tare_str_of(binary[i])) &&
            (unsigned char)head.ptr[2] <= 1)
            return true;
    return false;
}

/* Protocols 2 and later begin with a number. */
static bool is_file(tare_str head) {
    const uint8_t *p = (const uint8_t *)head.ptr;
    if (tare_zip_probe(p, head.len)) {
        for (size_t i = 0; i + strlen(OBJECT) <= head.len; i++)
            if (tare_str_starts(tare_str_cut(head, i), TARE_STR(OBJECT))) return true;
        return false;
    }
    if (is_old_pickle(head)) return true;
    return head.len >= 3 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5 && !tare_is_importance_dat(head);
}

static bool probe(const tare_probe *p) {
    return !p->is_directory && is_file(tare_probe_text(p));
}

const tare_format tare_format_torch = {
    .name = "torch",
    .description = "PyTorch's pickles, read as data: nothing in them is run",
    .suffix = ".pt",
    .caps = &tare_torch_caps,
    .read = {.probe = probe, .open = open_torch},
};
