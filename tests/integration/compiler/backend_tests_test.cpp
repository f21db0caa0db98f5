// ONNX's own tests of operators, by `compiler check`.
#include <filesystem>

#include "tests/integration/compiler/commands.h"

namespace tf {
namespace {

namespace fs = std::filesystem;

// One or more of every operator that import knows and the package has.
constexpr const char* kBackendTests[] = {"add_bcast",
                                         "averagepool_2d_ceil",
                                         "averagepool_2d_pads_count_include_pad",
                                         "averagepool_2d_same_lower",
                                         "averagepool_3d_default",
                                         "basic_conv_with_padding",
                                         "batchnorm_epsilon",
                                         "cast_FLOAT_to_FLOAT16",
                                         "clip_default_min",
                                         "concat_3d_axis_negative_2",
                                         "conv_with_autopad_same",
                                         "conv_with_strides_and_asymmetric_padding",
                                         "div",
                                         "dropout_default",
                                         "elu",
                                         "erf",
                                         "exp",
                                         "flatten_axis2",
                                         "gather_negative_indices",
                                         "gemm_all_attributes",
                                         "gemm_default_vector_bias",
                                         "globalaveragepool",
                                         "hardsigmoid",
                                         "hardswish",
                                         "layer_normalization_4d_axis1",
                                         "leakyrelu",
                                         "log",
                                         "logsoftmax_axis_1",
                                         "lrn",
                                         "matmul_4d",
                                         "maxpool_2d_dilations",
                                         "maxpool_2d_same_upper",
                                         "max_example",
                                         "mean_example",
                                         "not_3d",
                                         "pow_bcast_array",
                                         "prelu_broadcast",
                                         "reduce_mean_keepdims_example",
                                         "reduce_prod_negative_axes_keepdims_random",
                                         "reshape_zero_and_negative_dim",
                                         "sigmoid",
                                         "slice_neg_steps",
                                         "softmax_large_number",
                                         "softplus",
                                         "split_equal_parts_2d",
                                         "sqrt",
                                         "squeeze",
                                         "sum_example",
                                         "tanh",
                                         "transpose_all_permutations_4",
                                         "unsqueeze_three_axes",
                                         "where_example"};

// ONNX's own tests, compiled.
TEST_F(Commands, OnnxBackendTestsPass) {
  const fs::path data = "/usr/share/libonnx-testdata/data/node";
  if (!fs::exists(data)) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::string folders;
  for (const char* test : kBackendTests) folders += " " + (data / (std::string("test_") + test)).string();
  folders += " " + (data.parent_path() / "pytorch-converted/test_PReLU_2d_multiparam").string();
  const Answer answer = run("check" + folders);
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
}

}  // namespace
}  // namespace tf
