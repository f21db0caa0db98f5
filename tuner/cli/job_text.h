#pragma once
// Owns: how a job of a running tuner reads: one JSON object for programs, one sentence for people on what was
// done to it. Pure. Does not know: who asks, terminals.

#include <string>

#include "tuner/service/job_queue.h"

namespace tf::tuner_cli {

// The job as one line of JSON.
std::string job_json(const service::JobView& view);

// What came of a cancel, pause or resume: the job as job_json has it, and whether it was so already.
std::string change_json(const service::JobView& view);
// What came of a cancel, pause or resume: "job 3 is paused", "job 3 is paused already", or, of one that is
// still measuring, "job 3 finishes what it is measuring, then " and what it does then.
std::string change_text(const service::JobView& view, const std::string& then);

}  // namespace tf::tuner_cli
