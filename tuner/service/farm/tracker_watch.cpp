#include "tuner/service/farm/tracker_watch.h"

#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/unreachable.h"
#include "rpc/identity/credentials.h"

namespace tf::service {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(1);
constexpr absl::Duration kLook = absl::Milliseconds(500);  // also how long the end may have to wait
// Why it is away is looked at again each time that it could not be reached so often: another may have come to
// its address.
constexpr int kLookEvery = 10;

}  // namespace

TrackerWatch::TrackerWatch(rpc::Endpoint tracker, const std::shared_ptr<rpc::Credentials>& credentials)
    : tracker_(std::move(tracker)),
      secured_(credentials != nullptr),
      channel_(
          rpc::make_channel(tracker_, credentials, rpc::Role::kTracker, {.keepalive_without_calls = true})),
      thread_([this](const std::stop_token& end) { watch(end); }) {}

void TrackerWatch::watch(const std::stop_token& end) {
  for (int failures = 0; !end.stop_requested();) {
    if (rpc::wait_until_connected(*channel_, kConnectTimeout)) {
      failures = 0;
      tell_back();
      wait_while_connected(end);
    } else if (failures++ % kLookEvery == 0) {
      tell_away(std::string(rpc::unreachable("tracker", tracker_, secured_).message()));
    }
  }
}

void TrackerWatch::wait_while_connected(const std::stop_token& end) {
  while (!end.stop_requested() && channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY)
    channel_->WaitForStateChange(GRPC_CHANNEL_READY, rpc::deadline_in(kLook));
}

void TrackerWatch::tell_away(const std::string& trouble) {
  if (trouble != told_) spdlog::warn(absl::StrCat(trouble, "; jobs get no devices until it is reachable"));
  told_ = trouble;
}

void TrackerWatch::tell_back() {
  if (!told_.empty()) spdlog::info(absl::StrCat("the tracker at ", tracker_.text(), " answers"));
  told_.clear();
}

}  // namespace tf::service
