/* synth.h: the parameters of every generator, for --help. */
#ifndef TRACES_SYNTH_H
#define TRACES_SYNTH_H

#include "sim/param.h"

extern const struct param synth_params_table[];

#endif
