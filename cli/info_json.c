/* SPDX-License-Identifier: MIT
 *
 * tare info --json: the facts of the one screen. */
#include "info.h"

static tare_json_node *json_types(const tare_model *model) {
    info_share shares[TARE_ENCODING_COUNT];
    size_t n = info_count_types(shares, model);
    tare_json_node *list = cli_json_array();
    for (size_t i = 0; i < n; i++) {
        tare_json_node *entry = cli_json_object();
        cli_json_text(entry, "type", shares[i].encoding->name);
        cli_json_u64(entry, "tensor_count", shares[i].n_tensors);
        cli_json_u64(entry, "element_count", shares[i].n_elements);
        cli_json_u64(entry, "size_bytes", shares[i].n_bytes);
        cli_json_append(list, entry);
    }
    return list;
}

static tare_json_node *json_params(const tare_model *model) {
    tare_json_node *object = cli_json_object();
    uint64_t value;
    for (size_t i = 0; i < info_n_params; i++) {
        if (tare_model_param(&value, model, info_params[i].param)) {
            cli_json_u64(object, info_params[i].json_name, value);
        }
    }
    return object;
}

static tare_json_node *json_files(const tare_model *model) {
    tare_json_node *list = cli_json_array();
    const tare_file_info *file;
    tare_container_info c = tare_container_info_default();
    /* A .wcodec of a model, not of files, has the size of what it decodes to. */
    const bool is_view = tare_model_container(&c, model) && c.n_files == 0;
    for (size_t i = 0; (file = tare_model_file(model, i)) != NULL; i++) {
        tare_json_node *entry = cli_json_object();
        cli_json_text(entry, "name", file->name);
        cli_json_u64(entry, "size_bytes", is_view ? c.packed_bytes : file->size);
        cli_json_append(list, entry);
    }
    return list;
}

static tare_json_node *json_resources(const tare_model *model) {
    tare_json_node *list = cli_json_array();
    const tare_resource *resource;
    for (size_t i = 0; (resource = tare_model_resource(model, i)) != NULL; i++) {
        tare_json_node *entry = cli_json_object();
        cli_json_str(entry, "name", resource->name);
        cli_json_u64(entry, "size_bytes", resource->size);
        cli_json_append(list, entry);
    }
    return list;
}

/* Why llama.cpp does not run it, or tare convert refuses it. */
static void json_why(tare_json_node *llama, const tare_error *why) {
    char text[512];
    if (why->status == TARE_OK) return;
    info_llama_text(text, sizeof text, why);
    cli_json_text(llama, "why", text);
}

void info_json_screen(tare_json_node *document, const tare_model *model, const char *path,
                      uint64_t context, const tare_report *report) {
    const tare_model_summary *sum = tare_model_summarize(model);
    tare_str architecture = tare_model_architecture(model);
    cli_json_text(document, "format", sum->format);
    cli_json_u64(document, "version", sum->version);
    info_json_container(document, model);
    cli_json_text(document, "byte_order", sum->is_big_endian ? "big" : "little");
    cli_json_u64(document, "alignment", sum->alignment);
    if (architecture.len) cli_json_str(document, "architecture", architecture);
    cli_json_add(document, "hyperparameters", json_params(model));
    cli_json_u64(document, "parameter_count", sum->n_parameters);
    cli_json_u64(document, "size_bytes", sum->file_bytes);
    cli_json_u64(document, "tensor_bytes", sum->tensor_bytes);
    cli_json_u64(document, "directory_bytes", sum->directory_bytes);
    if (sum->n_parameters) {
        cli_json_real(document, "bits_per_weight",
                      (double)sum->tensor_bytes * 8 / (double)sum->n_parameters);
    }
    cli_json_u64(document, "tensor_count", sum->n_tensors);
    cli_json_u64(document, "metadata_count", sum->n_metadata);
    cli_json_bool(document, "is_truncated", sum->is_truncated);
    uint64_t n_outliers, n_tensors;
    if (info_count_outliers(model, &n_outliers, &n_tensors))
        cli_json_u64(document, "outlier_count", n_outliers);
    cli_json_add(document, "types", json_types(model));
    cli_json_add(document, "files", json_files(model));
    cli_json_add(document, "resources", json_resources(model));
    info_json_adapters(document, model);
    tare_error why;
    if (info_llama(&why, model) || why.status != TARE_OK) {
        tare_json_node *llama = cli_json_object();
        cli_json_bool(llama, "runs", why.status == TARE_OK);
        json_why(llama, &why);
        if (info_projector(model).len) cli_json_str(llama, "mmproj", info_projector(model));
        cli_json_add(document, "llama_cpp", llama);
    } else if (info_converts(&why, model)) {
        tare_json_node *llama = cli_json_object();
        cli_json_bool(llama, "converts", why.status == TARE_OK);
        json_why(llama, &why);
        cli_json_add(document, "llama_cpp", llama);
    }
    info_json_use(document, model, path, context);
    cli_json_add(document, "findings", cli_json_findings(report));
}
