/* SPDX-License-Identifier: MIT
 *
 * Opening adapters: PEFT's directories and files, files in other dialects, a safetensors file with one
 * pair of factors, the adapters of a package. */
#include "ops/adapters/adapter_open.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/os_path.h"
#include "base/str.h"

/* ---- paths ----------------------------------------------------------------------------------- */

/* "DIRECTORY/NAME", to be freed. NULL: out of memory. */
static char *join(const char *directory, size_t length, const char *name) {
    size_t n = strlen(name);
    char *path = malloc(length + n + 2);
    if (!path) return NULL;
    memcpy(path, directory, length);
    if (length > 0 && path[length - 1] != '/') path[length++] = '/';
    memcpy(path + length, name, n + 1);
    return path;
}

/* The length of the directory part of a path. */
static size_t directory_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static bool is_directory(const char *path) {
    return tare_path_stat(path, NULL) == TARE_PATH_FOLDER;
}

static bool exists(const char *path) {
    int os_error;
    return tare_path_stat(path, &os_error) != TARE_PATH_NOTHING ||
           (os_error != ENOENT && os_error != ENOTDIR); /* opening it says why */
}

/* ---- one pair -------------------------------------------------------------------------------- */

static bool is_named(tare_str name, char letter) {
    const tare_str prefix = TARE_STR("adapter.");
    if (name.len == prefix.len + 1) {
        for (size_t i = 0; i < prefix.len; i++)
            if ((name.ptr[i] | 0x20) != (prefix.ptr[i] | 0x20)) return false;
        name = tare_str_cut(name, prefix.len);
    }
    return name.len == 1 && (name.ptr[0] | 0x20) == letter;
}

/* A is rows x rank and B rank x cols, or the other way round, as PEFT names them. If both fit, the
 * inner dimension is the smaller one: with a rank larger than both sides of the product the factors
 * would not be low-rank. */
static tare_status orient(tare_adapter *adapter, const tare_tensor *a, const tare_tensor *b,
                          tare_error *err) {
    if (a->n_dims != 2 || b->n_dims != 2)
        return tare_fail(err, TARE_ERR_CORRUPT, "a factor is not a matrix");
    const bool is_straight = a->cols == b->n_rows, is_peft = b->cols == a->n_rows;
    if (!is_straight && !is_peft)
        return tare_fail(err, TARE_ERR_CORRUPT,
                         "no dimension of A and B is the rank: expected A [rows, rank] and B "
                         "[rank, columns], or A [rank, columns] and B [rows, rank]");
    if (is_straight && is_peft && a->cols == b->cols)
        return tare_fail(err, TARE_ERR_CORRUPT, "A and B are square: their order is ambiguous");
    const bool is_swapped = !is_straight || (is_peft && b->cols < a->cols);
    *adapter = (tare_adapter){.scale = 1, .a = is_swapped ? b : a, .b = is_swapped ? a : b};
    return tare_adapter_measure(adapter, err);
}

/* The scale that the header states; 1 if it states none. */
static tare_status read_scale(const tare_model *m, double *scale, tare_error *err) {
    char text[64];
    tare_str value = {"", 0};
    for (size_t i = 0; i < m->catalog.n_metadata; i++) {
        const tare_metadata *e = &m->catalog.metadata[i];
        if (e->value.type == TARE_VALUE_STRING && tare_str_is(e->key, TARE_ADAPTER_SCALE))
            value = e->value.as.s;
    }
    *scale = 1;
    if (value.len == 0) return TARE_OK;
    if (value.len < sizeof text) {
        char *end;
        memcpy(text, value.ptr, value.len);
        text[value.len] = '\0';
        *scale = strtod(text, &end);
        if (*end == '\0' && isfinite(*scale)) return TARE_OK;
    }
    return tare_fail(err, TARE_ERR_CORRUPT, "scale: expected a finite number");
}

static tare_status open_pair(tare_adapter_set *set, tare_model *m, tare_error *err) {
    const tare_tensor *a = NULL, *b = NULL;
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        const tare_tensor *t = &m->catalog.tensors[i];
        const tare_tensor **to = is_named(t->name, 'a') ? &a : is_named(t->name, 'b') ? &b : NULL;
        if (!to || *to) {
            tare_fail(err, TARE_ERR_UNSUPPORTED,
                      "no adapter: expected the tensors A and B, or those of a PEFT adapter");
            tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, t->name);
            return TARE_ERR_UNSUPPORTED;
        }
        *to = t;
    }
    if (!a || !b)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "no adapter: expected the tensors A and B, or those of a PEFT adapter");
    set->adapters = TARE_NEW(&m->arena, tare_adapter);
    if (!set->adapters) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    set->n = 1;
    TARE_TRY(orient(set->adapters, a, b, err));
    return read_scale(m, &set->adapters->scale, err);
}

/* ---- PEFT ------------------------------------------------------------------------------------ */

static tare_status read_config(tare_str *text, tare_model *m, const char *path, tare_error *err) {
    tare_reader r;
    size_t size = 0;
    if (!exists(path))
        return tare_fail(err, TARE_ERR_ARG,
                         "no adapter_config.json beside the file: the scale is not known");
    TARE_TRY(tare_reader_open(&r, path, false, err));
    tare_status status = TARE_OK;
    if (r.size > m->limits.resource_bytes || !tare_size_of_u64(r.size, &size))
        status = tare_fail(err, TARE_ERR_LIMIT, "size of the adapter's configuration");
    if (status == TARE_OK) {
        char *bytes = tare_arena_take(&m->arena, size);
        *text = (tare_str){bytes, size};
        status = bytes ? tare_reader_read(&r, 0, bytes, size, err)
                       : tare_fail(err, TARE_ERR_NOMEM, "adapter's configuration");
    }
    tare_reader_close(&r);
    return status;
}

/* `file`: that of the weights; the configuration is in the same directory. `dialect` NULL: PEFT's. */
static tare_status open_configured(tare_adapter_set *set, tare_model *m,
                                   const tare_lora_dialect *dialect, const char *file,
                                   tare_error *err) {
    tare_str text;
    char *path = join(file, directory_length(file), TARE_PEFT_CONFIG);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "path");
    tare_status status = read_config(&text, m, path, err);
    if (status == TARE_OK) {
        status = dialect ? tare_adapters_of_dialect(set, m, dialect, text, err)
                         : tare_adapters_of_peft(set, m, text, err);
        if (status != TARE_OK && err && err->offset != TARE_NO_OFFSET) tare_error_file(err, path);
    } else if (status != TARE_ERR_ARG) {
        tare_error_file(err, path);
    }
    free(path);
    return status;
}

/* ---- dialects -------------------------------------------------------------------------------- */

/* PEFT's, although a dialect may have its names: it has PEFT's prefix, or its configuration. */
static bool is_peft(const tare_model *m, const char *file) {
    const tare_catalog *c = &m->catalog;
    if (!tare_model_is_peft(m)) return false;
    for (size_t i = 0; i < c->n_tensors; i++)
        if (tare_str_starts(c->tensors[i].name, TARE_STR("base_model.model."))) return true;
    char *path = join(file, directory_length(file), TARE_PEFT_CONFIG);
    const bool has_config = !path || exists(path);
    free(path);
    return has_config;
}

/* A file of no dialect: a pair, unless its tensors tell of another method. */
static tare_status open_other(tare_adapter_set *set, tare_model *m, tare_error *err) {
    const tare_catalog *c = &m->catalog;
    for (size_t i = 0; i < c->n_tensors; i++) {
        const char *what = tare_lora_obstacle(c->tensors[i].name);
        if (!what) continue;
        tare_fail(err, TARE_ERR_UNSUPPORTED, what);
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, c->tensors[i].name);
        return TARE_ERR_UNSUPPORTED;
    }
    return open_pair(set, m, err);
}

/* ---- all ------------------------------------------------------------------------------------- */

static tare_status fill(tare_adapter_set *set, tare_model *m, const char *path, tare_error *err) {
    if (m->adapters) {
        set->factors = m->adapters->factors;
        set->adapters = m->adapters->adapters;
        set->n = m->adapters->n;
        return TARE_OK;
    }
    if (tare_lora_is_llama_cpp(m))
        return tare_fail(
            err, TARE_ERR_UNSUPPORTED,
            "an adapter for llama.cpp, which loads it beside its model: what is merged "
            "is the adapter that it was made from");
    const tare_lora_dialect *dialect = is_peft(m, path) ? NULL : tare_lora_dialect_of(m);
    if (!dialect && !tare_model_is_peft(m)) return open_other(set, m, err);
    if (!dialect || dialect->is_turned) return open_configured(set, m, dialect, path, err);
    return tare_adapters_of_dialect(set, m, dialect, TARE_STR(""), err);
}

static tare_status open_file(tare_adapter_set **out, const char *path,
                             const tare_open_options *options, tare_error *err) {
    tare_model *m;
    TARE_TRY(tare_open_path(&m, path, options, err));
    tare_adapter_set *set = TARE_NEW(&m->arena, tare_adapter_set);
    tare_str copy = tare_arena_str(&m->arena, tare_str_of(path));
    tare_status status = TARE_OK;
    if (set) *set = (tare_adapter_set){.factors = m, .owned = m, .path = copy.ptr};
    if (set && copy.ptr)
        status = fill(set, m, path, err);
    else
        status = tare_fail(err, TARE_ERR_NOMEM, "adapters");
    if (status == TARE_OK) {
        *out = set;
    } else {
        tare_error_file(err, path);
        tare_model_free(set ? set->owned : m);
    }
    return status;
}

/* A directory with a configuration also contains the weights, under one of three names. */
static tare_status open_directory(tare_adapter_set **out, const char *path,
                                  const tare_open_options *options, tare_error *err) {
    char *config = join(path, strlen(path), TARE_PEFT_CONFIG);
    char *weights = join(path, strlen(path), TARE_PEFT_WEIGHTS);
    char *pickle = join(path, strlen(path), TARE_PEFT_PICKLE);
    char *mlx = join(path, strlen(path), TARE_MLX_WEIGHTS);
    tare_status status = TARE_OK;
    if (!config || !weights || !pickle || !mlx)
        status = tare_fail(err, TARE_ERR_NOMEM, "path");
    else if (!exists(config))
        status = open_file(out, path, options, err);
    else if (exists(weights))
        status = open_file(out, weights, options, err);
    else if (exists(pickle))
        status = open_file(out, pickle, options, err);
    else if (exists(mlx))
        status = open_file(out, mlx, options, err);
    else {
        status = tare_fail(err, TARE_ERR_UNSUPPORTED, TARE_PEFT_NO_WEIGHTS);
        tare_error_file(err, path);
    }
    free(config);
    free(weights);
    free(pickle);
    free(mlx);
    return status;
}

tare_status tare_adapters_open_path(tare_adapter_set **out, const char *path,
                                    const tare_open_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(path, err);
    return is_directory(path) ? open_directory(out, path, options, err)
                              : open_file(out, path, options, err);
}
