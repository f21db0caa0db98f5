#include "compiler/backends/gpu/gpu_code.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"

namespace tf::backends {

absl::StatusOr<Code> gpu_code(const ir::Function& function, const target::Target& target, Use use,
                              const GpuDialect& dialect, const GpuBlob& blob) {
  using Clock = std::chrono::steady_clock;
  if (use != Use::kDevice)
    return absl::InvalidArgumentError(
        absl::StrCat("kernels for ", target.text(), " cannot be linked into a model library"));
  const Clock::time_point start = Clock::now();
  TF_ASSIGN_OR_RETURN(GpuSource source, gpu_source(function, target, dialect));
  const Clock::time_point emitted = Clock::now();
  Code code;
  code.kind = blob.kind;
  code.phases = {{"emit", std::chrono::nanoseconds(emitted - start).count()}};
  if (blob.compile != nullptr) {
    TF_ASSIGN_OR_RETURN(GpuBinary binary, blob.compile(source.text, target));
    code.content = std::move(binary.content);
    code.others = std::move(binary.others);
    for (Launch& launch : source.launches)
      if (const auto found = binary.resources.find(launch.entry); found != binary.resources.end())
        launch.resources = found->second;
    code.phases.push_back({"machine", std::chrono::nanoseconds(Clock::now() - emitted).count()});
  } else {
    code.content = std::move(source.text);
  }
  code.launches = std::move(source.launches);
  code.workspace_bytes = static_cast<uint64_t>(source.workspace_bytes);
  code.digest = sha256(code.content).hex();
  return code;
}

}  // namespace tf::backends
