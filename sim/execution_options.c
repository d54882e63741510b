#include "sim/execution_options.h"
#include "sim/cmd_trace.h"
#include "traces/outfile.h"
#include <string.h>

/* KV slots of an instance whose steps are run on a device that nobody described. */
enum { POOL_TOK = 65536 };

static int check_fixed(const char *params, struct err *e)
{
	char text[256];
	struct executor *x = executor_fixed_new(params, text, sizeof(text), e);

	if (!x)
		return -1;
	executor_free(x);
	return 0;
}

static int set_recorded(struct run_options *o, struct err *e)
{
	if (!o->executor_params || !o->executor_params[0])
		return err_set(e, "executor replay needs a recording (--record): replay:FILE");
	o->input_failed = recording_load_facts(o->executor_params, &o->recorded, e) < 0;
	return o->input_failed ? -1 : 0;
}

static int unknown(const char *text, struct err *e)
{
	const char *names[N_EXECUTORS];

	for (int i = 0; i < N_EXECUTORS; i++)
		names[i] = executor_kinds[i].name;
	return err_unknown(e, "executor", text, names, N_EXECUTORS);
}

int execution_set_executor(struct run_options *o, struct err *e)
{
	const char *text = o->executor_text;
	size_t n = strcspn(text, ":");

	o->executor = 0;
	while (o->executor < N_EXECUTORS &&
	       (strlen(executor_kinds[o->executor].name) != n ||
		strncmp(text, executor_kinds[o->executor].name, n) != 0))
		o->executor++;
	if (o->executor == N_EXECUTORS)
		return unknown(text, e);
	o->executor_params = text[n] ? text + n + 1 : NULL;
	if (o->executor == EXECUTOR_FIXED)
		return check_fixed(o->executor_params, e);
	if (o->executor == EXECUTOR_REPLAY)
		return set_recorded(o, e);
	if (o->executor_params)
		return err_set(e, "executor %s takes no parameters",
			       executor_kinds[o->executor].name);
	return 0;
}

static int other_text(const struct run_options *o, const char *option, const char *given,
		      const char *recorded, struct err *e)
{
	return err_set(e, "%s is %.100s, and %.600s was recorded %s%.100s: leave it out", option,
		       given, o->executor_params, recorded[0] ? "with " : "without one", recorded);
}

/* What is given is what was recorded, and what is not given is too; 0: the recording has none. */
static int settle_number(const struct run_options *o, const char *option, bool given, int64_t *is,
			 int64_t recorded, struct err *e)
{
	if (recorded > 0 && given && *is != recorded)
		return err_set(e, "%s is %lld, and %.600s was recorded with %lld: leave it out",
			       option, (long long)*is, o->executor_params, (long long)recorded);
	if (recorded > 0)
		*is = recorded;
	return 0;
}

/* Times of one model are not those of another one, whatever a row would call them. */
static int settle_recorded(struct run_options *o, struct err *e)
{
	const struct recording_facts *f = &o->recorded;
	struct hardware_options *h = &o->hardware;

	if (o->has_model && strcmp(o->model.name, f->model) != 0)
		return other_text(o, "-m", o->model.name, f->model, e);
	if (o->has_device && strcmp(o->device.name, f->device) != 0 &&
	    strcmp(o->device.name, f->data_sheet) != 0)
		return other_text(o, "-d", o->device.name, f->device, e);
	if (settle_number(o, "--tp", h->tp_given, &o->memory.tp, f->tp, e) < 0 ||
	    settle_number(o, "--kv-bits", h->kv_bits_given, &o->memory.kv_bits, f->kv_bits, e) < 0)
		return -1;
	if (!h->weight_bits_given)
		h->weight_bits = 16;
	if (settle_number(o, "--weight-bits", h->weight_bits_given, &h->weight_bits, f->weight_bits,
			  e) < 0)
		return -1;
	h->weight_bits_given = true;
	return 0;
}

int execution_check_needs(struct run_options *o, struct err *e)
{
	const struct executor_kind *kind = &executor_kinds[o->executor];

	if (o->executor == EXECUTOR_REPLAY)
		return settle_recorded(o, e);

	if (o->executor == EXECUTOR_PREDICT && !(o->has_model && o->has_device))
		return err_set(e,
			       "-m MODEL and -d DEVICE are needed to predict step times (omnibus "
			       "list models, omnibus list devices)");
	if (!kind->measures)
		return 0;
	if (!o->has_model)
		return err_set(e,
			       "executor %s runs the layers of a model: -m MODEL is needed "
			       "(omnibus list models)",
			       kind->name);
	if (hardware_options_weight_bits(&o->hardware) != 16)
		return err_set(e,
			       "executor %s runs layers whose weights are in the backend's own "
			       "type: leave out --weight-bits %lld",
			       kind->name, (long long)o->hardware.weight_bits);
	if (!o->has_device && o->memory.kv_tokens == 0 && o->memory.kv_blocks == 0)
		o->memory.kv_tokens =
			POOL_TOK > o->memory.block_tok ? POOL_TOK : o->memory.block_tok;
	return 0;
}

/* Whether some instance of the choice is a pipeline. */
static bool is_piped(const struct run_options *o, const struct choice *c)
{
	const struct disaggregated_params *d = &c->shape;

	return (d->prefill_pp ? d->prefill_pp : o->memory.pp) > 1 ||
	       (c->disaggregated && (d->decode_pp ? d->decode_pp : o->memory.pp) > 1);
}

/* Steps that are run, or given as they were run, are whole ones. */
static int check_pipelines(const struct run_options *o, struct err *e)
{
	bool runs = executor_kinds[o->executor].measures || o->executor == EXECUTOR_REPLAY;

	for (size_t i = 0; i < o->n_choices && (runs || o->recording); i++)
		if (is_piped(o, &o->choices[i]))
			return err_set(e,
				       "%s: %s takes whole steps, and the stages of a pipeline "
				       "(--pp) have parts of them: leave out one of the two",
				       o->choices[i].name,
				       runs ? executor_kinds[o->executor].name : "--record");
	return 0;
}

/* What takes simulated time cannot take real time. */
static int check_wall_choice(const struct choice *c, struct err *e)
{
	if (c->disaggregated)
		return err_set(e,
			       "--clock wall: %s moves KV between instances, and there is one "
			       "device: use --clock sim",
			       c->name);
	if (param_chooses(c->policy->params, c->state, "preempt", "swap"))
		return err_set(e,
			       "--clock wall: %s: preempt=swap moves KV that is not there; use "
			       "preempt=recompute, or --clock sim",
			       c->name);
	if (c->common.async)
		return err_set(e,
			       "--clock wall: %s: async=1 plans beside a step, and here the "
			       "scheduler waits for it: use async=0, or --clock sim",
			       c->name);
	if (c->common.host_us > 0 || c->common.host_seq_us > 0)
		return err_set(e,
			       "--clock wall: %s: the scheduler takes its real time: leave out "
			       "host_us and host_seq_us, or use --clock sim",
			       c->name);
	return 0;
}

static int check_wall(struct run_options *o, struct err *e)
{
	o->wall = !strcmp(o->clock_text, "wall");
	if (!o->wall && strcmp(o->clock_text, "sim") != 0)
		return err_set(e, "--clock '%s' is neither sim nor wall", o->clock_text);
	if (!o->wall)
		return 0;
	if (!executor_kinds[o->executor].measures)
		return err_set(e,
			       "--clock wall needs steps that are run: -x cpu or -x cuda, not %s",
			       executor_kinds[o->executor].name);
	if (o->instances > 1)
		return err_set(e,
			       "--clock wall: %lld instances would need as many devices: leave "
			       "out --instances, or use --clock sim",
			       (long long)o->instances);
	for (size_t i = 0; i < o->n_choices; i++)
		if (check_wall_choice(&o->choices[i], e) < 0)
			return -1;
	return 0;
}

static int check_recording(const struct run_options *o, struct err *e)
{
	size_t runs = o->n_choices * o->n_rates;

	if (!o->recording)
		return 0;
	if (!o->recording[0] || !strcmp(o->recording, "-"))
		return err_set(e, "--record needs a file, for -x replay:FILE");
	if (runs > 1)
		return err_set(e,
			       "--record keeps one run, and %zu are asked for: give one -p, and "
			       "one --rate at most",
			       runs);
	const char *const others[] = {
		o->executor == EXECUTOR_REPLAY ? o->executor_params : NULL,
		o->has_model && model_is_path(o->hardware.model_name) ? o->hardware.model_name
								      : NULL,
		o->has_device && device_is_path(o->hardware.device_name) ? o->hardware.device_name
									 : NULL,
		o->db,
	};

	if (outfile_check_all(o->recording, others, sizeof(others) / sizeof(others[0]), e) < 0)
		return -1;
	return cmd_trace_check_output(o->recording, o->spec.source, e);
}

int execution_check(struct run_options *o, struct err *e)
{
	if (executor_kinds[o->executor].measures)
		o->jobs = 1;
	if (check_wall(o, e) < 0 || check_pipelines(o, e) < 0)
		return -1;
	return check_recording(o, e);
}
