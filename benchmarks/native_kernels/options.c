/* SPDX-License-Identifier: Apache-2.0
 *
 * Data-parallel: prices of options by the formula of Black and Scholes, again and again. Threads
 * share nothing but what was written before they began.
 */
#include "kernels.h"
#include <math.h>

#define ROUNDS 10

static struct columns {
    float *spot, *strike, *rate, *volatility, *years, *price;
} book;
static long count;

/* The cumulative normal distribution (Abramowitz and Stegun, 26.2.17). */
static float normal(float x) {
    static const float terms[] = {0.319381530f, -0.356563782f, 1.781477937f, -1.821255978f,
                                  1.330274429f};
    float size = fabsf(x), k = 1 / (1 + 0.2316419f * size), sum = 0;
    for (int i = 4; i >= 0; i--)
        sum = (sum + terms[i]) * k;
    float tail = 0.39894228f * expf(-0.5f * size * size) * sum;
    return x < 0 ? tail : 1 - tail;
}

static float price_of(const struct columns *c, long i) {
    float spread = c->volatility[i] * sqrtf(c->years[i]);
    float drift = (c->rate[i] + c->volatility[i] * c->volatility[i] / 2) * c->years[i];
    float high = (logf(c->spot[i] / c->strike[i]) + drift) / spread;
    return c->spot[i] * normal(high) -
           c->strike[i] * expf(-c->rate[i] * c->years[i]) * normal(high - spread);
}

static void price(int me) {
    struct part mine = part_of(count, me);
    for (int round = 0; round < ROUNDS; round++)
        for (long i = mine.from; i < mine.to; i++)
            book.price[i] = price_of(&book, i);
}

static float *column(uint32_t seed, uint32_t kinds, float least, float step) {
    float *made = data((size_t)count * sizeof *made);
    for (long i = 0; i < count; i++)
        made[i] = least + (float)(draw(&seed) % kinds) * step;
    return made;
}

uint64_t options(long size) {
    count = size;
    book = (struct columns){.spot = column(1, 100, 50, 1),
                            .strike = column(2, 100, 50, 1),
                            .rate = column(3, 10, 0.01f, 0.01f),
                            .volatility = column(4, 50, 0.1f, 0.01f),
                            .years = column(5, 20, 0.1f, 0.1f),
                            .price = data((size_t)count * sizeof(float))};
    in_parallel(price);
    uint64_t cents = 0;
    for (long i = 0; i < count; i++)
        cents += (uint64_t)lrintf(book.price[i] * 100);
    return cents;
}
