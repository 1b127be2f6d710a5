/* dormand_prince.c - stages, error estimate and step control; see dormand_prince.h for where they come from.
 */
#include "data/systems/dormand_prince.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STAGES = ANT_DP_STAGES, MOST_FAILURES = 7, FIRST_STEP_TRIES = 4 };

static const double nodes[STAGES] = {0.0, 1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0, 1.0};

static const double weights_of[STAGES][STAGES] = {
    {0.0},
    {1.0 / 5.0},
    {3.0 / 40.0, 9.0 / 40.0},
    {44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0},
    {19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0},
    {9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0},
    {35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0},
};
/* The weights of order 5, which are those of the last stage, less those of order 4. */
static const double difference[STAGES] = {35.0 / 384.0 - 5179.0 / 57600.0,
                                          0.0,
                                          500.0 / 1113.0 - 7571.0 / 16695.0,
                                          125.0 / 192.0 - 393.0 / 640.0,
                                          -2187.0 / 6784.0 - -92097.0 / 339200.0,
                                          11.0 / 84.0 - 187.0 / 2100.0,
                                          -1.0 / 40.0};

/* Step control: ratio = safety (bias error)^-k1/4 (error before)^k2/4, a PI controller. */
static const double safety = 0.99, bias = 1.2, k1 = -0.8 / 4, k2 = 0.31 / 4, least_error = 1e-10;
static const double least_ratio = 0.1, most_ratio = 25.0, most_first_ratio = 10000.0;
static const double ratio_after_failures = 0.3;
static const double short_of = 1.0 - 4.0 * DBL_EPSILON; /* of the way to the stop */

void ant_dp_carve(ant_dp *dp, ant_arena *arena, size_t dim)
{
    dp->dim = dim;
    dp->y = ant_arena_take(arena, dim, sizeof *dp->y);
    dp->next = ant_arena_take(arena, dim, sizeof *dp->next);
    dp->weights = ant_arena_take(arena, dim, sizeof *dp->weights);
    dp->error_each = ant_arena_take(arena, dim, sizeof *dp->error_each);
    for (int s = 0; s < STAGES; s++)
        dp->stages[s] = ant_arena_take(arena, dim, sizeof *dp->stages[s]);
}

void ant_dp_begin(ant_dp *dp)
{
    dp->begun = false;
    dp->error = 1.0;
}

/* out = sum of scale factors[s] stages[s], s < count */
static void combine(const ant_dp *dp, double scale, const double *factors, int count, double *out)
{
    for (size_t i = 0; i < dp->dim; i++)
        out[i] = scale * factors[0] * dp->stages[0][i];
    for (int s = 1; s < count; s++) {
        const double factor = scale * factors[s];
        for (size_t i = 0; i < dp->dim; i++)
            out[i] += factor * dp->stages[s][i];
    }
}

/* Root of the mean square of weights * x */
static double norm(const ant_dp *dp, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < dp->dim; i++) {
        const double weighted = x[i] * dp->weights[i];
        sum += weighted * weighted;
    }
    return sqrt(sum / (double)dp->dim);
}

static void set_weights(ant_dp *dp)
{
    for (size_t i = 0; i < dp->dim; i++)
        dp->weights[i] = 1.0 / (dp->relative * fabs(dp->y[i]) + dp->absolute[i]);
}

/* The largest first step: a tenth of the way, and so far that an Euler step moves y by a tenth. */
static double longest_first_step(const ant_dp *dp, double way)
{
    double fastest = 0.0;
    for (size_t i = 0; i < dp->dim; i++) {
        const double room = 1.0 / dp->weights[i] + 0.1 * fabs(dp->y[i]);
        const double speed = fabs(dp->stages[0][i]) / room;
        fastest = speed > fastest ? speed : fastest;
    }
    const double longest = 0.1 * way;
    return longest * fastest > 1.0 ? 1.0 / fastest : longest;
}

/* The norm of the second derivative, by an Euler step of size h; false when its rate is not finite. */
static bool curvature(ant_dp *dp, double h, double *size)
{
    double *rate = dp->stages[1];
    for (size_t i = 0; i < dp->dim; i++)
        dp->next[i] = h * dp->stages[0][i] + dp->y[i];
    if (!dp->rate(dp->cookie, dp->t + h, dp->next, rate))
        return false;
    for (size_t i = 0; i < dp->dim; i++)
        rate[i] = 1.0 / h * (rate[i] - dp->stages[0][i]);
    *size = norm(dp, rate);
    return true;
}

/* A step whose Euler error is about the tolerance, found by a few trials. */
static ant_dp_outcome find_first_step(ant_dp *dp, double stop)
{
    const double way = stop - dp->t, rounding = DBL_EPSILON * fmax(fabs(dp->t), fabs(stop));
    if (way < 2.0 * rounding)
        return ANT_DP_TOO_SMALL;
    const double least = 100.0 * rounding, most = longest_first_step(dp, way);
    double trial = sqrt(least * most), found = trial, size = 0.0;
    dp->step = trial;
    if (most < least)
        return ANT_DP_STEPPED;
    for (int i = 1; i <= FIRST_STEP_TRIES; i++) {
        if (!curvature(dp, trial, &size))
            return ANT_DP_NOT_FINITE;
        found = size * most * most > 2.0 ? sqrt(2.0 / size) : sqrt(trial * most);
        const double ratio = found / trial;
        if (i == FIRST_STEP_TRIES || (ratio > 0.5 && ratio < 2.0))
            break;
        if (i > 1 && ratio > 2.0) {
            found = trial;
            break;
        }
        trial = found;
    }
    found *= 0.5;
    dp->step = found < least ? least : found > most ? most : found;
    return ANT_DP_STEPPED;
}

static ant_dp_outcome begin(ant_dp *dp, double stop)
{
    set_weights(dp);
    if (!dp->rate(dp->cookie, dp->t, dp->y, dp->stages[0]))
        return ANT_DP_NOT_FINITE;
    const ant_dp_outcome outcome = find_first_step(dp, stop);
    if (outcome != ANT_DP_STEPPED)
        return outcome;
    dp->growth = most_first_ratio;
    if (dp->t + dp->step - stop > 0.0)
        dp->step = (stop - dp->t) * short_of;
    dp->ratio = 1.0;
    dp->next_step = dp->step;
    return ANT_DP_STEPPED;
}

/* next = y after the step, which is the state of the last stage, and the norm of the difference of both
 * orders; false: a rate is not finite */
static bool attempt(ant_dp *dp, double from, double *error)
{
    for (int s = 1; s < STAGES; s++) {
        dp->t = from + nodes[s] * dp->step;
        combine(dp, dp->step, weights_of[s], s, dp->next);
        for (size_t i = 0; i < dp->dim; i++)
            dp->next[i] += dp->y[i];
        if (!dp->rate(dp->cookie, dp->t, dp->next, dp->stages[s]))
            return false;
    }
    combine(dp, dp->step, difference, STAGES, dp->error_each);
    *error = norm(dp, dp->error_each);
    return true;
}

/* How much longer the next step may be. */
static double adapt(const ant_dp *dp, double error)
{
    const double h = dp->step, now = bias * error > least_error ? bias * error : least_error;
    const double before = dp->error > least_error ? dp->error : least_error;
    double best = h * pow(now, k1) * pow(before, k2);
    best *= safety;
    best = best < dp->growth * h ? best : dp->growth * h;
    best = best > least_ratio * h ? best : least_ratio * h;
    if (error <= 1.0 && best > h * 0.999999 && best < h * 1.5 * 1.000001)
        best = h;
    return best / h;
}

/* Attempts with falling steps until the error is within the tolerance. */
static ant_dp_outcome find_step(ant_dp *dp, double *error)
{
    const double from = dp->t;
    for (int failures = 0;;) {
        if (!attempt(dp, from, error))
            return ANT_DP_NOT_FINITE;
        dp->ratio = adapt(dp, *error);
        if (*error <= 1.0) {
            dp->ratio = dp->ratio < dp->growth ? dp->ratio : dp->growth;
            dp->t = from + dp->step;
            return ANT_DP_STEPPED;
        }
        if (++failures == MOST_FAILURES || dp->step <= 0.0)
            return ANT_DP_TOO_SMALL;
        dp->growth = 1.0;
        if (failures > 1 && dp->ratio > ratio_after_failures)
            dp->ratio = ratio_after_failures;
        dp->ratio = dp->ratio < dp->growth ? dp->ratio : dp->growth;
        dp->step *= dp->ratio;
        dp->next_step = dp->step;
    }
}

/* Times closer than that are one. */
static double rounding(const ant_dp *dp)
{
    return 100.0 * DBL_EPSILON * (fabs(dp->t) + fabs(dp->step));
}

static void cut_next_step(ant_dp *dp, double stop)
{
    if (dp->t + dp->next_step - stop > 0.0) {
        dp->next_step = (stop - dp->t) * short_of;
        dp->ratio = dp->next_step / dp->step;
    }
}

ant_dp_outcome ant_dp_step(ant_dp *dp, double stop)
{
    double error = 0.0;
    if (!dp->begun) {
        const ant_dp_outcome outcome = begin(dp, stop);
        if (outcome != ANT_DP_STEPPED)
            return outcome;
    } else if (fabs(dp->t - stop) <= rounding(dp)) {
        dp->t = stop;
        return ANT_DP_STEPPED;
    } else {
        cut_next_step(dp, stop);
        set_weights(dp);
    }
    dp->begun = true;
    if (DBL_EPSILON * norm(dp, dp->y) > 1.0)
        return ANT_DP_TOO_SMALL;
    if (dp->next_step != dp->step)
        dp->step *= dp->ratio;
    const ant_dp_outcome outcome = find_step(dp, &error);
    if (outcome != ANT_DP_STEPPED)
        return outcome;
    if (fabs(dp->t - stop) <= rounding(dp))
        dp->t = stop;
    memcpy(dp->stages[0], dp->stages[STAGES - 1], dp->dim * sizeof *dp->y);
    memcpy(dp->y, dp->next, dp->dim * sizeof *dp->y);
    dp->error = error * bias;
    dp->next_step = dp->step * dp->ratio;
    dp->growth = most_ratio;
    if (dp->t != stop)
        cut_next_step(dp, stop);
    return ANT_DP_STEPPED;
}
