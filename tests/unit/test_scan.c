/* The scan with exact maps that do not commute: x -> A x + c on pairs of 64-bit integers, mod 2^64. */
#include "solve_support.h"

#include "solve/scan.h"

typedef struct map {
    uint64_t a[4], c[2];
} map;

typedef struct pair {
    uint64_t v[2];
} pair;

typedef struct chain {
    const map *maps;
    pair *states; /* (count): after each map */
} chain;

static pair apply(const map *f, pair x)
{
    return (pair){
        {f->a[0] * x.v[0] + f->a[1] * x.v[1] + f->c[0], f->a[2] * x.v[0] + f->a[3] * x.v[1] + f->c[1]}};
}

/* g after f */
static map after(const map *g, const map *f)
{
    map h;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++)
            h.a[2 * i + j] = g->a[2 * i] * f->a[j] + g->a[2 * i + 1] * f->a[2 + j];
    }
    const pair c = apply(g, (pair){{f->c[0], f->c[1]}});
    h.c[0] = c.v[0];
    h.c[1] = c.v[1];
    return h;
}

static void compose(void *context, size_t first, size_t last, void *total)
{
    const chain *s = context;
    map product = s->maps[first];
    for (size_t i = first + 1; i < last; i++)
        product = after(&s->maps[i], &product);
    *(map *)total = product;
}

static void act(void *context, const void *total, const void *from, void *to)
{
    (void)context;
    *(pair *)to = apply(total, *(const pair *)from);
}

static void sweep(void *context, size_t first, size_t last, const void *from)
{
    const chain *s = context;
    pair x = *(const pair *)from;
    for (size_t i = first; i < last; i++)
        s->states[i] = x = apply(&s->maps[i], x);
}

static void check_scan(size_t count, size_t segments, ant_team *team, uint64_t seed)
{
    map *maps = get(count, sizeof *maps), *totals = get(segments, sizeof *totals);
    pair *expected = get(count, sizeof *expected), *found = get(count, sizeof *found);
    pair *borders = get(segments, sizeof *borders);
    ant_stream stream = ant_stream_open(seed, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < 4; k++)
            maps[i].a[k] = ant_stream_u64(&stream);
        for (int k = 0; k < 2; k++)
            maps[i].c[k] = ant_stream_u64(&stream);
    }
    pair x = {{ant_stream_u64(&stream), ant_stream_u64(&stream)}};
    borders[0] = x;
    for (size_t i = 0; i < count; i++)
        expected[i] = x = apply(&maps[i], x);
    chain s = {maps, found};
    ant_scan scan = {.count = count,
                     .segments = segments,
                     .context = &s,
                     .compose = compose,
                     .act = act,
                     .sweep = sweep,
                     .totals = (unsigned char *)totals,
                     .total_bytes = sizeof *totals,
                     .borders = (unsigned char *)borders,
                     .state_bytes = sizeof *borders};
    ant_scan_run(&scan, team);
    assert_memory_equal(found, expected, count * sizeof *found);
    free(maps);
    free(totals);
    free(expected);
    free(found);
    free(borders);
}

static void test_awkward_lengths(void **state)
{
    (void)state;
    const size_t segment = 16, segment_counts[] = {1, 2, 3, 7, 64};
    for (size_t k = 0; k < sizeof segment_counts / sizeof *segment_counts; k++) {
        const size_t segments = segment_counts[k], whole = segment * segments;
        const size_t counts[] = {0,           1,         2,     segment - 1, segment,
                                 segment + 1, whole - 1, whole, whole + 1,   1009};
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            for (int threads = 1; threads <= 4; threads++) {
                ant_team *team = ant_team_create(threads);
                check_scan(counts[i], segments, team, 17 * i + k);
                ant_team_free(team);
            }
        }
    }
}

/* The maps really do not commute, so a scan in the wrong order would be seen. */
static void test_order_matters(void **state)
{
    (void)state;
    const map f = {{1, 1, 0, 1}, {0, 1}}, g = {{1, 0, 1, 1}, {1, 0}};
    const map fg = after(&f, &g), gf = after(&g, &f);
    assert_memory_not_equal(&fg, &gf, sizeof fg);
}

static void test_borders_cover(void **state)
{
    (void)state;
    for (size_t count = 0; count < 40; count++) {
        for (size_t segments = 1; segments < 12; segments++) {
            assert_int_equal(ant_scan_border(count, segments, 0), 0);
            assert_int_equal(ant_scan_border(count, segments, segments), count);
            for (size_t k = 0; k < segments; k++) {
                const size_t length =
                    ant_scan_border(count, segments, k + 1) - ant_scan_border(count, segments, k);
                assert_true(length == count / segments || length == count / segments + 1);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_matters),
        cmocka_unit_test(test_borders_cover),
        cmocka_unit_test(test_awkward_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
