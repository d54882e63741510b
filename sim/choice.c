#include "sim/choice.h"
#include "sim/engine.h"
#include <string.h>

#define POLICY(name) extern const struct policy_ops policy_##name;
#include "policies/list.h"
#undef POLICY

const struct policy_ops *const policies[] = {
#define POLICY(name) &policy_##name,
#include "policies/list.h"
#undef POLICY
	NULL};

const struct param common_params[] = {
	{.name = "stream",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct common_params, stream),
	 .init = "1",
	 .min = 1,
	 .max = 1e9,
	 .help = "tokens in a delivery to the client"},
	{.name = "swap_gib",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct common_params, swap_gib),
	 .init = "4",
	 .min = 0,
	 .max = 1e6,
	 .help = "GiB of host memory for swapped requests, a device"},
	{.name = "graph",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct common_params, graph),
	 .init = "0",
	 .min = 0,
	 .max = 65536,
	 .help = "tokens of the largest step captured in a graph: it is padded to 1, 2, 4 or a "
		 "multiple of 8; executor predict alone; 0: none"},
	{.name = "host_us",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct common_params, host_us),
	 .init = "0",
	 .min = 0,
	 .max = 1e6,
	 .help = "us of the scheduler's own work a step; 0: what the device says"},
	{.name = "host_seq_us",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct common_params, host_seq_us),
	 .init = "0",
	 .min = 0,
	 .max = 1e6,
	 .help = "us of it for each sequence of the step; 0: what the device says"},
	{.name = "async",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct common_params, async),
	 .init = "0",
	 .min = 0,
	 .max = 1,
	 .help = "1: that work goes on while the step before runs, with what was known then"},
	{.name = "fused_quant",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct common_params, fused_quant),
	 .init = "0",
	 .min = 0,
	 .max = 1,
	 .help = "1: the kernel before a GEMM in few bits quantises its activations, not a pass of "
		 "their own; where one was timed with it, it is left out, and the row notes "
		 "fused-quant"},
	{.name = NULL},
};

static const char *const first_tokens[] = {"prefill", "decode", NULL};
static const char *const links[] = {"given", "nvlink", "pcie", "network", NULL};

const struct param disaggregated_params[] = {
	{.name = "prefill",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct disaggregated_params, prefill),
	 .init = "1",
	 .min = 1,
	 .max = 10000,
	 .help = "prefill instances"},
	{.name = "decode",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct disaggregated_params, decode),
	 .init = "1",
	 .min = 1,
	 .max = 10000,
	 .help = "decode instances"},
	{.name = "prefill_tp",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct disaggregated_params, prefill_tp),
	 .init = "0",
	 .min = 0,
	 .max = 1024,
	 .help = "devices of a prefill instance; 0: as --tp"},
	{.name = "decode_tp",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct disaggregated_params, decode_tp),
	 .init = "0",
	 .min = 0,
	 .max = 1024,
	 .help = "devices of a decode instance; 0: as --tp"},
	{.name = "prefill_pp",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct disaggregated_params, prefill_pp),
	 .init = "0",
	 .min = 0,
	 .max = 1024,
	 .help = "pipeline stages of a prefill instance; 0: as --pp"},
	{.name = "decode_pp",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct disaggregated_params, decode_pp),
	 .init = "0",
	 .min = 0,
	 .max = 1024,
	 .help = "pipeline stages of a decode instance; 0: as --pp"},
	{.name = "policy",
	 .kind = PARAM_TEXT,
	 .offset = offsetof(struct disaggregated_params, policy),
	 .init = "paged",
	 .help = "policy of the prefill instances; its parameters can follow"},
	{.name = "bandwidth",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct disaggregated_params, bandwidth_gb_s),
	 .init = "50",
	 .min = 1e-6,
	 .max = 1e9,
	 .help = "GB/s of the link into a decode instance"},
	{.name = "latency",
	 .kind = PARAM_REAL,
	 .offset = offsetof(struct disaggregated_params, latency_s),
	 .init = "0",
	 .min = 0,
	 .max = 1e6,
	 .help = "seconds that a transfer takes beside its bytes"},
	{.name = "decode_seqs",
	 .kind = PARAM_INT,
	 .offset = offsetof(struct disaggregated_params, decode_seqs),
	 .init = "256",
	 .min = 1,
	 .max = 1e9,
	 .help = "running requests of a decode instance at most"},
	{.name = "ttft",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct disaggregated_params, ttft),
	 .init = "prefill",
	 .choices = first_tokens,
	 .help = "the first token is the prefill's, or that is discarded and decoded again"},
	{.name = "link",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct disaggregated_params, link),
	 .init = "given",
	 .choices = links,
	 .help = "bandwidth=, or the device's: NVLink (one for each device), PCIe, network"},
	{.name = NULL},
};

const struct preset presets[] = {
	{"fastertransformer", "static:size=32,reply=batch",
	 "request-level batches; replies leave when the batch ends (Orca, OSDI'22, section 2)"},
	{"orca-max", "continuous:reserve=max,alloc=buddy",
	 "PagedAttention, SOSP'23, section 6.1: contiguous chunks of a buddy allocator"},
	{"orca-pow2", "continuous:reserve=pow2,alloc=buddy",
	 "PagedAttention, SOSP'23, section 6.1: contiguous chunks of a buddy allocator"},
	{"orca-oracle", "continuous:reserve=oracle,alloc=buddy",
	 "PagedAttention, SOSP'23, section 6.1: contiguous chunks of a buddy allocator"},
	/* it recomputes requests of one sequence, and swaps out those of several, which traces have
	 * not */
	{"vllm-sosp", "paged:chunk=0,mixed=on,max_seqs=256,max_batched_tokens=2560",
	 "PagedAttention, SOSP'23: the authors' system, the limits of its first release"},
	{"vllm-0.2", "paged:chunk=0,max_seqs=256,max_batched_tokens=8192,max_paddings=256",
	 "vLLM 0.2, its default limits for a context of 8192; prompts are padded"},
	{"vllm-v0", "paged:chunk=0,max_seqs=256,max_batched_tokens=8192",
	 "vLLM's first scheduler, its default limits for a context of 8192"},
	{"vllm-v1", "paged:chunk=8192,max_seqs=1024",
	 "vLLM's second scheduler, its defaults for an API server on 70 GiB or more (on less, and "
	 "on any "
	 "A100: chunk=2048,max_seqs=256), without its prefix cache (prefix=on)"},
	{"sarathi", "paged:chunk=512,max_seqs=128",
	 "Sarathi-Serve, OSDI'24, section 5: the budget for a strict target"},
	{"distserve",
	 "disaggregated:policy=paged,max_seqs=128,max_batched_tokens=8192,decode_seqs=1024,"
	 "swap_gib=16",
	 "DistServe, OSDI'24: limits of the authors' engine"},
	{NULL, NULL, NULL},
};

const struct policy_ops *policy_find(const char *name)
{
	for (size_t i = 0; policies[i]; i++)
		if (!strcmp(policies[i]->name, name))
			return policies[i];
	return NULL;
}

void *policy_state_new(const struct policy_ops *ops)
{
	void *state = xcalloc(1, ops->state_size + 1);

	if (ops->params)
		param_defaults(ops->params, state);
	return state;
}

/* "NAME" or "NAME:REST": copies the name, returns the rest or NULL. */
static const char *split_name(const char *text, char *name, size_t size)
{
	size_t n = strcspn(text, ":");

	snprintf(name, size, "%.*s", (int)(n < size ? n : size - 1), text);
	return text[n] == ':' ? text + n + 1 : NULL;
}

static int unknown_policy(const char *name, bool with_presets, struct err *e)
{
	const char *names[64];
	size_t n = 0;

	for (size_t i = 0; policies[i]; i++)
		names[n++] = policies[i]->name;
	if (with_presets) {
		names[n++] = shape_disaggregated.name;
		for (size_t i = 0; presets[i].name; i++)
			names[n++] = presets[i].name;
	}
	return err_unknown(e, "policy", name, names, n);
}

/* "expected one of static, ...", in `text`. */
static const char *policies_there(char *text, size_t size)
{
	int used = snprintf(text, size, "expected one of ");

	for (size_t i = 0; policies[i] && used >= 0 && (size_t)used < size; i++)
		used += snprintf(text + used, size - (size_t)used, "%s%s", i ? ", " : "",
				 policies[i]->name);
	return text;
}

/* The value of policy= in a shape's parameters decides which tables know the others. */
static int find_inner(struct choice *c, const char *text, struct err *e)
{
	const char *at = text;
	char name[PARAM_TEXT_MAX] = "", list[128];

	for (; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, "policy=", 7))
			snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 7, ","), at + 7);
	if (!name[0] && c->policy)
		return 0;
	const struct policy_ops *inner = policy_find(name[0] ? name : "paged");

	if (!inner && !strcmp(name, shape_disaggregated.name))
		return err_set(e, "%s: policy=%s: the prefill instances are not apart again; %s",
			       c->name, name, policies_there(list, sizeof(list)));
	for (size_t i = 0; !inner && presets[i].name; i++)
		if (!strcmp(presets[i].name, name))
			return err_set(e,
				       "%s: policy=%s: a preset cannot stand here, its parameters "
				       "can (%.200s); %s",
				       c->name, name, presets[i].means,
				       policies_there(list, sizeof(list)));
	if (!inner)
		return unknown_policy(name, false, e);
	if (inner != c->policy) {
		free(c->state);
		c->policy = inner;
		c->state = policy_state_new(inner);
	}
	return 0;
}

static int parse_params(struct choice *c, const char *owner, const char *text, struct err *e)
{
	struct param_set sets[3];
	size_t n = 0;

	if (c->disaggregated) {
		if (find_inner(c, text, e) < 0)
			return -1;
		sets[n++] = (struct param_set){disaggregated_params, &c->shape};
	}
	if (c->policy->params)
		sets[n++] = (struct param_set){c->policy->params, c->state};
	sets[n++] = (struct param_set){common_params, &c->common};
	return param_parse(sets, n, owner, text, e);
}

static void print_params(struct choice *c)
{
	char *buf = c->params;

	buf[0] = '\0';
	if (c->disaggregated) {
		param_print(disaggregated_params, &c->shape, buf, sizeof(c->params));
		strcat(buf, ",");
	}
	if (c->policy->params) {
		param_print(c->policy->params, c->state, buf + strlen(buf),
			    sizeof(c->params) - strlen(buf));
		strcat(buf, ",");
	}
	param_print(common_params, &c->common, buf + strlen(buf), sizeof(c->params) - strlen(buf));
}

/* The policy or shape called `name`, at its defaults. */
static int set_base(struct choice *c, const char *name, struct err *e)
{
	param_defaults(common_params, &c->common);
	if (!strcmp(name, shape_disaggregated.name)) {
		c->disaggregated = true;
		param_defaults(disaggregated_params, &c->shape);
		return 0;
	}
	c->policy = policy_find(name);
	if (!c->policy)
		return unknown_policy(name, true, e);
	c->state = policy_state_new(c->policy);
	return 0;
}

/* Parameters of the shape that contradict each other. `given`: as written, or NULL. */
static int check_shape(const struct choice *c, const char *given, struct err *e)
{
	if (c->disaggregated && c->shape.link != MOVE_GIVEN && param_is_given(given, "bandwidth"))
		return err_set(e,
			       "%s: link=%s takes the bandwidth of the device; bandwidth= is for "
			       "link=given",
			       c->name, links[c->shape.link]);
	return 0;
}

int choice_parse(struct choice *c, const char *text, struct err *e)
{
	char base[64];

	*c = (struct choice){0};
	const char *given = split_name(text, c->name, sizeof(c->name));
	const char *preset_params = NULL;

	snprintf(c->given, sizeof(c->given), "%s", given ? given : "");

	snprintf(base, sizeof(base), "%s", c->name);
	for (size_t i = 0; presets[i].name; i++)
		if (!strcmp(presets[i].name, c->name))
			preset_params = split_name(presets[i].means, base, sizeof(base));
	if (set_base(c, base, e) < 0 || parse_params(c, c->name, preset_params, e) < 0 ||
	    parse_params(c, c->name, given, e) < 0 || check_shape(c, given, e) < 0 ||
	    (c->policy->check && c->policy->check(c->state, e) < 0)) {
		choice_release(c);
		return -1;
	}
	print_params(c);
	return 0;
}

bool choice_remembers(const struct choice *c)
{
	return c->policy->pool && c->policy->pool(c->state) == POOL_PREFIX;
}

void choice_release(struct choice *c)
{
	free(c->state);
	c->state = NULL;
}
