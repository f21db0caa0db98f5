#pragma once
// Owns: a TCP connection between two programs of a test that can be cut: forwards what arrives at its own
// port until then, closes everything from then on. Does not know: what passes through.

#include <memory>

#include "rpc/endpoint.h"

namespace tf::farm_test {

class CutLine {
 public:
  // Listens on a free port of 127.0.0.1.
  explicit CutLine(const rpc::Endpoint& target);
  ~CutLine();
  const rpc::Endpoint& endpoint() const;
  // Ends all connections; new ones are closed at once.
  void cut();
  // So many connections were made.
  int connections() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tf::farm_test
