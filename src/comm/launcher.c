/* launcher.c - variables that mpiexec, mpirun and srun set for the processes that they start. */
#include "comm/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A rank and how many there are.  The first row whose two variables are set counts. */
static const struct {
    const char *rank, *size;
} variables[] = {
    {"PMI_RANK", "PMI_SIZE"},                         /* mpiexec of MPICH and its kin; srun --mpi=pmi2 */
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, /* mpiexec of Open MPI */
    {"PALS_RANKID", "PALS_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, /* srun; a batch script alone has no step of several tasks */
};

size_t ant_launcher_size(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *rank = getenv(variables[i].rank), *size = getenv(variables[i].size);
        if (rank == NULL || size == NULL)
            continue;
        const unsigned long count = strtoul(size, NULL, 10);
        return count > 1 ? (size_t)count : 1;
    }
    return 1;
}

size_t ant_launcher_place(void)
{
    static const char *const names[] = {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID",
                                        "SLURM_LOCALID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (getenv(names[i]) != NULL)
            return (size_t)strtoul(getenv(names[i]), NULL, 10);
    }
    return 0;
}

bool ant_launcher_is_openmpi(void)
{
    return getenv("PMI_RANK") == NULL && getenv("OMPI_COMM_WORLD_RANK") != NULL;
}

/* "/opt/mpi/bin/mpiexec" -> "/opt/mpi/lib" */
static bool beside(char path[ANT_LAUNCHER_PATH])
{
    for (size_t part = 0; part < 2; part++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return false;
        *slash = '\0';
    }
    const size_t used = strlen(path);
    if (used + sizeof "/lib" > ANT_LAUNCHER_PATH)
        return false;
    memcpy(path + used, "/lib", sizeof "/lib");
    return true;
}

/* The program of the parent process. */
static bool find_parent(char path[ANT_LAUNCHER_PATH])
{
    char link_name[64];
    snprintf(link_name, sizeof link_name, "/proc/%ld/exe", (long)getppid());
    const ssize_t length = readlink(link_name, path, ANT_LAUNCHER_PATH - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return true;
}

static bool find_on_path(char path[ANT_LAUNCHER_PATH])
{
    const char *rest = getenv("PATH");
    while (rest != NULL && *rest != '\0') {
        const size_t length = strcspn(rest, ":");
        const int used = snprintf(path, ANT_LAUNCHER_PATH, "%.*s/mpiexec", (int)length, rest);
        if (length > 0 && used < ANT_LAUNCHER_PATH && access(path, X_OK) == 0)
            return true;
        rest += length + (rest[length] == ':');
    }
    return false;
}

bool ant_launcher_folder(size_t place, char folder[ANT_LAUNCHER_PATH])
{
    return (place == 0 ? find_parent(folder) : find_on_path(folder)) && beside(folder);
}
