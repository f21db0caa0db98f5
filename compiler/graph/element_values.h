#pragma once
// Owns: reading and writing one element of a constant, whatever its element type. Does not know: graphs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/tensor/evaluate.h"
#include "compiler/tensor/type.h"

namespace tf::graph {

// Elements as double (floats) or as int64 (bool and integers). i64 values beyond 2^53 are exact only as
// integers.
std::vector<double> read_floats(tensor::Element element, std::string_view bytes);
std::vector<int64_t> read_integers(tensor::Element element, std::string_view bytes);
// As doubles if the element is a float, else as whole numbers.
tensor::Values read_values(tensor::Element element, std::string_view bytes);
std::string write_floats(tensor::Element element, const std::vector<double>& values);
std::string write_integers(tensor::Element element, const std::vector<int64_t>& values);
std::string write_values(tensor::Element element, const tensor::Values& values);

}  // namespace tf::graph
