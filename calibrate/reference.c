/* Plain loops in double precision. */

#include "calibrate/reference.h"
#include <math.h>

void reference_gemm(const double *x, const float *w, const float *bias, int64_t m, int64_t n,
		    int64_t k, double *y)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			double sum = bias ? (double)bias[j] : 0;
#pragma omp simd reduction(+ : sum)
			for (int64_t l = 0; l < k; l++)
				sum += x[i * k + l] * (double)w[j * k + l];
			y[i * n + j] = sum;
		}
}

static void norm_row(double *x, const double *add, const float *weight, const float *bias,
		     int64_t n, double *y)
{
	double mean = 0, square = 0;

	for (int64_t i = 0; i < n; i++) {
		x[i] += add ? add[i] : 0;
		mean += bias ? x[i] / (double)n : 0;
	}
	for (int64_t i = 0; i < n; i++)
		square += (x[i] - mean) * (x[i] - mean) / (double)n;
	double scale = 1 / sqrt(square + WEIGHTS_NORM_EPS);
	for (int64_t i = 0; i < n; i++)
		y[i] = (x[i] - mean) * scale * (double)weight[i] + (bias ? (double)bias[i] : 0);
}

void reference_norm(double *x, const double *add, const float *weight, const float *bias, int64_t m,
		    int64_t n, double *y)
{
	for (int64_t i = 0; i < m; i++)
		norm_row(x + i * n, add ? add + i * n : NULL, weight, bias, n, y + i * n);
}

void reference_rope(double *x, int64_t heads, int64_t head_dim, int64_t position)
{
	int64_t half = head_dim / 2;

	for (int64_t h = 0; h < heads; h++)
		for (int64_t i = 0; i < half; i++) {
			double turn = -2.0 * (double)i / (double)head_dim;
			double angle = (double)position * pow(WEIGHTS_ROPE_THETA, turn);
			double *a = &x[h * head_dim + i], *b = a + half, first = *a;
			*a = first * cos(angle) - *b * sin(angle);
			*b = first * sin(angle) + *b * cos(angle);
		}
}

static double silu(double x)
{
	return x / (1 + exp(-x));
}

static double gelu(double x)
{
	return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

void reference_act(const double *x, bool gated, int64_t m, int64_t n, double *y)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			y[i * n + j] = gated ? silu(x[2 * i * n + j]) * x[2 * i * n + n + j]
					     : gelu(x[i * n + j]);
}

/* One query with the keys and values of its KV head, of which it sees `ctx`. */
static void attend(const struct reference_attention *a, const double *q, int64_t kv_head,
		   int64_t ctx, double *score, double *out)
{
	int64_t d = a->head_dim, stride = a->kv_heads * d;
	double max = -INFINITY, sum = 0;

	for (int64_t t = 0; t < ctx; t++) {
		score[t] = 0;
		for (int64_t i = 0; i < d; i++)
			score[t] += q[i] * a->k[t * stride + kv_head * d + i];
		score[t] /= sqrt((double)d);
		max = fmax(max, score[t]);
	}
	for (int64_t i = 0; i < d; i++)
		out[i] = 0;
	for (int64_t t = 0; t < ctx; t++) {
		double weight = exp(score[t] - max);
		sum += weight;
		for (int64_t i = 0; i < d; i++)
			out[i] += weight * a->v[t * stride + kv_head * d + i];
	}
	for (int64_t i = 0; i < d; i++)
		out[i] /= sum;
}

void reference_attention(const struct reference_attention *a, double *out)
{
	int64_t group = a->heads / a->kv_heads, d = a->head_dim;
	double *score = xmalloc((size_t)(a->prior_tok + a->new_tok) * sizeof(*score));

	for (int64_t i = 0; i < a->new_tok; i++)
		for (int64_t h = 0; h < a->heads; h++) {
			int64_t at = (i * a->heads + h) * d;
			attend(a, a->q + at, h / group, a->prior_tok + i + 1, score, out + at);
		}
	free(score);
}
