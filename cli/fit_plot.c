/* SPDX-License-Identifier: MIT
 *
 * Size against predicted damage as a picture: the curve of the best choices, the named mixes, and
 * the file that was made. Both axes have round numbers; damage is on a logarithmic one. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define WIDTH  860.0
#define HEIGHT 588.0
#define LEFT   70.0
#define RIGHT  34.0
#define TOP    72.0
#define BOTTOM 56.0

#define LABELS_MOST 48
#define LETTER      7.0 /* about what a letter is wide */
#define LINE        13.0
#define SPOT        5.0 /* room that a dot takes, and the curve */

/* Where a label lies: its lower left corner. A dot is one without width. */
typedef struct label {
    double x, y, width;
} label;

typedef struct picture {
    char *text;
    size_t n;
    double least_bits, most_bits, least_log, most_log;
    bool predicts_tokens; /* the model does */
    label labels[LABELS_MOST];
    size_t n_labels;
    label *spots; /* dots, and places along the curve: labels keep off them */
    size_t n_spots;
} picture;

static void put(picture *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(picture *p, const char *format, ...) {
    va_list args;
    p->text = cli_grow(p->text, p->n + 512, 1);
    va_start(args, format);
    const int n = vsnprintf(p->text + p->n, 512, format, args);
    va_end(args);
    if (n > 0) p->n += (size_t)n < 512 ? (size_t)n : 511;
}

static double x_of(const picture *p, double bits) {
    const double part = (bits - p->least_bits) / (p->most_bits - p->least_bits);
    return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static double y_of(const picture *p, double damage) {
    const double part = (log10(damage) - p->least_log) / (p->most_log - p->least_log);
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
}

static bool is_inside(const picture *p, const tare_fit_point *point) {
    return point->damage > 0 && point->bits_per_weight <= p->most_bits &&
           log10(point->damage) >= p->least_log;
}

/* From the smallest choice to somewhat beyond the file, or to where 8-bit types are. */
static void find_range(picture *p, const tare_fit *f, const tare_fit_summary *s) {
    tare_fit_point point;
    double least = s->damage > 0 ? s->damage : 1, most = least;
    p->least_bits = floor(s->smallest_bits * 2) / 2;
    p->most_bits = fmax(ceil(s->bits_per_weight + 1), 9);
    for (size_t i = 0; tare_fit_curve_at(&point, f, i); i++) {
        if (!(point.damage > 0) || point.bits_per_weight > p->most_bits) continue;
        least = fmin(least, point.damage);
        most = fmax(most, point.damage);
    }
    for (size_t i = 0; tare_fit_mix_at(&point, f, i); i++)
        if (point.damage > 0) most = fmax(most, point.damage);
    p->least_log = floor(log10(least));
    p->most_log = fmax(ceil(log10(most)), p->least_log + 1);
}

static void draw_axes(picture *p, double bytes_of_bit, double bytes_of_none) {
    for (double b = ceil(p->least_bits); b <= p->most_bits + 1e-9; b += 1) {
        const double x = x_of(p, b), bytes = bytes_of_none + b * bytes_of_bit;
        put(p, "<path d=\"M%.1f %.1fV%.1f\" class=\"grid\"/>\n", x, TOP, HEIGHT - BOTTOM);
        put(p, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n", x,
            HEIGHT - BOTTOM + 18, b);
        put(p, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" class=\"weak\">%s</text>\n", x,
            HEIGHT - BOTTOM + 33, bytes > 0 ? cli_size_text((uint64_t)bytes).text : "");
    }
    for (double l = p->least_log; l <= p->most_log + 1e-9; l += 1) {
        put(p, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 8,
            y_of(p, pow(10, l)) + 4, pow(10, l));
        for (int digit = 1; digit < (l + 0.5 < p->most_log ? 10 : 2); digit++)
            put(p, "<path d=\"M%.1f %.1fH%.1f\" class=\"%s\"/>\n", LEFT,
                y_of(p, digit * pow(10, l)), WIDTH - RIGHT, digit == 1 ? "grid" : "fine");
    }
    put(p,
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">bits per weight; size of the file"
        "</text>\n",
        (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6);
    put(p, "<text x=\"%.1f\" y=\"%.1f\">predicted damage%s</text>\n", LEFT - 40, TOP - 14,
        p->predicts_tokens ? ", about the KL divergence in nats per token" : "");
}

static label at_point(const picture *p, const tare_fit_point *point) {
    return (label){x_of(p, point->bits_per_weight), y_of(p, point->damage), 0};
}

static void add_spot(picture *p, label spot) {
    p->spots = cli_grow(p->spots, p->n_spots + 1, sizeof *p->spots);
    p->spots[p->n_spots++] = spot;
}

/* Spots on the line between two, so close that no label fits in. */
static void add_spots(picture *p, label a, label b) {
    const int n = 1 + (int)(hypot(b.x - a.x, b.y - a.y) / SPOT);
    for (int i = 1; i <= n; i++)
        add_spot(p, (label){a.x + (b.x - a.x) * i / n, a.y + (b.y - a.y) * i / n, 0});
}

/* On a logarithmic axis the line between two choices is none: it is drawn in short pieces. */
static void draw_line(picture *p, const tare_fit_point *a, const tare_fit_point *b) {
    enum { PIECES = 12 };
    label last = at_point(p, a);
    for (int i = 1; i <= PIECES; i++) {
        const double part = (double)i / PIECES;
        const tare_fit_point between = {.bits_per_weight =
                                            a->bits_per_weight +
                                            part * (b->bits_per_weight - a->bits_per_weight),
                                        .damage = a->damage + part * (b->damage - a->damage)};
        const label here = at_point(p, &between);
        put(p, "L%.1f %.1f", here.x, here.y);
        add_spots(p, last, here);
        last = here;
    }
}

static void draw_curve(picture *p, const tare_fit *f) {
    tare_fit_point point, before = {.damage = 0};
    put(p,
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" class=\"best\">best choices"
        "</text>\n",
        WIDTH - RIGHT, TOP - 14);
    put(p, "<path class=\"curve\" d=\"");
    for (size_t i = 0; tare_fit_curve_at(&point, f, i); i++) {
        if (!is_inside(p, &point)) continue;
        const label here = at_point(p, &point);
        if (before.damage > 0)
            draw_line(p, &before, &point);
        else
            put(p, "M%.1f %.1f", here.x, here.y);
        before = point;
    }
    put(p, "\"/>\n");
}

/* Whether a label is inside the axes, and off all spots and other labels. */
static bool is_free(const picture *p, const label *l) {
    if (l->x < LEFT || l->x + l->width > WIDTH - 4 || l->y > HEIGHT - BOTTOM || l->y < TOP)
        return false;
    for (size_t i = 0; i < p->n_spots; i++) {
        const label *spot = &p->spots[i];
        if (spot->x > l->x - SPOT && spot->x < l->x + l->width + SPOT && spot->y > l->y - LINE &&
            spot->y < l->y + SPOT)
            return false;
    }
    for (size_t i = 0; i < p->n_labels; i++) {
        const label *other = &p->labels[i];
        if (l->x < other->x + other->width && other->x < l->x + l->width &&
            fabs(l->y - other->y) < LINE)
            return false;
    }
    return true;
}

/* Beside a point, where no other label is: above it or below, on the right or on the left, ever
 * further away. */
static label find_place(const picture *p, double x, double y, double width) {
    const label first = {x + 8, y - 5, width};
    for (int i = 0; i < 24; i++) {
        const double away = 5 + (i / 4) * LINE;
        const label l = {i % 2 ? x - 8 - width : x + 8, i / 2 % 2 ? y + away + 9 : y - away, width};
        if (is_free(p, &l)) return l;
    }
    return first;
}

static void draw_point(picture *p, const tare_fit_point *point, const char *name, const char *what,
                       double radius) {
    const label dot = at_point(p, point);
    const label l = find_place(p, dot.x, dot.y, LETTER * (double)strlen(name));
    if (p->n_labels < LABELS_MOST) p->labels[p->n_labels++] = l;
    put(p, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" class=\"%s\"/>\n", dot.x, dot.y, radius, what);
    if (fabs(l.y - dot.y) > 2 * LINE) /* too far away to be seen as its own */
        put(p, "<path d=\"M%.1f %.1fL%.1f %.1f\" class=\"grid\"/>\n", dot.x, dot.y,
            l.x < dot.x ? l.x + l.width : l.x, l.y < dot.y ? l.y + 3 : l.y - LINE + 3);
    put(p, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", l.x, l.y, what, name);
}

static const char style[] =
    "<style>text{fill:#222}.weak{fill:#666}.grid,.fine{stroke:#ddd;fill:none}.fine{stroke:#f2f2f2}"
    ".paper{fill:#fff}.best{fill:#1565c0}.curve{stroke:#1565c0;stroke-width:2;fill:none}"
    ".own{fill:#c62828}.title{font-size:16px;font-weight:bold}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.weak{fill:#9a9a9a}.grid{stroke:#3c3c3c}"
    ".fine{stroke:#262626}.paper{fill:#161616}.best{fill:#64b5f6}.curve{stroke:#64b5f6}"
    ".own{fill:#ff8a80}}</style>\n";

/* The name of a file as text of XML. */
static void put_name(picture *p, const char *path) {
    const char *slash = strrchr(path, '/');
    char *name = cli_escape_path(slash ? slash + 1 : path);
    if (strlen(name) > 80) cli_cut(name, 80);
    for (const char *c = name; *c; c++) put(p, *c == '<' ? "&lt;" : *c == '&' ? "&amp;" : "%c", *c);
    free(name);
}

char *cli_fit_plot(const tare_fit *fit, const char *path, size_t *n) {
    const tare_fit_summary *s = tare_fit_summarize(fit);
    picture p = {.text = NULL, .predicts_tokens = s->predicts_tokens};
    tare_fit_point point;
    const double bytes_of_bit = (double)s->n_weights / 8;
    find_range(&p, fit, s);
    put(&p,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<title>",
        WIDTH, HEIGHT);
    put_name(&p, path);
    put(&p, ": size and predicted damage</title>\n");
    p.text = cli_grow(p.text, p.n + sizeof style, 1);
    memcpy(p.text + p.n, style, sizeof style);
    p.n += sizeof style - 1;
    put(&p, "<rect width=\"100%%\" height=\"100%%\" class=\"paper\"/>\n");
    put(&p, "<text x=\"%.1f\" y=\"26\" class=\"title\">", LEFT - 40);
    put_name(&p, path);
    put(&p, ": %s, %.2f bits per weight, damage %#.3g</text>\n", cli_size_text(s->file_bytes).text,
        s->bits_per_weight, s->damage);
    draw_axes(&p, bytes_of_bit, (double)s->file_bytes - s->bits_per_weight * bytes_of_bit);
    draw_curve(&p, fit);
    for (size_t i = 0; tare_fit_mix_at(&point, fit, i); i++)
        if (is_inside(&p, &point)) add_spot(&p, at_point(&p, &point));
    point = (tare_fit_point){NULL, s->file_bytes, s->bits_per_weight, s->damage};
    add_spot(&p, at_point(&p, &point));
    if (is_inside(&p, &point)) draw_point(&p, &point, "this file", "own", 5);
    for (size_t i = 0; tare_fit_mix_at(&point, fit, i); i++)
        if (is_inside(&p, &point)) draw_point(&p, &point, point.mix, "weak", 3.5);
    put(&p, "</svg>\n");
    free(p.spots);
    *n = p.n;
    return p.text;
}
