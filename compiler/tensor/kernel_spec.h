#pragma once
// Owns: KernelSpec, the one identity of a kernel: what is computed, between which layouts, for what. Does not know: how
// it is scheduled.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/target/target.h"
#include "compiler/tensor/kernel_key.h"
#include "compiler/tensor/workload.h"

namespace tf::tensor {

// The layouts of a kernel's activations, which are outside the computation's key and outside the schedule: one per
// workload input that is not constant, and one per output; empty lists mean row-major. Constants' layouts are the
// schedule's business.
struct PortLayouts {
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;

  const Layout& output(size_t index) const;
  // The layout of workload.inputs[index]; row-major for a constant.
  const Layout& input(const Workload& workload, size_t index) const;
};

// One text for each port, or none at all for row-major. INVALID_ARGUMENT if their number is another one, or a text is
// not a layout of its port's rank.
absl::StatusOr<PortLayouts> parse_ports(const Workload& workload, const std::vector<std::string>& inputs,
                                        const std::vector<std::string>& outputs);

// As records, messages and commands write them.
std::vector<std::string> layout_texts(const std::vector<Layout>& layouts);

// Names of numerics beyond reassociation (compiler/schedule/numerics.h).
using Numerics = std::vector<std::string>;

struct KernelSpec {
  Workload workload;  // unbound: its canonical text is the computation's key
  Binding binding;
  PortLayouts ports;
  target::Target target;
  int threads = 1;
  Numerics allowed;  // that a schedule may use; not part of the key: each record tells what its schedule uses
  // What the network reads and writes between two runs of the kernel; 0: it runs alone.
  uint64_t reuse_distance_bytes = 0;
};

// `spec` for that target and as many threads: a network is cut into kernels before either is known.
KernelSpec for_target(KernelSpec spec, const target::Target& target, int threads);

KernelKey key_of(const KernelSpec& spec);
// The kernel that a key stands for, given its workload's text; labels are not part of either. INVALID_ARGUMENT for texts that cannot be
// a kernel's.
absl::StatusOr<KernelSpec> parse_spec(const std::string& workload, const KernelKey& key);
// key_of(for_target(spec, target, threads)).
KernelKey key_for(const KernelSpec& spec, const target::Target& target, int threads);

}  // namespace tf::tensor
