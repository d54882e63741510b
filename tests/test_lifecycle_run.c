/* How requests come and end, from the outside: options, counts, and what is stored of them. */
#include "tests/run_rows.h"
#include "tests/stored.h"

#define SECOND "-x fixed:step_ns=1e9 "

/*
 * A step is a second, one seat, five tokens each, arrivals at 0, 1 and 2 s. With 4 s to be done in
 * and one place in the queue the third is turned away, the first leaves at 4 and the second at 5.
 */
#define THREE "synth:constant,n=3,rate=1,prompt=10,output=5 -p paged:max_seqs=1 " SECOND

static void test_limits(void **state)
{
	const char *path = testing_path("limits.db");
	char args[512];

	(void)state;
	remove(path);
	snprintf(args, sizeof(args), THREE "--timeout 4 --queue-limit 1 --slo e2e=9 --db %s", path);
	assert_row(args, (const struct expect[]){{"requests", 3},
						 {"completed", 0},
						 {"rejected", 1},
						 {"aborted", 2},
						 {"unfinished", 0},
						 {"attainment", 0},
						 {"steps", 5},
						 {NULL, 0}});
	assert_query(path, "SELECT queue_limit, queue_full, timeout_s FROM run", "1|1|4.0");
	assert_query(path, "SELECT aborted, rejected FROM summary", "2|1");
	assert_query(path, "SELECT idx, status, schedule_ns / 1000000000, finish_ns FROM request",
		     "0|aborted|0|;1|aborted|4|;2|rejected||");
	assert_query(path, "SELECT good, status FROM request_latency",
		     "0|aborted;0|aborted;0|rejected");
	assert_says(THREE "--timeout 4 --queue-limit 1",
		    "1 requests rejected because the queue was full");
	assert_says(THREE "--timeout 4 --queue-limit 1", "2 requests aborted because");
	assert_row(THREE, (const struct expect[]){
				  {"completed", 3}, {"aborted", 0}, {"rejected", 0}, {NULL, 0}});
}

/* case 33 as a file: the second turn arrives at 1 + 6 s, or as recorded; names are stored. */
static void test_sessions(void **state)
{
	static const char text[] =
		"arrive_s,prompt_tok,output_tok,priority,client,session,service_s\n"
		"0,10,1,2,alice,a,4\n"
		"8,10,1,-1,bob,,\n"
		"10,10,1,0,alice,a,\n";
	const char *trace = testing_file("sessions.csv", text), *path = testing_path("sessions.db");
	char args[600];

	(void)state;
	remove(path);
	for (int open = 0; open <= 1; open++) {
		struct run_output o;

		snprintf(args, sizeof(args), "%s -p paged:order=priority " SECOND "--db %s%s",
			 trace, path, open ? " --sessions open" : "");
		o = run_well(args);
		testing_run_free(&o);
	}
	assert_query(path,
		     "SELECT request.run_id, idx, arrive_ns / 1000000000, session, priority, name "
		     "FROM request LEFT JOIN client ON client.run_id = request.run_id "
		     "AND client.id = request.client",
		     "1|0|0|1|2|alice;1|1|8||-1|bob;1|2|7|1|0|alice;"
		     "2|0|0|1|2|alice;2|1|8||-1|bob;2|2|10|1|0|alice");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
