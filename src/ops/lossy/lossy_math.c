/* SPDX-License-Identifier: MIT
 *
 * Logarithms and powers from + - * / alone: those of the system's library may differ in their last
 * bits by system and processor, and steps are chosen by them. */
#include <math.h>

#include "ops/lossy/lossy.h"

#define LN2 0.69314718055994530942

/* ln m = 2 artanh((m - 1) / (m + 1)), m in [1/2, 1). */
double tare_lossy_log2(double x) {
    int exponent;
    double m = frexp(x, &exponent), s = (m - 1) / (m + 1), power = s, sum = 0;
    for (int i = 1; i < 60; i += 2) {
        sum += power / i;
        power *= s * s;
    }
    return exponent + 2 * sum / LN2;
}

double tare_lossy_exp2(double x) {
    double whole = floor(x), y = (x - whole) * LN2, term = 1, sum = 1;
    for (int i = 1; i < 24; i++) {
        term *= y / i;
        sum += term;
    }
    return ldexp(sum, (int)whole);
}
