/* SPDX-License-Identifier: MIT
 *
 * tare info: the container in which a model is packed, and what it is packed against. */
#include <stdlib.h>
#include <string.h>

#include "info.h"

#include <tare/experimental/unpack.h>

static double percent(uint64_t part, uint64_t whole) {
    return whole ? (double)part * 100 / (double)whole : 100;
}

static void put_digest(char out[65], const uint8_t digest[32]) {
    for (size_t i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* What was lost when it was packed. */
static void print_loss(const tare_model *model) {
    tare_lossy_info l = tare_lossy_info_default();
    char digest[65];
    if (!tare_model_lossy(&l, model)) return;
    if (l.n_tensors == 0) {
        info_label("");
        printf("nothing lost: %.4f bits per weight\n", l.bits_per_weight);
        return;
    }
    char *method = cli_escape(l.method, false, 80), *format = cli_escape(l.container, false, 20);
    put_digest(digest, l.source);
    info_label("LOSSY");
    printf("%s tensor%s with loss, %.4f bits per weight of all tensors\n",
           cli_exact_text(l.n_tensors).text, cli_plural(l.n_tensors), l.bits_per_weight);
    info_label("");
    printf("%s, lambda %.3g%s\n", method, l.lambda,
           l.is_weighted ? ", weighted by an importance matrix" : "");
    info_label("");
    printf("predicted damage %.4g; from %s, sha256 %.16s...\n", l.damage, format, digest);
    free(method);
    free(format);
}

void info_print_container(const tare_model *model) {
    tare_container_info c = tare_container_info_default();
    tare_container_base base = tare_container_base_default();
    if (!tare_model_container(&c, model)) return;
    info_label("packed");
    printf("%s of", cli_size_text(c.packed_bytes).text);
    printf(" %s (%.2f %%)", cli_size_text(c.unpacked_bytes).text,
           percent(c.packed_bytes, c.unpacked_bytes));
    if (c.is_directory)
        printf(", %s file%s", cli_exact_text(c.n_files).text, cli_plural(c.n_files));
    if (c.is_for_gpu) printf(", in segments for GPUs");
    fputc('\n', stdout);
    print_loss(model);
    for (size_t i = 0; tare_model_container_base(&base, model, i); i++) {
        char *name = cli_escape(base.name, false, 60), digest[65];
        put_digest(digest, base.digest);
        info_label(i ? "" : "base");
        printf("%s, for %s tensor%s, sha256 %.16s...\n", name, cli_exact_text(base.n_tensors).text,
               cli_plural(base.n_tensors), digest);
        free(name);
    }
}

/* Files that hold models, and what each takes of the container. */
void info_print_files(const tare_model *model) {
    tare_container_file f = tare_container_file_default();
    tare_container_info c = tare_container_info_default();
    if (!tare_model_container(&c, model) || !c.is_directory || c.format) return;
    cli_table *table = cli_table_new("~FILE|>SIZE|>BITS/WEIGHT|>STORED AS|>MADE OF OTHERS");
    size_t n = 0;
    for (size_t i = 0; tare_model_container_file(&f, model, i); i++) {
        char *name = cli_escape(f.name, false, 0), bits[24], made[64];
        if (f.n_weights) {
            n++;
            snprintf(bits, sizeof bits, "%.2f", 8.0 * (double)f.tensor_bytes / (double)f.n_weights);
            snprintf(made, sizeof made, "%zu of %zu tensors", f.n_derived, f.n_tensors);
            cli_table_add(table, name);
            cli_table_add(table, cli_size_text(f.size_bytes).text);
            cli_table_add(table, bits);
            cli_table_add(table, cli_size_text(f.packed_bytes).text);
            cli_table_add(table, f.n_derived ? made : "");
        }
        free(name);
    }
    if (n) cli_table_print(table, stdout, 2);
    cli_table_free(table);
}

static tare_json_node *json_files(const tare_model *model) {
    tare_json_node *list = cli_json_array();
    tare_container_file f = tare_container_file_default();
    for (size_t i = 0; tare_model_container_file(&f, model, i); i++) {
        tare_json_node *entry = cli_json_object();
        cli_json_str(entry, "name", f.name);
        cli_json_u64(entry, "size_bytes", f.size_bytes);
        cli_json_u64(entry, "packed_bytes", f.packed_bytes);
        cli_json_u64(entry, "tensor_count", f.n_tensors);
        cli_json_u64(entry, "derived_tensor_count", f.n_derived);
        if (f.n_weights)
            cli_json_real(entry, "bits_per_weight",
                          8.0 * (double)f.tensor_bytes / (double)f.n_weights);
        cli_json_append(list, entry);
    }
    return list;
}

static tare_json_node *json_bases(const tare_model *model) {
    tare_json_node *list = cli_json_array();
    tare_container_base base = tare_container_base_default();
    for (size_t i = 0; tare_model_container_base(&base, model, i); i++) {
        tare_json_node *entry = cli_json_object();
        char digest[65];
        put_digest(digest, base.digest);
        cli_json_str(entry, "name", base.name);
        cli_json_text(entry, "sha256", digest);
        cli_json_u64(entry, "tensor_count", base.n_tensors);
        cli_json_append(list, entry);
    }
    return list;
}

static void json_loss(tare_json_node *object, const tare_model *model) {
    tare_lossy_info l = tare_lossy_info_default();
    char digest[65];
    const bool is_lossy = tare_model_lossy(&l, model);
    cli_json_bool(object, "is_lossy", is_lossy && l.n_tensors > 0);
    if (!is_lossy) return;
    tare_json_node *loss = cli_json_object();
    put_digest(digest, l.source);
    cli_json_u64(loss, "tensor_count", l.n_tensors);
    cli_json_real(loss, "bits_per_weight", l.bits_per_weight);
    if (l.target_bpw > 0) cli_json_real(loss, "target_bpw", l.target_bpw);
    if (l.target_bytes > 0) cli_json_u64(loss, "target_bytes", l.target_bytes);
    if (l.target_damage > 0) cli_json_real(loss, "target_damage", l.target_damage);
    cli_json_real(loss, "damage", l.damage);
    cli_json_real(loss, "lambda", l.lambda);
    cli_json_str(loss, "method", l.method);
    cli_json_bool(loss, "is_weighted", l.is_weighted);
    cli_json_str(loss, "container", l.container);
    cli_json_text(loss, "source_sha256", digest);
    cli_json_add(object, "loss", loss);
}

void info_json_container(tare_json_node *document, const tare_model *model) {
    tare_container_info c = tare_container_info_default();
    if (!tare_model_container(&c, model)) return;
    tare_json_node *object = cli_json_object();
    cli_json_u64(object, "major_version", c.major_version);
    cli_json_u64(object, "minor_version", c.minor_version);
    if (c.format) cli_json_text(object, "holds", c.format);
    if (c.format) cli_json_u64(object, "holds_version", c.format_version);
    cli_json_u64(object, "packed_bytes", c.packed_bytes);
    cli_json_u64(object, "unpacked_bytes", c.unpacked_bytes);
    cli_json_real(object, "packed_percent", percent(c.packed_bytes, c.unpacked_bytes));
    cli_json_u64(object, "file_count", c.n_files);
    if (c.n_files) cli_json_add(object, "files", json_files(model));
    cli_json_bool(object, "is_directory", c.is_directory);
    cli_json_bool(object, "is_for_gpu", c.is_for_gpu);
    json_loss(object, model);
    cli_json_add(object, "bases", json_bases(model));
    cli_json_add(document, "container", object);
}

bool info_is_packed(const tare_model *model) {
    tare_container_info c = tare_container_info_default();
    return tare_model_container(&c, model);
}

void info_put_packed(cli_table *table, const tare_model *model, size_t tensor) {
    const tare_tensor *t = tare_model_tensor(model, tensor);
    uint64_t bytes;
    char ratio[32] = "";
    bool is_known = tare_tensor_packed_bytes(&bytes, model, tensor);
    if (is_known && t->size_bytes)
        snprintf(ratio, sizeof ratio, "%.2f %%", percent(bytes, t->size_bytes));
    cli_table_add(table, is_known ? cli_size_text(bytes).text : "");
    cli_table_add(table, ratio);
}
