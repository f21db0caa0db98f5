#include "compiler/frontends/onnx/attributes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/text/printable.h"

namespace tf::onnx {
namespace {

using ::onnx::AttributeProto;

// Operators are separated by spaces; a set has the attribute if it lies in [since, until).
struct AttributeRow {
  std::string_view operators;
  std::string_view attribute;
  AttributeProto::AttributeType type;
  int since = 1, until = 1000;
};

constexpr auto kInt = AttributeProto::INT;
constexpr auto kInts = AttributeProto::INTS;
constexpr auto kFloat = AttributeProto::FLOAT;
constexpr auto kFloats = AttributeProto::FLOATS;
constexpr auto kString = AttributeProto::STRING;
constexpr auto kStrings = AttributeProto::STRINGS;
constexpr auto kTensor = AttributeProto::TENSOR;
constexpr auto kSparse = AttributeProto::SPARSE_TENSOR;
constexpr auto kGraph = AttributeProto::GRAPH;
constexpr auto kType = AttributeProto::TYPE_PROTO;

constexpr std::string_view kBroadcasting = "Add And Div Equal Greater Less Mul Or Pow Sub";
constexpr std::string_view kConsuming =
    "Abs Add BatchNormalization Ceil Clip Div Dropout Elu Exp Floor HardSigmoid LeakyRelu Log Max Mean Min "
    "Mul Neg "
    "PRelu Reciprocal Relu Reshape Sigmoid Sqrt Sub Sum Tanh";
constexpr std::string_view kConvolutions = "Conv ConvInteger ConvTranspose QLinearConv";
constexpr std::string_view kRecurrent = "GRU LSTM RNN";
constexpr std::string_view kPools = "AveragePool MaxPool";
constexpr std::string_view kWindows = "AveragePool Conv ConvInteger ConvTranspose LpPool MaxPool QLinearConv";
constexpr std::string_view kMicrosoftWindows =
    "com.microsoft.FusedConv com.microsoft.NhwcMaxPool com.microsoft.QLinearAveragePool "
    "com.microsoft.QLinearConv";
constexpr std::string_view kMicrosoftProducts =
    "com.microsoft.FusedGemm com.microsoft.FusedMatMul com.microsoft.QGemm com.microsoft.TransposeMatMul";
constexpr std::string_view kReductions =
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare";
constexpr std::string_view kOtherReductions =
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
    "ReduceSumSquare";

// From the operator schemas of ONNX, sets 1 to 26.
constexpr AttributeRow kAttributes[] = {
    {"Cast", "to", kString, 1, 6},
    {"Cast", "to", kInt, 6},
    {"Cast", "saturate", kInt, 19},
    {"Clip", "max", kFloat, 1, 11},
    {"Clip", "min", kFloat, 1, 11},
    {"Concat Flatten Gather GatherElements LogSoftmax OneHot Softmax Split", "axis", kInt},
    {"Constant ConstantOfShape", "value", kTensor},
    {"Constant", "sparse_value", kSparse, 11},
    {"Constant", "value_float", kFloat, 12},
    {"Constant", "value_floats", kFloats, 12},
    {"Constant", "value_int", kInt, 12},
    {"Constant", "value_ints", kInts, 12},
    {"Constant", "value_string", kString, 12},
    {"Constant", "value_strings", kStrings, 12},
    {"DequantizeLinear QuantizeLinear", "axis", kInt, 13},
    {"DequantizeLinear QuantizeLinear", "block_size", kInt, 21},
    {"QuantizeLinear", "output_dtype", kInt, 21},
    {"QuantizeLinear", "saturate", kInt, 19},
    {"Dropout", "ratio", kFloat, 1, 12},
    {"Dropout", "seed", kInt, 12},
    {"BatchNormalization Dropout", "is_test", kInt, 1, 7},
    {"BatchNormalization", "epsilon", kFloat},
    {"BatchNormalization", "momentum", kFloat},
    {"BatchNormalization", "spatial", kInt, 1, 9},
    {"BatchNormalization", "training_mode", kInt, 14},
    {"Elu HardSigmoid LeakyRelu", "alpha", kFloat},
    {"HardSigmoid", "beta", kFloat},
    {"Gelu", "approximate", kString},
    {"Gemm", "alpha", kFloat},
    {"Gemm", "beta", kFloat},
    {"Gemm", "broadcast", kInt, 1, 7},
    {"Gemm", "transA", kInt},
    {"Gemm", "transB", kInt},
    {"LRN", "alpha", kFloat},
    {"LRN", "beta", kFloat},
    {"LRN", "bias", kFloat},
    {"LRN", "size", kInt},
    {"LayerNormalization", "axis", kInt},
    {"LayerNormalization", "epsilon", kFloat},
    {"LayerNormalization", "stash_type", kInt},
    {"Pad", "mode", kString},
    {"Pad", "paddings", kInts, 1, 2},
    {"Pad", "pads", kInts, 2, 11},
    {"Pad", "value", kFloat, 1, 11},
    {"Reshape", "allowzero", kInt, 14},
    {"Reshape", "shape", kInts, 1, 5},
    {"Shape", "end", kInt, 15},
    {"Shape", "start", kInt, 15},
    {"Slice", "axes", kInts, 1, 10},
    {"Slice", "ends", kInts, 1, 10},
    {"Slice", "starts", kInts, 1, 10},
    {"Split", "num_outputs", kInt, 18},
    {"Split", "split", kInts, 1, 13},
    {"Squeeze Unsqueeze", "axes", kInts, 1, 13},
    {"Transpose", "perm", kInts},
    {"TfIdfVectorizer", "max_gram_length", kInt},
    {"TfIdfVectorizer", "max_skip_count", kInt},
    {"TfIdfVectorizer", "min_gram_length", kInt},
    {"TfIdfVectorizer", "mode", kString},
    {"TfIdfVectorizer", "ngram_counts", kInts},
    {"TfIdfVectorizer", "ngram_indexes", kInts},
    {"TfIdfVectorizer", "pool_int64s", kInts},
    {"TfIdfVectorizer", "pool_strings", kStrings},
    {"TfIdfVectorizer", "weights", kFloats},
    {"ConcatFromSequence SplitToSequence", "axis", kInt},
    {"ConcatFromSequence", "new_axis", kInt},
    {"Optional", "type", kType},
    {"SequenceEmpty", "dtype", kInt},
    {"SequenceMap", "body", kGraph},
    {"SplitToSequence", "keepdims", kInt},
    {"If", "then_branch", kGraph},
    {"If", "else_branch", kGraph},
    {"Loop Scan", "body", kGraph},
    {"Scan", "num_scan_inputs", kInt},
    {"Scan", "directions", kInts, 8, 9},
    {"Scan", "scan_input_axes", kInts, 9},
    {"Scan", "scan_input_directions", kInts, 9},
    {"Scan", "scan_output_axes", kInts, 9},
    {"Scan", "scan_output_directions", kInts, 9},
    {kRecurrent, "activation_alpha", kFloats},
    {kRecurrent, "activation_beta", kFloats},
    {kRecurrent, "activations", kStrings},
    {kRecurrent, "clip", kFloat},
    {kRecurrent, "direction", kString},
    {kRecurrent, "hidden_size", kInt},
    {kRecurrent, "layout", kInt, 14},
    {kRecurrent, "output_sequence", kInt, 1, 7},
    {"GRU", "linear_before_reset", kInt, 3},
    {"LSTM", "input_forget", kInt},
    {"Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike", "dtype", kInt},
    {"Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike", "seed", kFloat},
    {"Compress Scatter ScatterElements Unique", "axis", kInt},
    {"BitCast", "to", kInt},
    {"CumProd CumSum", "exclusive", kInt},
    {"CumProd CumSum", "reverse", kInt},
    {"DeformConv", "offset_group", kInt},
    {"MaxRoiPool", "pooled_shape", kInts},
    {"MaxRoiPool", "spatial_scale", kFloat},
    {"TensorScatter", "axis", kInt},
    {"TensorScatter", "mode", kString},
    {"MaxUnpool", "kernel_shape", kInts},
    {"MaxUnpool", "pads", kInts},
    {"MaxUnpool", "strides", kInts},
    {"Multinomial", "sample_size", kInt},
    {"NonMaxSuppression", "center_point_box", kInt},
    {"RandomNormal RandomNormalLike", "mean", kFloat},
    {"RandomNormal RandomNormalLike", "scale", kFloat},
    {"RandomNormal RandomUniform", "shape", kInts},
    {"RandomUniform RandomUniformLike", "high", kFloat},
    {"RandomUniform RandomUniformLike", "low", kFloat},
    {"RoiAlign", "coordinate_transformation_mode", kString, 16},
    {"RoiAlign", "mode", kString},
    {"RoiAlign", "output_height", kInt},
    {"RoiAlign", "output_width", kInt},
    {"RoiAlign", "sampling_ratio", kInt},
    {"RoiAlign", "spatial_scale", kFloat},
    {"ScatterElements ScatterND", "reduction", kString, 16},
    {"TopK", "axis", kInt},
    {"TopK", "k", kInt, 1, 10},
    {"TopK", "largest", kInt, 11},
    {"TopK", "sorted", kInt, 11},
    {"Unique", "sorted", kInt},
    {kBroadcasting, "axis", kInt, 1, 7},
    {kBroadcasting, "broadcast", kInt, 1, 7},
    {kConsuming, "consumed_inputs", kInts, 1, 6},
    {kWindows, "auto_pad", kString},
    {kWindows, "kernel_shape", kInts},
    {kWindows, "pads", kInts},
    {kWindows, "strides", kInts},
    {"DeformConv", "kernel_shape", kInts},
    {"DeformConv", "pads", kInts},
    {"DeformConv", "strides", kInts},
    {"DeformConv", "dilations", kInts},
    {"DeformConv", "group", kInt},
    {kConvolutions, "dilations", kInts},
    {kConvolutions, "group", kInt},
    {kPools, "ceil_mode", kInt, 10},
    {"AveragePool", "count_include_pad", kInt, 7},
    {"AveragePool", "dilations", kInts, 19},
    {"MaxPool", "dilations", kInts, 10},
    {"MaxPool", "storage_order", kInt, 8},
    {"LpPool", "ceil_mode", kInt, 18},
    {"LpPool", "dilations", kInts, 18},
    {"LpPool GlobalLpPool", "p", kFloat, 1, 2},
    {"LpPool GlobalLpPool", "p", kInt, 2},
    {"ConvTranspose", "output_padding", kInts},
    {"ConvTranspose", "output_shape", kInts},
    {"AffineGrid GridSample", "align_corners", kInt},
    {"CenterCropPad", "axes", kInts},
    {"Col2Im", "dilations", kInts},
    {"Col2Im", "pads", kInts},
    {"Col2Im", "strides", kInts},
    {"DepthToSpace SpaceToDepth", "blocksize", kInt},
    {"DepthToSpace", "mode", kString, 11},
    {"EyeLike", "dtype", kInt},
    {"EyeLike", "k", kInt},
    {"GatherND", "batch_dims", kInt, 12},
    {"GridSample", "mode", kString},
    {"GridSample", "padding_mode", kString},
    {"Resize", "antialias", kInt, 18},
    {"Resize", "axes", kInts, 18},
    {"Resize", "coordinate_transformation_mode", kString, 11},
    {"Resize", "cubic_coeff_a", kFloat, 11},
    {"Resize", "exclude_outside", kInt, 11},
    {"Resize", "extrapolation_value", kFloat, 11},
    {"Resize", "keep_aspect_ratio_policy", kString, 18},
    {"Resize Upsample", "mode", kString},
    {"Resize", "nearest_mode", kString, 11},
    {"ReverseSequence", "batch_axis", kInt},
    {"ReverseSequence", "time_axis", kInt},
    {"Trilu com.microsoft.Trilu", "upper", kInt},
    {"Upsample", "height_scale", kFloat, 1, 7},
    {"Upsample", "width_scale", kFloat, 1, 7},
    {"Upsample", "scales", kFloats, 7, 9},
    {kReductions, "keepdims", kInt},
    {kOtherReductions, "axes", kInts, 1, 18},
    {kOtherReductions, "noop_with_empty_axes", kInt, 18},
    {"ReduceSum", "axes", kInts, 1, 13},
    {"ReduceSum", "noop_with_empty_axes", kInt, 13},
    {"ArgMax ArgMin", "axis", kInt},
    {"ArgMax ArgMin", "keepdims", kInt},
    {"ArgMax ArgMin", "select_last_index", kInt, 12},
    {"Hardmax", "axis", kInt},
    {"Celu Selu Swish ThresholdedRelu", "alpha", kFloat},
    {"Selu", "gamma", kFloat},
    {"Selu", "consumed_inputs", kInts, 1, 6},
    {"Shrink", "bias", kFloat},
    {"Shrink", "lambd", kFloat},
    {"BitShift", "direction", kString},
    {"IsInf", "detect_negative", kInt},
    {"IsInf", "detect_positive", kInt},
    {"Mod", "fmod", kInt},
    {"GroupNormalization InstanceNormalization RMSNormalization", "epsilon", kFloat},
    {"GroupNormalization", "num_groups", kInt},
    {"GroupNormalization", "stash_type", kInt, 21},
    {"InstanceNormalization", "consumed_inputs", kInts, 1, 6},
    {"LpNormalization RMSNormalization", "axis", kInt},
    {"LpNormalization", "p", kInt},
    {"MeanVarianceNormalization", "axes", kInts},
    {"RMSNormalization", "stash_type", kInt},
    {"Cast CastLike", "round_mode", kString, 24},
    {"CastLike", "saturate", kInt, 19},
    {"DequantizeLinear", "output_dtype", kInt, 23},
    {"QuantizeLinear", "precision", kInt, 23},
    {"Einsum", "equation", kString},
    {"NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", "ignore_index", kInt},
    {"NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", "reduction", kString},
    {"BlackmanWindow HammingWindow HannWindow MelWeightMatrix", "output_datatype", kInt},
    {"BlackmanWindow HammingWindow HannWindow", "periodic", kInt},
    {"DFT", "axis", kInt, 17, 20},
    {"DFT", "inverse", kInt},
    {"DFT STFT", "onesided", kInt},
    {"Attention", "is_causal", kInt},
    {"Attention", "kv_num_heads", kInt},
    {"Attention", "q_num_heads", kInt},
    {"Attention", "qk_matmul_output_mode", kInt},
    {"Attention", "scale", kFloat},
    {"Attention", "softcap", kFloat},
    {"Attention", "softmax_precision", kInt},
    {"RotaryEmbedding", "interleaved", kInt},
    {"RotaryEmbedding", "num_heads", kInt},
    {"RotaryEmbedding", "rotary_embedding_dim", kInt},
    {"com.microsoft.Attention com.microsoft.QAttention", "do_rotary", kInt},
    {"com.microsoft.Attention com.microsoft.QAttention", "past_present_share_buffer", kInt},
    {"com.microsoft.Attention com.microsoft.QAttention", "unidirectional", kInt},
    {"com.microsoft.Attention", "qkv_hidden_sizes", kInts},
    {"com.microsoft.Attention", "rotary_embedding_dim", kInt},
    {"com.microsoft.Attention com.microsoft.MultiHeadAttention com.microsoft.QAttention", "mask_filter_value",
     kFloat},
    {"com.microsoft.Attention com.microsoft.MultiHeadAttention com.microsoft.QAttention", "num_heads", kInt},
    {"com.microsoft.Attention com.microsoft.MultiHeadAttention com.microsoft.QAttention", "scale", kFloat},
    {"com.microsoft.GroupQueryAttention", "do_rotary", kInt},
    {"com.microsoft.GroupQueryAttention", "kv_num_heads", kInt},
    {"com.microsoft.GroupQueryAttention", "local_window_size", kInt},
    {"com.microsoft.GroupQueryAttention", "num_heads", kInt},
    {"com.microsoft.GroupQueryAttention", "qk_output", kInt},
    {"com.microsoft.GroupQueryAttention", "rotary_interleaved", kInt},
    {"com.microsoft.GroupQueryAttention", "scale", kFloat},
    {"com.microsoft.GroupQueryAttention", "smooth_softmax", kInt},
    {"com.microsoft.GroupQueryAttention", "softcap", kFloat},
    {"com.microsoft.MultiHeadAttention", "unidirectional", kInt},
    {"com.microsoft.RotaryEmbedding", "interleaved", kInt},
    {"com.microsoft.RotaryEmbedding", "is_packed_batching", kInt},
    {"com.microsoft.RotaryEmbedding", "num_heads", kInt},
    {"com.microsoft.RotaryEmbedding", "rotary_embedding_dim", kInt},
    {"com.microsoft.RotaryEmbedding", "scale", kFloat},
    {"com.microsoft.EmbedLayerNormalization com.microsoft.SkipLayerNormalization "
     "com.microsoft.SkipSimplifiedLayerNormalization com.microsoft.SimplifiedLayerNormalization "
     "SimplifiedLayerNormalization",
     "epsilon", kFloat},
    {"com.microsoft.EmbedLayerNormalization", "mask_index_type", kInt},
    {"com.microsoft.SimplifiedLayerNormalization SimplifiedLayerNormalization", "axis", kInt},
    {"com.microsoft.SimplifiedLayerNormalization SimplifiedLayerNormalization", "stash_type", kInt},
    {"com.microsoft.QuickGelu com.microsoft.QLinearLeakyRelu com.microsoft.FusedGemm "
     "com.microsoft.FusedMatMul com.microsoft.QGemm com.microsoft.TransposeMatMul",
     "alpha", kFloat},
    {"com.microsoft.FusedGemm", "activation", kString},
    {"com.microsoft.FusedGemm", "activation_alpha", kFloat},
    {"com.microsoft.FusedGemm", "activation_beta", kFloat},
    {"com.microsoft.FusedGemm", "activation_gamma", kFloat},
    {"com.microsoft.FusedGemm", "beta", kFloat},
    {kMicrosoftProducts, "transA", kInt},
    {kMicrosoftProducts, "transB", kInt},
    {"com.microsoft.FusedMatMul", "transBatchA", kInt},
    {"com.microsoft.FusedMatMul", "transBatchB", kInt},
    {"com.microsoft.FusedConv", "activation", kString},
    {"com.microsoft.FusedConv", "activation_params", kFloats},
    {"com.microsoft.FusedConv com.microsoft.QLinearConv", "group", kInt},
    {kMicrosoftWindows, "auto_pad", kString},
    {kMicrosoftWindows, "kernel_shape", kInts},
    {kMicrosoftWindows, "pads", kInts},
    {kMicrosoftWindows, "strides", kInts},
    {kMicrosoftWindows, "dilations", kInts},
    {"com.microsoft.QLinearAveragePool com.microsoft.NhwcMaxPool", "ceil_mode", kInt},
    {"com.microsoft.QLinearAveragePool", "count_include_pad", kInt},
    {"com.microsoft.QLinearAveragePool com.microsoft.QLinearConv com.microsoft.QLinearGlobalAveragePool",
     "channels_last", kInt},
    {"com.microsoft.QLinearConcat com.microsoft.QLinearSoftmax", "axis", kInt},
    {"com.microsoft.QLinearSoftmax", "opset", kInt},
    {"com.microsoft.CDist", "metric", kString},
    {"com.microsoft.DequantizeLinear com.microsoft.QuantizeLinear", "axis", kInt},
    {"com.microsoft.DequantizeLinear com.microsoft.QuantizeLinear", "block_size", kInt},
    {"com.microsoft.GatherBlockQuantized", "gather_axis", kInt},
    {"com.microsoft.GatherBlockQuantized", "quantize_axis", kInt},
    {"com.microsoft.MatMulBnb4", "quant_type", kInt},
    {"com.microsoft.MatMulBnb4", "training_mode", kInt},
    {"com.microsoft.MatMulBnb4", "transB", kInt},
    {"com.microsoft.MatMulBnb4 com.microsoft.MatMulNBits", "K", kInt},
    {"com.microsoft.MatMulBnb4 com.microsoft.MatMulNBits", "N", kInt},
    {"com.microsoft.MatMulNBits", "accuracy_level", kInt},
    {"com.microsoft.GatherBlockQuantized com.microsoft.MatMulNBits", "bits", kInt},
    {"com.microsoft.GatherBlockQuantized com.microsoft.MatMulBnb4 com.microsoft.MatMulNBits", "block_size",
     kInt},
    {"Xor", "axis", kInt, 1, 7},
    {"Xor", "broadcast", kInt, 1, 7},
};

// The operators that came after set 1.
struct FirstSet {
  int opset;
  std::string_view operators;
};
constexpr FirstSet kFirstSets[] = {
    {7, "Cos Multinomial Sin"},
    {8, "Expand"},
    {9, "Compress ConstantOfShape Erf EyeLike IsNaN MaxUnpool NonZero OneHot Scatter Where"},
    {10,
     "ConvInteger DequantizeLinear MatMulInteger NonMaxSuppression QLinearConv QLinearMatMul QuantizeLinear "
     "Resize "
     "ReverseSequence RoiAlign"},
    {11,
     "CumSum Det DynamicQuantizeLinear GatherElements GatherND Range Round ScatterElements ScatterND Unique"},
    {12, "GreaterOrEqual LessOrEqual"},
    {14, "HardSwish Trilu"},
    {15, "Bernoulli"},
    {16, "GridSample"},
    {17, "LayerNormalization"},
    {18, "CenterCropPad Col2Im"},
    {20, "AffineGrid Gelu"},
    {7, "Acos Asin Atan Tan"},
    {18, "GroupNormalization"},
    {23, "Attention RMSNormalization RotaryEmbedding"},
    {9, "MeanVarianceNormalization"},
    {9, "Acosh Asinh Atanh Cosh Shrink Sign Sinh"},
    {10, "IsInf Mod ThresholdedRelu"},
    {11, "BitShift"},
    {12, "Celu Einsum NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss"},
    {17, "BlackmanWindow DFT HammingWindow HannWindow MelWeightMatrix STFT"},
    {15, "CastLike"},
    {18, "BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Mish"},
    {19, "DeformConv"},
    {24, "Swish TensorScatter"},
    {26, "BitCast CumProd"},
    {11,
     "ConcatFromSequence SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert "
     "SequenceLength "
     "SplitToSequence"},
    {15, "Optional OptionalGetElement OptionalHasElement"},
    {17, "SequenceMap"},
    {9, "TfIdfVectorizer"},
};

// Whether the word is one of the list's.
bool contains(std::string_view list, std::string_view word) {
  for (size_t at = list.find(word); at != std::string_view::npos; at = list.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return !word.empty();
  }
  return false;
}

std::string_view type_words(AttributeProto::AttributeType type) {
  switch (type) {
    case kInt:
      return "a whole number";
    case kInts:
      return "a list of whole numbers";
    case kFloat:
      return "a floating-point number";
    case kFloats:
      return "a list of floating-point numbers";
    case kString:
      return "a text";
    case kStrings:
      return "a list of texts";
    case kTensor:
      return "a tensor";
    case kGraph:
      return "a graph";
    case kType:
      return "a type";
    default:
      return "a sparse tensor";
  }
}

std::string mistake(const std::string& op, const AttributeProto& attribute, int opset) {
  const std::string name = printable(attribute.name());
  std::string other_sets;
  for (const AttributeRow& row : kAttributes) {
    if (row.attribute != attribute.name() || !contains(row.operators, op)) continue;
    if (opset >= row.since && opset < row.until) {
      if (attribute.type() == row.type) return "";
      return absl::StrCat("attribute '", name, "' is not ", std::string(type_words(row.type)));
    }
    other_sets = opset < row.since ? absl::StrCat("; it exists from set ", row.since, " on")
                                   : absl::StrCat("; it existed up to set ", row.until - 1);
  }
  return absl::StrCat("attribute '", name, "' does not exist in operator set ", opset, other_sets);
}

}  // namespace

std::string qualified_name(const ::onnx::NodeProto& node) {
  if (node.domain().empty() || node.domain() == "ai.onnx") return node.op_type();
  return absl::StrCat(node.domain(), ".", node.op_type());
}

std::string attribute_mistake(const ::onnx::NodeProto& node, int opset) {
  const std::string name = qualified_name(node);
  for (const FirstSet& first : kFirstSets) {
    if (opset < first.opset && contains(first.operators, name))
      return absl::StrCat("operator set ", opset, " does not have this operator; set ", first.opset,
                          " is the first");
  }
  std::set<std::string_view> seen;
  for (const AttributeProto& attribute : node.attribute()) {
    if (!seen.insert(attribute.name()).second)
      return absl::StrCat("attribute '", printable(attribute.name()), "' is given twice");
    if (std::string text = mistake(name, attribute, opset); !text.empty()) return text;
  }
  return "";
}

}  // namespace tf::onnx
