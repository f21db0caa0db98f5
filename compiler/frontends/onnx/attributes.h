#pragma once
// Owns: which operators each of ONNX's operator sets has, and with which attributes. Does not know: what they
// mean.

#include <string>

namespace onnx {
class NodeProto;
}  // namespace onnx

namespace tf::onnx {

// The node's operator, behind its domain and a dot if that is not ai.onnx: "Conv", "com.microsoft.FusedConv".
std::string qualified_name(const ::onnx::NodeProto& node);

// What is wrong with the node's operator and attributes by the rules of that operator set, or nothing: an
// operator or an attribute that the set does not have, an attribute of another type, or one that is given
// twice. Operators that import has no rule for are not checked; those of other domains have one set.
std::string attribute_mistake(const ::onnx::NodeProto& node, int opset);

}  // namespace tf::onnx
