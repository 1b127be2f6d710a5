/* info_devices.h - `antler info --devices`: the GPUs of this machine. */
#ifndef ANT_CLI_INFO_DEVICES_H
#define ANT_CLI_INFO_DEVICES_H

#include <stdbool.h>

/* Print them as a table or as one JSON object.  Returns the exit code: no GPU is no error. */
int cli_info_devices(bool json);

#endif
