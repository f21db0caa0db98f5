#pragma once
// Owns: how a job of a running tuner reads: one JSON object for programs, one sentence for people on what was
// done to it. Pure. Does not know: who asks, terminals.

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/service/grpc/job_client.h"

namespace tf::tuner_cli {

// The table of `tuner jobs` for lines of `width` characters (base/cli/text_table.h): a header, then a line a
// job. "450 trials, 5 min" is a budget; what `tuner tune` ran has no device.
std::string jobs_table(const std::vector<service::JobUpdate>& jobs, int64_t now_unix_ns, size_t width);

// The job as one line of JSON. "progress" is null of a job that has not run since the tuner started; one that
// is over has no "remaining_s" in it.
std::string job_json(const service::JobUpdate& job);

// "measures on 2 device slots: m1/0, m2/0"; empty if there are none.
std::string slots_text(const service::JobUpdate& job);

// How a watch tells its state: "running", "failed: no such device". One that waits for the farm tries again
// and again, queued in between, and is the same all the time: "waits: no device is free". What its detail
// says of the state is not said twice: "cancelled while it was paused".
std::string state_text(const service::JobUpdate& job);

// What becomes of a job that nobody watches any more: "job 3 goes on", "job 3 stays paused; …".
std::string left_job_text(int64_t id, database::JobState state);

// What came of a cancel, pause or resume: the job as job_json has it, and whether it was so already.
std::string change_json(const service::JobUpdate& job);
// What came of a cancel, pause or resume: "job 3 is paused", "job 3 is paused already", or, of one that is
// still measuring, "job 3 finishes what it is measuring, then " and what it does then.
std::string change_text(const service::JobUpdate& job, const std::string& then);

}  // namespace tf::tuner_cli
