#pragma once
// Owns: what a session asks of builders: a task's candidate, or its reference artifact.

#include <memory>
#include <string>

#include "tuner/session/task.h"

namespace tunefarm::kernel::v1 {
class BuildRequest;
}

namespace tf::session {

// A kernel between the task's layouts with that schedule (its canonical text), as a loadable object.
std::shared_ptr<const tunefarm::kernel::v1::BuildRequest> candidate_request(const Task& task,
                                                                            const std::string& target,
                                                                            const std::string& schedule);

// The reference of the task's answers: plain loops, row-major, with magnitudes.
std::shared_ptr<const tunefarm::kernel::v1::BuildRequest> reference_request(const Task& task,
                                                                            const std::string& target);

}  // namespace tf::session
