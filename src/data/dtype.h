/* dtype.h - the number types that a file may hold, as NumPy names them. */
#ifndef ANT_DATA_DTYPE_H
#define ANT_DATA_DTYPE_H

#include <stddef.h>
#include <stdint.h>

/* X(enum name, C type, NumPy name, kind letter of the array-interface protocol) */
#define ANT_DTYPE_LIST(X)                                                                                    \
    X(F64, double, "float64", 'f')                                                                           \
    X(F32, float, "float32", 'f')                                                                            \
    X(I8, int8_t, "int8", 'i')                                                                               \
    X(I16, int16_t, "int16", 'i')                                                                            \
    X(I32, int32_t, "int32", 'i')                                                                            \
    X(I64, int64_t, "int64", 'i')                                                                            \
    X(U8, uint8_t, "uint8", 'u')                                                                             \
    X(U16, uint16_t, "uint16", 'u')                                                                          \
    X(U32, uint32_t, "uint32", 'u')                                                                          \
    X(U64, uint64_t, "uint64", 'u')                                                                          \
    X(BOOL, uint8_t, "bool", 'b')

typedef enum ant_dtype {
#define ANT_DTYPE_ENUM(name, type, text, kind) ANT_##name,
    ANT_DTYPE_LIST(ANT_DTYPE_ENUM)
#undef ANT_DTYPE_ENUM
} ant_dtype;

size_t ant_dtype_size(ant_dtype dtype);      /* bytes */
const char *ant_dtype_name(ant_dtype dtype); /* "float64" */

#endif
