/* variant.h - names and options of one variant of a kernel file. */
#ifndef ANT_TESTS_VARIANT_H
#define ANT_TESTS_VARIANT_H

#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)

/* The last option, where the strength of forcing is not constant. */
#ifdef FORCING
#define FORCED " -DFORCING=" TEXT(FORCING)
#else
#define FORCED ""
#endif

/* Before it, where values may be missing. */
#ifdef PATTERNS
#define LACKING " -DPATTERNS=" TEXT(PATTERNS)
#else
#define LACKING ""
#endif

#endif
