/*
 * verdict.c - what a result says about a model: one of ten kinds, the figure that decided, a sentence,
 * advice (spec 8).
 *
 * Checks come in this order, and the first that applies decides: diverged, left the range, data too short,
 * undertrained (not close, and the loss still falls), collapsed; then good, close or far, by the worst of
 * D_stsp, D_stsp^DE, D_H and the skill of forecasts.  Where rows do not depend on those before them,
 * undertrained, collapsed and far are noise.
 */
#include "measure/verdict.h"
#include "base/sized.h"
#include "measure/late.h"
#include "measure/measure_table.h"
#include "measure/validation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * A measure is good up to good.times floor + good.plus, and close up to close.times floor + close.plus.
 *
 * Found with 920 models of 231 settings on nine data sets of 12,500 to 100,000 rows; docs/evaluation.md has
 * the numbers.  The floor of one cut is uncertain by a factor of 3 and more (0.0003, 0.018 and 0.0025 for
 * 40,000 rows of Lorenz-63, cut into 2, 4 and 8), so a model that is right can be at two floors.  Seven
 * floors and 0.1 were set by those same models, on the data that they were tested on: other data may need
 * others.  The absolute parts count where the data repeat themselves, as a sine does, and floors are 0:
 * 0.01 nats is a mean that is off by 0.14 standard deviations, 0.1 nats one by 0.45.  Of models with a good
 * D_stsp nine in ten have a D_H below 0.1; those with wrong frequencies have 0.25 to 1.
 */
typedef struct bound {
    double times, plus;
} bound;

static const struct limits {
    const char *measure;
    bound good, close;
} measure_limits[] = {
    {"dstsp", {2.0, 0.01}, {7.0, 0.1}},
    {"dstsp_embedded", {2.0, 0.01}, {7.0, 0.1}},
    {"hellinger", {2.0, 0.05}, {2.0, 0.2}},
};

/*
 * The other limits.
 *
 * reach: in half ranges; models that are right have 0.9 to 1.3.
 *
 * skill: of a forecast that uses nothing of the data it is 0 or less.
 *
 * spread: of a free run that ends in a point 1e-3 or less, on an attractor 0.6 to 1.
 *
 * times: autocorrelation times in the data; 40,000 rows of the slow neuron have 20.4, 200 rows of Lorenz-63
 * have 7, random walks of any length 4 to 19 (nine in ten).
 *
 * shift: of the mean between halves, in standard deviations; random walks have 1.25 (median).  One random
 * walk in 25 passes both, and no model of it has skill.
 *
 * fall: of the loss from the third quarter of training to the last; 0.01 where noise limits the loss, 0.2 to
 * 0.35 in trainings of 1000 to 20,000 updates that could go on.
 *
 * travel: the sum of all learning rates.  An update of Adam moves a parameter by about the learning rate, and
 * parameters are of the order of 1: below 0.25 the model is still near its start.
 */
static const double good_reach = 2.0, close_reach = 3.0, least_skill = 0.1, least_spread = 0.1,
                    least_times = 20.0, largest_shift = 1.0, largest_fall = 0.1, least_travel = 0.25;

static const char NARROW[] = "dstsp_narrow"; /* a figure */

const char *antler_verdict_name(antler_verdict_kind kind)
{
    static const char *const names[] = {
#define NAME(name, word, meaning) word,
        ANTLER_VERDICT_LIST(NAME)
#undef NAME
    };
    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : names[0];
}

const char *antler_verdict_meaning(antler_verdict_kind kind)
{
    static const char *const meanings[] = {
#define MEANING(name, word, meaning) meaning,
        ANTLER_VERDICT_LIST(MEANING)
#undef MEANING
    };
    return (size_t)kind < sizeof meanings / sizeof meanings[0] ? meanings[kind] : meanings[0];
}

/* What a verdict is made from. */
typedef struct evidence {
    const antler_evaluate_result *result;
    const antler_series *named; /* its names are those of the variables; NULL: they are called by numbers */
    double
        fall; /* of the loss from the third to the last quarter of training, over the third; NaN: unknown */
    double travel; /* sum of the learning rates of all updates; NaN: unknown */
} evidence;

/* The mean of the loss over the rows of update numbers in (from, to]; NaN: there are none. */
static double mean_loss(const antler_loss_curve *c, double from, double to)
{
    double sum = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->update[i] > from && c->update[i] <= to) {
            sum += c->loss[i];
            count++;
        }
    }
    return count == 0 ? NAN : sum / (double)count;
}

static evidence collect(const antler_evaluate_result *result, const antler_loss_curve *training)
{
    evidence e = {.result = result, .fall = NAN, .travel = NAN};
    if (training == NULL || training->count == 0)
        return e;
    const double end = training->update[training->count - 1];
    e.fall = 1.0 - mean_loss(training, 0.75 * end, end) / mean_loss(training, 0.5 * end, 0.75 * end);
    e.travel = 0.0;
    for (size_t i = 0; i < training->count; i++)
        e.travel += training->lr[i] * (training->update[i] - (i == 0 ? 0.0 : training->update[i - 1]));
    return e;
}

static bool still_trains(const evidence *e)
{
    return e->fall > largest_fall || e->travel < least_travel;
}

static antler_verdict decide(antler_verdict_kind kind, const char *figure, double value, double limit)
{
    return (antler_verdict){.struct_size = sizeof(antler_verdict),
                            .kind = kind,
                            .figure = figure,
                            .value = value,
                            .floor = NAN,
                            .limit = limit};
}

/* The grade of one value: GOOD, CLOSE or FAR; NONE when it or its floor is unknown. */
static antler_verdict grade_value(const struct limits *limits, double value, double floor)
{
    antler_verdict v = decide(ANTLER_VERDICT_NONE, limits->measure, value, NAN);
    v.floor = floor;
    if (isnan(value) || !isfinite(floor))
        return v;
    const double good = limits->good.times * floor + limits->good.plus;
    const double close = limits->close.times * floor + limits->close.plus;
    v.kind = value <= good ? ANTLER_VERDICT_GOOD : value <= close ? ANTLER_VERDICT_CLOSE : ANTLER_VERDICT_FAR;
    v.limit = v.kind == ANTLER_VERDICT_FAR ? close : good;
    return v;
}

/*
 * A verdict of good or close on rows that give the same grade to a copy of themselves with half the spread is
 * none: beside a floor of that size other wrong attractors pass as well.
 */
static antler_verdict check_narrow(const antler_floors *floors, antler_verdict found)
{
    const size_t embedded = antler_measure_index("dstsp_embedded");
    const struct limits *limits = &measure_limits[isfinite(floors->values[embedded]) ? 1 : 0];
    const double floor = floors->values[antler_measure_index(limits->measure)];
    const antler_verdict copy = grade_value(limits, floors->narrow, floor);
    const bool graded = found.kind == ANTLER_VERDICT_GOOD || found.kind == ANTLER_VERDICT_CLOSE;
    if (!graded || floors->narrow == 0.0 || copy.kind == ANTLER_VERDICT_NONE || copy.kind > found.kind)
        return found;
    const bound *passed = copy.kind == ANTLER_VERDICT_GOOD ? &limits->good : &limits->close;
    antler_verdict v =
        decide(ANTLER_VERDICT_TOO_SHORT, NARROW, floors->narrow, passed->times * floor + passed->plus);
    v.floor = floor;
    return v;
}

/* Whether nothing but the width of the limits keeps a verdict from a grade: what is far all the same is far.
 */
static bool undecided(const antler_verdict *v)
{
    return v->kind == ANTLER_VERDICT_TOO_SHORT && v->figure != NULL && strcmp(v->figure, NARROW) == 0;
}

static antler_verdict grade(const antler_evaluate_result *r, const struct limits *limits)
{
    const size_t index = antler_measure_index(limits->measure);
    return grade_value(limits, r->values[index], r->floors.values[index]);
}

/* How far the free run goes: histograms leave out what is outside their box. */
static antler_verdict grade_reach(const antler_evaluate_result *r)
{
    const double limit = r->reach > close_reach ? close_reach : good_reach;
    const antler_verdict_kind kind = r->reach > close_reach  ? ANTLER_VERDICT_FAR
                                     : r->reach > good_reach ? ANTLER_VERDICT_CLOSE
                                                             : ANTLER_VERDICT_GOOD;
    return decide(kind, "reach", r->reach, limit);
}

static antler_verdict grade_skill(const antler_evaluate_result *r)
{
    const bool known = r->rmse.windows > 0 && !isnan(r->rmse.skill);
    const bool poor = known && r->rmse.skill < least_skill;
    return decide(poor ? ANTLER_VERDICT_FAR : ANTLER_VERDICT_GOOD, "skill", r->rmse.skill, least_skill);
}

/* The worst grade; of equal grades the first, so D_stsp comes before D_H.  NONE when no measure has a floor.
 */
static antler_verdict grade_all(const antler_evaluate_result *r)
{
    antler_verdict worst = decide(ANTLER_VERDICT_NONE, "", NAN, NAN);
    for (size_t i = 0; i < sizeof measure_limits / sizeof measure_limits[0]; i++) {
        const antler_verdict v = grade(r, &measure_limits[i]);
        if (v.kind > worst.kind)
            worst = v;
    }
    const antler_verdict others[] = {grade_reach(r), grade_skill(r)};
    for (size_t i = 0; i < 2 && worst.kind != ANTLER_VERDICT_NONE; i++) {
        if (others[i].kind > worst.kind)
            worst = others[i];
    }
    return worst;
}
_Static_assert(ANTLER_VERDICT_NONE < ANTLER_VERDICT_GOOD && ANTLER_VERDICT_GOOD < ANTLER_VERDICT_CLOSE &&
                   ANTLER_VERDICT_CLOSE < ANTLER_VERDICT_FAR,
               "grades are compared as numbers");

/* Whether the data can judge a model at all; NONE: they can. */
static antler_verdict check_data(const antler_evaluate_result *r)
{
    const antler_floors *f = &r->floors;
    const double times = (double)f->rows / f->correlation;
    if (f->shift > largest_shift)
        return decide(ANTLER_VERDICT_TOO_SHORT, "shift", f->shift, largest_shift);
    if (times < least_times)
        return decide(ANTLER_VERDICT_TOO_SHORT, "correlation_times", times, least_times);
    for (size_t i = 0; i < sizeof measure_limits / sizeof measure_limits[0]; i++) {
        const antler_verdict v = grade(r, &measure_limits[i]);
        if (!isnan(v.value) && !isfinite(v.floor))
            return decide(ANTLER_VERDICT_TOO_SHORT, v.figure, v.value, NAN);
    }
    return decide(ANTLER_VERDICT_NONE, "", NAN, NAN);
}

/* What the model is, whether or not there is anything to predict. */
static antler_verdict choose_kind(const evidence *e)
{
    const antler_evaluate_result *r = e->result;
    if (r->left_range)
        return decide(ANTLER_VERDICT_LEFT_RANGE, "reach", r->reach, NAN);
    if (r->diverged)
        return decide(ANTLER_VERDICT_DIVERGED, "reach", r->reach, NAN);
    const antler_verdict data = check_data(r), all = grade_all(r);
    if (data.kind != ANTLER_VERDICT_NONE)
        return data;
    const bool near = (all.kind == ANTLER_VERDICT_GOOD || all.kind == ANTLER_VERDICT_CLOSE) &&
                      !(r->spread < least_spread); /* floors of few rows are wide enough for a point */
    if (!near && e->fall > largest_fall)
        return decide(ANTLER_VERDICT_UNDERTRAINED, "loss_fall", e->fall, largest_fall);
    if (!near && e->travel < least_travel)
        return decide(ANTLER_VERDICT_UNDERTRAINED, "travel", e->travel, least_travel);
    if (r->spread < least_spread)
        return decide(ANTLER_VERDICT_COLLAPSED, "spread", r->spread, least_spread);
    return check_narrow(&r->floors, all);
}

/* Of white noise no model can be good, whatever it does within the range of the data. */
static antler_verdict choose(const evidence *e)
{
    const antler_verdict v = choose_kind(e);
    const bool poor = v.kind == ANTLER_VERDICT_FAR || v.kind == ANTLER_VERDICT_COLLAPSED ||
                      v.kind == ANTLER_VERDICT_UNDERTRAINED;
    return poor && e->result->floors.white != 0 ? decide(ANTLER_VERDICT_NOISE, "white", 1.0, NAN) : v;
}

static const char *label_of(const char *figure)
{
    const size_t index = antler_measure_index(figure);
    return index < antler_measure_count() ? antler_measure_at(index)->label : "";
}

/* The sentence of a grade. */
static void describe_grade(const antler_verdict *v, char *text, size_t bytes)
{
    const char *label = label_of(v->figure);
    if (strcmp(v->figure, "skill") == 0)
        snprintf(
            text, bytes,
            "Forecasts are no better than the mean of the data or its last row: skill %.2g, at least %.2g is "
            "needed.",
            v->value, v->limit);
    else if (strcmp(v->figure, "reach") == 0)
        snprintf(text, bytes,
                 "The free run goes %.3g half ranges from the middle of the data, more than %.2g.", v->value,
                 v->limit);
    else if (v->kind == ANTLER_VERDICT_GOOD)
        snprintf(
            text, bytes,
            "The free run differs from the data about as much as parts of the data from each other: %s %.3g, "
            "floor %.3g.",
            label, v->value, v->floor);
    else
        snprintf(text, bytes, "%s is %.3g, above the limit %.3g; parts of the data differ by %.3g.", label,
                 v->value, v->limit, v->floor);
}

enum { NAME_BYTES = 64 }; /* a longer name of a variable is cut */

/* "temperature" or "variable 3"; returns name: (NAME_BYTES) */
static const char *name_of(const evidence *e, size_t variable, char *name)
{
    if (e->named != NULL && variable < antler_series_dim(e->named))
        snprintf(name, NAME_BYTES, "%.*s", NAME_BYTES - 1, antler_series_name(e->named, variable));
    else
        snprintf(name, NAME_BYTES, "variable %zu", variable + 1);
    return name;
}

static void describe_data(const antler_verdict *v, const evidence *e, char *text, size_t bytes)
{
    const antler_evaluate_result *r = e->result;
    const antler_floors *f = &r->floors;
    char name[NAME_BYTES];
    const char *collapsed = r->spread < least_spread ? " The free run has also lost its variance." : "";
    if (strcmp(v->figure, "shift") == 0)
        snprintf(text, bytes,
                 "The data cannot judge a model: the mean of %s differs by %.2g standard deviations "
                 "between the halves.%s",
                 name_of(e, f->shifted, name), v->value, collapsed);
    else if (strcmp(v->figure, "correlation_times") == 0 && f->slowest >= r->plain.dim)
        snprintf(
            text, bytes,
            "The data cannot judge a model: their amplitude changes over %.0f rows, of which %zu rows have "
            "%.2g.%s",
            f->correlation, f->rows, v->value, collapsed);
    else if (strcmp(v->figure, "correlation_times") == 0)
        snprintf(text, bytes,
                 "The data cannot judge a model: %zu rows are %.2g autocorrelation times of %s.%s", f->rows,
                 v->value, name_of(e, f->slowest, name), collapsed);
    else if (undecided(v))
        snprintf(text, bytes,
                 "The data cannot judge a model: a copy of them with half the spread has a D_stsp of %.3g, "
                 "within the limit %.3g, because parts of the data differ by %.3g.",
                 v->value, v->limit, v->floor);
    else
        snprintf(text, bytes,
                 "The data cannot judge a model: %s has no floor, parts of the data have no value.%s",
                 label_of(v->figure), collapsed);
}

static void describe_training(const antler_verdict *v, char *text, size_t bytes)
{
    if (strcmp(v->figure, "travel") == 0)
        snprintf(text, bytes,
                 "The training is too short to move the parameters: learning rates add up to %.2g, at least "
                 "%.2g is "
                 "needed.",
                 v->value, v->limit);
    else
        snprintf(
            text, bytes,
            "The loss still fell by %.0f percent in the last quarter of the training, and the model is not "
            "close to the data.",
            100.0 * v->value);
}

static void describe(const evidence *e, antler_verdict *v)
{
    const antler_evaluate_result *r = e->result;
    char *text = v->text;
    const size_t bytes = sizeof v->text;
    char name[NAME_BYTES];
    switch (v->kind) {
    case ANTLER_VERDICT_NONE:
        snprintf(text, bytes, "Nothing was measured that has a floor.");
        break;
    case ANTLER_VERDICT_GOOD:
    case ANTLER_VERDICT_CLOSE:
    case ANTLER_VERDICT_FAR:
        describe_grade(v, text, bytes);
        break;
    case ANTLER_VERDICT_UNDERTRAINED:
        describe_training(v, text, bytes);
        break;
    case ANTLER_VERDICT_COLLAPSED:
        snprintf(text, bytes, "The free run ends near a point: its spread is %.2g of the data's.", v->value);
        break;
    case ANTLER_VERDICT_LEFT_RANGE:
        snprintf(text, bytes, "The free run left the data's range at step %zu: %s reaches %.3g half ranges.",
                 r->diverged_step, name_of(e, r->reach_variable, name), v->value);
        break;
    case ANTLER_VERDICT_DIVERGED:
        snprintf(text, bytes,
                 r->diverged_step > 0 ? "The free run diverged at step %zu."
                                      : "The free run is too far from the data to be measured.",
                 r->diverged_step);
        break;
    case ANTLER_VERDICT_TOO_SHORT:
        describe_data(v, e, text, bytes);
        break;
    case ANTLER_VERDICT_NOISE:
        snprintf(
            text, bytes,
            "There is nothing to predict: no row depends on the rows before it, neither by correlations nor "
            "by its nearest neighbours.");
        break;
    }
}

static const char NOTHING_TO_LEARN[] = "The data look like white noise. If they are not, rows are too far "
                                       "apart, or variables are missing that the "
                                       "next row depends on.";

/* What to do next.  `falling`: the training had not come to an end. */
static const char *advise(const antler_verdict *v, const antler_evaluate_result *r, bool falling)
{
    const bool unskilled = r->rmse.windows > 0 && r->rmse.skill < least_skill;
    switch (v->kind) {
    case ANTLER_VERDICT_GOOD:
        return "Use it; runs with other seeds show how often this succeeds.";
    case ANTLER_VERDICT_CLOSE:
        return falling ? "Train longer: the loss still falls."
                       : "Train several runs and take the best by these measures on held-back data; then try "
                         "another gtf_alpha or a larger hidden_dim.";
    case ANTLER_VERDICT_FAR:
        return unskilled
                   ? "See whether the data can be predicted at all; then change latent_dim, gtf_alpha and "
                     "sequence_length."
                   : "Change the settings, one at a time: gtf_alpha, initialisation, latent_dim, "
                     "sequence_length.";
    case ANTLER_VERDICT_UNDERTRAINED:
        return "Train with four times the updates or more.";
    case ANTLER_VERDICT_COLLAPSED:
        return unskilled
                   ? "The data may be noise around a constant, which has no dynamics to learn; otherwise "
                     "lower gtf_alpha and train on longer sequences."
                   : "Lower gtf_alpha or train on longer sequences, so that training sees the free run.";
    case ANTLER_VERDICT_NOISE:
        return NOTHING_TO_LEARN;
    case ANTLER_VERDICT_LEFT_RANGE:
    case ANTLER_VERDICT_DIVERGED:
        return r->floors.white != 0 ? NOTHING_TO_LEARN
               : falling            ? "Train longer: the loss still falls; clipped: true bounds the free run."
                         : "Set clipped: true, which bounds the free run, raise gtf_alpha, or add noise in "
                           "training.";
    case ANTLER_VERDICT_TOO_SHORT:
        return undecided(v)
                   ? "Give more rows to judge by: a longer record, a larger share that is held back, or "
                     "a file of its own."
               : strcmp(v->figure, "shift") == 0
                   ? "Give more rows; if the data drift, remove the trend or take differences."
                   : "Give more rows, 50 autocorrelation times or more, or a shorter embedding.";
    case ANTLER_VERDICT_NONE:
        break;
    }
    return "";
}

void(antler_loss_curve_default)(antler_loss_curve *curve, size_t struct_size)
{
    const antler_loss_curve standard = {0};
    ant_sized_default(&standard, sizeof standard, curve, struct_size);
}

antler_status(antler_judge)(const antler_evaluate_result *result, const antler_loss_curve *training,
                            antler_verdict *verdict, size_t struct_size)
{
    ANT_NEED(result != NULL && verdict != NULL);
    ANT_RESULT(antler_verdict, verdict, struct_size, antler_judge(result, training, &whole), (void)0);
    ANT_HANDED_BACK(antler_evaluate_result, result, "antler_evaluate");
    ANT_OPTIONS(antler_loss_curve, training);
    return ant_judge(result, training, NULL, verdict);
}

antler_status ant_judge(const antler_evaluate_result *result, const antler_loss_curve *training,
                        const antler_series *named, antler_verdict *verdict)
{
    ANT_OPTIONS(antler_loss_curve, training);
    evidence e = collect(result, training);
    e.named = named;
    antler_verdict v = choose(&e);
    describe(&e, &v);
    snprintf(v.advice, sizeof v.advice, "%s", advise(&v, result, still_trains(&e)));
    *verdict = v;
    return ANTLER_OK;
}

bool ant_verdict_may_worsen(const antler_verdict *verdict)
{
    return verdict->kind == ANTLER_VERDICT_GOOD || verdict->kind == ANTLER_VERDICT_CLOSE ||
           undecided(verdict);
}

void ant_verdict_on_late(const antler_floors *floors, bool embedded, double late, antler_verdict *verdict)
{
    const struct limits *limits = &measure_limits[embedded ? 1 : 0];
    antler_verdict v = grade_value(limits, late, floors->values[antler_measure_index(limits->measure)]);
    if (undecided(verdict) ? v.kind != ANTLER_VERDICT_FAR : v.kind <= verdict->kind)
        return;
    v.figure = "dstsp_late";
    snprintf(
        v.text, sizeof v.text,
        "Long free runs from other rows do not stay with the data: at their end D_stsp is %.3g, above the "
        "limit %.3g.",
        v.value, v.limit);
    snprintf(v.advice, sizeof v.advice, "%s",
             "Train longer or with another seed, gtf_alpha or sequence_length; judge long free runs.");
    *verdict = v;
}

void ant_verdict_on_whole(const ant_validation_measures *whole, const ant_validation_measures *floor,
                          antler_verdict *verdict)
{
    if (!ant_verdict_may_worsen(verdict))
        return;
    const antler_verdict found[] = {grade_value(&measure_limits[0], whole->dstsp, floor->dstsp),
                                    grade_value(&measure_limits[2], whole->hellinger, floor->hellinger)};
    static const char *const figures[] = {"dstsp_whole", "hellinger_whole"};
    for (size_t i = 0; i < 2; i++) {
        antler_verdict v = found[i];
        if (undecided(verdict) ? v.kind != ANTLER_VERDICT_FAR : v.kind <= verdict->kind)
            continue;
        snprintf(v.text, sizeof v.text,
                 "Over all rows of the data %s is %.3g, above the limit %.3g; their halves differ by %.3g.",
                 label_of(v.figure), v.value, v.limit, v.floor);
        snprintf(v.advice, sizeof v.advice, "%s",
                 "The held-back rows alone look better; give the fit more time, or longer sequences.");
        v.figure = figures[i];
        *verdict = v;
    }
}

void ant_verdict_on_slow(size_t rows, double slow, antler_verdict *verdict)
{
    const bool judged =
        verdict->kind != ANTLER_VERDICT_LEFT_RANGE && verdict->kind != ANTLER_VERDICT_DIVERGED;
    if (!judged || verdict->kind == ANTLER_VERDICT_TOO_SHORT || !((double)rows < least_times * slow))
        return;
    antler_verdict v =
        decide(ANTLER_VERDICT_TOO_SHORT, "correlation_times", (double)rows / slow, least_times);
    snprintf(
        v.text, sizeof v.text,
        "The held-back rows cannot judge a model: over all rows the amplitude changes over %.0f rows, of "
        "which these %zu rows have %.2g.%s",
        slow, rows, v.value,
        verdict->kind == ANTLER_VERDICT_COLLAPSED ? " The free run has also lost its variance." : "");
    snprintf(v.advice, sizeof v.advice, "%s", "Give more rows, or hold back a larger share of them.");
    *verdict = v;
}
