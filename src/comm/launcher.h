/* launcher.h - whether a launcher of MPI has started this process, by its environment. */
#ifndef ANT_COMM_LAUNCHER_H
#define ANT_COMM_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

enum { ANT_LAUNCHER_PATH = 4096 };

/* Processes that it has started; 1: none, or none that has others. */
size_t ant_launcher_size(void);

/* The number of this process among those on this machine, from 0; 0 where it is not known. */
size_t ant_launcher_place(void);

/* Whether it is that of Open MPI. */
bool ant_launcher_is_openmpi(void);

/* The folder lib beside the folder of the launcher's own program, for place 0, or of the first mpiexec on
   the PATH, for place 1; false: it is not known. */
bool ant_launcher_folder(size_t place, char folder[ANT_LAUNCHER_PATH]);

#endif
