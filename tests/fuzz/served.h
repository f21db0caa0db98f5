#pragma once
// Owns: a daemon that is called for as long as the process lives: what one call leaves behind, the next one
// finds. Does not know: which daemon.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/grpc_environment.h"
#include "tests/fuzz/caller.h"

namespace tf::fuzz {

inline const bool kGrpcPrepared = (set_grpc_environment(), true);  // as programs do first thing in main

template <typename Daemon>
class Served {
 public:
  // `start` makes one that goes on from the state that the last one left; `probe` is a method that takes an
  // empty request.
  using Start = std::function<std::unique_ptr<Daemon>()>;
  Served(Start start, std::string probe) : start_(std::move(start)), probe_(std::move(probe)) { begin(); }

  // Now and then the daemon must answer the probe, and start again with what the calls have made of its
  // state.
  void call(std::string_view input) {
    caller_->call(input);
    if (++calls_ % kProbeEvery == 1) TF_CHECK(caller_->answers(probe_));
    if (calls_ % kRestartEvery == 0) begin();
  }

 private:
  static constexpr int kProbeEvery = 64, kRestartEvery = 2048;

  void begin() {
    caller_ = nullptr;
    daemon_ = nullptr;
    daemon_ = start_();
    caller_ = std::make_unique<Caller>(daemon_->endpoint());
  }

  const Start start_;
  const std::string probe_;
  int calls_ = 0;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<Caller> caller_;
};

}  // namespace tf::fuzz
