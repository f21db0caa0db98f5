#include "tuner/cli/serve_config.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "proto/config/v1/farm.pb.h"
#include "rpc/connection/default_endpoints.h"
#include "rpc/daemon/daemon_log.h"
#include "rpc/daemon/text_config.h"
#include "rpc/transfer/transfer.h"
#include "tuner/service/jobs/waiting_limits.h"

namespace tf::tuner_cli {
namespace {

using tunefarm::config::v1::Tuner;

// Flags are checked as they are parsed; a file is not.
absl::Status check(const Tuner& config) {
  if (config.db().empty())
    return absl::InvalidArgumentError("no database: give --db FILE, or db in the --config file");
  if (config.builders() > 1024) {
    return absl::InvalidArgumentError(absl::StrCat("builders must be at most 1024, not ", config.builders(),
                                                   "; 0 selects one less than the number of CPUs"));
  }
  if (config.max_model_mib() > kMostModelMib) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_model_mib must be at most ", kMostModelMib, ", not ", config.max_model_mib()));
  }
  return rpc::check({.level = config.log_level(), .format = config.log_format()});
}

}  // namespace

Tuner default_serve_config() {
  Tuner config;
  config.set_tracker(rpc::kDefaultTracker);
  config.set_listen(rpc::kDefaultTuner);
  config.set_log_level("info");
  config.set_log_format("text");
  const service::WaitingLimits limits;
  config.set_max_waiting(static_cast<uint32_t>(limits.in_all));
  config.set_max_waiting_each(static_cast<uint32_t>(limits.of_each));
  config.set_max_model_mib(rpc::kMaxArtifactBytes >> 20);
  return config;
}

absl::StatusOr<Tuner> serve_config(const std::string& path, const Tuner& flags) {
  Tuner config = default_serve_config();
  if (!path.empty()) TF_RETURN_IF_ERROR(rpc::merge_text_config(path, config));
  config.MergeFrom(flags);
  TF_RETURN_IF_ERROR(check(config));
  return config;
}

}  // namespace tf::tuner_cli
