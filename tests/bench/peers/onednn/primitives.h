#pragma once
// Owns: oneDNN's primitives for each family of kernels; each add_* adds a contender for every way that oneDNN
// has, none if it has none. Does not know: timing. One file a family.

#include <vector>

#include "tests/bench/peers/onednn/engine.h"
#include "tests/bench/peers/onednn/finish.h"

namespace tf::peers::onednn {

// What a kernel of the table is computed with.
struct Types {
  memory::data_type x = memory::data_type::f32, w = x, bias = x, y = x;
};
struct Way {
  Types types;
  std::string suffix;  // of its name
  double tolerance = 0;
};

// What a primitive, as it was chosen, makes of the kernel's first input, whose dimensions are x.
template <typename Kind>
Primitive of_first_input(const Part& part, const memory::dims& x, const typename Kind::primitive_desc& chosen,
                         double tolerance) {
  return {.name = "onednn",
          .note = chosen.impl_info_str(),
          .tolerance = tolerance,
          .primitive = Kind(chosen),
          .arguments = {{DNNL_ARG_SRC, packed(part.operands.inputs[0], x, chosen.src_desc())},
                        {DNNL_ARG_DST, memory(chosen.dst_desc(), engine())}},
          .result = chosen.dst_desc().dims()};
}

void add_product(const bench::Gemm& gemm, const bench::Operands& operands, const Way& way,
                 std::vector<Contender>& contenders);
// By one constant or given matrix, all rows of a batch at once; with what follows it.
void add_product(const Part& part, double tolerance, std::vector<Contender>& contenders);

// Direct and Winograd. oneDNN chooses all layouts.
void add_convolution(const bench::Convolution& convolution, const bench::Operands& operands, const Way& way,
                     std::vector<Contender>& contenders);
void add_convolution(const Part& part, double tolerance, std::vector<Contender>& contenders);

void add_pool(const Part& part, double tolerance, std::vector<Contender>& contenders);
// As a reduction, and means over all pixels as a pool.
void add_reduction(const Part& part, double tolerance, std::vector<Contender>& contenders);
void add_softmax(const Part& part, double tolerance, std::vector<Contender>& contenders);
void add_normalization(const Part& part, double tolerance, std::vector<Contender>& contenders);
void add_elementwise(const Part& part, double tolerance, std::vector<Contender>& contenders);
// Concatenations, transposes, changes of layout.
void add_movement(const Part& part, double tolerance, std::vector<Contender>& contenders);

}  // namespace tf::peers::onednn
