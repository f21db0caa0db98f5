#include "rpc/daemon/stop_signals.h"

#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstring>
#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/cli/exit_code.h"

namespace tf::rpc {

struct StopSignals::State {
  boost::asio::io_context io;
  boost::asio::signal_set signals{io, SIGINT, SIGTERM};
  std::promise<int> first;
  std::atomic<bool> answered = false;
  std::thread thread;

  void answer(int signal) {
    if (!answered.exchange(true)) first.set_value(signal);
  }

  void listen() {
    signals.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      if (answered && signal != SIGHUP) _exit(kExitInterrupted);
      answer(signal);
      listen();
    });
  }
};

namespace {

bool is_ignored(int signal) {
  struct sigaction present {};
  return sigaction(signal, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals::StopSignals() : state_(std::make_unique<State>()) {
  if (!is_ignored(SIGHUP)) state_->signals.add(SIGHUP);
  state_->listen();
  state_->thread = std::thread([state = state_.get()] { state->io.run(); });
}

StopSignals::~StopSignals() {
  state_->io.stop();
  state_->thread.join();
}

int StopSignals::wait() {
  return state_->first.get_future().get();
}

void StopSignals::stop_waiting() {
  state_->answer(0);
}

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? absl::StrCat("SIG", name) : absl::StrCat("signal ", signal);
}

}  // namespace tf::rpc
