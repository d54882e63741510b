#include "sim/link.h"

int link_bytes_s(const struct choice *c, const struct device *d, int64_t tp, double *bytes_s,
		 struct err *e)
{
	static const struct {
		const char *name;
		enum link_kind kind;
	} links[] = {[MOVE_NVLINK] = {"nvlink", LINK_NVLINK},
		     [MOVE_PCIE] = {"pcie", LINK_PCIE},
		     [MOVE_NETWORK] = {"network", LINK_NETWORK}};
	const struct disaggregated_params *p = &c->shape;
	int64_t prefill_tp = p->prefill_tp ? p->prefill_tp : tp;
	int64_t decode_tp = p->decode_tp ? p->decode_tp : tp;

	*bytes_s = 0;
	if (!c->disaggregated || p->link == MOVE_GIVEN)
		return 0;
	if (!d)
		return err_set(e, "%s: link=%s needs -d DEVICE to know its bandwidth", c->name,
			       links[p->link].name);
	*bytes_s = device_link_bytes_s(d, links[p->link].kind);
	if (!(*bytes_s > 0))
		return err_set(e, "%s: device %s has no link=%s; link=pcie is what it has", c->name,
			       d->name, links[p->link].name);
	if (p->link == MOVE_NVLINK)
		*bytes_s *= (double)(prefill_tp < decode_tp ? prefill_tp : decode_tp);
	return 0;
}
