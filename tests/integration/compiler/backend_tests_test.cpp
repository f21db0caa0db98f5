// ONNX's own tests of operators, by `compiler check`.
#include <filesystem>

#include "tests/integration/compiler/commands.h"

namespace tf {
namespace {

namespace fs = std::filesystem;

// One or more of every operator that import knows and the package has.
constexpr const char* kBackendTests[] = {"acosh",
                                         "add_bcast",
                                         "argmax_default_axis_example",
                                         "argmin_negative_axis_keepdims_example_select_last_index",
                                         "asinh",
                                         "atan",
                                         "atanh",
                                         "averagepool_2d_ceil",
                                         "averagepool_2d_pads_count_include_pad",
                                         "averagepool_2d_same_lower",
                                         "averagepool_3d_default",
                                         "basic_conv_with_padding",
                                         "batchnorm_epsilon",
                                         "batchnorm_example_training_mode",
                                         "bitshift_left_uint8",
                                         "cast_FLOAT_to_FLOAT16",
                                         "castlike_FLOAT_to_DOUBLE",
                                         "celu",
                                         "clip_default_min",
                                         "clip_inbounds",
                                         "concat_3d_axis_negative_2",
                                         "conv_with_autopad_same",
                                         "conv_with_strides_and_asymmetric_padding",
                                         "cosh",
                                         "cumsum_1d_exclusive",
                                         "cumsum_2d_axis_1",
                                         "det_nd",
                                         "dft",
                                         "dft_axis",
                                         "dft_inverse",
                                         "div",
                                         "dropout_default",
                                         "einsum_batch_diagonal",
                                         "einsum_batch_matmul",
                                         "einsum_inner_prod",
                                         "elu",
                                         "erf",
                                         "exp",
                                         "flatten_axis2",
                                         "gather_negative_indices",
                                         "gemm_all_attributes",
                                         "gemm_default_vector_bias",
                                         "globalaveragepool",
                                         "hannwindow",
                                         "hardmax_one_hot",
                                         "hardsigmoid",
                                         "hardswish",
                                         "instancenorm_epsilon",
                                         "isinf_positive",
                                         "layer_normalization_4d_axis1",
                                         "leakyrelu",
                                         "log",
                                         "logsoftmax_axis_1",
                                         "lrn",
                                         "matmul_4d",
                                         "max_example",
                                         "maxpool_2d_dilations",
                                         "maxpool_2d_same_upper",
                                         "mean_example",
                                         "melweightmatrix",
                                         "mod_broadcast",
                                         "mod_mixed_sign_float32",
                                         "mvn",
                                         "nllloss_NCd1d2_with_weight_reduction_mean",
                                         "not_3d",
                                         "pow_bcast_array",
                                         "prelu_broadcast",
                                         "reduce_l1_keep_dims_random",
                                         "reduce_l2_do_not_keepdims_random",
                                         "reduce_log_sum_desc_axes",
                                         "reduce_log_sum_exp_default_axes_keepdims_random",
                                         "reduce_mean_keepdims_example",
                                         "reduce_prod_negative_axes_keepdims_random",
                                         "reduce_sum_square_negative_axes_keepdims_random",
                                         "reshape_zero_and_negative_dim",
                                         "sce_NCd1d2d3_none_no_weight_negative_ii_log_prob",
                                         "selu",
                                         "shrink_soft",
                                         "sigmoid",
                                         "sign",
                                         "sinh",
                                         "slice_neg_steps",
                                         "softmax_large_number",
                                         "softplus",
                                         "split_equal_parts_2d",
                                         "sqrt",
                                         "squeeze",
                                         "stft_with_window",
                                         "sum_example",
                                         "tan",
                                         "tanh",
                                         "thresholdedrelu",
                                         "transpose_all_permutations_4",
                                         "unsqueeze_three_axes",
                                         "where_example",
                                         "xor_bcast3v2d"};

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
