/* SPDX-License-Identifier: MIT
 *
 * What tare edit says: the items that differ, what became of the files, or all of it as JSON. */
#include "edit_outcome.h"

#include <stdlib.h>
#include <string.h>

#define VALUE_COLUMNS 60

static void print_line(char sign, const char *kind, tare_str name, const char *what) {
    const cli_style style = sign == '-' ? CLI_RED : CLI_GREEN;
    char *safe = cli_escape(name, false, 0);
    printf("%s%c %-8s %s  %s%s\n", cli_style_on(stdout, style), sign, kind, safe, what,
           cli_style_off(stdout));
    free(safe);
}

static void print_key(char sign, const tare_metadata *m) {
    if (!m) return;
    char *type = cli_value_type_text(&m->value), *value = cli_value_text(&m->value, VALUE_COLUMNS);
    const size_t size = strlen(type) + strlen(value) + 4;
    char *both = cli_alloc(size, 1);
    snprintf(both, size, "%s  %s", type, value);
    print_line(sign, "key", m->key, both);
    free(type);
    free(value);
    free(both);
}

static void print_tensor(char sign, const tare_tensor *t) {
    if (!t) return;
    char *shape = cli_shape_text(t), text[256];
    snprintf(text, sizeof text, "%s %s", cli_type_text(t).text, shape);
    print_line(sign, "tensor", t->name, text);
    free(shape);
}

static void print_resource(char sign, const tare_resource *r) {
    if (r) print_line(sign, "file", r->name, cli_size_text(r->size).text);
}

void cli_edit_print_changes(const tare_edit *edit) {
    const tare_edit_change *c;
    for (size_t i = 0; (c = tare_edit_change_at(edit, i)); i++) {
        print_key('-', c->old_key);
        print_key('+', c->new_key);
        print_tensor('-', c->old_tensor);
        print_tensor('+', c->new_tensor);
        print_resource('-', c->old_resource);
        print_resource('+', c->new_resource);
    }
}

static uint64_t bytes_of_all(const tare_edit *edit) {
    const tare_edit_file *f;
    uint64_t sum = 0;
    for (size_t i = 0; (f = tare_edit_file_at(edit, i)); i++) sum += f->new_size;
    return sum;
}

/* Whether the files are already as requested: even if no listed item differs, there may be spare
 * room to remove. */
static bool is_idle(const tare_edit *edit, const char *out_path) {
    const tare_edit_summary *s = tare_edit_summarize(edit);
    return !out_path && s->changed_bytes == 0 && s->written_bytes == 0 && s->n_changes == 0;
}

void cli_edit_print_result(const tare_edit *edit, const char *path, const char *out_path) {
    const tare_edit_summary *s = tare_edit_summarize(edit);
    char *name = cli_escape_path(out_path ? out_path : path), size[40];
    const char *would = cli.dry_run ? "would be " : "";
    snprintf(size, sizeof size, "%s", cli_size_text(bytes_of_all(edit)).text);
    printf("%s: ", name);
    if (is_idle(edit, out_path))
        printf("nothing to change\n");
    else if (out_path)
        printf("%swritten, %s, %zu change%s\n", would, cli_size_text(s->written_bytes).text,
               s->n_changes, cli_plural(s->n_changes));
    else if (s->is_in_place)
        printf("%zu change%s %sin place, %s of %s\n", s->n_changes, cli_plural(s->n_changes), would,
               cli_size_text(s->changed_bytes + s->written_bytes).text, size);
    else
        printf("%zu change%s, %srewritten, %s of %s\n", s->n_changes, cli_plural(s->n_changes),
               would, cli_size_text(s->written_bytes).text, size);
    free(name);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static tare_json_node *json_key(const tare_metadata *m) {
    if (!m) return NULL;
    tare_json_node *o = cli_json_object();
    char *type = cli_value_type_text(&m->value);
    cli_json_str(o, "name", m->key);
    cli_json_text(o, "type", type);
    cli_json_add(o, "value", cli_json_value(&m->value, 64));
    free(type);
    return o;
}

static tare_json_node *json_tensor(const tare_tensor *t) {
    if (!t) return NULL;
    tare_json_node *o = cli_json_object();
    cli_json_str(o, "name", t->name);
    cli_json_text(o, "type", cli_type_text(t).text);
    cli_json_add(o, "shape", cli_json_shape(t));
    return o;
}

static tare_json_node *json_resource(const tare_resource *r) {
    if (!r) return NULL;
    tare_json_node *o = cli_json_object();
    cli_json_str(o, "name", r->name);
    cli_json_u64(o, "size_bytes", r->size);
    return o;
}

static void add_side(tare_json_node *change, const char *side, tare_json_node *value) {
    if (value)
        cli_json_add(change, side, value);
    else
        cli_json_text(change, side, NULL);
}

static tare_json_node *json_changes(const tare_edit *edit) {
    tare_json_node *list = cli_json_array();
    const tare_edit_change *c;
    for (size_t i = 0; (c = tare_edit_change_at(edit, i)); i++) {
        tare_json_node *o = cli_json_object();
        const bool is_key = c->kind == TARE_ITEM_KEY, is_tensor = c->kind == TARE_ITEM_TENSOR;
        cli_json_text(o, "kind", cli_item_kind(c->kind));
        add_side(o, "old",
                 is_key      ? json_key(c->old_key)
                 : is_tensor ? json_tensor(c->old_tensor)
                             : json_resource(c->old_resource));
        add_side(o, "new",
                 is_key      ? json_key(c->new_key)
                 : is_tensor ? json_tensor(c->new_tensor)
                             : json_resource(c->new_resource));
        cli_json_append(list, o);
    }
    return list;
}

static tare_json_node *json_files(const tare_edit *edit) {
    static const char *const actions[] = {"kept", "patched", "written"};
    tare_json_node *list = cli_json_array();
    const tare_edit_file *f;
    for (size_t i = 0; (f = tare_edit_file_at(edit, i)); i++) {
        tare_json_node *o = cli_json_object();
        cli_json_text(o, "name", f->path);
        cli_json_text(o, "action", actions[f->action]);
        cli_json_u64(o, "old_size_bytes", f->old_size);
        cli_json_u64(o, "new_size_bytes", f->new_size);
        cli_json_u64(o, "changed_bytes", f->changed_bytes);
        cli_json_append(list, o);
    }
    return list;
}

void cli_edit_print_json(const tare_edit *edit, const char *path, const char *out_path,
                         const tare_report *report) {
    const tare_edit_summary *s = tare_edit_summarize(edit);
    tare_json_node *document = cli_json_new("tare.edit/2");
    cli_json_text(document, "input", path);
    cli_json_text(document, "output", out_path ? out_path : path);
    cli_json_text(document, "format", s->format);
    cli_json_bool(document, "is_dry_run", cli.dry_run);
    cli_json_bool(document, "is_in_place", !out_path && s->is_in_place);
    cli_json_u64(document, "changed_bytes", s->changed_bytes);
    cli_json_u64(document, "written_bytes", s->written_bytes);
    cli_json_add(document, "changes", json_changes(edit));
    cli_json_add(document, "files", json_files(edit));
    cli_json_add(document, "findings", cli_json_findings(report));
    cli_json_print(document);
}
