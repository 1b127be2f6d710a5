/*
 * propose.c - the table of candidates, and variations of one.
 *
 * The rows follow what was best among 351 random settings, four runs each, on nine systems with held-back
 * data (Lorenz-63 with and without noise and from x alone, Roessler, forced Lorenz-96, a bursting neuron, an
 * ECG, and 64 noisy channels).  docs/notebook/fit.md has the study.  The first rows, for maps, were found
 * with the Henon and the logistic map.
 */
#include "fit/propose.h"

#include <math.h>
#include <stdio.h>

/* WHOLE, of windows alone: as long as the memory of the data; TINY: a few steps. */
typedef enum size_choice { SMALL, MEDIUM, LARGE, WHOLE, TINY } size_choice;

/* For which data: memory is long where it outlives the windows that are usual; maps forget at once. */
typedef enum memory_choice { ANY_MEMORY, SHORT_MEMORY, LONG_MEMORY, NO_MEMORY } memory_choice;

typedef struct proposal {
    double kappa; /* of the start `memory`; 0: the start `standard` */
    bool clipped;
    double alpha, lr, noise;
    size_choice window, units, hidden;
    memory_choice memory;
    bool stop; /* teacher: stop */
    const char *reason;
} proposal;

/* In the order in which they are tried: a small budget takes the first ones. */
static const proposal table[] = {
    {0.0, false, 0.3, 5e-3, 0.0, TINY, SMALL, LARGE, NO_MEMORY, false,
     "data that forget at once, as maps do: windows of a few steps"},
    {0.0, false, 0.8, 5e-3, 0.0, SMALL, SMALL, LARGE, NO_MEMORY, false,
     "data that forget at once: very strong forcing"},
    {0.0, false, 0.3, 5e-3, 0.0, TINY, MEDIUM, LARGE, NO_MEMORY, false,
     "data that forget at once: windows of a few steps, more units"},
    {0.9, false, 0.15, 2e-3, 0.0, MEDIUM, SMALL, SMALL, SHORT_MEMORY, false,
     "short memory at the start, moderate forcing"},
    {0.9995, true, 0.02, 2e-3, 0.0, MEDIUM, LARGE, LARGE, LONG_MEMORY, false,
     "long memory, almost free runs, many units"},
    {0.9995, true, 0.1, 5e-3, 0.01, LARGE, MEDIUM, SMALL, ANY_MEMORY, false,
     "long memory at the start, bounded orbits, long windows"},
    {0.0, true, 0.3, 5e-3, 0.01, SMALL, SMALL, LARGE, SHORT_MEMORY, false,
     "standard start, bounded orbits, strong forcing, many hidden units"},
    {0.9995, true, 0.1, 1e-3, 0.0, WHOLE, MEDIUM, SMALL, LONG_MEMORY, false,
     "long memory, one window that holds it"},
    {0.5, false, 0.05, 5e-3, 0.01, MEDIUM, MEDIUM, SMALL, SHORT_MEMORY, false,
     "fast start, weak forcing, more units"},
    {0.9, true, 0.1, 2e-3, 0.0, LARGE, MEDIUM, LARGE, SHORT_MEMORY, false,
     "short memory, bounded orbits, many hidden units"},
    {0.9, false, 0.5, 2e-3, 0.01, SMALL, SMALL, LARGE, SHORT_MEMORY, false,
     "strong forcing and short windows, for strong chaos"},
    {0.9995, false, 0.05, 1e-2, 0.0, MEDIUM, MEDIUM, SMALL, SHORT_MEMORY, false,
     "long memory at the start, fast learning, weak forcing"},
    {0.9995, true, 0.5, 2e-3, 0.0, MEDIUM, MEDIUM, LARGE, SHORT_MEMORY, true,
     "bounded orbits, strong forcing, many hidden units"},
    {0.9, false, 0.05, 5e-3, 0.0, SMALL, LARGE, SMALL, SHORT_MEMORY, false, "weak forcing, many units"},
    {0.9995, true, 0.3, 2e-3, 0.0, LARGE, MEDIUM, LARGE, LONG_MEMORY, false,
     "long memory and strong chaos: strong forcing, many hidden units"},
    {0.9995, true, 0.1, 1e-3, 0.01, WHOLE, LARGE, SMALL, LONG_MEMORY, true,
     "long memory, one window that holds it, more units, noise"},
    {0.9995, false, 0.15, 5e-3, 0.0, LARGE, SMALL, SMALL, SHORT_MEMORY, true,
     "long memory at the start, long windows"},
    {0.0, false, 0.15, 5e-3, 0.0, MEDIUM, LARGE, SMALL, SHORT_MEMORY, false, "standard start, more units"},
    {0.9, false, 0.1, 2e-3, 0.0, LARGE, SMALL, LARGE, SHORT_MEMORY, true,
     "short memory, long windows, many hidden units"},
};

enum {
    TABLE_ROWS = sizeof table / sizeof table[0],
    STEPS_OF_UPDATE = 3200,
    BATCH_MOST = 64,
    MEMORIES = 4, /* of the data in the longest window */
    TINY_WINDOW = 10
};

static const size_t WINDOWS[] = {50, 150, 400}; /* steps */

/* Rows over which the data remember: of their values, or of their amplitude. */
static double memory_of(const antler_look *look)
{
    return fmax(look->decay, look->slow);
}

/* Whether that outlives the windows that are usual. */
static bool is_long(const antler_look *look)
{
    return memory_of(look) > (double)WINDOWS[LARGE];
}

/* Whether the rows are uncorrelated after a step or two: those of a map, or noise. */
static bool is_forgetful(const antler_look *look)
{
    return look->decay <= 2.0 && !is_long(look);
}

static bool suits(const antler_look *look, const proposal *p)
{
    if (p->memory == NO_MEMORY)
        return is_forgetful(look);
    return p->memory == ANY_MEMORY || (p->memory == LONG_MEMORY) == is_long(look);
}

/* The row of candidate `index` for these data. */
static const proposal *row_of(const antler_look *look, size_t index)
{
    size_t row = 0;
    for (size_t left = index; row + 1 < TABLE_ROWS; row++) {
        if (suits(look, &table[row]) && left-- == 0)
            break;
    }
    return &table[row];
}

size_t ant_propose_count(const antler_look *look)
{
    size_t count = 0;
    for (size_t row = 0; row < TABLE_ROWS; row++)
        count += suits(look, &table[row]) ? 1 : 0;
    return count;
}

static size_t limit(size_t value, size_t low, size_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Many channels of which few move independently need fewer units than variables. */
static bool is_redundant(const antler_look *look)
{
    return look->dim > 8 && look->dimension * 2 <= look->dim;
}

/* A slow variable is rarely among the observed ones, and noisy channels do not show the last few. */
static size_t choose_units(const antler_look *look, size_choice choice)
{
    static const size_t more[2][3] = {{0, 2, 5}, {2, 4, 7}}; /* without and with hidden variables */
    const size_t base = is_redundant(look) ? look->dimension : look->dim;
    return base + more[look->hidden || is_redundant(look) || is_long(look)][choice];
}

static size_t choose_window(const antler_look *look, size_choice choice)
{
    const size_t most = look->usual > 16 ? look->usual / 4 : 4;
    if (choice == TINY)
        return limit(TINY_WINDOW, 2, most);
    return limit(choice == WHOLE ? MEMORIES * (size_t)memory_of(look) : WINDOWS[choice], 2, most);
}

/* The average over many channels already does what noise on each would do, at the cost of drawing it. */
static double choose_noise(const antler_look *look, double noise)
{
    return is_redundant(look) ? 0.0 : noise;
}

static void set_windows(antler_settings *s, size_t length, size_t dim)
{
    s->sequence_length = length;
    s->batch_size = limit(STEPS_OF_UPDATE / length, 1, BATCH_MOST);
    s->warmup = s->latent_dim > dim ? length / 4 : 0;
}

static void set_units(antler_settings *s, size_t units, size_choice hidden)
{
    s->latent_dim = units;
    s->hidden_dim = hidden == LARGE ? limit(50 * units, 100, 256) : limit(12 * units, 50, 128);
}

ant_candidate ant_propose(const antler_look *look, const antler_settings *base, size_t index)
{
    const proposal *p = row_of(look, index);
    ant_candidate c = {.settings = *base};
    antler_settings *s = &c.settings;
    s->initialisation = p->kappa > 0.0 ? ANTLER_INITIALISATION_MEMORY : ANTLER_INITIALISATION_STANDARD;
    if (p->kappa > 0.0)
        s->kappa = p->kappa;
    s->clipped = p->clipped;
    s->gtf_alpha = p->alpha;
    s->start_lr = p->lr;
    s->noise = choose_noise(look, p->noise);
    s->teacher = p->stop ? ANTLER_TEACHER_STOP : ANTLER_TEACHER_FLOW;
    set_units(s, choose_units(look, p->units), p->hidden);
    set_windows(s, choose_window(look, p->window), look->dim);
    snprintf(c.reason, sizeof c.reason, "%s", p->reason);
    return c;
}

/* ---- variations -------------------------------------------------------------------------------------- */

typedef struct variation {
    void (*apply)(antler_settings *s, const antler_look *look, bool up);
    const char *what;
} variation;

static void vary_alpha(antler_settings *s, const antler_look *look, bool up)
{
    (void)look;
    s->gtf_alpha = up ? fmin(0.8, 2.0 * s->gtf_alpha + 0.01) : 0.5 * s->gtf_alpha;
}

static void vary_rate(antler_settings *s, const antler_look *look, bool up)
{
    (void)look;
    s->start_lr = up ? fmin(1e-2, 2.0 * s->start_lr) : 0.5 * s->start_lr;
}

static void vary_window(antler_settings *s, const antler_look *look, bool up)
{
    const size_t most = choose_window(look, LARGE);
    set_windows(s,
                limit(up ? 2 * s->sequence_length : s->sequence_length / 2, most < 25 ? most : 25, 2 * most),
                look->dim);
}

static void vary_units(antler_settings *s, const antler_look *look, bool up)
{
    const size_t least = choose_units(look, SMALL);
    s->latent_dim = up || s->latent_dim <= least ? s->latent_dim + 2 : s->latent_dim - 1;
    set_windows(s, s->sequence_length, look->dim);
}

static void vary_hidden(antler_settings *s, const antler_look *look, bool up)
{
    (void)look;
    s->hidden_dim = up ? limit(2 * s->hidden_dim, 32, 512) : limit(s->hidden_dim / 2, 32, 512);
}

static void vary_noise(antler_settings *s, const antler_look *look, bool up)
{
    s->noise = choose_noise(look, s->noise > 0.0 ? (up ? 2.0 * s->noise : 0.0) : 0.01);
}

static void vary_clipping(antler_settings *s, const antler_look *look, bool up)
{
    (void)look, (void)up;
    s->clipped = !s->clipped;
}

static void vary_teacher(antler_settings *s, const antler_look *look, bool up)
{
    (void)look, (void)up;
    s->teacher = s->teacher == ANTLER_TEACHER_FLOW ? ANTLER_TEACHER_STOP : ANTLER_TEACHER_FLOW;
}

static void vary_start(antler_settings *s, const antler_look *look, bool up)
{
    (void)look;
    s->initialisation = ANTLER_INITIALISATION_MEMORY;
    s->kappa = up ? 0.9995 : s->kappa > 0.7 ? 0.5 : 0.9;
}

static const variation variations[] = {
    {vary_alpha, "gtf_alpha"},  {vary_rate, "start_lr"},     {vary_window, "sequence_length"},
    {vary_units, "latent_dim"}, {vary_hidden, "hidden_dim"}, {vary_noise, "noise"},
    {vary_clipping, "clipped"}, {vary_teacher, "teacher"},   {vary_start, "kappa"},
};

ant_candidate ant_vary(const antler_look *look, const antler_settings *from, ant_stream *stream)
{
    const variation *v = &variations[ant_stream_below(stream, sizeof variations / sizeof variations[0])];
    ant_candidate c = {.settings = *from};
    v->apply(&c.settings, look, ant_stream_below(stream, 2) == 1);
    snprintf(c.reason, sizeof c.reason, "the leader with another %s", v->what);
    return c;
}
