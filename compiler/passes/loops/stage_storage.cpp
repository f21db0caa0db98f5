#include "compiler/passes/loops/stage_storage.h"

#include <string>
#include <utility>

#include "base/check.h"

namespace tf::passes {

using ir::Expr;
using schedule::StageState;

namespace {

// Registers are a worker's own: a region that a parallel loop inside reads lives in memory.
ir::Scope scope_of(const schedule::StateData& data, const StageState& stage) {
  if (stage.place != StageState::Place::kAt) return stage.scope;
  const StageState* consumer = data.find_stage(stage.consumer);
  const auto from = static_cast<size_t>(consumer->find_loop(stage.consumer_loop)) + 1;
  for (size_t i = from; i < consumer->loops.size(); ++i)
    if (consumer->loops[i].annotation == schedule::Annotation::kParallel) return ir::Scope::kGlobal;
  return stage.scope;
}

}  // namespace

std::vector<Expr> Storage::at(std::vector<Expr> indices) const {
  if (tile) indices.insert(indices.begin(), tile);
  return indices;
}

StageStorage::StageStorage(const schedule::StateData& data, const TemporaryShapes& shapes) {
  for (const StageState& stage : data.stages) {
    if (stage.place == StageState::Place::kInlined || data.is_output(stage)) continue;
    TemporaryShape shape = shapes.of(stage);
    std::vector<Expr> sizes;
    for (int64_t extent : shape.extents) sizes.push_back(tensor::imm(extent));
    ir::Buffer buffer = tensor::buffer(stage.name, stage.stage.output->element, std::move(sizes),
                                       scope_of(data, stage), std::move(shape.layout));
    places_[stage.stage.output.get()] = {buffer, stage.origin, shape.tile};
  }
}

void StageStorage::add_param(const ir::Buffer& tensor, const ir::Buffer& param) {
  places_[tensor.get()] = {param, std::vector<Expr>(tensor->extents.size(), tensor::imm(0)), nullptr};
}

Expr StageStorage::with_storage(const Expr& body) const {
  return tensor::rewrite(body, [&](const Expr& e) -> Expr {
    const auto* load = ir::as<ir::Load>(e);
    if (!load) return e;
    auto found = places_.find(load->buffer.get());
    TF_CHECK(found != places_.end()) << load->buffer->name << " is never stored";
    std::vector<Expr> indices;
    for (size_t d = 0; d < load->indices.size(); ++d)
      indices.push_back(load->indices[d] - found->second.origin[d]);
    return tensor::load(found->second.buffer, found->second.at(std::move(indices)), load->predicate);
  });
}

Expr StageStorage::value_of(const StageState& stage) const {
  return with_storage(at_axes(stage, stage.stage.body));
}

std::vector<Expr> local_indices(const StageState& stage) {
  return {stage.axis_values.begin(),
          stage.axis_values.begin() + static_cast<std::ptrdiff_t>(stage.origin.size())};
}

}  // namespace tf::passes
