/*
 * piece_sums.h - from the sums of the piece kernels to the gradient in the model's coordinates.  Part of
 * piece_simd_tmpl.c.
 */

/* out[m * step] += scale (Q x)_m.  x: (M) reals in the kernel's coordinates; turned: (mv) scratch */
static void leave_add(const piece_weights *w, const real *x, double scale, vector *turned, double *out,
                      size_t step)
{
    combine(w->M, w->mv, w->basis, x, 1, turned);
    for (size_t m = 0; m < w->M; m++)
        out[m * step] += scale * (double)((const real *)turned)[m];
}

/* dW_u and d[V_u b_u] of one unit, from S_u. */
static void unit_gradient(const piece_weights *w, const vector *sums, size_t u, real *column, vector *row)
{
    const size_t mv = w->mv;
    for (size_t i = 0; i < w->M; i++) {
        vector dot = {0};
        for (size_t c = 0; c < mv; c++)
            dot += sums[i * mv + c] * w->rows[u * mv + c];
        column[i] = (real)vector_sum(dot);
    }
    combine(w->M, mv, sums, (const real *)(w->columns + u * mv), 1, row);
}

/* Add dW_l, in the model's coordinates, to dW or to dWL and dWR. */
static void add_column(const solve_call *p, const piece_weights *w, size_t l, const real *dW, double *sums)
{
    const ant_model_layout *y = p->layout;
    const real *theta = p->parameters;
    for (size_t m = 0; m < w->M; m++) {
        if (w->rank == 0)
            sums[y->W + m * w->L + l] += (double)dW[m];
        for (size_t k = 0; k < w->rank; k++) {
            sums[y->WL + m * w->rank + k] += (double)dW[m] * (double)theta[y->WR + k * w->L + l];
            sums[y->WR + k * w->L + l] += (double)dW[m] * (double)theta[y->WL + m * w->rank + k];
        }
    }
}

static void close_units(const solve_call *p, const piece_weights *w, const piece_buffers *t, double *sums)
{
    const ant_model_layout *y = p->layout;
    const size_t M = w->M, mv = w->mv;
    real *column = (real *)t->z, *row = (real *)t->row, *turned = (real *)t->tile_w;
    for (size_t l = 0; l < w->L; l++) {
        unit_gradient(w, t->sums + l * M * mv, l, column, t->row);
        sums[y->b + l] += (double)row[M];
        leave_add(w, row, 1.0, t->tile_w, sums + y->V + l * M, 1);
        combine(M, mv, w->basis, column, 1, t->tile_w);
        add_column(p, w, l, turned, sums);
        if (!w->clipped)
            continue;
        const size_t second = l + w->units / 2;
        unit_gradient(w, t->sums + second * M * mv, second, column, t->row);
        leave_add(w, row, 1.0, t->tile_w, sums + y->V + l * M, 1);
        combine(M, mv, w->basis, column, 1, t->tile_w);
        for (size_t m = 0; m < M; m++)
            turned[m] = -turned[m]; /* of the second W = -W */
        add_column(p, w, l, turned, sums);
    }
}

/* dA_m = (Q D Q^T)_mm and dh = Q D_M with D the sum of v [z~ 1]^T over all steps. */
static void close_affine(const solve_call *p, const piece_weights *w, const piece_buffers *t, double *sums)
{
    const size_t M = w->M, ms = w->mv * LANES;
    const real *D = (const real *)t->all, *Q = (const real *)w->basis_rows;
    for (size_t m = 0; m < M; m++) {
        for (size_t i = 0; i < M; i++) {
            double sum = 0.0;
            for (size_t j = 0; j < M; j++)
                sum += (double)D[i * ms + j] * (double)Q[m * ms + j];
            sums[p->layout->Abar + m] += (double)Q[m * ms + i] * sum;
            sums[p->layout->h + m] += (double)Q[m * ms + i] * (double)D[i * ms + M];
        }
    }
}

/* Add the sums of a slot since piece_open to `sums` (ant_sums_count). */
static void piece_close(const solve_call *p, const real *packed, real *scratch, double *sums)
{
    const ant_model_layout *y = p->layout;
    piece_weights w;
    piece_buffers t;
    piece_place(&y->dims, packed, &w);
    buffers_place(&w, scratch, &t);
    const size_t M = w.M, N = w.N, mv = w.mv, ms = mv * LANES;
    close_units(p, &w, &t, sums);
    close_affine(p, &w, &t, sums);
    for (size_t k = 0; k < w.K; k++)
        leave_add(&w, (const real *)(t.inputs + k * mv), 1.0, t.tile_w, sums + y->C + k, w.K);
    for (size_t n = 0; n < N; n++) {
        leave_add(&w, (const real *)(t.loss + n * mv), -(double)p->weight, t.tile_w, sums + y->B + n * M, 1);
        leave_add(&w, (const real *)(t.pinv + n * mv), 1.0, t.tile_w, sums + y->total + n, N);
        leave_add(&w, (const real *)(t.gaps + n * mv), 1.0, t.tile_w, sums + y->B + n * M, 1);
        for (size_t i = 0; i < (M < N ? M : N); i++)
            leave_add(&w, (const real *)(t.forcing + i * mv),
                      -(double)((const real *)w.pull_full)[n * ms + i], t.tile_w, sums + y->B + n * M, 1);
    }
}
