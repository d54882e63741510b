/*
 * form_parts.h: what the formulas of form_*.c share.
 */
#ifndef CALIBRATE_FORM_PARTS_H
#define CALIBRATE_FORM_PARTS_H

#include "calibrate/form.h"

/* (a^p + b^p)^(1/p) of two times: their sum for p = 1, the larger for p without limit. */
double form_norm(double a, double b, double p);

/* The time that a tenth of the points stay below: a latency to start from. */
double form_low_ns(const struct points *p);
/* Work by time that a tenth of the points exceed: a rate to start from. */
double form_high_rate(const struct points *p, double (*work)(const struct point *at));

uint64_t form_hash(uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/* Each NULL at the end. */
extern const struct form *const forms_gemm[],
	*const forms_prefill[],
		*const forms_decode[],
			*const forms_mixed[],
				*const forms_norm[],
					*const forms_rope[],
						*const forms_act[],
							*const forms_embed[],
								*const forms_sample[],
									*const forms_allreduce[],
										*const forms_copy_to_host[],
											*const forms_copy_from_host
												[],
													*const forms_copy_device
														[];

#endif
