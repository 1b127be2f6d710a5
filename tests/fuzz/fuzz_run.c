/*
 * fuzz_run.c - any bytes as the folder of a run: config.yaml, log.csv, and an archive that is model.npz and
 * checkpoint. length of config.yaml (2 bytes), config.yaml, length of log.csv (2 bytes), log.csv, members of
 * the archive (fuzz_pack.h) The model is loaded, the resume is checked, and the run is resumed and stopped
 * before its first update.
 */
#include "fuzz_pack.h"
#include "fuzz_training.h"
#include "train/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct part {
    const uint8_t *bytes;
    size_t size;
} part;

static part take(part *rest)
{
    if (rest->size < 2)
        return (part){rest->bytes, 0};
    const size_t wanted = rest->bytes[0] | (size_t)rest->bytes[1] << 8, most = rest->size - 2;
    const part taken = {rest->bytes + 2, wanted < most ? wanted : most};
    *rest = (part){taken.bytes + taken.size, most - taken.size};
    return taken;
}

static void keep_archive(const void *bytes, size_t size, const void *cookie)
{
    (void)cookie;
    fuzz_write("model.npz", bytes, size);
    fuzz_write("checkpoints/update-0000000002.npz", bytes, size);
}

static int stop_at_once(void *cookie)
{
    (void)cookie;
    return 1;
}

/* Settings that name no other file and need little memory, so that a fault is not that of a huge training. */
static bool is_small(const antler_settings *s)
{
    return s->latent_dim <= 16 && s->hidden_dim <= 16 && s->sequence_length <= 50 && s->batch_size <= 8 &&
           s->runs <= 2 && s->threads <= 2 && s->device != ANTLER_DEVICE_CUDA &&
           s->validation_data[0] == '\0' && s->check_interval <= 1000 && s->max_iterations <= 1000;
}

static void resume(const antler_series *series)
{
    const antler_train_events events = {.struct_size = sizeof events, .stop = stop_at_once};
    antler_train_result result;
    antler_status status = antler_train_resume_check(fuzz_run_folder(), NULL, series, &result);
    fuzz_check_message(status);
    if (status == ANTLER_OK && result.finished + result.stopped == 0)
        abort();
    status = antler_train_resume_series(fuzz_run_folder(), NULL, series, &events, &result);
    fuzz_check_message(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static antler_series *series;
    part rest = {data, size};
    const part config = take(&rest), log = take(&rest);
    antler_settings settings;
    antler_model *model = NULL;
    char *text = calloc(config.size + 1, 1);
    if (text == NULL)
        return 0;
    if (series == NULL)
        series = fuzz_series();
    memcpy(text, config.bytes, config.size);
    fuzz_write("config.yaml", config.bytes, config.size);
    fuzz_write("log.csv", log.bytes, log.size);
    fuzz_remove("diverged.txt");
    fuzz_remove(".overwrite");
    fuzz_pack(rest.bytes, rest.size, keep_archive, NULL);
    fuzz_check_message(antler_model_load(fuzz_run_folder(), &model));
    antler_model_free(model);
    const antler_status status = ant_settings_parse_run(text, "config.yaml", &settings);
    fuzz_check_message(status);
    if (status == ANTLER_OK && is_small(&settings))
        resume(series);
    for (unsigned update = 0; update <= 8; update++) {
        char name[64];
        snprintf(name, sizeof name, "checkpoints/update-%010u.npz", update);
        fuzz_remove(name);
    }
    free(text);
    return 0;
}
