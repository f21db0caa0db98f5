#pragma once
// Owns: an agent that speaks the real protocol and runs nothing: it answers each trial of its window, one
// after another, a set time after it could have begun, keeps replies until they are acknowledged, and
// reconnects with backoff. Does not know: who asks.

#include <memory>
#include <string>

#include "rpc/connection/endpoint.h"
#include "rpc/identity/credentials.h"
#include "tests/bench/farm/alarms.h"
#include "tests/bench/farm/tally.h"

namespace tf::farm_load {

// As many agents as these share a board, which is a certificate: the tracker bounds how many may.
inline constexpr int kAgentsOfABoard = 25;
std::string board_name(int board);

struct AgentPlan {
  rpc::Endpoint tracker;
  std::shared_ptr<rpc::Credentials> credentials;  // null: plain text
  std::string key;
  bool fetches = false;  // each artifact before its first trial, as an agent with an empty cache does
  std::chrono::milliseconds trial{1000};  // on average: each takes 0.8 to 1.2 of it
};

// Lives until the process ends: its streams and alarms point to it.
class SimulatedAgent {
 public:
  // The others must outlive it.
  // Its id is its board's name, '/' and its number.
  SimulatedAgent(int number, const AgentPlan& plan, Alarms& alarms, Tally& tally);
  ~SimulatedAgent();
  void connect();
  // Ends its stream as a lost connection would.
  void drop_connection();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tf::farm_load
