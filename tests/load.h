/* load.h: a model or device that a test knows to exist; fails the test otherwise. */
#ifndef TESTS_LOAD_H
#define TESTS_LOAD_H

#include "calibrate/device.h"
#include "calibrate/model.h"

struct model load_model(const char *name);
const struct device *load_device(const char *name);

#endif
