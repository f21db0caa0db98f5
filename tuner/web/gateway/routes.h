#pragma once
// Owns: which calls of which gRPC services are served over HTTP, found in protobuf's generated descriptors;
// nothing of them is written by hand. Does not know: connections, JSON, callers.

#include <string>
#include <string_view>
#include <vector>

#include "rpc/access/access_table.h"

namespace google::protobuf {
class Descriptor;
class MethodDescriptor;
}  // namespace google::protobuf

namespace tf::web {

inline constexpr std::string_view kApi = "/api/v1/";

struct Route {
  std::string path;    // "/api/v1/Tuner/ListJobs"
  std::string method;  // as gRPC and the access table call it: "/tunefarm.tune.v1.Tuner/ListJobs"
  const google::protobuf::MethodDescriptor* call = nullptr;
  const rpc::AccessRule* rule = nullptr;
  bool at_tracker = false;     // else of this process
  bool answers_parts = false;  // a stream of messages
  bool takes_model = false;    // Submit: its body is the model
  // Reads may also be asked for by GET: nobody is held to account for them, and they change nothing.
  bool is_read() const { return !rule->audited; }
};

// In order of their services and methods. Each has a row in the access table.
const std::vector<Route>& routes();
// Null: there is none.
const Route* find_route(std::string_view path);

}  // namespace tf::web
