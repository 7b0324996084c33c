/* SPDX-License-Identifier: MIT
 *
 * tare status: which parts of an output are done. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static bool ranges, aborts;

static const cli_option options[] = {
    {.name = "ranges",
     .help = "print the numbers of the parts that are not done, from 0 on, as sbatch --array takes "
             "them, and nothing else",
     .flag = &ranges},
    {.name = "abort",
     .help = "for s3://...: abort the incomplete uploads and delete their parts, also those of "
             "runs still in progress",
     .flag = &aborts},
    {0},
};

static const char *const state_names[] = {
    [TARE_PART_MISSING] = "missing",       [TARE_PART_DONE] = "done",
    [TARE_PART_UNFINISHED] = "unfinished", [TARE_PART_STALE] = "stale",
    [TARE_PART_FOREIGN] = "foreign",       [TARE_PART_DOUBLED] = "doubled",
    [TARE_PART_DAMAGED] = "damaged",
};

static void print_json(const tare_parts *parts, const char *out_path) {
    tare_part_info info = tare_part_info_default();
    tare_json_node *document = cli_json_new("tare.status/2"), *list = cli_json_array();
    cli_json_text(document, "output", out_path);
    cli_json_u64(document, "part_count", tare_parts_count(parts));
    cli_json_u64(document, "done_count", tare_parts_done(parts));
    for (size_t i = 0; tare_parts_at(&info, parts, i); i++) {
        tare_json_node *entry = cli_json_object();
        cli_json_u64(entry, "part", info.index);
        cli_json_u64(entry, "part_count", info.count);
        cli_json_text(entry, "state", state_names[info.state]);
        if (info.name.ptr) cli_json_str(entry, "name", info.name);
        if (info.against) cli_json_u64(entry, "against_part", info.against);
        if (info.state == TARE_PART_DONE) {
            cli_json_u64(entry, "offset", info.begin);
            cli_json_u64(entry, "size_bytes", info.end - info.begin);
        }
        cli_json_append(list, entry);
    }
    cli_json_add(document, "parts", list);
    cli_json_print(document);
}

/* Parts of one state in a row, "4-9". */
static void print_run(const char *between, uint32_t from, uint32_t to) {
    printf("%s%" PRIu32, between, from);
    if (to > from) printf("-%" PRIu32, to);
}

static void print_ranges(const tare_parts *parts) {
    tare_part_info info = tare_part_info_default();
    const uint32_t n = tare_parts_count(parts);
    bool is_first = true;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t end = i;
        while (end < n && tare_parts_at(&info, parts, end) && info.state != TARE_PART_DONE) end++;
        if (end == i) continue;
        print_run(is_first ? "" : ",", i, end - 1);
        is_first = false;
        i = end;
    }
    if (!is_first) putchar('\n');
}

static void print_text(const tare_parts *parts, const char *out_path) {
    tare_part_info info = tare_part_info_default();
    char *name = cli_escape_path(out_path);
    printf("%s: %" PRIu32 " of %" PRIu32 " parts done\n", name, tare_parts_done(parts),
           tare_parts_count(parts));
    free(name);
    for (size_t i = 0; tare_parts_at(&info, parts, i); i++) {
        if (info.state == TARE_PART_DONE) continue;
        uint32_t end = info.index;
        tare_part_info next = tare_part_info_default();
        while (info.state == TARE_PART_MISSING && tare_parts_at(&next, parts, i + 1) &&
               next.state == TARE_PART_MISSING) {
            end = next.index;
            i++;
        }
        char *file = cli_escape_path(info.name.ptr ? info.name.ptr : "");
        printf("  %s: ", state_names[info.state]);
        if (info.name.ptr)
            fputs(file, stdout);
        else
            print_run(end > info.index ? "parts " : "part ", info.index, end);
        if (info.against) printf(", beside part %" PRIu32, info.against);
        putchar('\n');
        free(file);
    }
}

/* No part is there, but the output itself is: joined, or never made in parts. */
static int tell_whole(const char *out_path) {
    char *name = cli_escape_path(out_path);
    if (cli.json) {
        tare_json_node *document = cli_json_new("tare.status/2");
        cli_json_text(document, "output", out_path);
        cli_json_u64(document, "part_count", 0);
        cli_json_u64(document, "done_count", 0);
        cli_json_add(document, "parts", cli_json_array());
        cli_json_print(document);
    } else if (!ranges) {
        printf("%s: complete, and no parts are left\n", name);
    }
    free(name);
    return CLI_YES;
}

/* ---- object stores --------------------------------------------------------------------------- */

typedef struct listing {
    size_t n;
    tare_json_node *list; /* NULL: text */
} listing;

static void print_upload(void *ctx, const tare_upload *u) {
    listing *l = ctx;
    l->n++;
    if (l->list) {
        tare_json_node *entry = cli_json_object();
        cli_json_text(entry, "output", u->name);
        cli_json_text(entry, "upload_name", u->id);
        cli_json_text(entry, "began", u->begun);
        cli_json_u64(entry, "part_count", u->n_parts);
        cli_json_u64(entry, "size_bytes", u->n_bytes);
        cli_json_append(l->list, entry);
        return;
    }
    char *name = cli_escape_path(u->name), *id = cli_escape_path(u->id),
         *begun = cli_escape_path(u->begun);
    printf("%s: upload %s%s%s, %" PRIu64 " part%s, %s, %s\n", name, id, *begun ? ", begun " : "",
           begun, u->n_parts, cli_plural(u->n_parts), cli_size_text(u->n_bytes).text,
           aborts ? "removed" : "not complete");
    free(begun);
    free(id);
    free(name);
}

static int tell_uploads(const char *url) {
    listing l = {.list = cli.json ? cli_json_array() : NULL};
    tare_error err;
    if (ranges) return cli_usage(&cmd_status, "--ranges is of parts, and an upload has none");
    if (cli_check_output(&cmd_status, url) != CLI_YES) return CLI_USAGE;
    tare_json_node *document = cli.json ? cli_json_new("tare.uploads/2") : NULL;
    const tare_status status =
        tare_remote_uploads(cli_session(), url, aborts, print_upload, &l, &err);
    if (document) {
        cli_json_text(document, "output", url);
        cli_json_bool(document, "is_aborted", aborts);
        cli_json_add(document, "uploads", l.list);
        cli_json_print(document);
    } else if (status == TARE_OK && !l.n) {
        char *name = cli_escape_path(url);
        printf("%s: no upload is left incomplete\n", name);
        free(name);
    }
    if (status != TARE_OK) return cli_fail(&err, url);
    return l.n && !aborts ? CLI_NO : CLI_YES;
}

static int run(int argc, const char **argv) {
    (void)argc;
    tare_parts *parts;
    tare_error err;
    const tare_context context = cli_context(NULL);
    if (tare_is_url(argv[0]) && cli_is_s3(argv[0])) return tell_uploads(argv[0]);
    if (aborts) return cli_usage(&cmd_status, "--abort is of uploads: s3://BUCKET/KEY expected");
    int code = cli_check_local(&cmd_status, argv[0]);
    if (code != CLI_YES) return code;
    if (tare_parts_open(&parts, argv[0], &context, &err) != TARE_OK)
        return cli_has_code(&err, TARE_CODE_NO_PARTS) && cli_stat(argv[0]) != CLI_PATH_NOTHING
                   ? tell_whole(argv[0])
                   : cli_fail(&err, argv[0]);
    if (cli.json)
        print_json(parts, argv[0]);
    else if (ranges)
        print_ranges(parts);
    else
        print_text(parts, argv[0]);
    tare_part_info extra = tare_part_info_default();
    const uint32_t n = tare_parts_count(parts);
    code = tare_parts_done(parts) == n && !tare_parts_at(&extra, parts, n) ? CLI_YES : CLI_NO;
    tare_parts_free(parts);
    return code;
}

const cli_command cmd_status = {
    .name = "status",
    .summary = "show which parts of an output are done, or incomplete uploads",
    .usage = "OUT [--ranges] [--abort]",
    .description =
        "OUT is what convert, quantize, pack, unpack or verify --write-manifest were given with "
        "--part. Parts that are missing, "
        "unfinished (they have no record yet), made from another input or with other options than "
        "most (stale), beside the "
        "record "
        "of another part or output (foreign), there besides those that are needed (doubled) or not "
        "of the size that their record says (damaged) are named. Exit code 0: all are done, and "
        "nothing else is there, or OUT is there without parts, as after tare join; 1: not yet.\n\n"
        "For s3://BUCKET/KEY, or s3://BUCKET/FOLDER/ for all keys in it, lists the multipart "
        "uploads that were neither completed nor aborted, whose parts the store keeps; those in "
        "progress are among them. "
        "Exit code 0: there is none, or --abort has removed them; 1: there are some.",
    .examples =
        {{"tare status small.gguf", "how much is done"},
         {"sbatch --array=$(tare status small.gguf --ranges) job.sh",
          "run what is left; job.sh must pass --part $((SLURM_ARRAY_TASK_ID + 1))/N, not auto"},
         {"tare status s3://bucket/models/ --abort",
          "remove what runs that were killed have left in a store"}},
    .options = options,
    .takes = CLI_TAKES_JSON | CLI_TAKES_URL,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
