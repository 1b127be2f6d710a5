/*
 * sidecar.h - facts of a text file in a JSON file of the same name and ".json": dt, scaling, inputs.  The
 * text itself is then a header and rows, which every program reads.
 *
 *     free.csv.json  {"antler_table": 1, "bytes": 5821, "names": ["x", "y"], "inputs": 0, "header": true,
 *                     "dt": 0.01, "mean": [...], "scale": [...]}
 *
 * "time": true says that the first column is the time axis, and no variable.  "bytes" is the size of the text
 * file.  A file of another size has been changed since, and its scaling may not be that of its values, so it
 * is refused.
 */
#ifndef ANT_DATA_SIDECAR_H
#define ANT_DATA_SIDECAR_H

#include "data/csv_comments.h"
#include "data/series.h"

/*
 * Facts of the text file `path`, which has `bytes` bytes, are added to `facts`.  No such file, or one that
 * another program wrote, changes nothing.
 */
antler_status ant_sidecar_read(const char *path, uint64_t bytes, ant_csv_comments *facts);

/*
 * Write the facts of a series that is being saved as the text file `path` of `bytes` bytes.  Without any
 * fact that the text lacks, an older file of facts is removed.  `header`: a name looks like data.
 */
antler_status ant_sidecar_write(const antler_series *series, const char *path, uint64_t bytes, bool header);

#endif
