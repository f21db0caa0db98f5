// In place of onednn_peer.cpp where oneDNN is not installed.
#include <cstdio>

#include "tests/bench/peers/onednn/onednn_peer.h"

namespace tf::peers {

std::vector<Contender> onednn_contenders(const bench::Kernel& /*kernel*/, const bench::Operands& /*operands*/,
                                         const OnednnOptions& /*options*/) {
  static const bool told = [] {
    std::fprintf(
        stderr, "peers_bench: built without oneDNN (deploy/install_peers.sh installs it; configure again)\n");
    return true;
  }();
  static_cast<void>(told);
  return {};
}

}  // namespace tf::peers
