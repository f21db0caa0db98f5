#pragma once
// Owns: Schedule, an ordered list of steps, its text form, and State, what a workload looks like after some
// steps: stages with named loops and places, cheap to build by the hundred thousand and enough to judge
// legality. Does not know: the tuner, loop IR beyond expressions, back ends.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/schedule/step.h"
#include "compiler/tensor/workload.h"

namespace tf::schedule {

// Part of every stored schedule: raised when the meaning of a step changes. Records of another version seed a
// search but are never best.
inline constexpr int kSemanticsVersion = 1;

struct Schedule {
  std::vector<Step> steps;
  bool operator==(const Schedule&) const = default;
};

// Canonical text, one step a line, first line "schedule v1"; to_string(parse(x)) == x. Open sizes print as
// $slot.part.
std::string to_string(const Schedule& schedule);
std::string to_string(const Step& step);
absl::StatusOr<Schedule> parse_schedule(std::string_view text);

// Why a step is not legal: cheap to make, rendered only for people.
enum class Illegal : uint8_t {
  kUnknownStage,
  kUnknownLoop,
  kBadFactor,
  kNotAdjacent,
  kMixedFuse,
  kIncompleteOrder,
  kReductionParallel,
  kNotInnermost,
  kVectorExtent,
  kNotElementwise,
  kIsOutput,
  kAlreadyPlaced,
  kAlreadySplit,
  kNoConsumer,
  kOpenSize,
  kBadLayout,
  kBadScope,
  kShiftTail,
  kNotReduce,
  kNotConstant,
  kTooManySteps
};
struct StepError {
  Illegal reason;
  int step = -1;  // index in the schedule
};
// One line: what the step asked, what is true, what would be legal.
std::string explain(const StepError& error, const Schedule& schedule);

struct Loop {
  std::string name;
  int64_t extent = 1;
  bool reduce = false;
  Annotation annotation = Annotation::kSerial;
};

struct StageState {
  std::string name;
  tensor::Stage stage;      // as rewritten so far (inlined bodies, cached reads)
  std::vector<Loop> loops;  // outermost first
  // How the stage's axes (then reduce axes) follow from its loops, as index expressions over `loop_vars`, and
  // the guards that must hold where factors do not divide.
  std::vector<tensor::Var> loop_vars;
  std::vector<tensor::Expr> axis_values;
  std::vector<tensor::Expr> guards;
  enum class Place : uint8_t { kRoot, kAt, kInlined } place = Place::kRoot;
  std::string consumer, consumer_loop;  // of kAt
  tensor::Scope scope = tensor::Scope::kGlobal;
  int64_t unroll_limit = 0;
};

class State {
 public:
  // The workload must be bound and verified.
  explicit State(const tensor::Workload& workload);
  // Applies one step, or leaves the state as it is and says why not.
  std::optional<StepError> apply(const Step& step);
  const std::vector<StageState>& stages() const { return stages_; }
  const tensor::Workload& workload() const { return workload_; }

 private:
  tensor::Workload workload_;
  std::vector<StageState> stages_;
};

// The state after all steps; FAILED_PRECONDITION with explain()'s line otherwise.
absl::StatusOr<State> apply(const tensor::Workload& workload, const Schedule& schedule);

}  // namespace tf::schedule
