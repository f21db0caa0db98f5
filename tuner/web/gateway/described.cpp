#include "tuner/web/gateway/described.h"

#include <google/protobuf/descriptor.pb.h>

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "tuner/web/embedded.h"

namespace tf::web {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::MethodDescriptor;
using google::protobuf::SourceLocation;

const DescriptorPool& protos() {
  static const DescriptorPool& pool = *[] {
    google::protobuf::FileDescriptorSet files;
    const std::string_view bytes = described_protos();
    TF_CHECK(files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    auto* made = new DescriptorPool;
    for (const auto& file : files.file()) TF_CHECK(made->BuildFile(file)) << file.name();
    return made;
  }();
  return pool;
}

template <typename Described>
std::string comment(const Described& what) {
  SourceLocation where;
  if (!what.GetSourceLocation(&where)) return "";
  const std::string text = absl::StrCat(where.leading_comments, "\n", where.trailing_comments);
  std::vector<std::string> lines;
  for (const auto line : absl::StrSplit(text, '\n')) {
    const std::string stripped(absl::StripAsciiWhitespace(line));
    if (!stripped.empty()) lines.push_back(stripped);
  }
  return absl::StrJoin(lines, " ");
}

}  // namespace

const MethodDescriptor& described(const MethodDescriptor& call) {
  const MethodDescriptor* found = protos().FindMethodByName(call.full_name());
  TF_CHECK(found) << call.full_name();
  return *found;
}

std::string comment_of(const MethodDescriptor& call) {
  return comment(call);
}

std::string comment_of(const google::protobuf::Descriptor& message) {
  return comment(message);
}

std::string comment_of(const google::protobuf::FieldDescriptor& field) {
  return comment(field);
}

std::string roles_of(const Route& route) {
  std::vector<std::string> names;
  for (const rpc::Role role : route.rule->roles) names.emplace_back(rpc::role_name(role));
  return absl::StrJoin(names, ", ");
}

}  // namespace tf::web
