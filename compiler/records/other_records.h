#pragma once
// Owns: what a database has of a network's kernels where it has nothing for the target and the threads that
// were asked for. Does not know: how it is said on a command line.

#include <string>

#include "absl/status/statusor.h"
#include "compiler/graph/program/program.h"
#include "compiler/target/target.h"
#include "database/store.h"

namespace tf::records {

// One line, for a network of whose kernels no record was found: for which targets and threads the database
// has some, or that it has none at all.
absl::StatusOr<std::string> other_records_hint(database::Records& records, const graph::Program& program,
                                               const target::Target& target, int threads);

}  // namespace tf::records
