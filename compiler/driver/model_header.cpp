#include "compiler/driver/model_header.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "compiler/runtime/model_abi.h"
#include "compiler/runtime/model_types.h"

namespace tf::driver {
namespace {

// The bytes of compiler/runtime/model_types.h and model.h, made by CMake.
constexpr char kTypesHeader[] =
#include "model_types_text.inc"
    ;
constexpr char kRuntimeHeader[] =
#include "model_text.inc"
    ;

#define TF_NAME(name) #name,
constexpr const char* kFunctions[] = {TF_MODEL_FUNCTIONS(TF_NAME)};
#undef TF_NAME

constexpr const char* kGuardBegin = "TF_MODEL_HEADER_";

// The name with what could end a comment or a line replaced.
std::string in_comment(const std::string& name) {
  std::string text;
  for (char c : name) text += static_cast<unsigned char>(c) < ' ' || c == '*' || c == '\\' ? '_' : c;
  return text;
}

// A name as the model has it, and as a program with one model may write it.
struct Name {
  std::string own, plain;
};

std::vector<Name> function_names(const std::string& name) {
  std::vector<Name> names = {{name + "_model", "tf_model"}};
  for (const std::string function : kFunctions)
    names.push_back({name + "_" + function, "tf_model_" + function});
  return names;
}

// The part of model.h that is for users, without its guard.
std::string_view runtime_body() {
  constexpr std::string_view kText = kRuntimeHeader, kBegin = "#include \"compiler/runtime/model_types.h\"\n",
                             kEnd = "#endif\n";
  const size_t begin = kText.find(kBegin);
  TF_CHECK(begin != kText.npos && kText.ends_with(kEnd));
  return kText.substr(begin + kBegin.size(), kText.size() - begin - kBegin.size() - kEnd.size());
}

// The text with every whole identifier that is a plain name replaced by the model's own.
std::string with_own_names(std::string_view text, const std::vector<Name>& names) {
  const auto is_letter = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_letter(text[end])) ++end;
    const std::string word(text.substr(i, std::max<size_t>(end - i, 1)));
    const auto found = std::ranges::find(names, word, &Name::plain);
    out += found != names.end() ? found->own : word;
    i += word.size();
  }
  return out;
}

// Defines the sizes of inputs or outputs and appends their names to `names`.
void describe(const graph::Program& program, const std::vector<int>& values,
              const std::vector<std::string>& titles, const std::string& prefix, const std::string& what,
              std::string& text, std::vector<Name>& names) {
  const auto define = [&](const std::string& name, const std::string& value) {
    absl::StrAppend(&text, "#define ", prefix, "_", name, " ", value, "\n");
    names.push_back({prefix + "_" + name, "TF_MODEL_" + name});
  };
  define(what + "S", absl::StrCat(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    const graph::Value& value = program.values[values[i]];
    const graph::TensorType& type = program.graph.type(value.node);
    define(
        absl::StrCat(what, "_", i, "_BYTES"),
        absl::StrCat(value.size_bytes, " /* ", in_comment(titles[i]), ": ",
                     graph::to_string(graph::tensor_type(type.element, program.graph.shape(type))), " */"));
  }
}

std::string plain_names(const std::string& name, const std::vector<Name>& names) {
  std::string text = absl::StrCat("\n/* For a program with one model: tf_model_open is ", name,
                                  "_open, and so on. A file that includes the headers of\n"
                                  " * two models cannot use these names. TF_MODEL_NO_PLAIN_NAMES, defined "
                                  "before, leaves them out. */\n"
                                  "#ifndef TF_MODEL_NO_PLAIN_NAMES\n#ifndef TF_MODEL_PLAIN_NAMES\n"
                                  "#define TF_MODEL_PLAIN_NAMES\n#define TF_MODEL_PLAIN_SIZE(own) own\n");
  for (const Name& each : names) {
    const bool is_size = each.plain.starts_with("TF_");
    absl::StrAppend(&text, "#define ", each.plain, is_size ? " TF_MODEL_PLAIN_SIZE(" : " ", each.own,
                    is_size ? ")\n" : "\n");
  }
  // The other model may have more inputs, whose names this header does not know.
  absl::StrAppend(&text,
                  "#else\n#undef TF_MODEL_PLAIN_SIZE\n"
                  "#define TF_MODEL_PLAIN_SIZE(own) plain_names_of_two_models own\n");
  for (const Name& each : names) absl::StrAppend(&text, "#undef ", each.plain, "\n");
  return absl::StrCat(text, "#endif\n#endif\n");
}

}  // namespace

std::string model_header(const graph::Program& program, const std::string& name, uint64_t identity) {
  std::vector<std::string> inputs, outputs;
  for (graph::NodeId input : program.graph.inputs()) inputs.push_back(program.graph.node(input).name);
  for (const graph::Output& output : program.graph.outputs) outputs.push_back(output.name);
  std::vector<Name> names = function_names(name);
  const std::string guard = absl::StrCat(kGuardBegin, name), number = absl::StrFormat("0x%016xu", identity);
  std::string text = absl::StrCat(
      "/* The model '", in_comment(program.graph.name), "'. Its functions begin with ", name,
      "_. Link it with -l", name, ":\n * programs look for it as lib", name,
      ".so, which is a link to model.so. A program that opens it with dlopen\n * finds the prefix, \"", name,
      "\", as the library's const char tf_model_prefix[]. */\n");
  absl::StrAppend(
      &text, kTypesHeader, "#if TF_MODEL_TYPES != ", TF_MODEL_TYPES,
      "\n#error \"two models were built by different versions of the compiler: build both again\"\n"
      "#endif\n\n#ifndef ",
      guard, "\n#define ", guard, " ", number, "\n\n", with_own_names(runtime_body(), names), "\n");
  const std::string upper = absl::AsciiStrToUpper(name);
  describe(program, program.inputs, inputs, upper, "INPUT", text, names);
  describe(program, program.outputs, outputs, upper, "OUTPUT", text, names);
  absl::StrAppend(&text, plain_names(name, names), "\n#elif ", guard, " != ", number,
                  "\n#error \"two models have the name ", name,
                  ": build one of them with another --name\"\n#endif\n");
  return text;
}

std::string model_name_in(std::string_view header) {
  const std::string define = absl::StrCat("\n#define ", kGuardBegin);
  const size_t begin = header.find(define);
  if (begin == header.npos) return "";
  const std::string_view rest = header.substr(begin + define.size());
  return std::string(rest.substr(0, rest.find(' ')));
}

}  // namespace tf::driver
