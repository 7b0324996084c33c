/* SPDX-License-Identifier: MIT
 *
 * tare name: the naming convention of GGUF files, read and written. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static struct {
    const char *of, *sidecar, *base_name, *size_label, *fine_tune, *version, *encoding, *type,
        *shard;
    bool is_make;
} args;

static const cli_option options[] = {
    {.name = "of",
     .arg = "MODEL",
     .complete = CLI_COMPLETE_FILE,
     .help = "make the name that follows from a model's metadata and tensors",
     .text = &args.of},
    {.name = "make", .help = "make a name from the parts that follow", .flag = &args.is_make},
    {.name = "base-name",
     .arg = "TEXT",
     .help = "part of the name, like Mixtral",
     .text = &args.base_name},
    {.name = "size-label", .arg = "TEXT", .help = "like 8x7B", .text = &args.size_label},
    {.name = "fine-tune", .arg = "TEXT", .help = "like Instruct", .text = &args.fine_tune},
    {.name = "model-version", .arg = "TEXT", .help = "like v0.1", .text = &args.version},
    {.name = "encoding", .arg = "TEXT", .help = "like Q4_0", .text = &args.encoding},
    {.name = "type", .arg = "TEXT", .help = "LoRA or vocab", .text = &args.type},
    {.name = "sidecar",
     .arg = "TEXT",
     .help = "mmproj or mtp: a file beside a model",
     .text = &args.sidecar},
    {.name = "shard", .arg = "N/COUNT", .help = "like 2/9", .text = &args.shard},
    {0},
};

typedef struct part {
    const char *name;
    tare_str text;
} part;

#define N_PARTS 7

static void list_parts(part *parts, const tare_gguf_name *name) {
    const part list[N_PARTS] = {
        {"sidecar", name->sidecar},
        {"base_name", name->base_name},
        {"size_label", name->size_label},
        {"fine_tune", name->fine_tune},
        {"version", name->version},
        {"encoding", name->encoding},
        {"type", name->type},
    };
    memcpy(parts, list, sizeof list);
}

/* ---- reading names --------------------------------------------------------------------------- */

static tare_str file_name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return (tare_str){name, strlen(name)};
}

static void print_parts(const char *path, const tare_gguf_name *name) {
    char *safe = cli_escape_path(path);
    printf("%s%s%s\n", cli_style_on(stdout, CLI_BOLD), safe, cli_style_off(stdout));
    free(safe);
    part parts[N_PARTS];
    list_parts(parts, name);
    for (size_t i = 0; i < N_PARTS; i++) {
        if (parts[i].text.len == 0) continue;
        char *text = cli_escape(parts[i].text, false, 0), label[32];
        snprintf(label, sizeof label, "%s", parts[i].name);
        for (char *c = label; *c; c++) {
            if (*c == '_') *c = ' ';
        }
        bool is_assumed = name->is_version_assumed && strcmp(parts[i].name, "version") == 0;
        printf("  %-12s%s%s\n", label, text, is_assumed ? " (assumed: the name has none)" : "");
        free(text);
    }
    if (name->shard) printf("  %-12s%u of %u\n", "shard", name->shard, name->n_shards);
}

static tare_json_node *json_parts(const char *path, const tare_gguf_name *name, bool is_good) {
    tare_json_node *entry = cli_json_object();
    cli_json_text(entry, "input", path);
    cli_json_bool(entry, "follows_convention", is_good);
    if (!is_good) return entry;
    part parts[N_PARTS];
    list_parts(parts, name);
    for (size_t i = 0; i < N_PARTS; i++) {
        if (parts[i].text.len) cli_json_str(entry, parts[i].name, parts[i].text);
    }
    cli_json_bool(entry, "is_version_assumed", name->is_version_assumed);
    if (name->shard) {
        cli_json_u64(entry, "shard", name->shard);
        cli_json_u64(entry, "shard_count", name->n_shards);
    }
    return entry;
}

static int parse_names(int argc, const char **argv) {
    tare_json_node *document = NULL, *list = NULL;
    int code = CLI_YES;
    if (cli.json) {
        document = cli_json_new("tare.name/2");
        list = cli_json_array();
    }
    for (int i = 0; i < argc; i++) {
        tare_gguf_name name = tare_gguf_name_default();
        bool is_good = tare_gguf_name_parse(&name, file_name_of(argv[i]));
        if (!is_good) code = CLI_NO;
        if (cli.json) {
            cli_json_append(list, json_parts(argv[i], &name, is_good));
        } else if (cli.quiet) {
            continue;
        } else if (is_good) {
            print_parts(argv[i], &name);
        } else {
            char *safe = cli_escape_path(argv[i]);
            printf("%s%s%s\n  does not follow the naming convention of GGUF files\n",
                   cli_style_on(stdout, CLI_BOLD), safe, cli_style_off(stdout));
            free(safe);
        }
    }
    if (cli.json) {
        cli_json_add(document, "names", list);
        cli_json_print(document);
    }
    return code;
}

/* ---- making names ---------------------------------------------------------------------------- */

static void put_part(tare_str *part_text, const char *text) {
    if (text) *part_text = (tare_str){text, strlen(text)};
}

static bool put_shard(tare_gguf_name *name) {
    uint64_t shard, count;
    if (!args.shard) return true;
    const char *slash = strchr(args.shard, '/');
    char *first = slash ? cli_copy(args.shard, (size_t)(slash - args.shard)) : NULL;
    bool is_good = slash && cli_number_parse(&shard, first) &&
                   cli_number_parse(&count, slash + 1) && shard >= 1 && shard <= count &&
                   count <= 99999;
    if (is_good) {
        name->shard = (uint32_t)shard;
        name->n_shards = (uint32_t)count;
    } else {
        cli_usage(&cmd_name, "--shard: N/COUNT with N from 1 to COUNT, and COUNT up to 99999");
    }
    free(first);
    return is_good;
}

static int print_made(const tare_gguf_name *name) {
    size_t size = tare_gguf_name_format(NULL, 0, name) + 1;
    char *text = cli_alloc(size, 1);
    tare_gguf_name_format(text, size, name);
    if (cli.json) {
        tare_json_node *document = cli_json_new("tare.name/2");
        cli_json_text(document, "name", text);
        cli_json_print(document);
    } else {
        char *safe = cli_escape_path(text);
        puts(safe);
        free(safe);
    }
    free(text);
    return CLI_YES;
}

static int make_name(void) {
    tare_gguf_name name = tare_gguf_name_default();
    char computed[64];
    tare_model *model = NULL;
    int code = args.of ? cli_open(&model, args.of, NULL) : 0;
    if (code != 0) return code;
    if (model) tare_gguf_name_of_model(&name, computed, sizeof computed, model);
    put_part(&name.sidecar, args.sidecar);
    put_part(&name.base_name, args.base_name);
    put_part(&name.size_label, args.size_label);
    put_part(&name.fine_tune, args.fine_tune);
    put_part(&name.version, args.version);
    put_part(&name.encoding, args.encoding);
    put_part(&name.type, args.type);
    if (!put_shard(&name)) {
        code = CLI_USAGE;
    } else if (name.base_name.len == 0) {
        code =
            cli_usage(&cmd_name, args.of ? "the model has no name in its metadata; add --base-name"
                                         : "--make needs --base-name");
    } else {
        code = print_made(&name);
    }
    tare_model_free(model);
    return code;
}

static int run(int argc, const char **argv) {
    if (!args.of && !args.is_make) {
        if (argc == 0) return cli_usage(&cmd_name, "a FILE, --of MODEL or --make is missing");
        return parse_names(argc, argv);
    }
    if (argc > 0) return cli_usage(&cmd_name, "--of and --make take no FILE");
    return make_name();
}

const cli_command cmd_name = {
    .name = "name",
    .summary = "read and make GGUF file names",
    .usage = "FILE...\n--of MODEL [PART]...\n--make --base-name TEXT [PART]...",
    .description =
        "The convention is BaseName-SizeLabel-FineTune-Version-Encoding-Type-Shard.gguf. Exit code "
        "1: a FILE does not follow it. Only names are read; --of opens the model, too.",
    .examples = {{"tare name Mixtral-8x7B-v0.1-Q4_0.gguf", "the parts of a name"},
                 {"tare name --of model.gguf", "the name a model should have"},
                 {"tare name --of model.gguf --encoding Q8_0", "the same with one part replaced"},
                 {"tare name --make --base-name Tiny --size-label 3M --encoding F16",
                  "a name made from its parts"}},
    .options = options,
    .main = "of make encoding fine-tune model-version",
    .takes = CLI_TAKES_QUIET | CLI_TAKES_JSON | CLI_TAKES_INPUT,
    .complete = CLI_COMPLETE_FILE,
    .max_args = -1,
    .run = run,
};
