/* deer.cu: with diagonals alone. */
#define VARIANT   deer_diagonal
#define DIAGONAL  1
#include "shape_plain.h"

#include "run_deer.h"
