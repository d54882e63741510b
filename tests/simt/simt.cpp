/* simt.cpp: blocks of threads as fibers; see platform.cuh. */
#include "platform.cuh"
#include <deque>
#include <memory>
#include <ucontext.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define FIBERS_OF_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBERS_OF_ASAN 1
#endif
#endif
#ifdef FIBERS_OF_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace
{
constexpr int lanes = 32;
constexpr size_t stack_bytes = 128 * 1024;

struct copy {
	void *to;
	const void *from;
	bool there;
};

struct fiber {
	ucontext_t context;
	std::vector<unsigned char> stack;
	bool ended;
	/* it waits until the counter is no longer what it was */
	const unsigned *waits_for;
	unsigned was;
	std::vector<copy> open; /* copies not yet committed */
	std::deque<std::vector<copy>> groups;
};

struct warp {
	unsigned generation, arrived;
	simt_call call;
	int arg;
	simt_lane *lane[lanes];
};

std::vector<fiber> fibers;
std::vector<warp> warps;
unsigned barrier_generation, barrier_arrived, alive;
std::unique_ptr<unsigned char[]> shared;
ucontext_t scheduler;
const std::function<void()> *body;
size_t current;
#ifdef FIBERS_OF_ASAN
const void *scheduler_stack;
size_t scheduler_stack_bytes;
#endif

[[noreturn]] void broken(const char *what)
{
	fprintf(stderr, "simt: block %u,%u,%u thread %u: %s\n", blockIdx.x, blockIdx.y, blockIdx.z,
		threadIdx.x, what);
	abort();
}

void yield(bool for_good)
{
	fiber &f = fibers[current];
#ifdef FIBERS_OF_ASAN
	void *fake = nullptr;

	__sanitizer_start_switch_fiber(for_good ? nullptr : &fake, scheduler_stack,
				       scheduler_stack_bytes);
#endif
	(void)for_good;
	swapcontext(&f.context, &scheduler);
#ifdef FIBERS_OF_ASAN
	__sanitizer_finish_switch_fiber(fake, &scheduler_stack, &scheduler_stack_bytes);
#endif
}

void wait_for(const unsigned *generation)
{
	fibers[current].waits_for = generation;
	fibers[current].was = *generation;
	yield(false);
}

void enter()
{
#ifdef FIBERS_OF_ASAN
	__sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_bytes);
#endif
	(*body)();
	fibers[current].ended = true;
	alive--;
	if (alive > 0 && barrier_arrived == alive) {
		barrier_arrived = 0;
		barrier_generation++;
	}
	yield(true);
}

void resume(size_t i)
{
	current = i;
	threadIdx = dim3((unsigned)i);
#ifdef FIBERS_OF_ASAN
	void *fake = nullptr;

	__sanitizer_start_switch_fiber(&fake, fibers[i].stack.data(), stack_bytes);
#endif
	swapcontext(&scheduler, &fibers[i].context);
#ifdef FIBERS_OF_ASAN
	__sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void start(size_t i)
{
	fiber &f = fibers[i];

	f.ended = false;
	f.waits_for = nullptr;
	f.open.clear();
	f.groups.clear();
	f.stack.resize(stack_bytes);
	getcontext(&f.context);
	f.context.uc_stack.ss_sp = f.stack.data();
	f.context.uc_stack.ss_size = stack_bytes;
	f.context.uc_link = nullptr;
	makecontext(&f.context, enter, 0);
}

bool runs(const fiber &f)
{
	return !f.ended && (!f.waits_for || *f.waits_for != f.was);
}

void run_block(bool backwards)
{
	size_t n = fibers.size();

	alive = (unsigned)n;
	barrier_arrived = 0;
	for (size_t i = 0; i < n; i++)
		start(i);
	for (warp &w : warps)
		w.arrived = 0;
	while (alive > 0) {
		bool any = false;

		for (size_t j = 0; j < n; j++) {
			size_t i = backwards ? n - 1 - j : j;

			if (!runs(fibers[i]))
				continue;
			any = true;
			fibers[i].waits_for = nullptr;
			resume(i);
		}
		if (!any)
			broken("every thread waits: a barrier or a warp that not all reach");
	}
}

void shuffle(warp &w)
{
	simt_lane was[lanes];

	for (int i = 0; i < lanes; i++)
		was[i] = *w.lane[i];
	for (int i = 0; i < lanes; i++) {
		w.lane[i]->f = was[i ^ w.arg].f;
		w.lane[i]->i = was[i ^ w.arg].i;
	}
}

/* PTX ISA: a0, a1: rows g and g + 8, columns 2t, 2t + 1; a2, a3: columns 2t + 8, 2t + 9. */
void mma(warp &w)
{
	float a[16][16], b[16][8];

	for (int i = 0; i < lanes; i++) {
		const uint32_t *r = w.lane[i]->r;
		int g = i / 4, t = i % 4;

		for (int high = 0; high < 2; high++) {
			int k = 2 * t + high;

			a[g][k] = simt_half(r[0], high);
			a[g + 8][k] = simt_half(r[1], high);
			a[g][k + 8] = simt_half(r[2], high);
			a[g + 8][k + 8] = simt_half(r[3], high);
			b[k][g] = simt_half(r[4], high);
			b[k + 8][g] = simt_half(r[5], high);
		}
	}
	for (int i = 0; i < lanes; i++) {
		for (int j = 0; j < 4; j++) {
			int row = i / 4 + 8 * (j / 2), column = 2 * (i % 4) + j % 2;

			for (int k = 0; k < 16; k++)
				w.lane[i]->d[j] += a[row][k] * b[k][column];
		}
	}
}

void transpose(warp &w)
{
	uint16_t m[8][8];

	for (int i = 0; i < lanes; i++)
		memcpy(&m[i / 4][2 * (i % 4)], &w.lane[i]->r[0], 4);
	for (int i = 0; i < lanes; i++) {
		int g = i / 4, t = i % 4;

		w.lane[i]->r[0] = m[2 * t][g] | (uint32_t)m[2 * t + 1][g] << 16;
	}
}

void load(warp &w, bool transposed)
{
	for (int j = 0; j < 4; j++) {
		uint16_t m[8][8];

		for (int row = 0; row < 8; row++) {
			const void *at = w.lane[8 * j + row]->at;

			if ((uintptr_t)at % 16 != 0)
				broken("a row of a matrix that is not at a multiple of 16 bytes");
			memcpy(m[row], at, 16);
		}
		for (int i = 0; i < lanes; i++) {
			int g = i / 4, t = i % 4;
			uint16_t low = transposed ? m[2 * t][g] : m[g][2 * t];
			uint16_t high = transposed ? m[2 * t + 1][g] : m[g][2 * t + 1];

			w.lane[i]->r[j] = low | (uint32_t)high << 16;
		}
	}
}

void finish(warp &w)
{
	switch (w.call) {
	case SIMT_SHUFFLE_FLOAT:
	case SIMT_SHUFFLE_INT:
		shuffle(w);
		break;
	case SIMT_MMA:
		mma(w);
		break;
	case SIMT_TRANSPOSE:
		transpose(w);
		break;
	case SIMT_LOAD:
	case SIMT_LOAD_TRANSPOSED:
		load(w, w.call == SIMT_LOAD_TRANSPOSED);
		break;
	}
}
} // namespace

void simt_warp(enum simt_call call, int arg, struct simt_lane *lane)
{
	warp &w = warps[current / lanes];

	if (w.arrived > 0 && (w.call != call || w.arg != arg))
		broken("the lanes of a warp call different things");
	w.call = call;
	w.arg = arg;
	w.lane[current % lanes] = lane;
	if (++w.arrived < lanes) {
		wait_for(&w.generation);
		return;
	}
	w.arrived = 0;
	finish(w);
	w.generation++;
}

void __syncthreads()
{
	if (++barrier_arrived < alive) {
		wait_for(&barrier_generation);
		return;
	}
	barrier_arrived = 0;
	barrier_generation++;
}

unsigned char *shared_memory()
{
	return shared.get();
}

void copy_async(void *to, const void *from, bool there)
{
	if ((uintptr_t)to % 16 != 0 || (there && (uintptr_t)from % 16 != 0))
		broken("a copy of 16 bytes that is not at a multiple of 16");
	fibers[current].open.push_back({to, from, there});
}

void copy_commit()
{
	fibers[current].groups.push_back(std::move(fibers[current].open));
	fibers[current].open.clear();
}

void simt_copy_wait(int groups)
{
	fiber &f = fibers[current];

	while (f.groups.size() > (size_t)groups) {
		for (const copy &c : f.groups.front()) {
			if (c.there)
				memcpy(c.to, c.from, 16);
			else
				memset(c.to, 0, 16);
		}
		f.groups.pop_front();
	}
}

void simt_launch(dim3 grid, unsigned threads, size_t shared_bytes,
		 const std::function<void()> &thread)
{
	unsigned n = 0;

	if (threads % lanes != 0 || threads == 0 || threads > 1024 || grid.x == 0 || grid.y == 0 ||
	    grid.z == 0 || grid.y > 65535 || grid.z > 65535)
		broken("a launch that no device takes");
	gridDim = grid;
	blockDim = dim3(threads);
	fibers.resize(threads);
	warps.resize(threads / lanes);
	body = &thread;
	for (unsigned z = 0; z < grid.z; z++) {
		for (unsigned y = 0; y < grid.y; y++) {
			for (unsigned x = 0; x < grid.x; x++) {
				blockIdx = dim3(x, y, z);
				shared.reset(new unsigned char[shared_bytes]);
				/* NaN in every type: nobody may count on zeros */
				memset(shared.get(), 0xff, shared_bytes);
				run_block(n++ % 2 == 1);
			}
		}
	}
}
