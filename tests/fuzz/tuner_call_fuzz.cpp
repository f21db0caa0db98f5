// Every method of a served tuner whose jobs end at once.
#include "tests/fuzz/input.h"
#include "tests/fuzz/served.h"
#include "tuner/service/daemon.h"
#include "tuner/service/jobs/job_executor.h"

namespace {

using namespace tf::service;

class DoneAtOnce final : public JobExecutor {
 public:
  absl::Status check(const JobSpec&) override { return absl::OkStatus(); }
  absl::Status check_model(const tf::database::Job&, const JobSpec&) override { return absl::OkStatus(); }
  absl::StatusOr<SlotSupply> look(const JobSpec&, const std::string&) override {
    return SlotSupply{.usable = {"a/0"}};
  }
  absl::StatusOr<tf::session::Progress> run(const tf::database::Job&, const JobSpec&, Allotment&,
                                            const std::atomic<bool>&, const RunReports& reports) override {
    reports.progress({});
    return tf::session::Progress{};
  }
};

std::unique_ptr<Daemon> start() {
  return *Daemon::start(
      {.listen = {.host = "127.0.0.1"}, .database_path = tf::fuzz::folder().file("tuner.db")},
      [](tf::database::Store&) -> absl::StatusOr<std::unique_ptr<JobExecutor>> {
        return std::make_unique<DoneAtOnce>();
      });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Never destroyed: gRPC's threads outlive main.
  static auto& served = *new tf::fuzz::Served<Daemon>(start, "/tunefarm.tune.v1.Tuner/ListJobs");
  served.call(tf::fuzz::text(data, size));
  return 0;
}
