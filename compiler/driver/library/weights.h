#pragma once
// Owns: the constants of a model as its library stores them: in which forms, where, and writing them to a
// file. Does not know: steps, linking.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::driver {

// What a kernel says of its buffers comes from another process and is believed of nothing: where it cannot be
// true, the model is not built. INTERNAL: "a build worker returned a kernel that WHAT".
absl::Status wrong_port(std::string_view what);

// Places constants one after another, aligned, each stored form of one once: every layout that kernels want
// it in, after the maps, sums and conversions that come before it. Nothing is converted before write(), so
// that one constant at a time takes memory.
class Weights {
 public:
  explicit Weights(uint64_t alignment_bytes = 64) : alignment_bytes_(alignment_bytes) {}

  // Where a kernel's port finds the constant `node`. INTERNAL if what the kernel says of the port does not
  // fit the constant.
  absl::StatusOr<uint64_t> offset_of(const graph::Graph& graph, graph::NodeId node,
                                     const tunefarm::kernel::v1::Port& port);
  // As the graph holds it: for host functions and control flow.
  absl::StatusOr<uint64_t> offset_of(const graph::Graph& graph, graph::NodeId node);

  uint64_t bytes() const { return bytes_; }

  // All of them, bytes() in all, to an open file that `name` names in errors. FAILED_PRECONDITION if a value
  // is too large for the type that its kernel stores it as.
  absl::Status write(int fd, const std::string& name) const;

 private:
  struct Stored {
    graph::BlobRef data;
    std::string constant;  // its name
    tensor::Element element;
    std::vector<int64_t> shape;
    tunefarm::kernel::v1::Port port;
  };

  std::vector<Stored> stored_;
  std::map<std::pair<const graph::Blob*, std::string>, uint64_t> offsets_;  // by data and stored form
  uint64_t alignment_bytes_;
  uint64_t bytes_ = 0;
};

}  // namespace tf::driver
