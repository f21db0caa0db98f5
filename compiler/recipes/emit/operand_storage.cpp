#include "compiler/recipes/emit/operand_storage.h"

#include "compiler/analysis/access.h"
#include "compiler/recipes/emit/flat_stage.h"
#include "compiler/recipes/shape/matrix_product.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

using tensor::Stage;
using tensor::Workload;

namespace {

// How constants that the anchor reads are best stored: the dimension that moves with the vector axis is blocked by
// `vectors` times its lanes and made innermost, so that the vectors of a tile stand side by side; where the input is
// blocked along the first reduce axis, the dimension that moves with that is blocked likewise just outside; a group of its
// elements, for one dot product, stands together inside. A step a constant that has such a dimension.
void append_constant_layouts(const Workload& workload, const Stage& stage, const Prepared& prepared,
                             Size vectors, Steps& steps) {
  const int64_t group = prepared.group;
  const tensor::VarNode* vector_var = stage.axes[static_cast<size_t>(prepared.vector_axis)].var.get();
  const tensor::VarNode* reduce_var =
      stage.reduce_axes.empty() ? nullptr : stage.reduce_axes.front().var.get();
  for (size_t input = 0; input < workload.inputs.size(); ++input) {
    if (!workload.inputs[input].constant) continue;
    const tensor::BufferNode* buffer = workload.inputs[input].buffer.get();
    const tensor::Load* found = nullptr;
    bool single = true;
    tensor::for_each(stage.body, [&](const tensor::Expr& e) {
      const auto* load = tensor::as<tensor::Load>(e);
      if (load != nullptr && load->buffer.get() == buffer) {
        single = found == nullptr || found == load;
        found = load;
      }
      return true;
    });
    if (found == nullptr || !single || buffer->rank() < 2) continue;
    int vector_dim = -1, reduce_dim = -1;
    for (int dim = 0; dim < buffer->rank(); ++dim) {
      const tensor::Expr& index = found->indices[static_cast<size_t>(dim)];
      if (index.get() == vector_var) vector_dim = dim;
      if (reduce_var != nullptr && index.get() == reduce_var) reduce_dim = dim;
      if (index.get() != vector_var && analysis::uses(index, vector_var))
        vector_dim = -2;  // strided: no layout helps
    }
    if (vector_dim < 0) continue;
    OpenLayout layout;
    layout.axes.push_back({vector_dim, 0});
    for (int dim = 0; dim < buffer->rank(); ++dim) {
      if (dim != vector_dim) layout.axes.push_back({dim, 0});
    }
    if (prepared.reduce_block > group && reduce_dim >= 0)
      layout.axes.push_back({reduce_dim, prepared.reduce_block / group});
    layout.push_back(vector_dim, vectors);
    layout.axes.push_back({vector_dim, prepared.lanes});
    if (group > 1 && reduce_dim >= 0) layout.axes.push_back({reduce_dim, group});
    steps.push_back(LayoutRewrite{input_name(static_cast<int>(input)), std::move(layout)});
  }
}

}  // namespace

void append_operand_storage(const tensor::KernelSpec& kernel, const Structure& structure,
                            const Prepared& prepared, Size vectors, Steps& steps) {
  const Workload& workload = kernel.workload;
  const Stage& anchor = anchor_of(workload, structure);
  append_constant_layouts(workload, anchor, prepared, vectors, steps);
  const std::optional<MatrixProduct> product = matrix_product(anchor, prepared.vector_axis);
  if (prepared.columns == Columns::kAsGiven || !product) return;
  Packing packing;
  packing.source = input_name(packable_columns(workload, *product).value());
  packing.reader = prepared.reduction;
  packing.rank = product->columns->rank();
  packing.vector_axis = product->vector_dim;
  packing.reduce_axis = product->reduce_dim;
  packing.vectors = vectors;
  packing.lanes = prepared.lanes;
  packing.group = prepared.group;
  packing.parallel = worth_threads(anchor, kernel.threads);
  append_packing(packing, steps);
}

}  // namespace tf::recipes
