/* version.c - the version, and how this library was built. */
#include "base/machine.h"
#include "version_config.h"

#include <stdio.h>

#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x
#define VERSION  TEXT(ANTLER_VERSION_MAJOR) "." TEXT(ANTLER_VERSION_MINOR) "." TEXT(ANTLER_VERSION_PATCH)

const char *antler_version(void)
{
    return VERSION;
}

const char *antler_build_info(void)
{
    static _Thread_local char line[512];
    snprintf(line, sizeof line, "antler %s (%s), %s, %s [%s], %s instructions", VERSION, ANT_GIT_REVISION,
             ANT_COMPILER, ANT_BUILD_TYPE, ANT_BUILD_FLAGS, ant_cpu_level_name(ant_cpu_level_best()));
    return line;
}
