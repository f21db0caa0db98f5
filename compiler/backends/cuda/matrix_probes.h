#pragma once
// Owns: kernels that show what matrix instructions do with each element that each lane holds, for a GPU to confirm the table
// of compiler/tensor_units. Does not know: how kernels are run.

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "compiler/tensor/type.h"

namespace tf::backends {

// One block, one parameter: the results, as many as are expected, of 4 bytes each (f64: 8), equal to the last bit.
struct MatrixProbe {
  std::string name;    // of the unit, or ldmatrix
  std::string source;  // CUDA C
  std::string entry;   // its kernel, for one block and no dynamic shared memory
  int threads = 32;    // along x
  tensor::Element element = tensor::Element::kFloat32;
  std::vector<double> expected;
};

// Of each instruction of the target that a warp executes. A probe of a unit multiplies, for each element of a that a lane can hold, the tile a that is 1
// there and 0 elsewhere by a tile b whose elements are numbered, and gives what all lanes then hold of c. A probe of ldmatrix
// loads numbered halves.
std::vector<MatrixProbe> matrix_probes(const target::Target& target);

// unsigned probe_bits(unsigned): the bits of a small whole number as an element.
std::string probe_bits_text(tensor::Element element);

}  // namespace tf::backends
