#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutate.py [--check] FOLDER [FILE...]: shows that the corpus can fail. In a copy of the sources under FOLDER
checks are taken out one at a time, and the cases that guard each must then fail. With FILE only the
checks of sources whose path begins so: format/mcf, model/model.c. --check only looks whether the checks
stand where the table says.

A row names a source file, how the condition of the check begins (the text after "if ("; it must
stand there once), and cases of which at least one must fail without it; unit.NAME is a program of
tests/unit. The condition is made false; it is still compiled.
"""
import argparse
import os
import resource
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

CHECKS = (
    # The header of a GGUF and what its counts promise.
    ("format/gguf/gguf_read.c", "r->version < 1 ||", "version-0 version-4"),
    ("format/gguf/gguf_read.c", "r->is_big_endian && (r->version == 1", "big-endian-v1 big-endian-v2"),
    ("format/gguf/gguf_read.c", "n > limit", "tensor-count-2-63 kv-count-2-63"),
    ("format/gguf/gguf_read.c", "!tare_mul_u64(n, least", "tensor-count-at-limit kv-count-at-limit"),
    # Keys and values.
    ("format/gguf/gguf_value.c", "n > most", "key-length-max key-65536 tensor-name-65536"),
    ("format/gguf/gguf_value.c", "n > file_left(r)", "key-length-past-end string-1-gib"),
    ("format/gguf/gguf_value.c", "type > TARE_VALUE_F64", "key-type-13 array-type-13"),
    ("format/gguf/gguf_value.c", "out->type == TARE_VALUE_ARRAY && depth", "array-nesting-9"),
    ("format/gguf/gguf_value.c", "out->count > r->m->limits.array", "array-strings-overflow"),
    ("format/gguf/gguf_value.c", "!tare_mul_u64(out->count", "array-count-at-limit array-short-by-one"),
    ("format/gguf/gguf_value.c", "e->key.len == 0", "key-empty key-empty-v1"),
    ("format/gguf/gguf_read.c", "key->entry.value.type != TARE_VALUE_U32", "alignment-i32"),
    ("format/gguf/gguf_read.c", "key->entry.value.as.u == 0", "alignment-0"),
    ("model/model_finish.c", "tare_name_index_add(&m->key_index", "key-duplicate"),
    # Tensor records.
    ("format/gguf/gguf_value.c", "out->name.len == 0", "tensor-name-empty"),
    ("format/gguf/gguf_value.c", "out->n_dims > TARE_MAX_DIMS", "dims-9 dims-max"),
    ("format/gguf/gguf_read.c", "s == TARE_OK && info->relative %", "offset-misaligned"),
    ("model/model_finish.c", "first >= 0", "tensor-name-duplicate"),
    ("model/model.c", "!count_elements(t, dims", "product-2-64 product-dim-0-hides"),
    ("model/model.c", "!tare_mul_u64(product", "product-2-64 product-dim-0-hides"),
    ("encoding/encoding.c", "!encoding->is_edge_padded &&", "row-not-divisible row-half-block"),
    ("encoding/encoding.c", "!tare_encoding_fills_bytes(encoding", "st-entry-f4-odd"),
    ("encoding/encoding.c", "!plane_size(&plane_bytes", "product-bytes st-entry-shape-bytes"),
    # Where data lies.
    ("format/layout.c", "r->offset < end", "overlap overlap-same-place st-overlap"),
    ("format/layout.c", "r->offset > end && !rules", "st-hole-front st-hole-middle"),
    ("format/layout.c", "!rules->allows_gaps", "st-tail st-tail-empty-model"),
    ("format/layout.c", "plane->offset > rules->end ?", "data-cut st-data-cut"),
    # What is odd and opens.
    ("format/gguf/gguf_findings.c", "!tare_str_is_utf8(e->key)", "utf8-key"),
    ("format/gguf/gguf_findings.c", "value > 1 &&", "bool-7 bool-in-array"),
    ("format/gguf/gguf_findings.c", "has_control(info->name)", "tensor-name-control"),
    ("format/gguf/gguf_findings.c", "info->name.len > SPEC_NAME", "tensor-name-65"),
    ("format/gguf/gguf_findings.c", "info->n_dims == 0 ||", "dims-0 dims-5"),
    ("format/gguf/gguf_findings.c", "info->dims[d] == 0", "dim-zero"),
    ("format/gguf/gguf_findings.c", "!tare_gguf_type_encoding(info->type)", "type-unknown"),
    ("format/gguf/gguf_findings.c", "!follows_key_rule(r, e->key)", "key-spaces key-osc-8"),
    ("format/gguf/gguf_read.c", "is_fugg)", "magic-fugg"),
    # safetensors.
    ("format/safetensors/safetensors_header.c", "n > m->limits.safetensors_header", "st-length-over-limit"),
    ("format/safetensors/safetensors_header.c", "n > r->size - SIZE_BYTES", "st-length-past-end"),
    ("format/safetensors/safetensors_header.c", "shard->header.ptr[0] != '{'", "st-leading-space"),
    ("format/safetensors/safetensors_header.c", "shard->has_metadata)", "st-duplicate-metadata"),
    ("format/safetensors/safetensors_header.c", "type != TARE_JSON_STRING && type", "st-metadata-number"),
    ("format/safetensors/safetensors_header.c", "slots[i]->type != TARE_JSON_END", "st-duplicate-dtype"),
    ("format/safetensors/safetensors_header.c", "!tare_json_u64(&v, &e->dims", "st-entry-shape-negative"),
    ("format/safetensors/safetensors_header.c", "e->n_dims == max_dims", "st-entry-dims-9"),
    ("format/safetensors/safetensors_header.c", "!tare_json_u64(&v, &numbers", "st-entry-offsets-fraction"),
    ("format/safetensors/safetensors_header.c", "n == 2)", "st-entry-offsets-three"),
    ("format/safetensors/safetensors_header.c", "e->begin > e->end", "st-entry-begin-after-end"),
    ("format/safetensors/safetensors_header.c", "t->size_bytes != end - begin", "st-entry-size-too-large"),
    ("format/safetensors/safetensors_header.c", "t->name.len > w->m->limits", "st-name-65536"),
    ("base/json.c", "j->depth == j->max_depth", "st-json-depth"),
    ("base/json.c", "point == -2", "st-json-lone-surrogate"),
    # Sets of files.
    ("format/safetensors/safetensors_index.c", "!tare_is_inner_path(name)",
     "index-escape-parent index-shard-nul"),
    ("format/safetensors/safetensors_index.c", "at < 0)", "index-tensor-missing"),
    ("format/safetensors/safetensors_header.c", "status != TARE_OK) return name_foreign", "index-shard-lfs"),
    # Importance matrices.
    ("ops/mix/importance_dat.c", "bits > INT32_MAX ||", "importance-dat-entries-0 importance-dat-calls"),
    ("ops/mix/importance_dat.c", "n > m->limits.tensors", "importance-dat-entries-33554432"),
    ("ops/mix/importance_dat.c", "n > (reader->size", "importance-dat-entries-5"),
    ("ops/mix/importance_dat.c", "n > m->limits.name_bytes", "importance-dat-name-65536"),
    ("ops/mix/importance_dat.c", "n > d->reader->size - d->at)\n        return tare_fail_at(err, "
     "TARE_ERR_TRUNCATED, d->at - 4", "importance-dat-name-100"),
    ("ops/mix/importance_dat.c", "entry->n_values > m->limits", "importance-dat-values-2147483647"),
    ("ops/mix/importance_dat.c", "entry->n_values > (d->reader", "importance-dat-values-3"),
    ("ops/mix/importance_dat.c", "!tare_importance_check(m", "importance-dat-nan importance-dat-inf"),
    ("ops/mix/importance_dat.c", "tare_name_index_add(&m->index", "importance-dat-twice"),
    ("ops/mix/importance_check.c", "n_negative == 0", "importance-dat-negative importance-dat"),
    ("ops/mix/importance_gguf.c", "t->encoding->id != TARE_ENCODING_F32", "importance-gguf-f16"),
    ("ops/mix/importance_gguf.c", "s->n_elements % c->n_elements", "importance-gguf-slices"),
    ("ops/mix/importance_gguf.c", "!tare_importance_check(m", "importance-gguf-sum-nan"),
    ("ops/mix/importance_gguf.c", "!isfinite(counts[s])", "importance-gguf-count-nan"),
    ("ops/mix/importance_gguf.c", "counts < 0", "importance-gguf-no-counts"),
    ("ops/mix/importance_gguf.c", "find_partner(model, name, SUMS", "importance-gguf"),
    ("ops/mix/importance_gguf.c", "m->n_entries == 0", "importance-gguf-model"),
    # MCF: header and directory of sections.
    ("format/mcf/mcf_read.c", "tare_cursor_ok(&c) && major != 1", "mcf-major-2"),
    ("format/mcf/mcf_read.c", "tare_cursor_ok(&c) && h->size <", "mcf-header-size-39"),
    ("format/mcf/mcf_read.c", "tare_cursor_ok(&c) && h->n_sections == 0", "mcf-no-sections"),
    ("format/mcf/mcf_read.c", "file_size > r->file_size", "mcf-cut-file"),
    ("format/mcf/mcf_read.c", "file_size < r->file_size", "mcf-file-longer"),
    ("format/mcf/mcf_read.c", "h->size > r->file_size", "mcf-header-size-huge"),
    ("format/mcf/mcf_read.c", "h->directory < h->size", "mcf-directory-in-header"),
    ("format/mcf/mcf_read.c", "s->offset % 8", "mcf-section-offset-odd"),
    ("format/mcf/mcf_read.c", "s->offset < h->size", "mcf-section-in-header"),
    ("format/mcf/mcf_read.c", "s->offset > r->file_size", "mcf-section-offset-beyond"),
    ("format/mcf/mcf_read.c", "!tare_add_u64(s->offset, s->size", "mcf-section-size-beyond"),
    ("format/mcf/mcf_read.c", "s->offset < directory_end &&", "mcf-section-over-directory"),
    ("format/mcf/mcf_read.c", "spans[i].begin < spans[i - 1].end", "mcf-section-overlap"),
    ("format/mcf/mcf_read.c", "n > 0 && r->sections[n - 1]", "mcf-section-twice"),
    # MCF: the tensor index.
    ("format/mcf/mcf_tensors.c", "offset < TARE_MCF_INDEX_BYTES",
     "mcf-index-entries-beyond mcf-index-dims-beyond"),
    ("format/mcf/mcf_tensors.c", "tare_cursor_ok(&c) && version != 1", "mcf-index-version"),
    ("format/mcf/mcf_tensors.c", "tare_cursor_ok(&c) && h->n_tensors == 0", "mcf-index-no-tensors"),
    ("format/mcf/mcf_tensors.c", "e->name_len == 0", "mcf-tensor-name-empty"),
    ("format/mcf/mcf_tensors.c", "e->name_len > x->r->m", "mcf-tensor-name-limit"),
    ("format/mcf/mcf_tensors.c", "e->name_off > x->h",
     "mcf-tensor-name-beyond mcf-tensor-name-long"),
    ("format/mcf/mcf_tensors.c", "e->rank > x->r->m", "mcf-tensor-rank-limit"),
    ("format/mcf/mcf_tensors.c", "e->dim_off > x->h", "mcf-tensor-dim-off mcf-tensor-rank-beyond"),
    ("format/mcf/mcf_tensors.c", "(t->n_elements == 0) !=",
     "mcf-tensor-unknown-size mcf-tensor-unknown-none"),
    ("format/mcf/mcf_tensors.c", "e->data_size != bare", "mcf-int-10-size mcf-int-11-size"),
    ("format/mcf/mcf_tensors.c", "e->dtype > UINT16_MAX", "mcf-tensor-dtype-wide"),
    ("format/mcf/mcf_tensors.c", "!d)", "mcf-index-no-data"),
    ("format/mcf/mcf_tensors.c", "e->data_off < d->offset",
     "mcf-tensor-data-before mcf-tensor-data-beyond"),
    ("format/mcf/mcf_tensors.c", "!tare_add_u64(e->data_off", "mcf-tensor-data-size-beyond"),
    ("format/mcf/mcf_tensors.c", "!(x->r->flags & TARE_MCF_FLAG_ALIGNED", "mcf-flag-missing"),
    ("format/mcf/mcf_tensors.c", "e->reserved)", "mcf-reserved"),
    ("format/mcf/mcf_tensors.c", "x->h.flags & TARE_MCF_FLAG_SORTED", "mcf-not-sorted"),
    ("format/mcf/mcf_tensors.c", "x->h.flags & TARE_MCF_FLAG_UTF8", "mcf-not-utf8"),
    # MCF: QuantInfo and sections of ours.
    ("format/mcf/mcf_quant_info.c", "q->method != dtype", "mcf-quant-method"),
    ("format/mcf/mcf_quant_info.c", "q->domain > 1", "mcf-quant-domain-2"),
    ("format/mcf/mcf_quant_info.c", "q->block != block", "mcf-quant-block mcf-quant-super"),
    ("format/mcf/mcf_quant_info.c", "!(q->min <= q->max)", "mcf-quant-clip mcf-quant-clip-nan"),
    ("format/mcf/mcf_quant_info.c", "q->tensor >= c->n_tensors", "mcf-quant-index"),
    ("format/mcf/mcf_blobs.c", "name_len == 0 ||", "mcf-files-no-name"),
    ("format/mcf/mcf_blobs.c", "out->offset < data_from", "mcf-files-data"),
    ("format/mcf/mcf_blobs.c", "count > room / RECORD_BYTES", "mcf-files-count"),
    ("format/mcf/mcf_blobs.c", "names_size > room - table", "mcf-files-names"),
    # INFQ: the manifest, its entries, and where their data lies.
    ("format/infq/infq_read.c", "!tare_json_u64(&p[TARE_INFQ_VERSION]",
     "infq-version-2 infq-version-text"),
    ("format/infq/infq_read.c", "!tare_json_is(&p[TARE_INFQ_ENDIANNESS]", "infq-big-endian"),
    ("format/infq/infq_read.c", "array->v.type != TARE_JSON_ARRAY",
     "infq-tensors-object infq-adapters-object"),
    ("format/infq/infq_fields.c", "s->v.type != TARE_JSON_END",
     "infq-field-twice infq-version-twice"),
    ("format/infq/infq_entry.c", "object->type != TARE_JSON_OBJECT", "infq-tensor-number"),
    ("format/infq/infq_entry.c", "e->n_dims == TARE_MAX_DIMS", "infq-other-shape-nine"),
    ("format/infq/infq_entry.c", "hex.len != 2 * DIGEST_BYTES",
     "infq-sha256-short infq-sha256-letters"),
    ("format/infq/infq_entry.c", "!e->encoding)", "infq-dtype-unknown"),
    ("format/infq/infq_entry.c", "!tare_json_u64(&e->fields[TARE_INFQ_BLOCK_SIZE]",
     "infq-block-32"),
    ("format/infq/infq_payload.c", "!name.ptr ||", "infq-data-file-parent infq-data-file-absolute"),
    ("format/infq/infq_payload.c", "!r->files && leaves(", "infq-link-leaves infq-folder-leaves"),
    ("format/infq/infq_payload.c", "plane->offset > size ||", "infq-offset-data-behind"),
    ("format/infq/infq_payload.c", "where->record && plane->size %",
     "infq-outliers-short-form-odd"),
    ("format/infq/infq_payload.c", "!tare_json_u64(where->offset",
     "infq-offset-data-negative infq-offset-data-beyond"),
    ("format/infq/infq_payload.c", "where->alignment > 1", "infq-outliers-offset-aligned"),
    ("format/infq/infq_payload.c", "last && last->file == x->file", "infq-overlap infq-same-place"),
    ("format/infq/infq_adapters.c", "a->name.len == 0", "infq-adapter-name-empty"),
    ("format/infq/infq_adapters.c", "!tare_json_u64(&e->fields[RANK]", "infq-adapter-rank-zero"),
    ("format/infq/infq_adapters.c", "(is_left ? t->cols",
     "infq-adapter-acols-other infq-adapter-rank-of-b"),
    # .wcodec: header, footer and directory.
    ("format/wcodec/wcodec_index_read.c", "tare_load_le16(h + 8) != 1", "wcodec-version"),
    ("format/wcodec/wcodec_index_read.c", "!tare_wc_is_zero(h + 59", "wcodec-header-reserved"),
    ("format/wcodec/wcodec_index_read.c", "*size > limits->metadata_bytes", "wcodec-index-large"),
    ("format/wcodec/wcodec_index_read.c", "!fits || *offset",
     "wcodec-index-odd wcodec-index-early wcodec-index-far"),
    ("format/wcodec/wcodec_index_read.c", "end != tare_load_le64(h + 64)", "wcodec-file-size"),
    ("format/wcodec/wcodec_index_read.c", "end > file_size", "wcodec-cut"),
    ("format/wcodec/wcodec_index_read.c", "end < file_size", "wcodec-tail"),
    ("format/wcodec/wcodec_index_read.c", "memcmp(f + 24", "wcodec-footer-magic"),
    ("format/wcodec/wcodec_index_read.c", "tare_load_le64(f) != offset", "wcodec-footer-offset"),
    ("format/wcodec/wcodec_index_read.c", "tare_crc32(crc, bytes", "wcodec-footer-crc"),
    ("format/wcodec/wcodec_index_read.c", "p->field.join.log2_values > TARE_WC_MAX_JOIN",
     "wcodec-join-many"),
    ("format/wcodec/wcodec_index_read.c", "flags > 3", "wcodec-stream-flag"),
    ("format/wcodec/wcodec_index_read.c", "l->kind >= TARE_WCODEC_KIND_COUNT", "wcodec-layer-kind"),
    ("format/wcodec/wcodec_index_read.c", "l->n_dims > 8 ||",
     "wcodec-layer-dims wcodec-layer-regions wcodec-layer-streams"),
    ("format/wcodec/wcodec_index_read.c", "l->kind != TARE_WCODEC_TENSOR &&",
     "wcodec-layer-kind-dims"),
    ("format/wcodec/wcodec_index_read.c", "l->base > r->index->n_bases", "wcodec-layer-base"),
    ("format/wcodec/wcodec_index_read.c", "size < LAYER_FIXED", "wcodec-layer-size"),
    ("format/wcodec/wcodec_index_read.c", "zero || zeros)", "wcodec-layer-zeros"),
    ("format/wcodec/wcodec_index_read.c", "spans[i].offset != at ||", "wcodec-layer-gap"),
    ("format/wcodec/wcodec_index_read.c", "at != index_offset", "wcodec-layer-end"),
    ("format/wcodec/wcodec_records.c", "is_much(size, n_records, n)", "wcodec-packed-many"),
    # .wcodec: streams and segments.
    ("wcodec/layer/wc_layer_check.c", "f->region >= l->n_regions", "wcodec-stream-region"),
    ("wcodec/layer/wc_layer_check.c", "!f->stride || !f->width",
     "wcodec-stream-stride wcodec-stream-width wcodec-stream-beyond"),
    ("wcodec/layer/wc_layer_check.c", "l->region_bytes[f->region] % f->stride",
     "wcodec-stream-units"),
    ("wcodec/layer/wc_layer_check.c", "stride && p->field.stride != stride", "wcodec-streams-stride"),
    ("wcodec/layer/wc_layer_check.c", "covered != stride", "wcodec-streams-gap wcodec-join-gap"),
    ("wcodec/wc_finish.c", "crc != piece->header.crc", "wcodec-damaged"),
    # Compressed access: what another decoder is told of damaged segments.
    ("wcodec/layer/coded_parts.c", "piece->header.predictor && !c->layer.has_base",
     "unit.compressed_access"),
    ("wcodec/layer/coded_parts.c", "piece->header.predictor == TARE_CODED_REF_SCALED &&",
     "unit.compressed_access"),
    ("wcodec/wc_segment.c", "end > piece->stored ||", "unit.compressed_access"),
    ("wcodec/wc_direct.c", "s->rule >= head->n_rules", "unit.compressed_access"),
    ("wcodec/wc_direct.c", "s->n_classes ? s->option", "unit.compressed_access"),
    ("wcodec/wc_direct.c", "s->table + (s->n_classes", "unit.compressed_access"),
    ("wcodec/wc_direct.c", "end > piece->stored)", "unit.compressed_access"),
    ("wcodec/wc_direct.c", "group != piece->stored", "unit.compressed_access"),
)


def condition_end(text, at):
    """The place behind the closing parenthesis of a condition whose inside begins at `at`."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def without(text, begins):
    """The source with the check gone; None where it does not stand there exactly once."""
    marker = "if (" + begins
    if text.count(marker) != 1:
        return None
    start = text.index(marker) + len("if (")
    end = condition_end(text, start)
    return text[:start] + "0 && (" + text[start:end - 1] + "))" + text[end:]


def is_unit(case):
    return case.startswith("unit.")


def limit():
    """Of memory, and of processor time: that of the clock says how busy a machine is."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


class Copy:
    """The copied tree, its build, and the corpus run in it."""

    def __init__(self, folder, cases):
        self.units = sorted({case.removeprefix("unit.") for case in cases if is_unit(case)})
        self.tree, self.build = os.path.join(folder, "tree"), os.path.join(folder, "build")
        shutil.rmtree(self.tree, ignore_errors=True)
        os.makedirs(self.tree)
        for name in ("CMakeLists.txt", "cmake", "cuda", "include", "src", "tests"):
            source = os.path.join(ROOT, name)
            if os.path.isdir(source):
                shutil.copytree(source, os.path.join(self.tree, name),
                                copy_function=shutil.copy)  # new to ninja, whatever was built
            else:
                shutil.copy(source, self.tree)
        self.run("cmake", "-G", "Ninja", "-S", self.tree, "-B", self.build,
                 "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O1", "-DTARE_SIMD=OFF",
                 "-DTARE_BUILD_CLI=OFF", "-DTARE_INSTALL=OFF")

    def run(self, *command):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def make(self):
        self.run("ninja", "-C", self.build, "test_corpus", *("test_" + name for name in self.units))

    def test_fails(self, *command):
        """Whether a test fails (or crashes, or does not end)."""
        try:
            return subprocess.run(command, timeout=1200, preexec_fn=limit,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode != 0
        except subprocess.TimeoutExpired:
            return True

    def fails(self, cases):
        """Whether any of the cases does."""
        golden = os.path.join(self.build, "tests", "golden")
        of_corpus = [case for case in cases if not is_unit(case)]
        units = [os.path.join(self.build, "tests", "unit", "test_" + case.removeprefix("unit."))
                 for case in cases if is_unit(case)]
        return any(map(self.test_fails, units)) or (
            of_corpus and self.test_fails(os.path.join(golden, "test_corpus"),
                                          os.path.join(golden, "corpus"), *of_corpus))

    def try_without(self, path, begins, cases):
        """One word on what becomes of the cases with a check gone."""
        full = os.path.join(self.tree, "src", path)
        with open(full, encoding="utf-8") as f:
            text = f.read()
        changed = without(text, begins)
        if changed is None:
            return "no such check"
        try:
            with open(full, "w", encoding="utf-8") as f:
                f.write(changed)
            self.make()
            return "seen" if self.fails(cases) else "NOT SEEN"
        finally:
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)


def find_all():
    """Whether a check does not stand where the table says; says which."""
    n_lost = 0
    for path, begins, _ in CHECKS:
        with open(os.path.join(ROOT, "src", path), encoding="utf-8") as f:
            if without(f.read(), begins) is None:
                print("%s: no such check: if (%s..." % (path, begins))
                n_lost += 1
    return n_lost > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("files", nargs="*", default=[""])
    asked = parser.parse_args()
    if asked.check:
        sys.exit(find_all())
    begins_with = tuple(asked.files)
    checks = [check for check in CHECKS if check[0].startswith(begins_with)]
    if not checks:
        sys.exit("no check of such a source")
    every = sorted({case for _, _, cases in checks for case in cases.split()})
    copy = Copy(asked.folder, every)
    copy.make()
    if copy.fails(every):
        sys.exit("the cases fail before a check is taken out")
    n_seen = 0
    for path, begins, cases in checks:
        result = copy.try_without(path, begins, cases.split())
        n_seen += result == "seen"
        print("%-9s %s: if (%s... -> %s" % (result, path, begins, cases), flush=True)
    print("the corpus fails without %d of %d checks" % (n_seen, len(checks)))
    sys.exit(n_seen != len(checks))


if __name__ == "__main__":
    main()
