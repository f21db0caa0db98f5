#pragma once
// Owns: HostTensor, a tensor's value in memory as it is read from files, given to a model and compared. Does
// not know: file formats.

#include <string>
#include <vector>

#include "compiler/graph/blob.h"
#include "compiler/tensor/type.h"

namespace tf::graph {

struct HostTensor {
  std::string name;
  tensor::Element element = tensor::Element::kFloat32;
  std::vector<int64_t> shape;
  BlobRef data;  // row-major
};

}  // namespace tf::graph
