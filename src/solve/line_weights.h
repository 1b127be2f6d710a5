/*
 * line_weights.h - the weights of a line kernel in the order in which it reads them; line_body.h includes it
 * once per width of latent vectors.
 */

typedef struct NAME(weights) {
    size_t mv, nv, rv, lv;               /* vectors per M, N, rank (small) and L (wide) */
    const SMALL *A1, *h;                 /* (mv) */
    const vector *b;                     /* (lv) */
    const vector *V_wide;                /* (M, lv): column m of V */
    const vector *W_wide;                /* (M, lv): row m of W; with rank (r, lv): row k of WR */
    const SMALL *W_small;                /* (L, mv): column l of W; with rank (L, rv): column l of WR */
    const SMALL *V_small;                /* (L, mv): row l of V */
    const SMALL *left, *left_back;       /* (r, mv): column k of WL; (M, rv): row m of WL */
    const SMALL *project_full, *project; /* (M, mv): P_1 - I and P_alpha - I */
    const SMALL *pinv, *pinv_back;       /* (N, mv): column n of B+; (M, nv): row m of B+ */
    const SMALL *B, *B_back;             /* (M, nv): column m of B; (N, mv): row n of B */
    const SMALL *C;                      /* (K, mv): column k of C */
} NAME(weights);

static size_t NAME(place)(const ant_model_dims *d, const real *packed, NAME(weights) * w)
{
    const size_t mv = vectors(d->M, SMALL_WIDTH), nv = vectors(d->N, SMALL_WIDTH);
    const size_t rv = vectors(d->rank, SMALL_WIDTH), lv = vectors(d->L, LANES);
    const size_t inner = d->rank > 0 ? d->rank : d->M;
    *w = (NAME(weights)){.mv = mv, .nv = nv, .rv = rv, .lv = lv};
    size_t used = 0;
    const struct {
        const vector **slot;
        size_t count;
    } wide[] = {{&w->b, lv}, {&w->V_wide, d->M * lv}, {&w->W_wide, inner * lv}};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        *wide[i].slot = packed == NULL ? NULL : (const vector *)(packed + used);
        used += wide[i].count * LANES;
    }
    const struct {
        const SMALL **slot;
        size_t count;
    } small[] = {{&w->A1, mv},
                 {&w->h, mv},
                 {&w->left, d->rank * mv},
                 {&w->left_back, d->M * rv},
                 {&w->project_full, d->M * mv},
                 {&w->project, d->M * mv},
                 {&w->pinv, d->N * mv},
                 {&w->pinv_back, d->M * nv},
                 {&w->B, d->M * nv},
                 {&w->B_back, d->N * mv},
                 {&w->C, d->K * mv}};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        *small[i].slot = packed == NULL ? NULL : (const SMALL *)(packed + used);
        used += small[i].count * SMALL_WIDTH;
    }
    return used;
}

static size_t NAME(packed_count)(const ant_model_dims *d)
{
    NAME(weights) w;
    return NAME(place)(d, NULL, &w);
}

static void NAME(pack)(const solve_call *p, real *packed)
{
    const ant_model_layout *layout = p->layout;
    const ant_model_dims *d = &layout->dims;
    const real *theta = p->parameters, *W = theta + (d->rank > 0 ? layout->WR : layout->W);
    const real *V = theta + layout->V, *B = p->forcing->B, *pinv = p->forcing->pinv;
    const size_t M = d->M, N = d->N, L = d->L, r = d->rank, inner = r > 0 ? r : M, s = SMALL_WIDTH;
    real *out = packed; /* in the order of place */
    out = pack_columns(out, 1, L, LANES, theta + layout->b, 0, 1);
    out = pack_columns(out, M, L, LANES, V, 1, M);
    out = pack_columns(out, inner, L, LANES, W, L, 1);
    out = pack_columns(out, 1, M, s, p->derived, 0, 1); /* A - 1 */
    out = pack_columns(out, 1, M, s, theta + layout->h, 0, 1);
    out = pack_columns(out, r, M, s, r > 0 ? theta + layout->WL : NULL, 1, r);
    out = pack_columns(out, r > 0 ? M : 0, r, s, r > 0 ? theta + layout->WL : NULL, r, 1);
    out = pack_projector(out, p, s, 1.0);
    out = pack_projector(out, p, s, p->alpha);
    out = pack_columns(out, N, M, s, pinv, 1, N);
    out = pack_columns(out, M, N, s, pinv, N, 1);
    out = pack_columns(out, M, N, s, B, 1, M);
    out = pack_columns(out, N, M, s, B, M, 1);
    pack_columns(out, d->K, M, s, d->K > 0 ? theta + layout->C : NULL, 1, d->K);
}
