#include "tuner/report/programs.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/driver/wire.h"
#include "compiler/recipes/recipes.h"
#include "compiler/schedule/schedule.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::report {
namespace {

namespace kernel_pb = tunefarm::kernel::v1;

constexpr int kMostWaiting = 8;
constexpr std::chrono::seconds kPatience{15};
constexpr size_t kMostKeptPrograms = 64;
// Of each text: a message has room for both. Unrolled kernels have some hundred kilobytes.
constexpr size_t kMostTextBytes = 1 << 20;

std::string shown(const std::string& text) {
  std::string out = printable_lines(text);
  if (out.size() <= kMostTextBytes) return out;
  out.resize(out.rfind('\n', kMostTextBytes) + 1);
  return out + "(the rest is left out)\n";
}

absl::Status refusal(const kernel_pb::BuildReply& reply) {
  const auto code = static_cast<absl::StatusCode>(reply.code());
  const std::string why = printable(reply.message());
  if (code == absl::StatusCode::kDeadlineExceeded || code == absl::StatusCode::kAborted)
    return absl::Status(code, absl::StrCat("the program could not be made: ", why));
  return absl::FailedPreconditionError(absl::StrCat("the schedule cannot be built: ", why));
}

}  // namespace

absl::StatusOr<std::string> default_schedule_of(const tensor::KernelSpec& kernel) {
  TF_ASSIGN_OR_RETURN(const tensor::Workload bound, tensor::bind(kernel.workload, kernel.binding));
  return schedule::to_string(recipes::default_schedule({.workload = bound,
                                                        .ports = kernel.ports,
                                                        .target = kernel.target,
                                                        .threads = kernel.threads,
                                                        .allowed = kernel.allowed}));
}

absl::StatusOr<Programs::Program> Programs::show(const tensor::KernelSpec& kernel,
                                                 const std::string& schedule) {
  if (!builder_)
    return with_remedy(absl::StatusCode::kFailedPrecondition,
                       "this tuner has no build worker to make programs with",
                       "use `compiler show --ir --asm`", Between::kSemicolon);
  kernel_pb::BuildRequest request;
  kernel_pb::ShowKernelRequest& show = *request.mutable_show();
  show.set_ir(true);
  show.set_assembly(true);
  *show.mutable_kernel() = driver::kernel_request(kernel, kernel.target.text(), schedule).kernel();
  const std::string name =
      absl::StrCat(tensor::to_string(tensor::key_of(kernel)), " ", sha256(schedule).hex());
  {
    const std::scoped_lock lock(mutex_);
    if (const Program* known = find(name)) return *known;
  }
  TF_RETURN_IF_ERROR(begin());
  {
    const std::scoped_lock lock(mutex_);
    if (const Program* known = find(name)) {  // another call made it meanwhile
      --running_;
      changed_.notify_one();
      return *known;
    }
  }
  const absl::StatusOr<kernel_pb::BuildReply> reply = builder_->build(request);
  end();
  TF_RETURN_IF_ERROR(reply.status());
  if (reply->code() != 0) return refusal(*reply);
  Program program;
  program.set_schedule(printable_lines(schedule));
  program.set_ir(shown(reply->ir()));
  program.set_assembly(shown(reply->assembly()));
  const std::scoped_lock lock(mutex_);
  kept_.emplace_front(name, program);
  if (kept_.size() > kMostKeptPrograms) kept_.pop_back();
  return program;
}

const Programs::Program* Programs::find(const std::string& name) {
  const auto found = std::ranges::find(kept_, name, &std::pair<std::string, Program>::first);
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return &kept_.front().second;
}

absl::Status Programs::begin() {
  const auto busy = [] {
    return absl::ResourceExhaustedError("other programs are being compiled: ask again in a few seconds");
  };
  std::unique_lock lock(mutex_);
  if (waiting_ >= kMostWaiting) return busy();
  ++waiting_;
  const bool is_free = changed_.wait_for(lock, kPatience, [this] { return running_ < builder_->slots(); });
  --waiting_;
  if (!is_free) return busy();
  ++running_;
  return absl::OkStatus();
}

void Programs::end() {
  const std::scoped_lock lock(mutex_);
  --running_;
  changed_.notify_one();
}

}  // namespace tf::report
