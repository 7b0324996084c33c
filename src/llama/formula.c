/* SPDX-License-Identifier: MIT
 *
 * Formulas: a recursive descent that computes as it reads. */
#include "llama/formula.h"

#include <math.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/class_defaults.h"

#define MOST_ARGS  3
#define MOST_DEPTH 48 /* of brackets and of defaults that name each other */

typedef tare_llama_value value;

typedef struct reader {
    const char *pos, *end;
    const tare_llama_config *config;
    const tare_llama_binding *bindings;
    const char *fault; /* NULL: none */
    tare_str fault_name, fault_word;
    unsigned depth;
    tare_str odd_name; /* a member that is no finite number; it is one's fault who needs it */
} reader;

static value read_alternatives(reader *r);

static value absent(void) {
    return (value){.kind = TARE_LLAMA_ABSENT};
}
static value number(double x, bool is_whole) {
    return (value){.kind = TARE_LLAMA_NUMBER, .number = x, .is_whole = is_whole};
}
static value boolean(bool is) {
    return (value){.kind = TARE_LLAMA_BOOL, .number = is};
}

static void fail(reader *r, const char *what) {
    if (!r->fault) r->fault = what;
    r->pos = r->end;
}

static void skip_blanks(reader *r) {
    while (r->pos < r->end && *r->pos == ' ') r->pos++;
}

static bool take(reader *r, const char *sign) {
    size_t n = strlen(sign);
    skip_blanks(r);
    if ((size_t)(r->end - r->pos) < n || memcmp(r->pos, sign, n) != 0) return false;
    r->pos += n;
    return true;
}

static bool is_number(const value *v) {
    return v->kind == TARE_LLAMA_NUMBER || v->kind == TARE_LLAMA_BOOL;
}

value tare_llama_value_of(const tare_json_node *node) {
    if (!node || node->type == TARE_JSON_NULL) return absent();
    switch (node->type) {
    case TARE_JSON_TRUE:
        return boolean(true);
    case TARE_JSON_FALSE:
        return boolean(false);
    case TARE_JSON_STRING:
        return (value){.kind = TARE_LLAMA_TEXT, .text = node->text};
    case TARE_JSON_NUMBER: {
        const tare_json_value v = {.type = TARE_JSON_NUMBER, .raw = node->text};
        int64_t i;
        double x;
        if (tare_json_i64(&v, &i)) return number((double)i, true);
        return number(tare_json_f64(&v, &x) ? x : (double)NAN, false);
    }
    default:
        return (value){.kind = TARE_LLAMA_TREE, .tree = node};
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The formula of "name = formula" in a list of defaults; ptr NULL: none. */
static tare_str default_in(const char *const *d, tare_str name) {
    for (; d && *d; d++) {
        const char *equals = strstr(*d, " = ");
        if (equals && tare_str_equal(name, (tare_str){*d, (size_t)(equals - *d)}))
            return tare_str_of(equals + 3);
    }
    return (tare_str){NULL, 0};
}

/* The formula of a member that config.json does not have a value of; ptr NULL: none. */
static tare_str default_of(const tare_llama_config *config, tare_str name) {
    tare_str formula;
    if (config->class_members && tare_llama_class_default(&formula, config->class_members, name,
                                                          tare_llama_config_names(config, name)))
        return formula;
    formula = default_in(config->defaults, name);
    return formula.ptr ? formula : default_in(config->common, name);
}

/* Remembers whose value is NAN. Arithmetic passes that on; whatever chooses by it, or the result,
 * fails. */
static value noted(reader *r, value v) {
    if (v.kind == TARE_LLAMA_NUMBER && isnan(v.number) && !r->odd_name.len) r->odd_name = v.member;
    return v;
}

static void need(reader *r, const value *v) {
    if (v->kind != TARE_LLAMA_NUMBER || !isnan(v->number) || !r->odd_name.len) return;
    if (!r->fault) r->fault_name = r->odd_name;
    fail(r, "is not a finite number");
}

/* A member that is a text where a number, or true or false, is meant: to call "false" false, or true as
 * Python does, would be a guess. */
static void need_no_text(reader *r, const value *v) {
    if (v->kind != TARE_LLAMA_TEXT || !v->member.len) return;
    if (!r->fault) {
        r->fault_name = v->member;
        r->fault_word = v->text;
    }
    fail(r, "is a text, and not a number, true or false");
}

static void fail_member(reader *r, const value *v, const char *what) {
    if (!r->fault) r->fault_name = v->member;
    fail(r, what);
}

/* A member that is a number, a list or an object where a word is meant, or a list's element that is null;
 * some are words, or true or false. */
static void need_word(reader *r, const value *v) {
    if (v->kind == TARE_LLAMA_TEXT || v->kind == TARE_LLAMA_BOOL || !v->member.len) return;
    fail_member(r, v, "is not a text");
}

static value value_of_name(reader *r, tare_str name) {
    for (const tare_llama_binding *b = r->bindings; b && b->name; b++)
        if (tare_str_is(name, b->name)) return number(b->number, true);
    for (const tare_llama_binding *b = r->config->facts; b && b->name; b++)
        if (tare_str_is(name, b->name)) return number(b->number, true);
    const tare_json_node *node = tare_llama_config_find(r->config, name);
    if (node) {
        value found = tare_llama_value_of(node);
        found.member = name;
        return noted(r, found);
    }
    const tare_str formula = default_of(r->config, name);
    if (!formula.ptr) return absent();
    if (r->depth >= MOST_DEPTH) {
        fail(r, "formula: defaults that name each other");
        return absent();
    }
    reader inner = {.pos = formula.ptr,
                    .end = formula.ptr + formula.len,
                    .config = r->config,
                    .bindings = r->bindings,
                    .depth = r->depth + 1,
                    .odd_name = r->odd_name};
    const value v = read_alternatives(&inner);
    r->odd_name = inner.odd_name;
    if (inner.fault && !r->fault) {
        r->fault_name = inner.fault_name;
        r->fault_word = inner.fault_word;
        fail(r, inner.fault);
    }
    return v;
}

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static tare_str take_name(reader *r) {
    const char *from = r->pos;
    while (r->pos < r->end && is_name_char(*r->pos)) r->pos++;
    return (tare_str){from, (size_t)(r->pos - from)};
}

/* Whether config.json has a member, and it is null. */
static bool is_null(const reader *r, tare_str name) {
    return tare_llama_config_names(r->config, name) && !tare_llama_config_find(r->config, name);
}

/* The same of a member of an object, by its path. */
static bool is_null_at(const reader *r, tare_str path) {
    size_t n = path.len;
    while (n > 0 && path.ptr[n - 1] != '.') n--;
    if (n == 0) return is_null(r, path);
    const tare_json_node *object = tare_llama_config_find(r->config, (tare_str){path.ptr, n - 1});
    return tare_json_names(object, tare_str_cut(path, n)) &&
           !tare_llama_config_find(r->config, path);
}

/* ---- functions ------------------------------------------------------------------------------- */

static const char unknown_word[] = "tare does not know this word";

/* Whether a word is one of the spellings "a/b" at *list, which moves behind it; *first: the first. */
static bool is_spelling(const char **list, tare_str word, tare_str *first) {
    bool is = false;
    *first = (tare_str){*list, 0};
    for (bool is_first = true;; is_first = false) {
        const tare_str spelling = {*list, strcspn(*list, "/ ")};
        if (is_first) *first = spelling;
        is |= tare_str_equal(spelling, word);
        *list += spelling.len;
        if (**list != '/') break;
        ++*list;
    }
    *list += strspn(*list, " ");
    return is;
}

static value fail_word(reader *r, const value *v) {
    if (!r->fault) {
        r->fault_name = v->member;
        r->fault_word = v->text;
    }
    fail(r, unknown_word);
    return absent();
}

/* A text of a closed list, as the first of its spellings. The list is a text of the formula. */
static value known_word(reader *r, value v, const value *words) {
    char list[400];
    tare_str first;
    if (words->kind != TARE_LLAMA_TEXT) return v;
    need_word(r, &v);
    if (v.kind != TARE_LLAMA_TEXT) return v;
    if (words->text.len >= sizeof list) {
        fail(r, "formula: too many words");
        return absent();
    }
    memcpy(list, words->text.ptr, words->text.len);
    list[words->text.len] = '\0';
    for (const char *at = list; *at;) {
        if (!is_spelling(&at, v.text, &first)) continue;
        v.text = (tare_str){words->text.ptr + (first.ptr - list), first.len};
        return v;
    }
    return fail_word(r, &v);
}

/* Whether a text is one of the words of another. */
static bool is_listed(tare_str text, const value *words) {
    tare_str rest = words->kind == TARE_LLAMA_TEXT ? words->text : TARE_STR("");
    while (rest.len) {
        const char *blank = memchr(rest.ptr, ' ', rest.len);
        const tare_str word = {rest.ptr, blank ? (size_t)(blank - rest.ptr) : rest.len};
        if (tare_str_equal(word, text)) return true;
        rest = tare_str_cut(rest, word.len + (blank != NULL));
    }
    return false;
}

/* An element of a list, which is in the same member of config.json. */
static value item_of(const value *list, const tare_json_node *node) {
    value v = tare_llama_value_of(node);
    if (node) v.member = list->member;
    return v;
}

/* The number that a text begins with. */
static value leading_number(tare_str text) {
    double x = 0;
    size_t i = 0;
    while (i < text.len && text.ptr[i] == ' ') i++;
    size_t from = i;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++)
        x = 10 * x + (text.ptr[i] - '0');
    return i > from ? number(x, true) : absent();
}

/* That of a member of config.json; a text that begins with none is a fault. */
static value number_in(reader *r, const value *v) {
    const value n = leading_number(v->text);
    if (n.kind == TARE_LLAMA_ABSENT && v->text.len) return fail_word(r, v);
    return n;
}

/* The member of an object whose name is a whole number: "5", "05". */
static const tare_json_node *numbered_member(const tare_json_node *object, double number) {
    for (const tare_json_node *c = object->child; c; c = c->next) {
        const tare_llama_value n = leading_number(c->key);
        if (n.kind == TARE_LLAMA_NUMBER && n.number == number) return c;
    }
    return NULL;
}

/* A list of config.json that ends before the last layer's element. Layers that predict further tokens may be
 * without one. Lists in objects are not of layers, or of those of an encoder; of keys of a GGUF, which have no
 * num_hidden_layers, whoever asks knows. */
static void need_element(reader *r, const value *list, double index) {
    const size_t n = list->tree->n;
    const tare_str member = list->member;
    if (!n || index < (double)n || !member.len || memchr(member.ptr, '.', member.len)) return;
    const value layers = value_of_name(r, TARE_STR("num_hidden_layers"));
    if (is_number(&layers) && index < layers.number) fail_member(r, list, "has too few elements");
}

/* An element of a list, or a member of that element; a member of an object; a character of a text. */
static value element(reader *r, const value *list, const value *index, const value *member) {
    if (list->kind == TARE_LLAMA_TREE && index->kind == TARE_LLAMA_TEXT)
        return tare_llama_value_of(tare_json_path(list->tree, index->text));
    if (!is_number(index) || !(index->number >= 0)) return absent();
    double left = index->number;
    if (list->kind == TARE_LLAMA_TEXT && left < (double)list->text.len)
        return (value){.kind = TARE_LLAMA_TEXT,
                       .text = {list->text.ptr + (size_t)left, 1},
                       .member = list->member};
    if (list->kind != TARE_LLAMA_TREE) return absent();
    const tare_json_node *c = list->tree->child;
    if (list->tree->type == TARE_JSON_OBJECT) c = numbered_member(list->tree, left);
    for (; c && list->tree->type == TARE_JSON_ARRAY && left >= 1; left--) c = c->next;
    if (list->tree->type == TARE_JSON_ARRAY) need_element(r, list, index->number);
    if (c && member->kind == TARE_LLAMA_TEXT) c = tare_json_path(c, member->text);
    return item_of(list, c);
}

/* An element of a list that is compared: a word of a closed list, or a finite number. */
static value compared_item(reader *r, const value *list, const tare_json_node *node,
                           const value *words) {
    const value v = noted(r, item_of(list, node));
    need(r, &v);
    return known_word(r, v, words);
}

/* Whether a list, of words where they are given, has a number or text. */
static bool holds(reader *r, const value *list, const value *item, const value *words) {
    bool is_there = false;
    if (list->kind != TARE_LLAMA_TREE) return false;
    for (const tare_json_node *c = list->tree->child; c; c = c->next) {
        const value v = compared_item(r, list, c, words);
        is_there |= is_number(&v) && is_number(item) && v.number == item->number;
        is_there |=
            v.kind == TARE_LLAMA_TEXT && item->kind == v.kind && tare_str_equal(v.text, item->text);
    }
    return is_there;
}

/* Where the normal distribution reaches a probability, in the steps of f32 that torch takes. */
static float probit(float p) {
    const double x = (double)(2 * p - 1);
    double z = 0;
    if (x <= -1 || x >= 1) return (float)(x * (double)INFINITY);
    for (int i = 0; i < 60; i++) /* Newton's steps towards erf(z) = x, from the middle outwards */
        z -= (erf(z) - x) / (1.1283791670955126 * exp(-z * z));
    return (float)z * 1.41421356f;
}

static value call_numbers(reader *r, tare_str name, const value *a) {
    double x = a[0].number, y = a[1].number;
    for (size_t i = 0; i < 2; i++) need_no_text(r, &a[i]);
    if (!is_number(&a[0])) return absent();
    if (tare_str_is(name, "floor")) return number(floor(x), true);
    if (tare_str_is(name, "round")) return number(rint(x), true);
    if (tare_str_is(name, "probit")) return number((double)probit((float)x), false);
    if (tare_str_is(name, "normal")) return number(0.5 * erfc(-x / sqrt(2.0)), false);
    if (tare_str_is(name, "sqrt")) return number(sqrt(x), false);
    if (tare_str_is(name, "ln")) return number(log(x), false);
    if (!is_number(&a[1])) return absent();
    if (isnan(y)) return a[1];
    if (tare_str_is(name, "pow")) return number(pow(x, y), false);
    if (tare_str_is(name, "max")) return x < y ? a[1] : a[0];
    if (tare_str_is(name, "min")) return x > y ? a[1] : a[0];
    fail(r, "formula: unknown function");
    return absent();
}

/* The largest number of a list; a number is its own. */
static value largest(const value *list) {
    value most = {0};
    if (list->kind == TARE_LLAMA_NUMBER) return *list;
    const tare_json_node *c = list->kind == TARE_LLAMA_TREE ? list->tree->child : NULL;
    for (; c; c = c->next) {
        value v = item_of(list, c);
        if (isnan(v.number)) return v;
        if (is_number(&v) && (most.kind == TARE_LLAMA_ABSENT || v.number > most.number)) most = v;
    }
    return most;
}

/* How many elements at the beginning of a list, of words where they are given, equal x. */
static value leading(reader *r, const value *list, const value *x, const value *words) {
    size_t n = 0;
    bool is_leading = true;
    if (list->kind != TARE_LLAMA_TREE) return absent();
    for (const tare_json_node *c = list->tree->child; c; c = c->next) {
        const value v = compared_item(r, list, c, words);
        is_leading &= v.kind == x->kind && v.number == x->number && tare_str_equal(v.text, x->text);
        n += is_leading;
    }
    return number((double)n, true);
}

static value call(reader *r, tare_str name) {
    value a[MOST_ARGS] = {{0}};
    size_t n = 0;
    do {
        if (n == MOST_ARGS) {
            fail(r, "formula: too many arguments");
            return absent();
        }
        a[n++] = read_alternatives(r);
    } while (take(r, ","));
    if (!take(r, ")")) fail(r, "formula: a bracket is missing");
    if (tare_str_is(name, "has")) return boolean(a[0].kind != TARE_LLAMA_ABSENT);
    if (tare_str_is(name, "is_null")) return boolean(is_null_at(r, a[0].text));
    if (tare_str_is(name, "if") || tare_str_is(name, "in")) need(r, &a[0]);
    if (tare_str_is(name, "if")) need_no_text(r, &a[0]);
    if (tare_str_is(name, "if")) return is_number(&a[0]) && a[0].number != 0 ? a[1] : a[2];
    if (tare_str_is(name, "at")) return noted(r, element(r, &a[0], &a[1], &a[2]));
    if (tare_str_is(name, "word")) return known_word(r, a[0], &a[1]);
    if (tare_str_is(name, "one_of"))
        return boolean(a[0].kind == TARE_LLAMA_TEXT && is_listed(a[0].text, &a[1]));
    if (tare_str_is(name, "in")) return boolean(holds(r, &a[1], &a[0], &a[2]));
    if (tare_str_is(name, "number")) return number_in(r, &a[0]);
    if (tare_str_is(name, "finite"))
        return a[0].kind == TARE_LLAMA_NUMBER && isnan(a[0].number) ? a[1] : a[0];
    if (tare_str_is(name, "largest")) return noted(r, largest(&a[0]));
    if (tare_str_is(name, "leading")) return leading(r, &a[0], &a[1], &a[2]);
    if (tare_str_is(name, "len")) {
        if (a[0].kind == TARE_LLAMA_TEXT) return number((double)a[0].text.len, true);
        return a[0].kind == TARE_LLAMA_TREE ? number((double)a[0].tree->n, true) : absent();
    }
    return call_numbers(r, name, a);
}

/* ---- the grammar ----------------------------------------------------------------------------- */

static value read_number(reader *r) {
    char text[48];
    size_t n = 0;
    bool is_whole = true;
    while (r->pos < r->end && n + 1 < sizeof text &&
           (is_name_char(*r->pos) || (n && text[n - 1] == 'e' && *r->pos == '-'))) {
        is_whole &= *r->pos != '.' && *r->pos != 'e';
        text[n++] = *r->pos++;
    }
    text[n] = '\0';
    const tare_json_value v = {.type = TARE_JSON_NUMBER, .raw = {text, n}};
    double x = 0;
    if (!tare_json_f64(&v, &x)) fail(r, "formula: not a number");
    return number(x, is_whole);
}

static value read_text(reader *r) {
    const char *from = r->pos;
    while (r->pos < r->end && *r->pos != '\'') r->pos++;
    value v = {.kind = TARE_LLAMA_TEXT, .text = {from, (size_t)(r->pos - from)}};
    if (!take(r, "'")) fail(r, "formula: a quote is missing");
    return v;
}

static value read_atom(reader *r) {
    skip_blanks(r);
    if (r->depth >= MOST_DEPTH) fail(r, "formula: nested too deeply");
    if (r->pos == r->end) {
        fail(r, "formula: ends too early");
        return absent();
    }
    if (take(r, "-")) {
        value v = read_atom(r);
        v.number = -v.number;
        return v;
    }
    if (take(r, "(")) {
        r->depth++;
        value v = read_alternatives(r);
        r->depth--;
        if (!take(r, ")")) fail(r, "formula: a bracket is missing");
        return v;
    }
    if (take(r, "'")) return read_text(r);
    if (*r->pos >= '0' && *r->pos <= '9') return read_number(r);
    tare_str name = take_name(r);
    if (name.len == 0) {
        fail(r, "formula: unexpected character");
        return absent();
    }
    if (tare_str_is(name, "true")) return boolean(true);
    if (tare_str_is(name, "false")) return boolean(false);
    if (r->pos < r->end && *r->pos == '(') {
        r->pos++;
        r->depth++;
        value v = call(r, name);
        r->depth--;
        return v;
    }
    value v = value_of_name(r, name);
    if (!r->fault) r->fault_name = name;
    return v;
}

/* Both numbers, or the result is absent; another kind is a fault of config.json. */
static bool both(reader *r, const value *a, const value *b) {
    if (a->kind == TARE_LLAMA_ABSENT || b->kind == TARE_LLAMA_ABSENT) return false;
    if (is_number(a) && is_number(b)) return true;
    need_no_text(r, a);
    need_no_text(r, b);
    fail(r, "is not a number");
    return false;
}

static value read_product(reader *r) {
    value a = read_atom(r);
    for (;;) {
        char sign = take(r, "*") ? '*' : take(r, "/") ? '/' : take(r, "%") ? '%' : '\0';
        if (!sign) return a;
        value b = read_atom(r);
        if (!both(r, &a, &b) || (sign != '*' && b.number == 0))
            a = absent();
        else if (sign == '*')
            a = number(a.number * b.number, a.is_whole && b.is_whole);
        else if (sign == '/')
            a = number(a.number / b.number, false);
        else
            a = number(fmod(a.number, b.number), a.is_whole && b.is_whole);
    }
}

static value read_sum(reader *r) {
    value a = read_product(r);
    for (;;) {
        double sign = take(r, "+") ? 1 : take(r, "-") ? -1 : 0;
        if (sign == 0) return a;
        value b = read_product(r);
        a = both(r, &a, &b) ? number(a.number + sign * b.number, a.is_whole && b.is_whole)
                            : absent();
    }
}

static value read_comparison(reader *r) {
    value a = read_sum(r);
    char sign = take(r, "==") ? '=' : take(r, "<") ? '<' : take(r, ">") ? '>' : '\0';
    if (!sign) return a;
    value b = read_sum(r);
    need(r, &a);
    need(r, &b);
    if (is_number(&a)) need_no_text(r, &b);
    if (is_number(&b)) need_no_text(r, &a);
    if (a.kind == TARE_LLAMA_TEXT) need_word(r, &b);
    if (b.kind == TARE_LLAMA_TEXT) need_word(r, &a);
    if (a.kind == TARE_LLAMA_TEXT || b.kind == TARE_LLAMA_TEXT)
        return boolean(sign == '=' && a.kind == b.kind && tare_str_equal(a.text, b.text));
    if (!is_number(&a) || !is_number(&b)) return boolean(false);
    return boolean(sign == '='   ? a.number == b.number
                   : sign == '<' ? a.number < b.number
                                 : a.number > b.number);
}

/* One of some alternatives; *is_null: it is the name of a member that is null. */
static value read_alternative(bool *is_null_name, reader *r) {
    skip_blanks(r);
    const char *from = r->pos;
    const value v = read_comparison(r);
    tare_str text = {from, (size_t)(r->pos - from)};
    while (text.len && text.ptr[text.len - 1] == ' ') text.len--;
    *is_null_name = v.kind == TARE_LLAMA_ABSENT && is_null(r, text);
    return v;
}

/* A member that is null is false to Python, and not what is true where there is none. */
static value read_alternatives(reader *r) {
    bool is_nothing, has_null;
    value a = read_alternative(&has_null, r);
    while (take(r, "|")) {
        value b = read_alternative(&is_nothing, r);
        if (a.kind != TARE_LLAMA_ABSENT) continue;
        a = has_null && b.kind == TARE_LLAMA_BOOL && !b.member.len ? boolean(false) : b;
        has_null |= is_nothing;
    }
    return a;
}

/* ---- entry points ---------------------------------------------------------------------------- */

static void name_file(const tare_llama_config *config, tare_error *err) {
    tare_error_item(err, TARE_ITEM_RESOURCE, -1,
                    tare_str_of(config->file ? config->file : "config.json"));
}

tare_status tare_llama_wrong_kind(const char *what, const tare_llama_value *v, tare_error *err) {
    tare_fail(err, TARE_ERR_CORRUPT, what);
    tare_error_detail(err, "%.*s", (int)tare_min_u64(v->member.len, 63), v->member.ptr);
    return TARE_ERR_CORRUPT;
}

tare_status tare_llama_formula(tare_llama_value *out, tare_str formula,
                               const tare_llama_config *config, const tare_llama_binding *bindings,
                               tare_error *err) {
    reader r = {.pos = formula.ptr,
                .end = formula.ptr + formula.len,
                .config = config,
                .bindings = bindings};
    *out = read_alternatives(&r);
    need(&r, out);
    skip_blanks(&r);
    if (!r.fault && r.pos < r.end) fail(&r, "formula: unexpected text after it");
    if (!r.fault) return TARE_OK;
    *out = absent();
    const tare_status status = r.fault == unknown_word ? TARE_ERR_UNSUPPORTED : TARE_ERR_CORRUPT;
    tare_fail(err, status, r.fault);
    name_file(config, err);
    if (r.fault_word.ptr)
        tare_error_detail(err, "%.*s: '%.*s'", (int)tare_min_u64(r.fault_name.len, 48),
                          r.fault_name.ptr, (int)tare_min_u64(r.fault_word.len, 64),
                          r.fault_word.ptr);
    else if (r.fault_name.len)
        tare_error_detail(err, "%.*s", (int)tare_min_u64(r.fault_name.len, 63), r.fault_name.ptr);
    return status;
}

tare_status tare_llama_formula_u64(uint64_t *out, bool *is_there, tare_str formula,
                                   const tare_llama_config *config,
                                   const tare_llama_binding *bindings, tare_error *err) {
    value v;
    *out = 0;
    TARE_TRY(tare_llama_formula(&v, formula, config, bindings, err));
    *is_there = v.kind != TARE_LLAMA_ABSENT;
    if (!*is_there) return TARE_OK;
    if (!is_number(&v) || !(v.number >= 0) || v.number > 0x1p53) {
        tare_fail(err, TARE_ERR_CORRUPT, "is not a whole number");
        name_file(config, err);
        if (v.member.len)
            tare_error_detail(err, "%.*s", (int)tare_min_u64(v.member.len, 63), v.member.ptr);
        return TARE_ERR_CORRUPT;
    }
    *out = (uint64_t)v.number;
    return TARE_OK;
}
