#pragma once
// Owns: Report, which answers what people ask about a database of measurements: the calls of
// proto/tune/v1/report.proto, in this process. Does not know: gRPC, pages.

#include <memory>

#include "absl/status/statusor.h"
#include "compiler/driver/builder.h"
#include "database/store.h"
#include "proto/tune/v1/report.pb.h"

namespace tf::report {

namespace pb = tunefarm::tune::v1;

// Thread-safe. Errors as the proto says, and the records'.
class Report {
 public:
  // Both must outlive it. Without a builder, programs are not shown: FAILED_PRECONDITION.
  explicit Report(database::Records& records, driver::Builder* builder = nullptr);
  ~Report();

  // Reads what is small of all measurements, so that no question waits for it. In the background; begun once.
  void load();

  absl::StatusOr<pb::JobCurves> describe_job(const pb::DescribeJobRequest& request);
  absl::StatusOr<pb::ListKernelsReply> list_kernels(const pb::ListKernelsRequest& request);
  absl::StatusOr<pb::KernelReport> describe_kernel(const pb::DescribeKernelRequest& request);
  absl::StatusOr<pb::Candidates> list_candidates(const pb::ListCandidatesRequest& request);
  absl::StatusOr<pb::Candidate> describe_candidate(const pb::DescribeCandidateRequest& request);
  absl::StatusOr<pb::Program> show_program(const pb::ShowProgramRequest& request);
  absl::StatusOr<pb::NetworkReport> describe_network(const pb::DescribeNetworkRequest& request);

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace tf::report
