#pragma once
// Owns: the protos with their comments, which the generated descriptors lack. Does not know: what is served.

#include <google/protobuf/descriptor.h>

#include <string>

#include "tuner/web/gateway/routes.h"

namespace tf::web {

// The same method among the protos that have comments.
const google::protobuf::MethodDescriptor& described(const google::protobuf::MethodDescriptor& call);

// The comment before it and, of a field, after it, on one line a paragraph; empty: there is none.
std::string comment_of(const google::protobuf::MethodDescriptor& call);
std::string comment_of(const google::protobuf::Descriptor& message);
std::string comment_of(const google::protobuf::FieldDescriptor& field);

// "viewer, user"
std::string roles_of(const Route& route);

}  // namespace tf::web
