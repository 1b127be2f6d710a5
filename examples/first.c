/*
 * first.c - simulate, train in memory, run free, measure: the C interface in one page.
 *
 *     cc first.c $(pkg-config --cflags --libs antler) -o first && ./first
 *
 * Settings can be given as arguments: ./first updates=20000 hidden_dim=100
 */
#include <antler/antler.h>

#include <stdio.h>

/* Every call that can fail returns a status; the sentence says what is wrong and what to do about it. */
#define TRY(call)                                                                                            \
    do {                                                                                                     \
        if ((call) < ANTLER_OK) {                                                                            \
            fprintf(stderr, "%s\n", antler_message());                                                       \
            return 1;                                                                                        \
        }                                                                                                    \
    } while (0)

static void show(void *cookie, const antler_train_row *row)
{
    (void)cookie;
    printf("update %5zu of %zu   loss %.4g\n", row->update, row->updates, row->loss);
}

int main(int argc, char **argv)
{
    /* 1. Data: two orbits of Lorenz-63, one to learn from and one to be judged by. */
    antler_simulate_opts simulate;
    antler_series *train = NULL, *test = NULL;
    TRY(antler_simulate_opts_default("lorenz63", &simulate));
    simulate.length = 20000;
    TRY(antler_simulate(&simulate, &train));
    simulate.seed = 2;
    TRY(antler_simulate(&simulate, &test));

    /* 2. Train: settings bear the names of the YAML file. */
    antler_settings settings;
    antler_trainer *trainer = NULL;
    antler_model *model = NULL;
    const antler_train_events events = {.struct_size = sizeof events, .row = show};
    antler_settings_default(&settings);
    TRY(antler_settings_set(&settings, "latent_dim=5"));
    TRY(antler_settings_set(&settings, "updates=6000"));
    TRY(antler_settings_set(&settings, "log_interval=1000"));
    for (int i = 1; i < argc; i++)
        TRY(antler_settings_set(&settings, argv[i]));
    TRY(antler_trainer_create(&settings, train, &trainer));
    TRY(antler_trainer_run(trainer, &events, NULL));
    TRY(antler_trainer_model(trainer, 1, &model));
    antler_trainer_free(trainer);

    /* 3. Judge: a free run from the first rows of the test orbit. */
    antler_evaluate_opts opts;
    antler_evaluate_result result;
    antler_evaluate_opts_default(&opts);
    opts.measure.samples = 10000;
    TRY(antler_evaluate(model, test, &opts, &result));
    if (result.diverged)
        printf("the free run diverged at step %zu\n", result.diverged_step);
    else
        printf("D_stsp %.3f   D_H %.3f   largest Lyapunov exponent %.2f per time unit\n", result.plain.dstsp,
               result.plain.hellinger, result.lyapunov.exponents[0] / result.lyapunov.dt);
    antler_evaluate_result_clear(&result);

    /* 4. Keep the model; numpy.load reads the file. */
    TRY(antler_model_save(model, "first.npz"));
    antler_model_free(model);
    antler_series_free(test);
    antler_series_free(train);
    return 0;
}
