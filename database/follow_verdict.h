#pragma once
// Owns: which network verdict counts for a question about one kernel. Does not know: networks.

#include <vector>

#include "database/store.h"

namespace tf::database {

// Narrows the question to what builds of a network with this kernel take: by the latest verdict on such a network for the
// query's target, threads, numerics and device class, if it asks for one. Without such a verdict the query stays as it is.
// `verdicts` are as Records::verdicts() gives them, latest first.
void follow_verdict(const std::vector<NetworkVerdict>& verdicts, BestQuery& query);

}  // namespace tf::database
