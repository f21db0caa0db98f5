#pragma once
// Owns: Schedule, an ordered list of steps, with its text form; and State, a workload after some steps:
// stages with named loops and placements. A search builds hundreds of thousands of states, so they are cheap,
// and just enough to judge legality. Does not know: the tuner, loop IR beyond expressions, back ends.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/analysis/bounds.h"
#include "compiler/schedule/step.h"
#include "compiler/tensor/symbolic_integer.h"
#include "compiler/tensor/workload.h"
#include "compiler/tensor_units/tensor_unit.h"

namespace tf::schedule {

// Part of every stored schedule; incremented when the meaning of a step changes. Records of another version
// seed a search but are never best.
inline constexpr int kSemanticsVersion = 1;

// More steps than any sensible schedule has: stored text may be hostile.
inline constexpr int kMaxSteps = 1000;

struct Schedule {
  std::vector<Step> steps;
  bool operator==(const Schedule&) const = default;
};

// The canonical text: "schedule v1", then one step per line; to_string(parse(x)) == x. Open sizes print as
// $parameter.part. Lines at the start that begin with # are skipped, as in texts that are shown to people.
std::string to_string(const Schedule& schedule);
std::string to_string(const Step& step);
absl::StatusOr<Schedule> parse_schedule(std::string_view text);

// Why a step is illegal. Cheap to create; rendered only for people.
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
  kTooManySteps,
  kHoldsStages,     // other stages are computed inside the loops that the step would change
  kNestedParallel,  // a parallel loop inside another, or inside a stage that is computed inside another
  kCyclicConsumer,  // a stage cannot be computed inside itself or a stage that it reads
  kNoFactors,
  kNotWinograd,  // not a 3x3 or 5x5 convolution of stride 1 in f32 with constant weights of its own
  kNotNarrow,    // not an f32 constant or element-wise stage, or not a 16-bit float type
  kNotOffset,    // not a sum of products of bytes over whole axes, or not a shift by half of a byte's range
  kNotTensor,    // not the product of fragments that the matrix instruction computes
  kIsTensor,     // a stage of a matrix instruction, whose loops are fixed
  kNotPipeline,  // the loop is not serial, or nothing is copied into shared memory in it
  kNotBulk,      // the pipeline copies no whole tile of an input, in lines that the copy engine supports
  kSharedBytes,  // more shared memory than any GPU has
  kNotRaster,    // the stage does not have grid loops of two axes
  kInRaster,     // a stage is computed between the grid loops of a raster
  kNotCross,     // the stage is not at root, or has threads of that axis, or the axis is not of threads
  kNotMatrices,  // not a sum of products whose axes are rows, columns and terms
  kNotSoftmax,   // not the maxima and sums of rows, and a sum of values that their softmax weights
  kOneStores,    // the loop's iterations share an element, which one of them stores
  kOwnCopies,    // each thread has its own region, which no other thread fills
  kFixedThreads  // the loop runs over threads, and a region for one thread relies on that
};
struct StepError {
  Illegal reason;
  int step = -1;  // index in the schedule
};

// In the state of a Schedule, sizes of loops, regions and conditions are literals, or expressions over named
// dimensions without values. In the state of a sketch, they are expressions over its open sizes.
using tensor::SymInt;

// A size that a sketch leaves open: the variable that represents it in a state, and the minimum and maximum
// of its choices.
struct OpenSize {
  tensor::Var var;
  int64_t least = 0, greatest = 0;
};
using OpenSizes = std::vector<std::vector<OpenSize>>;  // by parameter, then by part

struct Loop {
  std::string name;
  SymInt extent = 1;
  bool reduce = false;
  Annotation annotation = Annotation::kSerial;
};

// For a stage whose three innermost loops are a matrix instruction: which axes of the buffers are the rows
// and columns of its matrices.
struct TensorProduct {
  const tensor_units::TensorUnit* unit = nullptr;
  std::string a, b;  // the stages that compute its operands
  int a_row = 0, a_column = 0, b_row = 0, b_column = 0, c_row = 0, c_column = 0;
};

struct StageState {
  std::string name;
  tensor::Stage stage;      // as rewritten so far (inlined bodies, cached reads)
  std::vector<Loop> loops;  // outermost first
  // The values of the stage's axes (then reduce axes), as index expressions over `loop_vars` (one per loop).
  // The guards must hold if factors do not divide an extent; if that depends on open sizes, a guard is
  // `divides || guard`. The position on an axis is origin + its value.
  std::vector<tensor::Var> loop_vars;
  std::vector<tensor::Expr> axis_values;
  std::vector<tensor::Expr> guards;
  // The part of the output that one run of the loops computes, with one entry per axis: its start (an
  // expression over the loop variables of the enclosing stages; 0 at root) and its extent. If open sizes make
  // a region as long as its axis, it starts at 0 and the origin does not count.
  std::vector<tensor::Expr> origin;
  std::vector<SymInt> region;
  enum class Place : uint8_t { kRoot, kAt, kInlined } place = Place::kRoot;
  std::string consumer, consumer_loop;  // of kAt
  tensor::Scope scope = tensor::Scope::kGlobal;
  SymInt unroll_limit = 0;
  std::optional<TensorProduct> tensor;  // after `tensorize`
  bool is_factor = false;      // after `tensorize`: the stage is a copy (fragment or shared) of an operand
  std::string pipelined_loop;  // the loop that prefetches shared tiles; empty: none
  SymInt pipeline_stages = 1;
  SymInt bulk_copies = 0;   // 1: the copy engine makes the copies that it supports
  SymInt raster_group = 1;  // rows of blocks that run together
  bool reshaped = false;    // split, fused or reordered

  bool is_reduction() const { return !stage.reduce_axes.empty(); }
  // Position in `loops`, or -1.
  int find_loop(std::string_view loop) const;
  // The value of each axis (then reduce axis): origin + axis_values.
  std::vector<tensor::Expr> absolute_values() const;
};

// Whether the stage's reduction runs over the lanes of a warp.
bool folds_lanes(const StageState& stage);

// The row pitch of a buffer: its last extent rounded up to a multiple of `factor`, plus `offset` elements.
struct Pitch {
  SymInt factor = 1, offset = 0;
};

// A linear map that is applied to a constant along one axis before it is stored
// (compiler/runtime/axis_map.h). The matrix is row-major, rows x the axis's extent.
struct AxisMap {
  int axis = 0;
  int64_t rows = 0;
  std::vector<double> matrix;
  bool operator==(const AxisMap&) const = default;
};

// A constant that is derived from a constant of bytes: its i32 sums along these axes, whose extents become 1
// (compiler/runtime/axis_sum.h).
struct ConstantSums {
  int input = 0;          // position among the workload's inputs
  std::vector<int> axes;  // increasing
  bool operator==(const ConstantSums&) const = default;
};

// The data that the steps edit. Stages are in topological order, including inlined ones.
struct StateData {
  tensor::Workload workload;
  std::vector<StageState> stages;
  std::map<std::string, OpenLayout> layouts;  // by buffer name: p0 …, t0 …
  std::map<std::string, Pitch> pitches;
  // By constant input's name. Such an input's buffer has the extents after the maps, which apply in order.
  std::map<std::string, std::vector<AxisMap>> maps;
  // By name of an input that a step added after those of the definition.
  std::map<std::string, ConstantSums> sums;
  // The open sizes, and the conditions on them under which the steps so far are legal.
  OpenSizes open;
  std::vector<tensor::Expr> conditions;

  // Empty if the size is open and `open` does not contain it.
  std::optional<SymInt> value_of(const Size& size) const;
  // Whether the condition holds. One on open sizes becomes one of `conditions`, and holds.
  bool require(const tensor::Expr& condition);
  // The ranges of the open sizes' variables.
  analysis::RangeMap open_ranges() const;
  // Whether the size depends on the workload's named dimensions.
  bool has_dims(const SymInt& size) const;
  // The range of iterations of a loop of that extent: [0, extent), for the maximum extent.
  analysis::Interval iterations(const SymInt& extent) const;

  // Null if no stage has that name.
  StageState* find_stage(std::string_view name);
  const StageState* find_stage(std::string_view name) const;
  // Position among the workload's inputs (p0 is 0), or -1.
  int find_input(std::string_view name) const;
  // The buffer of a stage or an input; null if there is no such name.
  tensor::Buffer find_buffer(std::string_view name) const;
  bool is_output(const StageState& stage) const;
  // The stages, not inlined, whose bodies load the buffer.
  std::vector<const StageState*> readers(const tensor::BufferNode* buffer) const;
  // Whether the stage reads a stage that is placed by compute_at. The two can only move together.
  bool reads_placed(const StageState& stage) const;
  // Whether `stage` is computed, directly or through others, in `holder`'s loop number `loop` or deeper.
  bool is_inside(const StageState& stage, const StageState& holder, int loop) const;
  // The thread loop of that annotation around a stage that is computed inside another.
  struct LoopAround {
    const StageState* stage = nullptr;
    int loop = -1;
  };
  std::optional<LoopAround> thread_around(const StageState& stage, Annotation annotation) const;
  // The stages that a pipeline over that loop prefetches: element-wise, shared, reading no placed stage.
  std::vector<const StageState*> copied_in(const StageState& holder, std::string_view loop) const;
  // The innermost loop of `holder` in which other stages are computed; -1 if there is none.
  int deepest_held_loop(const StageState& holder) const;
};

class State {
 public:
  // The workload must be verified, and bound if there are open sizes. Steps may use the sizes in `open`.
  explicit State(const tensor::Workload& workload, OpenSizes open = {});
  // Applies one step. If the step is illegal, returns why and leaves the state unchanged.
  std::optional<StepError> apply(const Step& step);
  const std::vector<StageState>& stages() const { return data_.stages; }
  const tensor::Workload& workload() const { return data_.workload; }
  const StateData& data() const { return data_; }

 private:
  StateData data_;
  int steps_ = 0;
};

// One line for people: the step, the facts of `state`, and what would be legal. `state` must be the state
// whose apply(step) returned `error`.
std::string explain(const StepError& error, const Step& step, const State& state);

// The state after all steps. FAILED_PRECONDITION with explain()'s line if a step is illegal, or is legal only
// for some values of a named dimension.
absl::StatusOr<State> apply(const tensor::Workload& workload, const Schedule& schedule);

}  // namespace tf::schedule
