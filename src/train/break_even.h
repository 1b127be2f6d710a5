/*
 * break_even.h - the cost of an update, and the size from which `device: auto` takes a GPU.
 */
#ifndef ANT_TRAIN_BREAK_EVEN_H
#define ANT_TRAIN_BREAK_EVEN_H

#include "train/settings.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Multiply-adds of one update of all runs per CPU thread, from which a GPU is faster.  20 runs of
 * lorenz63 (M 5, L 50, T 200, B 16; 4.8e6 each) take 188 us an update on an H200, and one of them 230 us on a
 * core of a 3.7 GHz Zen 4.
 */
#define ANT_GPU_BREAK_EVEN 4e6

/* Multiply-adds of one update of all runs, forward and backward. */
double ant_break_even_work(const antler_settings *settings);

/* True: the work is at the break-even or above, and the GPU offers this solver and adjoint. */
bool ant_break_even_reached(const antler_settings *settings);

/* The break-even as text, to follow the choice of a solver; empty unless `device: auto`.  gpu: the GPU was
 * taken; gaps: of ant_learning_gap_limit. */
void ant_break_even_remark(const antler_settings *settings, bool gpu, const char *gaps, char *text,
                           size_t bytes);

#endif
