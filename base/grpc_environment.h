#pragma once
// Owns: what gRPC and the library under it are told for the whole process, the same in every program. Does
// not know: connections.

namespace tf {

// The first statement of every main whose program may use gRPC: once there are threads, nobody may change the
// environment. From then on TLS is 1.3 or nothing (which rpc/identity counts on), and gRPC writes no lines of
// its own to stderr unless GRPC_VERBOSITY asks for them: who calls says what went wrong. Abseil looks for no
// deadlocks.
void set_grpc_environment();

// Whether that has been done.
bool grpc_environment_is_set();

}  // namespace tf
