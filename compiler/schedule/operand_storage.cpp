#include "compiler/schedule/operand_storage.h"

#include "compiler/schedule/matrix_product.h"
#include "compiler/schedule/tiling.h"

namespace tf::schedule {

using tensor::Stage;
using tensor::Workload;

void append_operand_storage(const Workload& workload, const Structure& structure, const Prepared& prepared,
                            Size vectors, bool pack, bool parallel, std::vector<Step>& steps) {
  for (const ConstantLayout& constant :
       constant_layouts(workload, *structure.anchor, {prepared.vector_axis, vectors, prepared.lanes},
                        prepared.reduce_block, prepared.group)) {
    steps.push_back(LayoutRewrite{input_name(constant.input), constant.layout});
  }
  const Stage& anchor = workload.stages[static_cast<size_t>(*structure.anchor)];
  const std::optional<MatrixProduct> product = matrix_product(anchor, prepared.vector_axis);
  if (!pack || !product) return;
  Packing packing;
  packing.source = input_name(packable_columns(workload, *product).value());
  packing.reader = prepared.reduction;
  packing.rank = product->columns->rank();
  packing.vector_axis = product->vector_dim;
  packing.reduce_axis = product->reduce_dim;
  packing.vectors = vectors;
  packing.lanes = prepared.lanes;
  packing.group = prepared.group;
  packing.parallel = parallel;
  append_packing(packing, steps);
}

}  // namespace tf::schedule
