/* SPDX-License-Identifier: MIT
 *
 * tare info: the adapters that a model holds beside its tensors. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"

#define LINES_MAX 6 /* the rest is counted, to stay on one screen */

static uint64_t bytes_of(const tare_adapter *a) {
    return a->a->size_bytes + (a->b ? a->b->size_bytes : 0) +
           (a->magnitude ? a->magnitude->size_bytes : 0);
}

static void print_line(const tare_adapter *a) {
    char *name = cli_escape(a->name, false, 44);
    printf("%s: rank %" PRIu64 ", [%" PRIu64 ", %" PRIu64 "], scale %s, %s\n", name, a->rank,
           a->rows, a->cols, cli_real_text(a->scale).text, cli_size_text(bytes_of(a)).text);
    free(name);
}

bool info_is_loaded_adapter(const tare_model *model) {
    const tare_str dialect = tare_model_adapter_dialect(model);
    return dialect.len && strncmp(dialect.ptr, "llama.cpp", dialect.len) == 0;
}

/* One that llama.cpp loads is nothing to merge. */
static void print_loaded(const tare_model *model, const char *path) {
    const size_t n = tare_model_summarize(model)->n_tensors / 2;
    char *name = cli_escape_path(path);
    info_label("adapter");
    printf("for llama.cpp, %zu pair%s of factors: a change to a base model\n", n, cli_plural(n));
    info_label("");
    printf("to use it: llama-cli -m BASE.gguf --lora %s\n", name);
    free(name);
}

/* A file or folder of factors for another model. */
static void print_dialect(const tare_model *model, const char *path) {
    const tare_str dialect = tare_model_adapter_dialect(model);
    tare_adapter_set *set = NULL;
    tare_error err;
    if (!dialect.len) return;
    if (info_is_loaded_adapter(model)) {
        print_loaded(model, path);
        return;
    }
    if (tare_adapters_open_path(&set, path, NULL, &err) != TARE_OK) {
        info_label("adapter");
        printf("for another model, but it cannot be merged: %s\n", err.what);
        return;
    }
    size_t n = 0, n_whole = 0;
    uint64_t rank = 0;
    const tare_adapter *a;
    for (size_t i = 0; (a = tare_adapters_at(set, i)) != NULL; i++) {
        if (a->rank > rank) rank = a->rank;
        *(a->kind == TARE_ADAPTER_PAIR ? &n : &n_whole) += 1;
    }
    tare_adapters_free(set);
    char *name = cli_escape_path(path);
    info_label("adapter");
    printf("%.*s, %zu pair%s of factors of rank %" PRIu64, (int)dialect.len, dialect.ptr, n,
           cli_plural(n), rank);
    if (n_whole) printf(" and %zu whole tensor%s", n_whole, cli_plural(n_whole));
    puts(": a change to a base model");
    info_label("");
    printf("to merge it: tare convert BASE OUT --apply-adapter %s\n", name);
    free(name);
}

void info_print_adapters(const tare_model *model, const char *path) {
    const tare_adapter_set *set = tare_model_adapters(model);
    if (!set) print_dialect(model, path);
    const size_t n = tare_adapters_count(set), shown = n > LINES_MAX ? LINES_MAX - 1 : n;
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) bytes += bytes_of(tare_adapters_at(set, i));
    for (size_t i = 0; i < shown; i++) {
        info_label(i ? "" : "adapters");
        print_line(tare_adapters_at(set, i));
    }
    if (n == shown) return;
    info_label("");
    printf("%zu in all, %s; -t lists them\n", n, cli_size_text(bytes).text);
}

void info_list_adapters(const tare_model *model) {
    const tare_adapter_set *set = tare_model_adapters(model);
    if (tare_adapters_count(set) == 0) return;
    cli_table *table = cli_table_new("~ADAPTER|>RANK|A|B|TYPE|>SCALE|>SIZE");
    const tare_adapter *a;
    for (size_t i = 0; (a = tare_adapters_at(set, i)) != NULL; i++) {
        char *name = cli_escape(a->name, false, 0), rank[24];
        char *left = cli_shape_text(a->a), *right = cli_shape_text(a->b);
        snprintf(rank, sizeof rank, "%" PRIu64, a->rank);
        cli_table_add(table, name);
        cli_table_add(table, rank);
        cli_table_add(table, left);
        cli_table_add(table, right);
        cli_table_add(table, cli_type_text(a->a).text);
        cli_table_add(table, cli_real_text(a->scale).text);
        cli_table_add(table, cli_size_text(bytes_of(a)).text);
        free(name);
        free(left);
        free(right);
    }
    fputc('\n', stdout);
    cli_table_print(table, stdout, 0);
    cli_table_free(table);
}

static tare_json_node *json_factor(const tare_tensor *t) {
    tare_json_node *entry = cli_json_object();
    cli_json_str(entry, "name", t->name);
    cli_json_text(entry, "type", cli_type_text(t).text);
    cli_json_add(entry, "shape", cli_json_shape(t));
    cli_json_u64(entry, "size_bytes", t->size_bytes);
    return entry;
}

void info_json_adapters(tare_json_node *document, const tare_model *model) {
    const tare_adapter_set *set = tare_model_adapters(model);
    if (tare_adapters_count(set) == 0) return;
    tare_json_node *list = cli_json_array();
    const tare_adapter *a;
    for (size_t i = 0; (a = tare_adapters_at(set, i)) != NULL; i++) {
        tare_json_node *entry = cli_json_object();
        cli_json_str(entry, "name", a->name);
        cli_json_u64(entry, "rank", a->rank);
        cli_json_u64(entry, "row_count", a->rows);
        cli_json_u64(entry, "column_count", a->cols);
        cli_json_real(entry, "scale", a->scale);
        cli_json_u64(entry, "size_bytes", bytes_of(a));
        cli_json_add(entry, "a", json_factor(a->a));
        cli_json_add(entry, "b", json_factor(a->b));
        cli_json_append(list, entry);
    }
    cli_json_add(document, "adapters", list);
}
