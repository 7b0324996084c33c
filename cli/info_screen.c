/* SPDX-License-Identifier: MIT
 *
 * tare info: the one screen. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"

#define TYPE_LINES_MAX 9 /* the rest is summed up, to stay on one screen */
#define RESOURCES_MAX  12

/* ---- what is counted ------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b) {
    const info_share *x = a, *y = b;
    if (x->n_bytes != y->n_bytes) return x->n_bytes < y->n_bytes ? 1 : -1;
    return (int)x->encoding->id - (int)y->encoding->id;
}

size_t info_count_types(info_share *shares, const tare_model *model) {
    info_share by_id[TARE_ENCODING_COUNT] = {{0}};
    const tare_tensor *t;
    for (size_t i = 0; (t = tare_model_tensor(model, i)) != NULL; i++) {
        info_share *share = &by_id[t->encoding->id];
        share->encoding = t->encoding;
        share->n_tensors++;
        share->n_elements += t->n_elements;
        share->n_bytes += tare_tensor_stored_bytes(model, i);
    }
    size_t n = 0;
    for (size_t i = 0; i < TARE_ENCODING_COUNT; i++) {
        if (by_id[i].n_tensors) shares[n++] = by_id[i];
    }
    qsort(shares, n, sizeof *shares, by_bytes);
    return n;
}

bool info_outliers(const tare_tensor *t, uint64_t *n) {
    for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
        const tare_plane_info *plane = &t->encoding->planes[p];
        if (plane->scope != TARE_PLANE_LIST) continue;
        *n = t->planes[p].size / plane->unit_bytes;
        return true;
    }
    return false;
}

bool info_count_outliers(const tare_model *model, uint64_t *n, uint64_t *n_tensors) {
    const tare_tensor *t;
    bool can_have = false;
    *n = *n_tensors = 0;
    for (size_t i = 0; (t = tare_model_tensor(model, i)) != NULL; i++) {
        uint64_t own;
        if (!info_outliers(t, &own)) continue;
        can_have = true;
        *n += own;
        *n_tensors += own > 0;
    }
    return can_have;
}

bool info_is_cut_short(const tare_model *model, const tare_tensor *t) {
    uint32_t n_planes = t->encoding->n_planes ? t->encoding->n_planes : 1;
    for (uint32_t p = 0; p < n_planes; p++) {
        const tare_file_info *file = tare_model_file(model, t->planes[p].file);
        if (!file) continue;
        if (t->planes[p].offset > file->size ||
            t->planes[p].size > file->size - t->planes[p].offset) {
            return true;
        }
    }
    return false;
}

/* ---- the one screen -------------------------------------------------------------------------- */

/* What a store has beside the model: each layer and its file. */
static void print_layers(const tare_report *report) {
    for (size_t i = 0; i < tare_report_count(report); i++) {
        const tare_finding *f = tare_report_at(report, i);
        if (!f->code || strcmp(f->code, "ollama.layer") != 0) continue;
        char *name = cli_escape(f->item_name, false, 0), *file = cli_escape(f->file, false, 0);
        info_label("layer");
        printf("%s, not part of the model: %s\n", name, file);
        free(name);
        free(file);
    }
}

/* What cannot be decoded, and why. */
static void print_refused(const tare_report *report) {
    for (size_t i = 0; i < tare_report_count(report); i++) {
        const tare_finding *f = tare_report_at(report, i);
        if (!f->code || strcmp(f->code, "packed.refused") != 0) continue;
        char *name = cli_escape(f->item_name, false, 0), *text = cli_escape(f->text, false, 0);
        info_label("refused");
        printf("%s%s%s\n", name, *name ? ": " : "", text);
        free(name);
        free(text);
    }
}

/* Of a name that stands for a file, which it is. */
static void print_file(const tare_model *model, const char *path) {
    const tare_file_info *file = cli_names_file(path) ? tare_model_file(model, 0) : NULL;
    if (!file) return;
    char *name = cli_escape_path(file->name);
    info_label("file");
    puts(name);
    free(name);
}

static void print_format(const tare_model *model, const tare_model_summary *sum) {
    info_label("format");
    fputs(cli_format_text(model).text, stdout);
    printf(", %s-endian", sum->is_big_endian ? "big" : "little");
    if (sum->alignment > 1) printf(", alignment %" PRIu32, sum->alignment);
    fputc('\n', stdout);
}

static void print_text_key(const tare_model *model, const char *name, const char *key) {
    int64_t i = tare_model_find_key(model, (tare_str){key, strlen(key)});
    const tare_metadata *entry = i >= 0 ? tare_model_metadata(model, (size_t)i) : NULL;
    if (!entry || entry->value.type != TARE_VALUE_STRING) return;
    char *text = cli_escape(entry->value.as.s, false, 60);
    info_label(name);
    puts(text);
    free(text);
}

const info_param info_params[] = {
    {TARE_PARAM_LAYER_COUNT, "layers", "layer_count"},
    {TARE_PARAM_EMBEDDING_LENGTH, "embedding", "embedding_length"},
    {TARE_PARAM_HEAD_COUNT, "heads", "head_count"},
    {TARE_PARAM_HEAD_COUNT_KV, "KV heads", "head_count_kv"},
    {TARE_PARAM_FEED_FORWARD_LENGTH, "feed-forward", "feed_forward_length"},
    {TARE_PARAM_CONTEXT_LENGTH, "context", "context_length"},
    {TARE_PARAM_VOCAB_SIZE, "vocabulary", "vocab_size"},
};
const size_t info_n_params = sizeof info_params / sizeof *info_params;

static void print_params(const tare_model *model) {
    size_t column = 0;
    uint64_t value;
    for (size_t i = 0; i < info_n_params; i++) {
        if (!tare_model_param(&value, model, info_params[i].param)) continue;
        char entry[64];
        snprintf(entry, sizeof entry, "%s %" PRIu64, info_params[i].name, value);
        info_put_entry(&column, "model", entry);
    }
    if (column) fputc('\n', stdout);
}

static void print_sizes(const tare_model_summary *sum) {
    if (sum->n_tensors) {
        info_label("parameters");
        printf("%s (%s)\n", cli_count_text(sum->n_parameters).text,
               cli_exact_text(sum->n_parameters).text);
    }
    info_label("size");
    printf("%s", cli_size_text(sum->file_bytes).text);
    if (sum->file_bytes >= 1000) printf(" (%s bytes)", cli_exact_text(sum->file_bytes).text);
    fputc('\n', stdout);
    if (sum->n_parameters) {
        info_label("bits/weight");
        printf("%.2f\n", (double)sum->tensor_bytes * 8 / (double)sum->n_parameters);
    }
    info_label("contents");
    printf("%s tensor%s, %s metadata key%s\n", cli_exact_text(sum->n_tensors).text,
           cli_plural(sum->n_tensors), cli_exact_text(sum->n_metadata).text,
           cli_plural(sum->n_metadata));
}

static void print_type_line(const char *name, const info_share *share, uint64_t all_bytes) {
    printf("%-9s %9s tensor%-1s %9s %5.1f %%\n", name, cli_exact_text(share->n_tensors).text,
           cli_plural(share->n_tensors), cli_size_text(share->n_bytes).text,
           all_bytes ? (double)share->n_bytes * 100 / (double)all_bytes : 0.0);
}

static void print_types(const tare_model *model, uint64_t all_bytes) {
    info_share shares[TARE_ENCODING_COUNT], rest = {0};
    size_t n = info_count_types(shares, model);
    size_t n_shown = n > TYPE_LINES_MAX + 1 ? TYPE_LINES_MAX : n;
    for (size_t i = 0; i < n; i++) {
        if (i < n_shown) {
            info_label(i ? "" : "types");
            print_type_line(shares[i].encoding->name, &shares[i], all_bytes);
        } else {
            rest.n_tensors += shares[i].n_tensors;
            rest.n_bytes += shares[i].n_bytes;
        }
    }
    if (n == n_shown) return;
    char name[32];
    snprintf(name, sizeof name, "%zu more", n - n_shown);
    info_label("");
    print_type_line(name, &rest, all_bytes);
}

static void print_outliers(const tare_model *model) {
    uint64_t n, n_tensors;
    if (!info_count_outliers(model, &n, &n_tensors) || n == 0) return;
    info_label("outliers");
    printf("%s in %s tensor%s\n", cli_exact_text(n).text, cli_exact_text(n_tensors).text,
           cli_plural(n_tensors));
}

static void print_schemes(const tare_model *model) {
    /* Few models hold more than two schemes; the first few names are enough to know. */
    const char *names[8];
    uint64_t counts[8];
    size_t n = 0;
    for (size_t i = 0; tare_model_tensor(model, i); i++) {
        const char *scheme = tare_tensor_scheme(model, i);
        if (!scheme) continue;
        size_t k = 0;
        while (k < n && strcmp(names[k], scheme) != 0) k++;
        if (k == 8) continue;
        if (k == n) {
            names[n] = scheme;
            counts[n++] = 0;
        }
        counts[k]++;
    }
    for (size_t k = 0; k < n; k++) {
        info_label(k ? "" : "schemes");
        printf("%s: %s tensor%s\n", names[k], cli_exact_text(counts[k]).text,
               cli_plural(counts[k]));
    }
}

/* The file name of a path, without its directory; escaped, owned by the caller. */
static char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return cli_escape_path(slash ? slash + 1 : path);
}

/* The files that hold tensors, where these are more than one. */
static void print_shards(const tare_model *model, const tare_model_summary *sum) {
    bool *is_shard = cli_alloc(sum->n_files, sizeof *is_shard);
    const tare_model *stored = tare_model_as_stored(model);
    const tare_tensor *t;
    for (size_t i = 0; (t = tare_model_tensor(stored, i)) != NULL; i++) {
        if (t->planes[0].file < sum->n_files) is_shard[t->planes[0].file] = true;
    }
    const tare_file_info *file, *first = NULL, *last = NULL;
    size_t n = 0;
    for (size_t i = 0; (file = tare_model_file(model, i)) != NULL; i++) {
        if (!is_shard[i]) continue;
        if (n++ == 0) first = file;
        last = file;
    }
    if (n > 1) {
        char *first_name = base_name(first->name), *last_name = base_name(last->name);
        info_label("shards");
        printf("%s, %s to %s\n", cli_exact_text(n).text, first_name, last_name);
        free(first_name);
        free(last_name);
    }
    free(is_shard);
}

static void print_resources(const tare_model *model) {
    size_t column = 0, i = 0;
    const tare_resource *r;
    for (; i < RESOURCES_MAX && (r = tare_model_resource(model, i)) != NULL; i++) {
        char *name = cli_escape(r->name, false, 60), entry[320];
        snprintf(entry, sizeof entry, "%s %s", name, cli_size_text(r->size).text);
        free(name);
        info_put_entry(&column, "side files", entry);
    }
    if (tare_model_resource(model, i)) info_put_entry(&column, "side files", "...");
    if (column) fputc('\n', stdout);
}

/* Whether llama.cpp runs it, and if not, why. */
static void print_llama(const tare_model *model) {
    tare_error why;
    char text[512];
    const char *unpacked = info_is_packed(model) ? ", once unpacked" : "";
    if (info_llama(&why, model)) {
        info_label("llama.cpp");
        printf("runs it%s%s\n",
               tare_llama_is_draft(model) ? " beside the model that it drafts for" : "", unpacked);
    } else if (info_projector(model).len) {
        char *kind = cli_escape(info_projector(model), false, 40);
        info_label("llama.cpp");
        printf("reads it beside a text model (--mmproj)%s: %s\n", unpacked, kind);
        free(kind);
    } else if (info_is_loaded_adapter(model)) {
        info_label("llama.cpp");
        printf("reads it beside its base (--lora)%s\n", unpacked);
    } else if (why.status != TARE_OK) {
        info_llama_text(text, sizeof text, &why);
        info_label("llama.cpp");
        printf("does not run it: %s\n", text);
    } else if (info_converts(&why, model)) {
        info_label("llama.cpp");
        if (why.status == TARE_OK) {
            puts("runs what tare convert makes of it");
        } else {
            info_llama_text(text, sizeof text, &why);
            printf("tare convert refuses it: %s\n", text);
        }
    }
}

static void print_doubts(const tare_model_summary *sum, const tare_report *report,
                         const char *path) {
    size_t n = tare_report_count_level(report, TARE_LEVEL_WARNING);
    if (!sum->is_truncated && n == 0) return;
    char *name = cli_escape_path(path);
    const char *on = cli_style_on(stdout, CLI_YELLOW), *off = cli_style_off(stdout);
    if (sum->is_truncated) {
        info_label("warning");
        printf("%sthe data is cut short: tensors extend beyond the end of the file%s\n", on, off);
    }
    if (n) {
        info_label("findings");
        printf("%s%zu; see tare verify %s%s\n", on, n, name, off);
    }
    free(name);
}

void info_print_screen(const tare_model *model, const char *path, uint64_t context,
                       const tare_report *report) {
    const tare_model_summary *sum = tare_model_summarize(model);
    char *name = cli_escape_path(cli_input_name(path));
    printf("%s%s%s\n", cli_style_on(stdout, CLI_BOLD), name, cli_style_off(stdout));
    free(name);
    print_file(model, path);
    print_layers(report);
    print_format(model, sum);
    tare_str architecture = tare_model_architecture(model);
    if (architecture.len) {
        char *text = cli_escape(architecture, false, 60);
        info_label("architecture");
        puts(text);
        free(text);
    }
    print_text_key(model, "name", "general.name");
    print_params(model);
    print_sizes(sum);
    info_print_container(model);
    info_print_mix(model);
    print_types(model, sum->tensor_bytes);
    info_print_files(model);
    print_outliers(model);
    print_schemes(model);
    print_refused(report);
    info_print_adapters(model, path);
    print_shards(model, sum);
    print_resources(model);
    print_llama(model);
    info_print_use(model, path, context);
    print_doubts(sum, report, path);
}
