/*
 * break_even.h - what an update costs, and from which size on `device: auto` gives it to a GPU.
 */
#ifndef ANT_TRAIN_WORTH_H
#define ANT_TRAIN_WORTH_H

#include "train/settings.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Multiply-adds of one update of all runs for each thread of the CPU from which a GPU pays.  20 runs of
 * lorenz63 (M 5, L 50, T 200, B 16; 4.8e6 each) take 188 us an update on an H200, and one of them 230 us on a
 * core of a 3.7 GHz Zen 4.
 */
#define ANT_GPU_BREAK_EVEN 4e6

/* Multiply-adds of one update of all runs, forward and backward. */
double ant_worth_work(const antler_settings *settings);

/* True: a GPU pays, and knows how. */
bool ant_worth_gpu(const antler_settings *settings);

/* The break-even in words, to be put behind the choice of a solver; empty unless the device was to be chosen.
 * gpu: that it was taken. */
void ant_worth_remark(const antler_settings *settings, bool gpu, char *text, size_t bytes);

#endif
