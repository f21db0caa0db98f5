#pragma once
// Owns: the passage between the database's questions and tune.v1's messages, for both ends. Does not know:
// connections.

#include <vector>

#include "absl/status/statusor.h"
#include "database/store.h"
#include "proto/tune/v1/tune.pb.h"

namespace tf::remote {

tunefarm::tune::v1::KernelKey to_proto(const tensor::KernelKey& key);
tunefarm::tune::v1::BestRequest to_proto(const database::BestQuery& query, size_t limit);
tunefarm::tune::v1::ScanRequest to_proto(const database::Filter& filter);

// INVALID_ARGUMENT for a key that is not 64 hexadecimal digits or a missing kernel.
absl::StatusOr<tensor::KernelKey> from_proto(const tunefarm::tune::v1::KernelKey& key);
absl::StatusOr<database::BestQuery> from_proto(const tunefarm::tune::v1::BestRequest& request);
absl::StatusOr<database::Filter> from_proto(const tunefarm::tune::v1::ScanRequest& request);

// The lines of one message: measurements, workloads or verdicts. DATA_LOSS: a line is another record.
template <typename Record>
absl::StatusOr<std::vector<Record>> records_of(const tunefarm::tune::v1::RecordLines& lines);

}  // namespace tf::remote
