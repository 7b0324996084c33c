/* SPDX-License-Identifier: MIT
 *
 * tare edit: keys, names and tensors of a model changed, in its own format and mostly in place. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "edit_new_keys.h"
#include "edit_outcome.h"

#define TEXT_MOST ((size_t)64 << 20) /* of a file that becomes a value */

static struct {
    const char *chat_template;
    const char *output; /* NULL: FILE itself */
    cli_list set, set_file, remove, rename, retype;
    cli_list rename_tensor, drop_tensors, keep_tensors, special_token;
    uint64_t spare;
    bool in_place, rewrite, keep_time, recover;
} args;

static const cli_option options[] = {
    {.name = "set",
     .arg = "KEY[:TYPE]=VALUE",
     .help = "a key and its value, in the type that the key has, else the one that fits: u8 i8 u16 "
             "i16 u32 i32 u64 i64 f32 f64 bool string, with [] for arrays: ids:i32[]=[1,2]; may be "
             "given again, as may the options below",
     .list = &args.set},
    {.name = "set-file",
     .arg = "KEY[:TYPE]=FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "the same with a value from a file, byte for byte",
     .list = &args.set_file},
    {.name = "remove",
     .arg = "PATTERN",
     .help = "remove keys: 'quantize.imatrix.*'",
     .list = &args.remove},
    {.name = "rename",
     .arg = "OLD=NEW",
     .help = "rename a key, or several with one * on each side: 'general.*=model.*'",
     .list = &args.rename},
    {.name = "retype",
     .arg = "KEY=TYPE",
     .help = "the same value in another type",
     .list = &args.retype},
    {.name = "chat-template",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "the chat template, which GGUF has as tokenizer.chat_template and a directory as the "
             "file chat_template.jinja",
     .text = &args.chat_template},
    {.name = "special-token",
     .arg = "NAME=TOKEN",
     .help = "a special token by its text: eos='<|im_end|>' sets tokenizer.ggml.eos_token_id",
     .list = &args.special_token},
    {.name = "rename-tensor",
     .arg = "OLD=NEW",
     .help = "rename a tensor, or several with one * on each side: 'model.*=*'",
     .list = &args.rename_tensor},
    {.name = "drop-tensors",
     .arg = "PATTERN",
     .help = "leave tensors out: 'mtp.*'",
     .list = &args.drop_tensors},
    {.name = "keep-tensors",
     .arg = "PATTERN",
     .help = "leave all other tensors out",
     .list = &args.keep_tensors},
    {.name = "output",
     .letter = 'o',
     .arg = "OUT",
     .complete = CLI_COMPLETE_FILE,
     .help = "write another file or directory, laid out as a conversion would, and leave FILE "
             "alone",
     .text = &cli.output},
    {.name = "in-place",
     .help = "change FILE itself, never a copy; fails if data would have to move",
     .flag = &args.in_place},
    {.name = "rewrite",
     .help = "rewrite FILE, without the space that earlier edits left in its header",
     .flag = &args.rewrite},
    {.name = "spare",
     .arg = "SIZE",
     .help = "leave this much space behind a header that is rewritten, so that later edits are "
             "in place (GGUF, safetensors)",
     .size = &args.spare},
    {.name = "keep-time",
     .help = "keep the time of modification; programs that copy by time and size miss the change",
     .flag = &args.keep_time},
    {.name = "recover",
     .help = "only finish an edit that was interrupted, which any other edit of FILE does first",
     .flag = &args.recover},
    {0},
};

/* ---- steps ----------------------------------------------------------------------------------- */

/* The requested steps; texts that were allocated for them, freed at the end. */
typedef struct steps {
    tare_edit_step *items;
    size_t n;
    char **texts;
    size_t n_texts;
} steps;

static char *keep(steps *s, char *text) {
    s->texts = cli_grow(s->texts, s->n_texts + 1, sizeof *s->texts);
    return s->texts[s->n_texts++] = text;
}

static tare_edit_step *add(steps *s, tare_edit_kind kind) {
    s->items = cli_grow(s->items, s->n + 1, sizeof *s->items);
    s->items[s->n] = (tare_edit_step){.kind = kind};
    return &s->items[s->n++];
}

static tare_str str_of(const char *text) {
    return (tare_str){text, strlen(text)};
}

static int not_of_form(const char *option, const char *text, const char *form) {
    char *safe = cli_escape_path(text);
    int code = cli_usage(&cmd_edit, "--%s: \"%s\" is not %s", option, safe, form);
    free(safe);
    return code;
}

/* "LEFT=RIGHT" of each text of a list: name and text of a step. */
static int add_pairs(steps *s, const cli_list *list, tare_edit_kind kind, const char *option,
                     const char *form) {
    for (size_t i = 0; i < list->n; i++) {
        const char *text = list->items[i], *equals = strchr(text, '=');
        if (!equals || equals == text) return not_of_form(option, text, form);
        tare_edit_step *step = add(s, kind);
        step->name = (tare_str){text, (size_t)(equals - text)};
        step->text = str_of(equals + 1);
    }
    return CLI_YES;
}

static void add_patterns(steps *s, const cli_list *list, tare_edit_kind kind) {
    for (size_t i = 0; i < list->n; i++) add(s, kind)->name = str_of(list->items[i]);
}

/* Cuts ":TYPE" off the names of the last steps, from `first` on. */
static void cut_types(steps *s, size_t first) {
    for (size_t i = first; i < s->n; i++) {
        tare_str *name = &s->items[i].name;
        size_t at = name->len;
        while (at > 0 && name->ptr[at - 1] != ':') at--;
        if (at < 2) continue;
        s->items[i].type = keep(s, cli_copy(name->ptr + at, name->len - at));
        name->len = at - 1;
    }
}

static int read_value(steps *s, tare_str *out, const char *path) {
    char *text;
    size_t n;
    int code = cli_read_file(&text, &n, path, TEXT_MOST);
    if (code == CLI_YES && n > TEXT_MOST) {
        char *name = cli_escape_path(path);
        code = cli_fail_text(CLI_INPUT, "%s: too large for a value", name);
        free(name);
    }
    keep(s, text);
    *out = (tare_str){text, n};
    return code;
}

/* First what goes, then what changes its name or type, then what is set. */
static int make_steps(steps *s) {
    int code;
    add_patterns(s, &args.remove, TARE_EDIT_REMOVE_KEYS);
    code = add_pairs(s, &args.rename, TARE_EDIT_RENAME_KEYS, "rename", "OLD=NEW");
    size_t first = s->n;
    if (!code) code = add_pairs(s, &args.retype, TARE_EDIT_TYPE_KEY, "retype", "KEY=TYPE");
    for (; first < s->n; first++) s->items[first].type = s->items[first].text.ptr;
    if (!code)
        code = add_pairs(s, &args.set, TARE_EDIT_SET_KEY, "set", "KEY=VALUE or KEY:TYPE=VALUE");
    const size_t files = s->n;
    if (!code)
        code = add_pairs(s, &args.set_file, TARE_EDIT_SET_KEY, "set-file",
                         "KEY=FILE or KEY:TYPE=FILE");
    for (size_t i = files; i < s->n && !code; i++)
        code = read_value(s, &s->items[i].text, s->items[i].text.ptr);
    cut_types(s, first);
    if (!code && args.chat_template)
        code = read_value(s, &add(s, TARE_EDIT_CHAT_TEMPLATE)->text, args.chat_template);
    if (!code)
        code = add_pairs(s, &args.special_token, TARE_EDIT_SPECIAL_TOKEN, "special-token",
                         "NAME=TOKEN");
    add_patterns(s, &args.drop_tensors, TARE_EDIT_DROP_TENSORS);
    add_patterns(s, &args.keep_tensors, TARE_EDIT_KEEP_TENSORS);
    if (!code)
        code =
            add_pairs(s, &args.rename_tensor, TARE_EDIT_RENAME_TENSORS, "rename-tensor", "OLD=NEW");
    return code;
}

static void free_steps(steps *s) {
    for (size_t i = 0; i < s->n_texts; i++) free(s->texts[i]);
    free(s->texts);
    free(s->items);
}

/* ---- running --------------------------------------------------------------------------------- */

static void print_recovery(const char *path, const char *outcome) {
    tare_json_node *document = cli_json_new("tare.recovery/2");
    cli_json_text(document, "input", path);
    cli_json_text(document, "outcome", outcome);
    cli_json_print(document);
}

static int recover(const char *path) {
    static const char *const codes[] = {"nothing", "undone", "finished"};
    static const char *const words[] = {
        "no edit of it was interrupted",
        "an interrupted edit had not changed it yet; its journal was removed",
        "an edit was interrupted: finished"};
    tare_edit_recovery what;
    tare_error err;
    if (tare_edit_recover(&what, path, NULL, &err) != TARE_OK) return cli_fail(&err, path);
    char *name = cli_escape_path(path);
    if (what == TARE_EDIT_NOTHING && !cli_is_there(path)) {
        cli_fail_text(CLI_IO, "%s: cannot be opened: %s", name, strerror(errno));
        free(name);
        return CLI_IO;
    }
    if (cli.json)
        print_recovery(path, codes[what]);
    else if (!cli.quiet)
        printf("%s: %s\n", name, words[what]);
    free(name);
    return CLI_YES;
}

static tare_edit_options make_options(void) {
    tare_edit_options o = tare_edit_options_default();
    o.out_path = args.output;
    o.way = args.in_place ? TARE_EDIT_IN_PLACE : args.rewrite ? TARE_EDIT_REWRITE : TARE_EDIT_AUTO;
    o.spare = args.spare;
    o.keep_time = args.keep_time;
    return o;
}

/* Keys of a Hugging Face directory that its config.json has, too: that is another place. */
static void note_config(const char *path, const steps *s) {
    char *text = NULL, *file = cli_alloc(strlen(path) + sizeof "/config.json", 1);
    size_t n;
    sprintf(file, "%s/config.json", path);
    if (!cli.quiet && cli_is_there(file) && cli_read_file(&text, &n, file, TEXT_MOST) == CLI_YES)
        for (size_t i = 0; i < s->n; i++) {
            if (s->items[i].kind != TARE_EDIT_SET_KEY) continue;
            char *member = cli_copy(s->items[i].name.ptr, s->items[i].name.len);
            const bool is_there = tare_json_has_member((tare_str){text, n}, member);
            free(member);
            if (!is_there) continue;
            char *name = cli_escape_path(path), *key = cli_escape(s->items[i].name, true, 0);
            fprintf(cli_error_stream(),
                    "%s: note: %s is also in config.json, which edit does not change: only the "
                    "metadata of the weights is set\n",
                    name, key);
            free(name);
            free(key);
        }
    free(text);
    free(file);
}

static int edit_model(const char *path, const steps *s, tare_report *report) {
    const tare_context context = cli_context(report);
    const tare_output_options output = cli_output();
    tare_edit_options o = make_options();
    o.context = &context;
    o.output = &output;
    tare_edit *edit;
    tare_error err;
    if (tare_edit_new(&edit, path, s->items, s->n, &o, &err) != TARE_OK)
        return cli_fail_open(&err, path);
    note_config(path, s);
    cli_note_new_keys(edit, path);
    cli_progress_start("editing");
    tare_status status = tare_edit_run(edit, &err);
    cli_progress_end();
    if (status == TARE_OK && cli.json) cli_edit_print_json(edit, path, args.output, report);
    if (status == TARE_OK && !cli.json && cli.dry_run) cli_edit_print_changes(edit);
    if (status == TARE_OK && !cli.json && !cli.quiet) {
        cli_edit_print_result(edit, path, args.output);
        cli_print_remarks(report, path, TARE_LEVEL_INFO);
    }
    tare_edit_free(edit);
    return status == TARE_OK ? CLI_YES : cli_fail(&err, path);
}

static int check_usage(const steps *s) {
    if (args.output && cli_check_local(&cmd_edit, args.output) != CLI_YES) return CLI_USAGE;
    if (args.in_place && (args.rewrite || args.output))
        return cli_usage(&cmd_edit, "--in-place cannot be combined with --rewrite or -o");
    if (args.recover && (s->n || args.output || args.rewrite))
        return cli_usage(&cmd_edit, "--recover cannot be combined with a change");
    if (args.recover && cli.dry_run) return cli_usage(&cmd_edit, "--recover has no --dry-run");
    if (!args.recover && !s->n && !args.output && !args.rewrite)
        return cli_usage(&cmd_edit, "nothing to change: give --set, --remove, ...");
    return CLI_YES;
}

static int run(int argc, const char **argv) {
    cli.is_stored = true;
    steps s = {.n = 0};
    args.output = argc > 1 ? argv[1] : NULL;
    if (strcmp(argv[0], "-") == 0 || strstr(argv[0], "://"))
        return cli_usage(&cmd_edit, "only files and directories here can be edited");
    int code = make_steps(&s);
    if (code == CLI_YES) code = check_usage(&s);
    if (code == CLI_YES && args.recover) {
        code = recover(argv[0]);
    } else if (code == CLI_YES) {
        tare_report *report = cli_report_new();
        code = edit_model(argv[0], &s, report);
        tare_report_free(report);
    }
    free_steps(&s);
    return code;
}

const cli_command cmd_edit = {
    .name = "edit",
    .summary = "change keys, the chat template or tensor names of a model",
    .usage = "FILE|DIR [OUT] [--set KEY=VALUE]... [--dry-run]",
    .description = "The numbers never change. If the changed header fits where the old one was, "
                   "they are not moved either: a model of any size is edited in milliseconds. "
                   "A crash at any moment leaves the old model, the new one, or a file that every "
                   "program refuses until --recover completes the edit. What would break a model "
                   "(its architecture, shapes, vocabulary) is refused "
                   "without --force. Patterns are those of a shell; * also matches dots.",
    .examples = {{"tare edit model.gguf --set general.name='My model' --dry-run",
                  "what would change"},
                 {"tare edit model.gguf --chat-template template.jinja", "another chat template"},
                 {"tare edit model.gguf --set llama.context_length=8192",
                  "a number, in the type that the key has"},
                 {"tare edit model.gguf --set my.ids:i32[]=[1,2,3]", "a new key, an array"},
                 {"tare edit model.gguf --special-token eos='<|im_end|>'",
                  "the token that ends an answer"},
                 {"tare edit model.gguf --remove 'quantize.imatrix.*' --spare 64K",
                  "without some keys, with room for later edits"},
                 {"tare edit model.safetensors --rename-tensor 'model.*=*' -o bare.safetensors",
                  "all tensors without a prefix, in another file"},
                 {"tare edit model.safetensors --drop-tensors 'mtp.*'", "without some tensors"},
                 {"tare edit hf-directory --set license=mit", "in the __metadata__ of the weights"},
                 {"tare edit model.gguf --recover", "after a crash"}},
    .options = options,
    .main = "set remove rename chat-template special-token rename-tensor drop-tensors output "
            "dry-run recover",
    .takes = CLI_TAKES_WORK | CLI_TAKES_JSON | CLI_TAKES_MODEL_OUTPUT,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 1,
    .max_args = 2,
    .out_at = 1,
    .run = run,
};
