#include "compiler/graph/blob.h"

namespace tf::graph {

const Digest& Blob::digest() const {
  std::call_once(once_, [this] { digest_ = sha256(bytes_); });
  return digest_;
}

}  // namespace tf::graph
