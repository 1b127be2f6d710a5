/* fuzz_settings.c - any bytes as a settings file or a grid. */
#include "fuzz.h"
#include "train/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(size + 1, 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    antler_settings settings;
    antler_status status = ant_settings_parse(text, "fuzz", &settings);
    fuzz_check_message(status);
    if (status == ANTLER_OK)
        fuzz_check_message(antler_settings_check(&settings, NULL));
    ant_yaml *yaml = NULL;
    status = ant_yaml_read(text, "fuzz", true, &yaml);
    fuzz_check_message(status);
    ant_yaml_free(yaml);
    free(text);
    return 0;
}
