#include "calibrate/profile.h"
#include "profiles_json.h" /* made from calibrate/profiles/ */
#include <string.h>

size_t profile_names(const char *const **names)
{
	*names = profile_json_names;
	return PROFILE_JSON_N;
}

struct profile *profile_built_in(const char *name)
{
	for (size_t i = 0; profile_json_names[i]; i++) {
		struct err e;

		if (strcmp(profile_json_names[i], name) != 0)
			continue;
		struct profile *p = profile_parse(profile_json[i], profile_json_size[i], name, &e);

		CHECK(p, "%s", e.text);
		return p;
	}
	return NULL;
}
