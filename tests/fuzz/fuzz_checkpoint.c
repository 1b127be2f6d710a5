/* fuzz_checkpoint.c - any bytes as the checkpoint of a training; with the highest bit of the first byte set,
 * packed first (fuzz_pack.h).  What is restored must be a state that the training can have. */
#include "fuzz_pack.h"
#include "fuzz_training.h"
#include "train/folder.h"
#include "train/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static antler_trainer *make_trainer(void)
{
    antler_settings settings;
    antler_trainer *trainer = NULL;
    antler_series *series = fuzz_series();
    if (ant_settings_parse(fuzz_config, "config.yaml", &settings) != ANTLER_OK ||
        antler_trainer_create(&settings, series, &trainer) != ANTLER_OK)
        abort();
    antler_series_free(series);
    return trainer;
}

static void restore(const void *bytes, size_t size, const void *cookie)
{
    static antler_trainer *trainer;
    bool found = false;
    (void)cookie;
    if (trainer == NULL)
        trainer = make_trainer();
    fuzz_write("checkpoints/update-0000000002.npz", bytes, size);
    const antler_status status =
        ant_checkpoint_restore(fuzz_run_folder(), trainer, &trainer->runs[0], &found);
    fuzz_check_message(status);
    if (found != (status == ANTLER_OK) || (found && trainer->runs[0].update > FUZZ_UPDATES))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if ((data[0] & 0x80) != 0)
        fuzz_pack(data + 1, size - 1, restore, NULL);
    else
        restore(data + 1, size - 1, NULL);
    return 0;
}
