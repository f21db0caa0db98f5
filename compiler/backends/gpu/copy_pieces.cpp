#include "compiler/backends/gpu/copy_pieces.h"

#include "compiler/backends/gpu/vector_types.h"

namespace tf::backends {

CopyPieces pieces_of(const ir::AsyncCopy& copy, const target::Target& target,
                     const analysis::RangeMap& ranges) {
  const int size = tensor::element_bytes(copy.target->element);
  CopyPieces pieces;
  const auto is_aligned = [&](const ir::BufferNode& buffer, const ir::Expr& index, int elements) {
    return static_cast<bool>(
        wide_access(buffer, tensor::ramp(index, tensor::imm(1), elements), elements, ranges));
  };
  for (int elements = 2; elements * size <= 16 && copy.elements % elements == 0; elements *= 2)
    if (is_aligned(*copy.target, copy.target_indices[0], elements) &&
        is_aligned(*copy.source, copy.source_indices[0], elements))
      pieces.elements = elements;
  const int bytes = pieces.elements * size;
  pieces.asynchronous = target.has("cp_async") && (bytes == 4 || bytes == 8 || bytes == 16);
  return pieces;
}

}  // namespace tf::backends
