#include "calibrate/model.h"
#include "calibrate/config.h"
#include "calibrate/models/list.h"
#include <string.h>

enum { MODELS = sizeof(model_table) / sizeof(model_table[0]) };

const struct model *model_list(size_t *n)
{
	*n = MODELS;
	return model_table;
}

bool model_is_path(const char *name)
{
	return config_is_path(name);
}

int model_load(struct model *m, const char *name, struct err *e)
{
	const char *names[MODELS];
	for (size_t i = 0; i < MODELS; i++) {
		if (strcmp(model_table[i].name, name) == 0) {
			*m = model_table[i];
			return 0;
		}
		names[i] = model_table[i].name;
	}
	if (model_is_path(name))
		return model_config_load(m, name, e);
	err_unknown(e, "model", name, names, MODELS);
	return config_suggest(name, "config.json", e);
}
