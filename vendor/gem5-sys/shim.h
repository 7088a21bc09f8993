/* The whole C interface to a libgem5 that was built with its C++ configuration support.
 *
 * gem5 keeps global state: a process loads one configuration and runs one simulation, then ends. Every function that
 * gives an int gives 0 on success; otherwise tickmark_gem5_error says in one line what went wrong. No C++ type and no
 * exception crosses. */
#ifndef TICKMARK_GEM5_SHIM_H
#define TICKMARK_GEM5_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tickmark_gem5 tickmark_gem5;

/* Where a simulation stands when it has stopped. */
typedef struct tickmark_gem5_stop {
    /* The code that came with the exit event: the guest's exit code, where it exited. */
    int64_t code;
    /* Ticks and retired instructions so far. */
    uint64_t ticks;
    uint64_t instructions;
} tickmark_gem5_stop;

/* Loads a configuration (config.ini, as gem5's Python writes it) without building it. `output` is the folder for gem5's
 * files. NULL: see tickmark_gem5_error(NULL). To be called once in a process. */
tickmark_gem5 *tickmark_gem5_load(const char *configuration, const char *output);

/* What went wrong last; never NULL. */
const char *tickmark_gem5_error(const tickmark_gem5 *simulation);

/* Sets a parameter of an object, before the start. */
int tickmark_gem5_set(tickmark_gem5 *simulation, const char *object, const char *parameter, const char *value);

/* Sets a parameter that is a list. */
int tickmark_gem5_set_list(tickmark_gem5 *simulation, const char *object, const char *parameter,
                           const char *const *values, size_t count);

/* Where the guest's dynamic linker is looked for; before the start. */
int tickmark_gem5_set_interpreter_folder(tickmark_gem5 *simulation, const char *folder);

/* Builds all objects and puts the program in place. `core` is the path of the core, such as "system.cpu". */
int tickmark_gem5_start(tickmark_gem5 *simulation, const char *core);

/* Runs until gem5 leaves its simulation. */
int tickmark_gem5_run(tickmark_gem5 *simulation, tickmark_gem5_stop *stop);

/* Why it left last, in gem5's words; valid until the next run. */
const char *tickmark_gem5_cause(const tickmark_gem5 *simulation);

/* Writes all statistics as stats.txt into the output folder. */
int tickmark_gem5_dump(tickmark_gem5 *simulation);

/* The value of one statistic, after a dump; the name is that of stats.txt, and a vector's is its total. */
int tickmark_gem5_statistic(tickmark_gem5 *simulation, const char *name, double *value);

#ifdef __cplusplus
}
#endif

#endif
