#pragma once
// Owns: our side: a kernel as code made from a schedule, and the reference that answers are held to. Does not
// know: peers, timing.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/driver/build_pool.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/target/target.h"
#include "database/store.h"
#include "tests/bench/kernels/kernel_table.h"
#include "tests/bench/peers/comparison.h"
#include "tuner/session/task.h"

namespace tf::peers {

// A schedule and what people should know of it.
struct NamedSchedule {
  std::string name;  // "tuned", "default", a file
  std::string text;
};
NamedSchedule default_schedule_of(const session::Task& task, const target::Target& target, int threads,
                                  const std::vector<std::string>& allowed_numerics);
// The database's best record of the task; the default schedule if it has none or there is no database.
absl::StatusOr<NamedSchedule> best_schedule_of(const session::Task& task, const target::Target& target,
                                               int threads, database::Records* records,
                                               const std::vector<std::string>& allowed_numerics);

// Calls kernels on that many threads; outlives the contenders made with it.
class Runtime {
 public:
  explicit Runtime(int threads);
  ~Runtime();
  const tf_runtime* get() const { return runtime_; }

 private:
  tf_runtime* runtime_;
};

// Builds and loads the kernel, which is held to what its schedule states. Errors: an illegal schedule, code
// that does not compile.
absl::StatusOr<Contender> our_kernel(driver::BuildPool& pool, const session::Task& task,
                                     const target::Target& target, const NamedSchedule& schedule,
                                     const bench::Operands& operands, const Runtime& runtime);

// What the task's definition gives in plain loops, the tuner's reference, for kernels that no formula is
// known of.
absl::StatusOr<Answer> reference_answer(driver::BuildPool& pool, const session::Task& task,
                                        const target::Target& target, const bench::Operands& operands,
                                        const Runtime& runtime);

// The tolerance of whoever adds the task's products in any order, without reduced numerics.
absl::StatusOr<double> plain_tolerance(driver::BuildPool& pool, const session::Task& task,
                                       const target::Target& target);

// The loop IR or the assembly that the schedule makes.
enum class Form : uint8_t { kIr, kAssembly };
absl::StatusOr<std::string> show_kernel(driver::BuildPool& pool, const session::Task& task,
                                        const target::Target& target, const NamedSchedule& schedule,
                                        Form form);

}  // namespace tf::peers
