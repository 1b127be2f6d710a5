/*
 * kernel.h - the fast kernels: exact steps forward and backward through a group of segments.
 *
 * A segment is an interval of steps of one sequence.  A group holds `lanes` segments of equal length side by
 * side, with the lane as the last index of every array, so that one vector instruction advances all of them:
 *   lane kernels   lanes = SIMD width; for batches, or for segments of one sequence
 *   line kernels   lanes = 1; vectors run over hidden and latent units; dense products
 *   piece kernels  lanes = 1; from linear piece to linear piece, as long as few hidden units switch
 * Internal to solve; for templates only.
 */
#ifndef ANT_SOLVE_KERNEL_H
#define ANT_SOLVE_KERNEL_H

#include "base/machine.h"
#include "solve/solve_call.h"

#include <stdint.h>

enum { ANT_MASK_WORDS = 64 }; /* the most words of masks per step */

typedef struct ANT_FN(ant_group) {
    size_t begin;            /* time of row 0, where there is one lane */
    size_t length;           /* steps of every segment */
    real *z;                 /* (length+1, M, lanes) */
    real *forced;            /* (length, M, lanes): z~ */
    real *error;             /* (length+1, N, lanes): e = x - B z; NULL for `advance`: not requested */
    const real *x;           /* (length+1, N, lanes) */
    const real *s;           /* (length, K, lanes) */
    real *own_x, *own_s;     /* memory of both when there are several lanes, else NULL */
    const uint32_t *pattern; /* (length+1, lanes): what each row lacks (patterns.h); NULL: nothing */
    uint32_t *own_pattern;   /* its memory when there are several lanes, else NULL */
    bool *gappy;             /* (length+1): a lane of the row lacks something; when there are several lanes */
    real *strength;          /* (length, lanes): a_t; it and weight are empty for kernels that find them */
    real *weight;      /* (length+1, lanes): c_t; 0 at index 0, whose time belongs to the segment before */
    uint64_t *masks;   /* (length, mask_words): which hidden units are on, for kernels that store it */
    real *v, *w;       /* (length, M): v after each step and a w before it, between `adjoint` and `gather` */
    real *pulled;      /* (length, M, lanes): sums of a w over all backward passes; NULL: not requested */
    real *inject;      /* (M, lanes): dloss/dz at the segment's end from what follows it */
    real *inject_last; /* (M, lanes): the same for segments that are one step shorter */
    real *border;      /* (M, lanes): out, dloss/dz at the segment's start */
    real *map;         /* (M, M): D = dz_end / dz_start of `derive` */
} ANT_FN(ant_group);

typedef ANT_FN(ant_group) group; /* its short name in templates */

/* What a pass over a group gives. */
typedef struct ANT_FN(ant_pass_result) {
    size_t steps;      /* that were computed; of `advance`: the step at which it ended */
    bool merged;       /* ended early: it met the stored trajectory, or the adjoint has vanished */
    bool refused;      /* gave up: another kernel is faster here */
    size_t switches;   /* of hidden units, for kernels that count them */
    double difference; /* max|new - stored| where it merged; of a backward pass max|v| where it ended */
    double size;       /* max|z| or max|v| of this pass; NaN or infinity when not finite */
} ANT_FN(ant_pass_result);

typedef ANT_FN(ant_pass_result) pass_result;

/* max|a_i - b_i|; NaN when one of them is. */
static inline double ANT_FN(ant_largest_difference)(const real *a, const real *b, size_t count)
{
    double largest = 0.0;
    for (size_t i = 0; i < count && !isnan(largest); i++) {
        const double difference = fabs((double)a[i] - (double)b[i]);
        largest = difference <= largest ? largest : difference;
    }
    return largest;
}

typedef struct ANT_FN(ant_kernels) {
    const char *name; /* "lane avx512" */
    size_t lanes;
    size_t rows;         /* of a product that share a vector, in lane kernels */
    bool finds_strength; /* finds strengths and weights by `begin` and the call */
    /* Reals that `pack` writes: all weights in the order in which the kernels read them. */
    size_t (*packed_count)(const ant_model_dims *dims);
    void (*pack)(const solve_call *p, real *packed);
    /* Reals that `pack` derives from each B_o+, to ant_patterns.turned; NULL: none. */
    size_t (*pattern_count)(const ant_model_dims *dims);
    /* Reals of scratch per thread. */
    size_t (*scratch_count)(const ant_model_dims *dims);
    /* Reals by which the groups of a slot are counted; NULL: those of scratch. */
    size_t (*slot_count)(const ant_model_dims *dims);
    /* Words of ant_group.masks per step; NULL: none. */
    size_t (*mask_words)(const ant_model_dims *dims);
    /* Between the model's coordinates of a latent state (M) and those of the rows of z; NULL: the same. */
    void (*enter)(const ant_model_dims *dims, const real *packed, const real *z, real *row);
    void (*leave)(const ant_model_dims *dims, const real *packed, const real *row, real *z);
    /*
     * Run all steps from z row 0.  With merge >= 0, compare with the stored z and stop at the first
     * step where no lane differs by more than `merge`.  With `attempt` the kernel may refuse.
     */
    pass_result (*forward)(const solve_call *p, const real *packed, group *group, double merge, bool attempt,
                           real *scratch);
    /*
     * D of the stored pass, in the coordinates of the rows, to group->map; false: it is 0 to rounding, or not
     * finite.  For M of at most `derived_most`; NULL: not offered.
     */
    size_t derived_most;
    bool (*derive)(const solve_call *p, const real *packed, group *group, real *scratch);
    /* Before the first and after the last backward pass of a slot, with its own scratch; NULL: nothing. */
    void (*open)(const ant_model_dims *dims, real *scratch);
    void (*close)(const solve_call *p, const real *packed, real *scratch, double *sums);
    /* Add part `part` of `parts` of the sums of a slot in `from` to those in `scratch`, both since `open`;
     * NULL where that is. */
    void (*join)(const ant_model_dims *dims, real *scratch, const real *from, size_t part, size_t parts);
    /*
     * Run the adjoint from the end and add the parameter gradients to sums (ant_sums_count).  The loss
     * enters through `weight` when `loss` is set, what follows the segment through `inject`.  Without
     * `loss` stop, and set the border to 0, as soon as max|v| <= floor: the rest is below rounding.  With it,
     * a kernel may do the same in the warm-up, where no loss enters, at the rounding of the largest |v|.
     */
    pass_result (*backward)(const solve_call *p, const real *packed, group *group, bool loss, double floor,
                            real *scratch, double *sums);
    /*
     * The same tile by tile, `tile_steps` steps each, so that two threads can share a group
     * (two_threads_tmpl.c); NULL: not offered.  `advance` runs steps first .. last-1 from the row `from`,
     * which need not be the stored one; `observe` sets the errors of rows first .. last-1.  After `lengthen`
     * the weights are those of the model z~ + factor (F(z~) - z~).
     */
    size_t tile_steps;
    void (*lengthen)(const ant_model_dims *dims, real *packed, double factor);
    void (*observe)(const solve_call *p, const real *packed, group *group, size_t first, size_t last);
    pass_result (*advance)(const solve_call *p, const real *packed, group *group, const real *from,
                           size_t first, size_t last, double merge, bool attempt, real *scratch);
    /*
     * `backward` with the loss in two halves, for one tile: the adjoint from row `end` to `first`, which
     * continues from the scratch and sets the border at row 0, or where v has vanished (result->merged;
     * `result` starts from zeros), and the parameter gradients that follow from it, summed in another
     * scratch.
     */
    void (*adjoint)(const solve_call *p, const real *packed, group *group, size_t first, size_t end,
                    real *scratch, pass_result *result);
    void (*gather)(const solve_call *p, const real *packed, group *group, size_t first, size_t end,
                   real *scratch);
    /* Sum of e^2 where the weight is not 0. */
    double (*square)(const solve_call *p, const group *group);
} ANT_FN(ant_kernels);

const ANT_FN(ant_kernels) * ANT_FN(ant_kernels_lane)(ant_cpu_level level);
/* The same with a half or a quarter of the lanes and as wide vectors, which hold 2 or 4 rows of a product
 * (lane_wide.h); NULL: not offered. */
const ANT_FN(ant_kernels) * ANT_FN(ant_kernels_lane_rows)(ant_cpu_level level, size_t rows);
const ANT_FN(ant_kernels) * ANT_FN(ant_kernels_line)(ant_cpu_level level);
const ANT_FN(ant_kernels) * ANT_FN(ant_kernels_piece)(ant_cpu_level level);

/* The fast kernels of a cell. */
struct ANT_FN(ant_cell_kernels) {
    const ANT_FN(ant_kernels) * (*lane)(ant_cpu_level level);
    const ANT_FN(ant_kernels) * (*lane_rows)(ant_cpu_level level, size_t rows);
    const ANT_FN(ant_kernels) * (*line)(ant_cpu_level level);
    const ANT_FN(ant_kernels) * (*piece)(ant_cpu_level level);
};

/* Names of per-level objects: ANT_LEVEL(ant_lane) is ant_lane_f32_avx2 and so on. */
#define ANT_LEVEL_PASTE(name, level)  name##_##level
#define ANT_LEVEL_EXPAND(name, level) ANT_LEVEL_PASTE(name, level)
#define ANT_LEVEL(name)               ANT_LEVEL_EXPAND(ANT_FN(name), ANT_SIMD)

/* The level as text: "avx2". */
#define ANT_LEVEL_QUOTE(level)  #level
#define ANT_LEVEL_STRING(level) ANT_LEVEL_QUOTE(level)
#define ANT_LEVEL_TEXT          ANT_LEVEL_STRING(ANT_SIMD)

#endif
