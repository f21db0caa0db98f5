#pragma once
// Owns: test kernels that check on a GPU which element each lane holds for matrix instructions, as the table
// of compiler/tensor_units states it. Does not know: how kernels are run.

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "compiler/tensor/type.h"

namespace tf::backends {

// A kernel of one block. Its parameter is the array of results, of 4 bytes each (f64: 8), which must equal
// `expected` bit for bit.
struct MatrixProbe {
  std::string name;    // of the unit, or ldmatrix
  std::string source;  // CUDA C
  std::string entry;   // of the kernel, which uses no dynamic shared memory
  int threads = 32;    // along x
  tensor::Element element = tensor::Element::kFloat32;
  std::vector<double> expected;
};

// Probes for each instruction of the target that one warp executes. For each element of a that a lane can
// hold, a probe multiplies a tile that is 1 at this element and 0 elsewhere by a tile b with numbered
// elements. Its results are the elements of c in all lanes. A probe of ldmatrix loads numbered halves.
std::vector<MatrixProbe> matrix_probes(const target::Target& target);

// The source of unsigned probe_bits(unsigned): the bits of a small integer as an element.
std::string probe_bits_text(tensor::Element element);

}  // namespace tf::backends
