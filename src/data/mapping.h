/*
 * mapping.h - large arrays of plain files are mapped into memory in place of being read, so that they may be
 * larger than it.  A file that becomes shorter while it is mapped raises SIGBUS.
 */
#ifndef ANT_DATA_MAPPING_H
#define ANT_DATA_MAPPING_H

#include "data/source.h"

typedef struct ant_mapping {
    void *base; /* of the file; NULL: nothing is mapped */
    size_t bytes;
} ant_mapping;

/* Arrays of at least so many bytes are mapped. */
enum { ANT_MAPPED_LEAST = 1 << 28 };

/*
 * Map the file of a source up to `bytes` behind its position, where what follows is worth it and can be
 * mapped and used in place as values of `item` bytes.  False: nothing has changed, and the values are to be
 * read.
 */
bool ant_mapping_make(const ant_source *source, uint64_t bytes, size_t item, ant_mapping *mapping);

/* Let the values be changed: in this process alone, not in the file. */
antler_status ant_mapping_write(ant_mapping *mapping); /* accepts an empty one */

void ant_mapping_free(ant_mapping *mapping); /* accepts an empty one */

#endif
