/* SPDX-License-Identifier: MIT
 *
 * Which files of a directory are side files of its model: all but weights, what other programs keep
 * there, and what is too large. */
#include "base/report.h"
#include "base/str.h"
#include "format/hf/hf_folder.h"

static bool ends_with_one(tare_str name, const char *const *suffixes) {
    for (; *suffixes; suffixes++)
        if (tare_str_ends(name, tare_str_of(*suffixes))) return true;
    return false;
}

/* "model.safetensors.index.json", "pytorch_model.bin.index.json", and those of a variant:
 * "model.safetensors.index.fp16.json". */
static bool is_index(tare_str name) {
    static const char *const parts[] = {".safetensors.index.", ".bin.index."};
    if (!tare_str_ends(name, TARE_STR(".json"))) return false;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        for (size_t i = 0; i < name.len; i++)
            if (tare_str_starts(tare_str_cut(name, i), tare_str_of(parts[k]))) return true;
    return false;
}

/* Weights in files other than the model's: the same weights for another program. Formats that this
 * model's own programs read count only next to the weights: in a folder they belong to a module
 * (2_Dense/model.safetensors). */
static bool is_other_weights(const tare_hf_entry *e) {
    static const char *const here[] = {".safetensors", ".bin", ".pt", ".pth", NULL};
    static const char *const anywhere[] = {".ckpt",   ".pkl",     ".onnx", ".onnx_data",
                                           ".h5",     ".msgpack", ".gguf", ".ggml",
                                           ".tflite", ".npz",     ".ot",   NULL};
    bool is_inside = memchr(e->name.ptr, '/', e->name.len) != NULL;
    return ends_with_one(e->name, anywhere) ||
           (!is_inside && (ends_with_one(e->name, here) || is_index(e->name)));
}

/* The reason a file is not a resource; code NULL: it is one. */
typedef struct reason {
    const char *code, *why;
    bool is_loss; /* it belongs to the model, as far as one can tell */
} reason;

static reason reason_against(const tare_hf_entry *e, const tare_model *m) {
    if (tare_files_is_bookkeeping(e->name))
        return (reason){"hf.skipped", "kept by other programs: not part of the model", false};
    if (e->kind == TARE_PATH_FOLDER && e->is_link)
        return (reason){"hf.sub-folder", "a link to a folder: not part of the model", true};
    if (e->kind == TARE_PATH_FOLDER)
        return (reason){"hf.sub-folder",
                        "a folder with more than 256 files, or too deep: not part of the model",
                        true};
    if (e->is_link && e->kind == TARE_PATH_NOTHING)
        return (reason){"hf.not-a-file", TARE_HF_LOST_LINK, true};
    if (e->kind != TARE_PATH_FILE)
        return (reason){"hf.not-a-file", "neither a file nor a link to one: not part of the model",
                        true};
    if (tare_str_is(e->name, "mask_embedding.pt")) /* of a draft (DFlash) */
        return (reason){"hf.other-weights",
                        "an embedding beside the weights: not part of the model", true};
    if (is_other_weights(e))
        return (reason){"hf.other-weights",
                        is_index(e->name) ? "an index that the weights are opened without: not "
                                            "part of the model"
                                          : "weights in another file: not part of the model",
                        false};
    if (e->size > m->limits.resource_bytes)
        return (reason){"hf.large-file",
                        "larger than the limit for resources: not part of the model", true};
    return (reason){0};
}

/* Whether a file becomes a resource; others are reported, and noted if they are a loss. */
static bool is_resource(const tare_hf_entry *e, tare_model *m, tare_report *report) {
    const reason r = reason_against(e, m);
    if (!r.code) return true;
    tare_finding finding = TARE_FINDING(WARNING, TARE_OK, r.code);
    if (!r.is_loss) finding.level = TARE_LEVEL_INFO;
    finding.item_kind = TARE_ITEM_RESOURCE;
    finding.item_name = e->name;
    finding.text = tare_str_of(r.why);
    tare_report_add(report, &finding);
    if (r.is_loss)
        m->left_out[m->n_left_out++] =
            (tare_left_out){tare_arena_str(&m->arena, e->name), r.code, r.why};
    return false;
}

static tare_status add_resource(tare_model *m, const tare_hf_folder *f, const tare_hf_entry *e,
                                tare_error *err) {
    tare_resource_entry r = {.info = {tare_arena_str(&m->arena, e->name), 0}};
    const char *path = tare_join_path(&m->arena, f->path, e->name);
    if (!path || !r.info.name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "resource");
    tare_reader reader;
    tare_status status = tare_files_open(f->files, &reader, path, false, err);
    if (status != TARE_OK) {
        tare_error_file(err, path);
        return status;
    }
    r.info.size = reader.size;
    status = tare_model_add_file(m, &reader, path, &r.file, err);
    if (status != TARE_OK) {
        tare_reader_close(&reader);
        return status;
    }
    m->catalog.resources[m->catalog.n_resources++] = r;
    return TARE_OK;
}

static void note_shadowed(const tare_resource_entry *r, tare_report *report) {
    tare_finding finding = TARE_FINDING(INFO, TARE_OK, "hf.resource-twice");
    finding.item_kind = TARE_ITEM_RESOURCE;
    finding.item_name = r->info.name;
    finding.text = TARE_STR("in the weights' header too: the directory's file is taken");
    tare_report_add(report, &finding);
}

tare_status tare_hf_add_resources(tare_model *m, const tare_hf_folder *f, tare_report *report,
                                  tare_error *err) {
    const tare_resource_entry *inner = m->catalog.resources;
    size_t n_inner = m->catalog.n_resources;
    m->catalog.resources = TARE_NEW_ARRAY(&m->arena, tare_resource_entry, f->n + n_inner);
    m->catalog.n_resources = 0;
    const tare_left_out *tensors = m->left_out;
    m->left_out = TARE_NEW_ARRAY(&m->arena, tare_left_out, f->n + m->n_left_out);
    if (!m->catalog.resources || !m->left_out) return tare_fail(err, TARE_ERR_NOMEM, "resources");
    if (m->n_left_out) memcpy(m->left_out, tensors, m->n_left_out * sizeof *tensors);
    for (size_t i = 0; i < f->n; i++) {
        const tare_hf_entry *e = &f->entries[i];
        if (e->is_weights || !is_resource(e, m, report)) continue;
        TARE_TRY(add_resource(m, f, e, err));
    }
    for (size_t i = 0; i < n_inner; i++) {
        if (tare_hf_find(f, inner[i].info.name)) {
            note_shadowed(&inner[i], report);
        } else {
            m->catalog.resources[m->catalog.n_resources++] = inner[i];
        }
    }
    return TARE_OK;
}
