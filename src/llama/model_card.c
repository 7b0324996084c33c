/* SPDX-License-Identifier: MIT
 *
 * Reading the front matter line by line. */
#include "llama/model_card.h"

#include "base/str.h"
#include "llama/yaml_text.h"

typedef struct reader {
    tare_str rest;
    tare_str line; /* without its end */
    tare_arena *arena;
    tare_json_node *root;
    tare_json_node *anchors; /* texts by the names that aliases have for them */
    bool is_out_of_memory;
} reader;

enum { MOST_ANCHORS = 64 /* each alias looks at all */ };

/* The next line up to the closing "---"; false: there is none. */
static bool next_line(reader *r) {
    if (r->rest.len == 0) return false;
    const char *end = memchr(r->rest.ptr, '\n', r->rest.len);
    size_t n = end ? (size_t)(end - r->rest.ptr) : r->rest.len;
    r->line = (tare_str){r->rest.ptr, n};
    r->rest = tare_str_cut(r->rest, end ? n + 1 : n);
    if (r->line.len && r->line.ptr[r->line.len - 1] == '\r') r->line.len--;
    return !tare_str_is(r->line, "---");
}

static tare_str trim(tare_str t) {
    while (t.len && (t.ptr[0] == ' ' || t.ptr[0] == '\t')) t = tare_str_cut(t, 1);
    while (t.len && (t.ptr[t.len - 1] == ' ' || t.ptr[t.len - 1] == '\t')) t.len--;
    return t;
}

static tare_json_node *add(reader *r, tare_json_node *to, tare_json_type type, tare_str key,
                           tare_str text) {
    tare_json_node *node = tare_json_new(r->arena, type, text);
    if (node)
        tare_json_add(to, key, node);
    else
        r->is_out_of_memory = true;
    return node;
}

/* What a scalar denotes. */
static tare_str scalar(reader *r, tare_str t) {
    const tare_str text = tare_llama_yaml_text(t, r->arena);
    if (text.ptr || t.len == 0) return text;
    r->is_out_of_memory = true;
    return TARE_STR("");
}

static size_t indent_of(tare_str line) {
    size_t n = 0;
    while (n < line.len && (line.ptr[n] == ' ' || line.ptr[n] == '\t')) n++;
    return n;
}

/* A line of a list without a comment behind its end. */
static tare_str list_line(tare_str t) {
    size_t n = t.len;
    while (n && t.ptr[n - 1] != ']') n--;
    const tare_str rest = trim(tare_str_cut(t, n));
    if (n && rest.len && rest.ptr[0] == '#') t.len = n;
    return t;
}

/* A list that begins with '[' and may go on in lines that are not keys: all up to its end, which is
 * the last ']' of a line. */
static tare_str whole_list(reader *r, tare_str text) {
    text = list_line(text);
    while (text.ptr[text.len - 1] != ']') {
        const tare_str before = r->rest;
        const bool is_there = next_line(r);
        const tare_str line = list_line(trim(r->line));
        if (!is_there || (line.len && !indent_of(r->line) && line.ptr[0] != ']')) {
            r->rest = before;
            break;
        }
        if (line.len) text.len = (size_t)(line.ptr - text.ptr) + line.len;
    }
    return text;
}

/* "[a, b]" */
static void read_inline(reader *r, tare_json_node *list, tare_str text) {
    text = (tare_str){text.ptr + 1, text.len - 2};
    while (text.len && !r->is_out_of_memory) {
        size_t n = tare_llama_yaml_item(text);
        tare_str item = scalar(r, (tare_str){text.ptr, n});
        if (item.len) add(r, list, TARE_JSON_STRING, TARE_STR(""), item);
        text = tare_str_cut(text, n + 1);
    }
}

/* Whether an item "- key: value" is a map; "- arxiv:2401.00001" is none. */
static bool is_map(tare_str item) {
    const tare_str t = trim(tare_str_cut(item, 1));
    if (t.len == 0 || t.ptr[0] == '"' || t.ptr[0] == '\'') return false;
    for (size_t i = 0; i < t.len; i++)
        if (t.ptr[i] == ':' && (i + 1 == t.len || t.ptr[i + 1] == ' ')) return true;
    return false;
}

/* Lines "- item" below a key; *is_there: there were some. A map within one is left out. Stops
 * before the next key. */
static void read_list(reader *r, tare_json_node *list) {
    for (;;) {
        tare_str before = r->rest;
        if (!next_line(r)) {
            r->rest = before;
            return;
        }
        tare_str t = trim(r->line);
        if (t.len == 0 || t.ptr[0] == '#') continue;
        bool is_item = t.ptr[0] == '-' && (t.len == 1 || t.ptr[1] == ' ');
        if (!is_item && indent_of(r->line) == 0) {
            r->rest = before;
            return;
        }
        if (!is_item) continue;
        tare_str item = scalar(r, tare_str_cut(t, 1));
        if (item.len && !is_map(t))
            if (!add(r, list, TARE_JSON_STRING, TARE_STR(""), item)) return;
    }
}

/* The next line of a block of text; false: it ends here, and nothing is read. */
static bool next_of_block(reader *r) {
    tare_str before = r->rest;
    if (next_line(r) && !(r->line.len && indent_of(r->line) == 0)) return true;
    r->rest = before;
    return false;
}

/* Lines of a text that "key: >" or "|" begins, one blank or line end between them. */
static tare_str read_block(reader *r, char style) {
    const tare_str start = r->rest;
    while (next_of_block(r)) continue;
    char *out = tare_arena_take(r->arena, start.len - r->rest.len + 1);
    size_t at = 0;
    if (!out) {
        r->is_out_of_memory = true;
        return TARE_STR("");
    }
    r->rest = start;
    while (next_of_block(r)) {
        tare_str t = trim(r->line);
        if (at) out[at++] = style == '|' ? '\n' : ' ';
        memcpy(out + at, t.ptr, t.len);
        at += t.len;
    }
    while (at && (out[at - 1] == ' ' || out[at - 1] == '\n')) at--;
    if (at) out[at++] = '\n'; /* one line end is kept: the block has no '-' */
    return (tare_str){out, at};
}

/* A text that goes on in lines further in: a blank in the place of each line's end. */
static tare_str whole_text(reader *r, tare_str text) {
    const tare_str start = r->rest;
    while (next_of_block(r)) continue;
    const size_t n_more = start.len - r->rest.len;
    char *out = n_more ? tare_arena_take(r->arena, text.len + n_more + 1) : NULL;
    r->is_out_of_memory |= n_more && !out;
    if (!out) return text;
    size_t at = text.len;
    memcpy(out, text.ptr, at);
    r->rest = start;
    while (next_of_block(r)) {
        const tare_str t = trim(r->line);
        if (t.len == 0 || t.ptr[0] == '#') continue;
        out[at++] = ' ';
        memcpy(out + at, t.ptr, t.len);
        at += t.len;
    }
    return (tare_str){out, at};
}

/* Takes the word that begins a text, with its mark; what follows is left in *text. */
static tare_str take_word(tare_str *text) {
    size_t n = 1;
    while (n < text->len && text->ptr[n] != ' ' && text->ptr[n] != '\t') n++;
    const tare_str word = {text->ptr + 1, n - 1};
    *text = trim(tare_str_cut(*text, n));
    return word;
}

/* A text behind a tag (!!str) or an anchor (&name), or what an alias (*name) stands for; nothing where that
 * is no text. */
static tare_str resolved(reader *r, tare_str text) {
    tare_str anchor = {"", 0};
    if (text.ptr[0] == '*') {
        const tare_json_node *of =
            r->anchors ? tare_json_member(r->anchors, take_word(&text)) : NULL;
        return of ? of->text : TARE_STR("");
    }
    while (text.len && (text.ptr[0] == '&' || text.ptr[0] == '!')) {
        const bool is_anchor = text.ptr[0] == '&';
        const tare_str word = take_word(&text);
        if (is_anchor) anchor = word;
    }
    text = scalar(r, whole_text(r, text));
    if (!anchor.len) return text;
    if (!r->anchors) r->anchors = tare_json_new(r->arena, TARE_JSON_OBJECT, TARE_STR(""));
    if (r->anchors && r->anchors->n < MOST_ANCHORS)
        add(r, r->anchors, TARE_JSON_STRING, anchor, text);
    return text;
}

static void read_text(reader *r, tare_str key, tare_str text) {
    const bool is_plain = text.ptr[0] != '"' && text.ptr[0] != '\'';
    text = resolved(r, text);
    const bool is_nothing = text.len == 0 || tare_str_is(text, "null") || tare_str_is(text, "~");
    if (!is_plain || !is_nothing) add(r, r->root, TARE_JSON_STRING, key, text);
}

static void read_member(reader *r) {
    const char *colon = memchr(r->line.ptr, ':', r->line.len);
    if (!colon || indent_of(r->line) || r->line.ptr[0] == '#') return;
    tare_str key = scalar(r, (tare_str){r->line.ptr, (size_t)(colon - r->line.ptr)});
    tare_str text = trim(tare_str_cut(r->line, (size_t)(colon - r->line.ptr) + 1));
    if (text.len && text.ptr[0] == '[') text = whole_list(r, text);
    if (text.len == 0) {
        tare_json_node *list = add(r, r->root, TARE_JSON_ARRAY, key, TARE_STR(""));
        if (list) read_list(r, list);
    } else if (text.ptr[0] == '[' && text.ptr[text.len - 1] == ']') {
        tare_json_node *list = add(r, r->root, TARE_JSON_ARRAY, key, TARE_STR(""));
        if (list) read_inline(r, list, text);
    } else if (text.ptr[0] == '>' || text.ptr[0] == '|') {
        add(r, r->root, TARE_JSON_STRING, key, read_block(r, text.ptr[0]));
    } else {
        read_text(r, key, text);
    }
}

tare_status tare_llama_model_card_read(const tare_json_node **out, tare_str readme,
                                       tare_arena *arena, tare_error *err) {
    reader r = {.rest = readme, .arena = arena};
    *out = NULL;
    if (tare_str_starts(readme, TARE_STR("\xef\xbb\xbf"))) r.rest = tare_str_cut(readme, 3);
    if (!next_line(&r) && tare_str_is(r.line, "---")) {
        r.root = tare_json_new(arena, TARE_JSON_OBJECT, TARE_STR(""));
        if (!r.root) return tare_fail(err, TARE_ERR_NOMEM, "model card");
        while (!r.is_out_of_memory && next_line(&r))
            if (r.line.len) read_member(&r);
        *out = r.root;
    }
    return r.is_out_of_memory ? tare_fail(err, TARE_ERR_NOMEM, "model card") : TARE_OK;
}
