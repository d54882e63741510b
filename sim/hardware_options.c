#include "sim/hardware_options.h"

static int64_t bytes_of(double gib)
{
	return (int64_t)(gib * 1073741824.0 + 0.5);
}

int hardware_options_check(const struct hardware_options *o, struct memory_want *w, struct err *e)
{
	if (!(w->utilization > 0))
		return err_set(e, "--utilization is %g: it must be above 0 and at most 1",
			       w->utilization);
	if (o->memory_given && !(o->memory_gib > 0))
		return err_set(e, "--memory is %g GiB: it must be above 0", o->memory_gib);
	if (w->kv_tokens > 0 && w->kv_blocks > 0)
		return err_set(e, "--kv-tokens and --kv-blocks both set the KV pool; give one of "
				  "them");
	if (model_check_kv_bits(w->kv_bits, e) < 0 ||
	    model_check_weight_bits(hardware_options_weight_bits(o), e) < 0)
		return -1;
	if (o->memory_given)
		w->memory_bytes = bytes_of(o->memory_gib);
	if (o->reserve_given)
		w->reserve_bytes = bytes_of(o->reserve_gib);
	return 0;
}

int64_t hardware_options_weight_bits(const struct hardware_options *o)
{
	return o->weight_bits_given ? o->weight_bits : 16;
}

void hardware_options_apply(const struct hardware_options *o, struct model *m)
{
	int64_t bits = hardware_options_weight_bits(o);

	m->weight_bits = bits == 16 ? 0 : bits;
}
