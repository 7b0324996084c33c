/* SPDX-License-Identifier: MIT
 *
 * tare bench: the size of a model's tensors in a .wcodec, compared with the entropy of their codes
 * and with zstd, and the speed, compared with memcpy. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tare/private/bench.h>

#include "commands.h"

static struct { bool is_whole, best_zstd; } args;

static const cli_option options[] = {
    {.name = "full",
     .help = "measure all bytes, not a sample of each tensor",
     .flag = &args.is_whole},
    {.name = "zstd19",
     .help = "also zstd -19, of the same bytes: slow, so the sample is smaller",
     .flag = &args.best_zstd},
    {.name = "threads",
     .letter = 'j',
     .arg = "N",
     .help = "threads of the codec (default or 0: one)",
     .number = &cli.threads},
    {0},
};

/* Tensors of a type, together. */
typedef struct group {
    const tare_encoding *encoding;
    tare_bench sum;
} group;

typedef struct result {
    const tare_model *model;
    tare_bench_rows *rows;
    size_t n_rows, n_groups;
    group *groups;
    tare_bench all;
    bool has_device;
} result;

static void sum_up(result *r) {
    r->groups = cli_alloc(r->n_rows + 1, sizeof *r->groups);
    for (size_t i = 0; i < r->n_rows; i++) {
        const tare_encoding *encoding = tare_model_tensor(r->model, i)->encoding;
        size_t g = 0;
        while (g < r->n_groups && r->groups[g].encoding != encoding) g++;
        if (g == r->n_groups) r->groups[r->n_groups++] = (group){encoding, tare_bench_default()};
        tare_bench_add(&r->groups[g].sum, tare_bench_row(r->rows, i));
        tare_bench_add(&r->all, tare_bench_row(r->rows, i));
    }
}

/* ---- text ------------------------------------------------------------------------------------ */

static double speed(const tare_bench *b, double seconds) {
    return seconds > 0 ? (double)b->sample_bytes / seconds / 1e9 : 0;
}

/* Hundredths of the tensors' size. */
static double points(const tare_bench *b, double part) {
    return b->bytes ? part / (double)b->bytes * 100 : 0;
}

static void add_share(cli_table *table, const tare_bench *b, double part) {
    char text[32] = "-";
    if (b->bytes && part > 0) snprintf(text, sizeof text, "%.1f %%", points(b, part));
    cli_table_add(table, text);
}

static void add_speed(cli_table *table, double gigabytes) {
    char text[32] = "-";
    if (gigabytes > 0) snprintf(text, sizeof text, gigabytes < 0.1 ? "%.3f" : "%.2f", gigabytes);
    cli_table_add(table, text);
}

static void add_row(cli_table *table, const result *r, const char *name, const char *type,
                    const tare_bench *b) {
    cli_table_add(table, name);
    cli_table_add(table, type);
    cli_table_add(table, cli_size_text(b->bytes).text);
    add_share(table, b, b->entropy_bytes);
    add_share(table, b, b->coded_bytes);
    add_share(table, b, b->zstd_bytes);
    if (args.best_zstd) add_share(table, b, b->best_zstd_bytes);
    add_speed(table, speed(b, b->encode_seconds));
    add_speed(table, speed(b, b->decode_seconds));
    if (r->has_device) add_speed(table, speed(b, b->device_seconds));
}

static void print_text(const result *r, unsigned threads) {
    char columns[160];
    snprintf(columns, sizeof columns,
             "~NAME|TYPE|>SIZE|>ENTROPY|>WCODEC|>ZSTD -3%s|>ENCODE GB/S|>DECODE GB/S%s",
             args.best_zstd ? "|>ZSTD -19" : "", r->has_device ? "|>DEVICE GB/S" : "");
    cli_table *table = cli_table_new(columns);
    for (size_t i = 0; i < r->n_rows && !cli.quiet; i++) {
        const tare_tensor *tensor = tare_model_tensor(r->model, i);
        char *name = cli_escape(tensor->name, false, 0);
        add_row(table, r, name, cli_type_text(tensor).text, tare_bench_row(r->rows, i));
        free(name);
    }
    for (size_t g = 0; g < r->n_groups; g++) {
        char name[48];
        snprintf(name, sizeof name, "%s tensor%s", cli_exact_text(r->groups[g].sum.n_tensors).text,
                 cli_plural(r->groups[g].sum.n_tensors));
        add_row(table, r, name, r->groups[g].encoding->name, &r->groups[g].sum);
    }
    if (r->n_groups > 1) add_row(table, r, "all tensors", "", &r->all);
    cli_table_print(table, stdout, 0);
    cli_table_free(table);
    if (r->has_device)
        printf("DEVICE: layers in the memory of %s, each decoded alone\n", cli_device_name());
    if (cli.base.n)
        printf("%s of %s tensors as what they differ in from a base\n",
               cli_exact_text(r->all.n_alike).text, cli_exact_text(r->all.n_tensors).text);
    if (r->all.coded_error > 0)
        printf(
            "of a sample: all tensors within %.2f points for WCODEC, %.2f for ZSTD -3 (2 standard "
            "errors); --full measures all\n",
            2 * points(&r->all, r->all.coded_error), 2 * points(&r->all, r->all.zstd_error));
    printf(
        "%s of %s measured, effort %s, %u thread%s, %s; memcpy %.2f GB/s, zstd -3 encodes %.2f\n",
        cli_size_text(r->all.sample_bytes).text, cli_size_text(r->all.bytes).text,
        cli.effort ? cli.effort : "fast", threads, cli_plural(threads), tare_cpu_active(),
        speed(&r->all, r->all.copy_seconds), speed(&r->all, r->all.zstd_seconds));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_bench(tare_json_node *object, const result *r, const tare_bench *b) {
    cli_json_u64(object, "size_bytes", b->bytes);
    cli_json_u64(object, "sample_bytes", b->sample_bytes);
    cli_json_real(object, "entropy_bytes", b->entropy_bytes);
    cli_json_real(object, "coded_bytes", b->coded_bytes);
    cli_json_real(object, "zstd3_bytes", b->zstd_bytes);
    if (args.best_zstd) cli_json_real(object, "zstd19_bytes", b->best_zstd_bytes);
    cli_json_real(object, "coded_error_bytes", b->coded_error);
    cli_json_real(object, "zstd3_error_bytes", b->zstd_error);
    if (args.best_zstd) cli_json_real(object, "zstd19_error_bytes", b->best_zstd_error);
    if (cli.base.n) cli_json_u64(object, "alike_tensor_count", b->n_alike);
    cli_json_real(object, "encode_gb_per_s", speed(b, b->encode_seconds));
    cli_json_real(object, "decode_gb_per_s", speed(b, b->decode_seconds));
    if (r->has_device) cli_json_real(object, "device_gb_per_s", speed(b, b->device_seconds));
    cli_json_real(object, "memcpy_gb_per_s", speed(b, b->copy_seconds));
    cli_json_real(object, "zstd3_gb_per_s", speed(b, b->zstd_seconds));
}

static void print_json(const result *r, const char *path, unsigned threads) {
    tare_json_node *document = cli_json_new("tare.bench/2");
    tare_json_node *tensors = cli_json_array(), *types = cli_json_array();
    tare_json_node *all = cli_json_object();
    cli_json_text(document, "input", cli_input_name(path));
    cli_json_text(document, "effort", cli.effort ? cli.effort : "fast");
    cli_json_u64(document, "thread_count", threads);
    cli_json_text(document, "cpu", tare_cpu_active());
    if (r->has_device) cli_json_text(document, "device", cli_device_name());
    for (size_t i = 0; i < r->n_rows; i++) {
        const tare_tensor *tensor = tare_model_tensor(r->model, i);
        tare_json_node *object = cli_json_object();
        cli_json_str(object, "name", tensor->name);
        cli_json_text(object, "type", tensor->encoding->name);
        put_bench(object, r, tare_bench_row(r->rows, i));
        cli_json_append(tensors, object);
    }
    for (size_t g = 0; g < r->n_groups; g++) {
        tare_json_node *object = cli_json_object();
        cli_json_text(object, "type", r->groups[g].encoding->name);
        cli_json_u64(object, "tensor_count", r->groups[g].sum.n_tensors);
        put_bench(object, r, &r->groups[g].sum);
        cli_json_append(types, object);
    }
    put_bench(all, r, &r->all);
    cli_json_add(document, "tensors", tensors);
    cli_json_add(document, "types", types);
    cli_json_add(document, "total", all);
    cli_json_print(document);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run(int argc, const char **argv) {
    cli.is_stored = true;
    (void)argc;
    tare_model *model;
    int code = cli_open(&model, argv[0], NULL);
    if (code != CLI_YES) return code;
    tare_bench_options o = tare_bench_options_default();
    const tare_context context = cli_context(NULL);
    o.context = &context;
    tare_model **bases;
    tare_error err;
    const tare_model_summary *sum = tare_model_summarize(model);
    result r = {.model = model, .n_rows = sum->n_tensors, .all = tare_bench_default()};
    o.is_full = cli_effort() == TARE_EFFORT_FULL;
    o.is_whole = args.is_whole;
    o.best_zstd = args.best_zstd;
    tare_status status = cli_bases(&bases, &o.n_bases, &err);
    if (status == TARE_OK) status = cli_device(&o.device, &err);
    r.has_device = o.device != NULL;
    if (status == TARE_OK) {
        o.bases = (const tare_model *const *)bases;
        cli_progress_start("measuring");
        status = tare_bench_run(&r.rows, model, &o, &err);
        cli_progress_end();
    }
    if (status == TARE_OK) {
        sum_up(&r);
        if (cli.json)
            print_json(&r, argv[0], (cli.threads ? (unsigned)cli.threads : 1));
        else
            print_text(&r, (cli.threads ? (unsigned)cli.threads : 1));
        free(r.groups);
    } else {
        code = cli_fail(&err, argv[0]);
    }
    tare_bench_free(r.rows);
    tare_model_free(model);
    return code;
}

const cli_command cmd_bench = {
    .name = "bench",
    .summary = "measure size and speed of a model as .wcodec",
    .usage = "FILE|DIR [--effort fast|full] [--full] [--zstd19] [--base BASE]...",
    .description =
        "Encodes and decodes each tensor in memory, as a .wcodec holds it, and checks the result. "
        "ENTROPY is the order-0 entropy of the coded values, separately for each plane of a tensor "
        "(its scales, its codes): no coder of single values can do better. WCODEC is the size that "
        "the codec reaches, ZSTD -3 what zstd makes of the bytes as they lie in the file; all "
        "three in percent of the tensor's size. Models of up to 512 MiB (with --zstd19: 32 MiB) "
        "are measured whole. In larger ones the same share of each tensor is measured, at 64 "
        "places spread over it, and the sampling error is stated. Metadata is not measured. With "
        "--base, both sizes are of the differences from the base where these are smaller. Speeds "
        "count bytes of the tensor and use one thread unless --threads says otherwise; memcpy and "
        "zstd always use one. With --device a GPU decodes each layer, too, from its memory to its "
        "memory, and the result is compared; a layer alone does not fill a large GPU.",
    .examples = {{"tare bench model.gguf", "sizes and speeds of each tensor"},
                 {"tare bench model.gguf --quiet", "of each type only"},
                 {"tare bench model.gguf --effort full --zstd19", "the smallest forms of both"},
                 {"tare bench model.safetensors --full --threads 8", "all bytes, eight threads"},
                 {"tare bench model.gguf --cpu avx2", "as on a machine without AVX-512"},
                 {"tare bench tuned.gguf --base model.gguf", "as differences from its base"},
                 {"tare bench model.gguf --device cuda:0", "the decoder of a GPU as well"},
                 {"tare bench model.gguf --json", "for programs"}},
    .options = options,
    .main = "effort full zstd19 base threads json",
    .takes = CLI_TAKES_CPU | CLI_TAKES_QUIET | CLI_TAKES_JSON | CLI_TAKES_INPUT | CLI_TAKES_EFFORT |
             CLI_TAKES_SIMILAR | CLI_TAKES_DEVICE,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
