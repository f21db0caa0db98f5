#include "compiler/driver/model_header.h"

#include "absl/strings/str_cat.h"

namespace tf::driver {
namespace {

// The bytes of compiler/runtime/model.h, made by CMake.
constexpr char kRuntimeHeader[] =
#include "model_header_text.inc"
    ;

// The name with what could end a comment or a line replaced.
std::string in_comment(const std::string& name) {
  std::string text;
  for (char c : name) text += static_cast<unsigned char>(c) < ' ' || c == '*' || c == '\\' ? '_' : c;
  return text;
}

void describe(const graph::Program& program, const std::vector<int>& values,
              const std::vector<std::string>& names, const char* what, std::string& text) {
  absl::StrAppend(&text, "#define TF_MODEL_", what, "S ", values.size(), "\n");
  for (size_t i = 0; i < values.size(); ++i) {
    const graph::Value& value = program.values[values[i]];
    const graph::TensorType& type = program.graph.type(value.node);
    absl::StrAppend(&text, "#define TF_MODEL_", what, "_", i, "_BYTES ", value.size_bytes, " /* ",
                    in_comment(names[i]), ": ",
                    graph::to_string(graph::tensor_type(type.element, program.graph.shape(type))), " */\n");
  }
}

}  // namespace

std::string model_header(const graph::Program& program) {
  std::vector<std::string> inputs, outputs;
  for (graph::NodeId input : program.graph.inputs()) inputs.push_back(program.graph.node(input).name);
  for (const graph::Output& output : program.graph.outputs) outputs.push_back(output.name);
  std::string text =
      absl::StrCat("/* The model '", in_comment(program.graph.name), "'. */\n", kRuntimeHeader, "\n");
  describe(program, program.inputs, inputs, "INPUT", text);
  describe(program, program.outputs, outputs, "OUTPUT", text);
  return text;
}

}  // namespace tf::driver
