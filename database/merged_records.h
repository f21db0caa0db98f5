#pragma once
// Owns: several stores that are read as one. Does not know: which kinds they are.

#include <memory>
#include <vector>

#include "database/store.h"

namespace tf::database {

// Answers as one store that has the records of all; a record that several have counts once. In a store its own
// order says which measurement of a program counts (which_count.h); between stores their dates do, as in an
// import. Of the verdicts on a network the latest counts. An error of one store is the answer to the whole
// question. scan() goes from problem to problem, each in the order in which records count; INVALID_ARGUMENT for
// a job, whose number belongs to one store. There is at least one store. Each is asked once which problems there
// are, and what was read of one may be kept.
std::unique_ptr<Records> merge_records(std::vector<std::unique_ptr<Records>> stores);

}  // namespace tf::database
