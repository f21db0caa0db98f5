#include "tuner/web/gateway/routes.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <array>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "proto/farm/v1/farm.pb.h"
#include "proto/tune/v1/report.pb.h"
#include "proto/tune/v1/token.pb.h"
#include "proto/tune/v1/tune.pb.h"

namespace tf::web {
namespace {

using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

// What people look at of the farm itself. Whatever changes it is the `tracker` command's.
constexpr std::array kOfTheTracker = {"ListDevices", "ListWaiting", "ListReservations"};

const ServiceDescriptor& service_of(const google::protobuf::FileDescriptor& file, const char* name) {
  const ServiceDescriptor* service = file.FindServiceByName(name);
  TF_CHECK(service) << name;
  return *service;
}

Route route_of(const MethodDescriptor& call, bool at_tracker) {
  Route route{.path = absl::StrCat(std::string(kApi), call.service()->name(), "/", call.name()),
              .method = absl::StrCat("/", call.service()->full_name(), "/", call.name()),
              .call = &call,
              .at_tracker = at_tracker,
              .answers_parts = call.server_streaming(),
              .takes_model = call.client_streaming()};
  route.rule = rpc::find_rule(route.method);
  TF_CHECK(route.rule) << route.method;
  return route;
}

std::vector<Route> made_routes() {
  std::vector<Route> all;
  const auto add_all = [&](const ServiceDescriptor& service) {
    for (int i = 0; i < service.method_count(); ++i) all.push_back(route_of(*service.method(i), false));
  };
  const auto& tune = *tunefarm::tune::v1::JobName::descriptor()->file();
  add_all(service_of(tune, "Tuner"));
  add_all(service_of(*tunefarm::tune::v1::JobCurves::descriptor()->file(), "Reports"));
  add_all(service_of(tune, "Records"));
  add_all(service_of(*tunefarm::tune::v1::BearerToken::descriptor()->file(), "Tokens"));
  const auto& farm = *tunefarm::farm::v1::ListDevicesRequest::descriptor()->file();
  const ServiceDescriptor& operators = service_of(farm, "Operators");
  for (const char* name : kOfTheTracker) {
    const MethodDescriptor* call = operators.FindMethodByName(name);
    TF_CHECK(call) << name;
    all.push_back(route_of(*call, true));
  }
  return all;
}

}  // namespace

const std::vector<Route>& routes() {
  static const std::vector<Route>& all = *new std::vector<Route>(made_routes());
  return all;
}

const Route* find_route(std::string_view path) {
  const auto found = std::ranges::find(routes(), path, &Route::path);
  return found == routes().end() ? nullptr : &*found;
}

}  // namespace tf::web
