/*
 * shooting.h - exact steps by the fast kernels: `sequential` (one segment per sequence) and `shooting`
 * (several segments of time per sequence, joined at their borders).  Internal; for templates only.
 */
#ifndef ANT_SOLVE_SHOOTING_H
#define ANT_SOLVE_SHOOTING_H

#include "base/team.h"
#include "comm/comm.h"
#include "solve/kernel.h"

/* States, errors and masks of a plan above so many bytes are not all kept; and the steps of a leg, a multiple
 * of the kernels' tiles. */
#define ANT_KEPT_MOST 4294967296.0
enum { ANT_LEG_STEPS = 4096 };

/* What two threads on one sequence need (two_threads_tmpl.c). */
typedef struct ANT_FN(ant_two_threads) {
    ANT_FN(ant_group) whole;  /* the sequence; the groups are segments of it */
    ANT_FN(ant_group) coarse; /* a pass in long steps towards the start of the second thread */
    real *packed;             /* the weights of its steps */
    real *start;              /* (2, M) */
    double *full;             /* (steps + 2): strengths of that pass, 1 throughout */
    size_t again;             /* steps that the first thread ran again in the last call */
} ANT_FN(ant_two_threads);

/* What the joins of segments by Newton's method need (joins_tmpl.c). */
typedef struct ANT_FN(ant_joins) {
    bool *mapped;           /* (total): the group's map is D, else D is 0 */
    double *seen, *assumed; /* (total, M): gradients at the starts of segments: found, and injected before */
    double *moved;          /* (2, M) */
    real *turned;           /* (2, M) */
} ANT_FN(ant_joins);

/*
 * What ranks need that share the slots of a call (ranks_tmpl.c).  Each computes the groups of its slots.  Of
 * the others it has the starts, borders, maps and results, which the ranks exchange after each pass, and then
 * every rank joins all segments by itself, with the same numbers.
 */
typedef struct ANT_FN(ant_shooting_ranks) {
    ant_comm *comm;           /* NULL: this rank computes all groups */
    size_t first, end;        /* groups that this rank computes */
    size_t first_slot, slots; /* and its slots */
    size_t *slot, *group;     /* (size + 1): the first ones of each rank, and their number */
    real *ends;               /* (groups, M, lanes): last states of the groups of other ranks */
    unsigned char *mail;      /* (groups, bytes of one): what is exchanged */
} ANT_FN(ant_shooting_ranks);

typedef struct ANT_FN(ant_shooting) {
    const ANT_FN(ant_kernels) * kernels;
    const ant_model_layout *layout;
    size_t T, batch, warmup;
    bool gaps;       /* rows may lack variables (patterns.h) */
    bool pulls;      /* backward, rows of a w are kept (reduce.h) */
    size_t segments; /* per sequence, <= T */
    size_t total;    /* batch * segments; number i is segment i % segments of sequence i / segments */
    size_t groups;   /* of kernels->lanes segments */
    size_t slots;    /* each with sums of its own: group g belongs to slot g / in_slot */
    size_t in_slot;  /* groups; slots follow from sizes alone, and any thread may take one */
    int threads;     /* with scratch of their own; no result depends on them */
    ant_team *team;  /* of so many; NULL: the caller alone */
    ANT_FN(ant_group) * group;
    pass_result *result; /* (groups): of the last iteration */
    bool *dirty;         /* (groups) */
    double *square;      /* (groups): sums of e^2 */
    real *first;         /* (batch, M): w_0, where rows of a w are kept */
    real *turned;        /* (2, M): of ant_shooting_turn */
    real *packed;
    real *scratch; /* (min(threads, groups), scratch_count); at least (slots, ...) for kernels with `join` */
    size_t scratch_count;
    double *sums;       /* (slots, ant_sums_count) */
    size_t leg;         /* steps of a leg, whose states are made again backward; 0: all states are kept */
    size_t leg_longest; /* steps of the longest segment */
    ANT_FN(ant_group) * legs;    /* (min(threads, groups)): the memory of one leg */
    double *leg_square;          /* (groups, legs of the longest segment): sums of e^2 */
    ANT_FN(ant_solve_call) call; /* the last one, whose states may be read again */
    bool paired;                 /* two threads share the one sequence of the batch; else `two` is empty */
    ANT_FN(ant_two_threads) two;
    bool joined; /* borders by Newton's method; else `joins` is empty */
    ANT_FN(ant_joins) joins;
    ANT_FN(ant_shooting_ranks) ranks;
} ANT_FN(ant_shooting);

typedef ANT_FN(ant_shooting) shooting; /* its short name in templates */

/* kernels, layout, T, batch, warmup, gaps, pulls, segments, threads, team, leg and ranks.comm are set by the
 * caller before. */
void ANT_FN(ant_shooting_carve)(shooting *sh, ant_arena *arena);

/*
 * Solve forward; fills the report's outcome, iterations, last_change, fallbacks and repeated_steps.  With
 * `attempt` return false as soon as a kernel refuses or a segment in a lane was repeated whole without
 * merging.
 */
bool ANT_FN(ant_shooting_forward)(shooting *sh, const solve_call *p, const real *const *x,
                                  const real *const *s, const ant_solve_options *options, bool attempt,
                                  ant_solve_report *report);

/* Sum of e^2 over t > T_w and the batch. */
double ANT_FN(ant_shooting_square)(shooting *sh, const solve_call *p);

/* The adjoint and parameter gradients: overwrites sums (ant_sums_count). */
void ANT_FN(ant_shooting_gradient)(shooting *sh, const solve_call *p, const real *const *x, double *sums,
                                   ant_solve_report *report);

/* Two threads on one sequence (two_threads_tmpl.c): whether they can share it, their memory, both passes. */
bool ANT_FN(ant_two_threads_fit)(const shooting *sh);
void ANT_FN(ant_two_threads_carve)(shooting *sh, ant_arena *arena);
bool ANT_FN(ant_two_threads_forward)(shooting *sh, const solve_call *p, const real *x, const real *s,
                                     double tolerance, bool attempt, ant_solve_report *report);
void ANT_FN(ant_two_threads_gradient)(shooting *sh, const solve_call *p);

/* Borders by Newton's method (joins_tmpl.c): whether these segments can have them, their memory. */
bool ANT_FN(ant_joins_fit)(const shooting *sh);
void ANT_FN(ant_joins_carve)(shooting *sh, ant_arena *arena);

/* After a pass over group g: its derivative, where it is needed. */
void ANT_FN(ant_joins_derive)(shooting *sh, const solve_call *p, size_t g, int passes, real *scratch);

/* New starts of all segments; marks and counts those that have to run.  jump: the largest one that stays */
size_t ANT_FN(ant_joins_states)(shooting *sh, double size, double tolerance, double *jump);

/* Before the first backward pass, and after each: gradients at the ends; false: nothing is left. */
void ANT_FN(ant_joins_open)(shooting *sh);
bool ANT_FN(ant_joins_gradients)(shooting *sh, double size);

/*
 * Segments of which only the first state of each leg is kept (legs_tmpl.c).  Steps of a leg for these sizes,
 * or the given ones; 0: all states are kept.
 */
size_t ANT_FN(ant_legs_choose)(const shooting *sh, size_t given);
void ANT_FN(ant_legs_carve)(shooting *sh, ant_arena *arena, size_t workers);

/* Legs in so many steps, and so the row of a group's z that holds its last state; `steps` without legs. */
size_t ANT_FN(ant_legs_of)(const shooting *sh, size_t steps);

/* The passes over group g, the sum of e^2 of its last forward one, and its states z_1 .. (length, M). */
pass_result ANT_FN(ant_legs_forward)(shooting *sh, const solve_call *p, size_t g, double merge, bool attempt,
                                     size_t worker, real *scratch);
pass_result ANT_FN(ant_legs_backward)(shooting *sh, const solve_call *p, size_t g, bool loss, double floor,
                                      size_t worker, real *scratch, double *sums);
double ANT_FN(ant_legs_square)(const shooting *sh, size_t g);
void ANT_FN(ant_legs_states)(const shooting *sh, const solve_call *p, size_t g, real *z);

/* The largest jump that may stay at a border between states of this size. */
double ANT_FN(ant_join_tolerance)(double size, double tolerance);

/* The memory of one group of segments of `length` steps; x and s of the caller where there is one lane. */
ANT_FN(ant_group) ANT_FN(ant_group_carve)(const shooting *sh, ant_arena *arena, size_t length);

/* The largest difference at which states of this size merge: well below the tolerance, not below rounding. */
double ANT_FN(ant_merge_tolerance)(double size, double tolerance);

/* z_1 .. z_T of one sequence; rows of segments that other ranks have stay as they are. */
void ANT_FN(ant_shooting_states)(const shooting *sh, size_t sequence, real *z);

/* Ranks (ranks_tmpl.c): which slots this one has, and memory. */
void ANT_FN(ant_ranks_divide)(shooting *sh);
void ANT_FN(ant_ranks_carve)(shooting *sh, ant_arena *arena);

/* After a pass: what joining needs of all groups.  After the last one: the sums of all slots. */
void ANT_FN(ant_ranks_share_forward)(shooting *sh);
void ANT_FN(ant_ranks_share_backward)(shooting *sh);
void ANT_FN(ant_ranks_share_squares)(shooting *sh);
void ANT_FN(ant_ranks_share_sums)(shooting *sh);

/* Whether this rank computes group g. */
static inline bool ANT_FN(ant_group_is_own)(const shooting *sh, size_t g)
{
    return g >= sh->ranks.first && g < sh->ranks.end;
}

/* The state of group g after `steps` steps, its last one: (M, lanes). */
static inline const real *ANT_FN(ant_group_last)(const shooting *sh, size_t g, size_t steps)
{
    const size_t values = sh->layout->dims.M * sh->kernels->lanes;
    const size_t row = ANT_FN(ant_legs_of)(sh, steps);
    return ANT_FN(ant_group_is_own)(sh, g) ? sh->group[g].z + row * values : sh->ranks.ends + g * values;
}

/*
 * Of one sequence in the coordinates of the kernels: z_1 .. z_T, and unless NULL a_t w_t of the last gradient
 * for t = 0 .. T-1, where these are kept.  z, pulled: (T, M)
 */
void ANT_FN(ant_shooting_rows)(const shooting *sh, size_t sequence, real *z, real *pulled);

/* Errors e_t of one sequence for t = 1 .. T, of the last forward pass; and others for the next backward
 * passes. errors: (T+1, N), of which row 0 is left out */
void ANT_FN(ant_shooting_errors)(const shooting *sh, size_t sequence, real *errors);
void ANT_FN(ant_shooting_set_errors)(shooting *sh, size_t sequence, const real *errors);

/* The matrix that turns these coordinates into those of the model.  turn: (M, M), row-major */
void ANT_FN(ant_shooting_turn)(const shooting *sh, real *turn);

#endif
