#include "calibrate/device.h"
#include "calibrate/config.h"
#include "calibrate/devices.h"
#include "calibrate/profile_json.h"
#include <string.h>

enum { DEVICES = sizeof(device_table) / sizeof(device_table[0]) };

const struct device *device_list(size_t *n)
{
	*n = DEVICES;
	return device_table;
}

const struct device *device_listed(const char *name)
{
	for (size_t i = 0; i < DEVICES; i++)
		if (strcmp(device_table[i].name, name) == 0)
			return &device_table[i];
	return NULL;
}

double device_link_bytes_s(const struct device *d, enum link_kind kind)
{
	switch (kind) {
	case LINK_NVLINK:
		return d->nvlink_bytes_s;
	case LINK_PCIE:
		return d->pcie_bytes_s;
	case LINK_NETWORK:
		return d->network_bytes_s;
	}
	CHECK(0, "link of kind %d", (int)kind);
}

double device_node_bytes_s(const struct device *d)
{
	return d->nvlink_bytes_s > 0 ? d->nvlink_bytes_s : d->pcie_bytes_s;
}

bool device_is_path(const char *name)
{
	return config_is_path(name);
}

/* A device of the user's own */

struct device_field {
	const char *key;
	size_t offset;
	double min, max;
	bool required;
	double init; /* where it is absent */
};

#define FIELD(member) .key = #member, .offset = offsetof(struct device, member)
static const struct device_field number_fields[] = {
	{FIELD(peak_bytes_s), .min = 1e6, .max = 1e18, .required = true},
	{FIELD(peak_flops), .min = 1e6, .max = 1e21, .required = true},
	{FIELD(gemm_t0_ns), .max = 1e9, .init = 4000},
	{FIELD(gemm_bytes_s), .min = 1e6, .max = 1e18, .init = -1},
	{FIELD(gemm_flops), .min = 1e6, .max = 1e21, .init = -1},
	{FIELD(nvlink_bytes_s), .max = 1e18},
	{FIELD(link_latency_ns), .max = 1e9, .init = 10000},
	{FIELD(pcie_bytes_s), .min = 1e6, .max = 1e18, .required = true},
	{FIELD(network_bytes_s), .min = 1e3, .max = 1e18, .init = 12.5e9},
	{FIELD(network_latency_ns), .max = 1e9, .init = 20000},
	{FIELD(host_us), .max = 1e6},
	{FIELD(host_seq_us), .max = 1e6},
	{FIELD(scope_cell_ns), .max = 1e9},
};
#undef FIELD
enum { NUMBER_FIELDS = sizeof(number_fields) / sizeof(number_fields[0]) };

/* What a GEMM reaches of the peaks where the file does not say: as on the H100, rounded. */
static const double gemm_bytes_share = 0.85, gemm_flops_share = 0.8;

static void check_keys(struct config *c)
{
	const char *names[NUMBER_FIELDS + 4] = {"name", "summary", "memory_bytes",
						"attention_scope"};
	size_t n = 4;

	for (size_t i = 0; i < NUMBER_FIELDS; i++)
		names[n++] = number_fields[i].key;
	config_known(c, names, n);
}

json_t *device_json(const struct device *d)
{
	json_t *o = json_pack("{s:o, s:o, s:I}", "name", config_json(d->name), "summary",
			      config_json(d->summary), "memory_bytes", (json_int_t)d->memory_bytes);

	for (size_t i = 0; o && i < NUMBER_FIELDS; i++) {
		double value;

		memcpy(&value, (const char *)d + number_fields[i].offset, sizeof(value));
		json_object_set_new(o, number_fields[i].key, json_real(value));
	}
	return o;
}

/* What it says must agree with what a cell costs, which alone decides. */
static void check_scope(struct config *c, const struct device *d)
{
	const char *scope = config_text(c, "attention_scope");
	bool unified = scope && strcmp(scope, "unified") == 0;

	if (scope && !unified && strcmp(scope, "sequence") != 0)
		config_fail(c, "attention_scope is '%s': it must be sequence or unified", scope);
	else if (scope && unified != (d->scope_cell_ns > 0))
		config_fail(c,
			    "attention_scope is %s and scope_cell_ns %g: what a token and a cell "
			    "take is above 0 where it is unified, and there alone",
			    scope, d->scope_cell_ns);
}

void device_read(struct config *c, struct device *d)
{
	check_keys(c);
	config_line(c, "name", d->name, sizeof(d->name));
	snprintf(d->summary, sizeof(d->summary), "%s", c->path);
	config_line(c, "summary", d->summary, sizeof(d->summary));
	d->memory_bytes = config_int(c, "memory_bytes", (int64_t)1 << 50);
	for (size_t i = 0; i < NUMBER_FIELDS; i++) {
		const struct device_field *f = &number_fields[i];
		double value = config_real(c, f->key, f->min, f->max, f->required, f->init);

		memcpy((char *)d + f->offset, &value, sizeof(value));
	}
	check_scope(c, d);
	if (d->gemm_bytes_s < 0)
		d->gemm_bytes_s = gemm_bytes_share * d->peak_bytes_s;
	if (d->gemm_flops < 0)
		d->gemm_flops = gemm_flops_share * d->peak_flops;
	if (d->gemm_bytes_s > d->peak_bytes_s)
		config_fail(c, "gemm_bytes_s is %g: it must be at most peak_bytes_s, %g",
			    d->gemm_bytes_s, d->peak_bytes_s);
	if (d->gemm_flops > d->peak_flops)
		config_fail(c, "gemm_flops is %g: it must be at most peak_flops, %g", d->gemm_flops,
			    d->peak_flops);
}

/* The device of a profile, which it owns. */
static void take_profile(struct device *d, struct profile *p)
{
	*d = p->device;
	d->profile = p;
}

/* A file holds a device, or a profile, which has one in it. */
static int load_file(struct device *d, const char *path, struct err *e)
{
	struct config_file file;
	struct device read = {.memory_bytes = 0};
	struct profile *p = NULL;

	if (config_open(&file, path, "device", e) < 0)
		return -1;
	config_name(read.name, sizeof(read.name), file.path);
	if (!file.config.failed && profile_is(file.root)) {
		p = profile_of_file(file.root, file.path, e);
		file.config.failed = !p;
	} else {
		device_read(&file.config, &read);
	}
	if (config_close(&file) < 0)
		return -1;
	*d = read;
	if (p)
		take_profile(d, p);
	return 0;
}

static int refuse_name(const char *name, struct err *e)
{
	const char *const *profiles;
	size_t n_profiles = profile_names(&profiles), n = 0;
	const char **names = xcalloc(DEVICES + n_profiles, sizeof(*names));

	for (; n < DEVICES; n++)
		names[n] = device_table[n].name;
	for (size_t i = 0; i < n_profiles; i++)
		if (!device_listed(profiles[i]))
			names[n++] = profiles[i];
	err_unknown(e, "device", name, names, n);
	free(names);
	return config_suggest(name, "JSON file", e);
}

int device_load(struct device *d, const char *name, struct err *e)
{
	const struct device *listed = device_listed(name);
	struct profile *p = profile_built_in(name);

	if (listed) {
		*d = *listed;
		d->profile = p;
		return 0;
	}
	if (p) {
		take_profile(d, p);
		return 0;
	}
	return device_is_path(name) ? load_file(d, name, e) : refuse_name(name, e);
}

void device_release(struct device *d)
{
	profile_free((struct profile *)(uintptr_t)d->profile);
	d->profile = NULL;
}
