/*
 * mpi.h - the few functions of MPI that ranks need, from a library that is opened at run time.
 *
 * Libraries differ in the form of their handles and in the values of their constants: the standard ABI of
 * MPI 5, that of MPICH and that of Open MPI.  Which one a library has is seen from its symbols.
 */
#ifndef ANT_COMM_MPI_H
#define ANT_COMM_MPI_H

#include "base/status.h"

#include <stddef.h>

/* Open a library, begin MPI, and say which rank this is.  ANTLER_MPI names the library. */
antler_status ant_mpi_open(size_t *rank, size_t *size);

/* Rank r's bytes of the array begin at first[r] and are count[r].  count, first: (size) */
antler_status ant_mpi_gather(void *array, const int *count, const int *first);
antler_status ant_mpi_broadcast(void *bytes, int count);

void ant_mpi_close(void);
void ant_mpi_abort(int code);

#endif
