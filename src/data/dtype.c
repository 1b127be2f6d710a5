/* dtype.c - sizes and names of number types. */
#include "data/dtype.h"

size_t ant_dtype_size(ant_dtype dtype)
{
    switch (dtype) {
#define SIZE_CASE(name, type, text, kind)                                                                    \
    case ANT_##name:                                                                                         \
        return sizeof(type);
        ANT_DTYPE_LIST(SIZE_CASE)
#undef SIZE_CASE
    }
    return 0;
}

const char *ant_dtype_name(ant_dtype dtype)
{
    switch (dtype) {
#define NAME_CASE(name, type, text, kind)                                                                    \
    case ANT_##name:                                                                                         \
        return text;
        ANT_DTYPE_LIST(NAME_CASE)
#undef NAME_CASE
    }
    return "unknown";
}
