#pragma once
// Owns: the one gate that every call of a secured server passes, whatever its service and API: who calls, may
// they (access_table.h), is their certificate still good; and the ends of calls under way when it no longer
// is. Does not know: what the calls do.

#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/support/server_interceptor.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rpc/access/access_table.h"
#include "rpc/clock.h"
#include "rpc/identity/certificate.h"
#include "rpc/periodic_task.h"

namespace grpc {
class ServerContextBase;
}

namespace tf::rpc {

class AuditLog;

// Who calls: by the certificate or, within this process, as the caller says (local_caller.h). Nothing on a
// plain-text connection, and from who shows no certificate.
std::optional<Identity> caller(const grpc::ServerContextBase& context);
// The certificate that says so.
std::optional<Certificate> caller_certificate(const grpc::ServerContextBase& context);

// Thread-safe. Must outlive its server.
class CallGuard {
 public:
  // Clock and log must outlive the guard; without a log nothing is audited.
  explicit CallGuard(const WallClock& clock = real_wall_clock(), AuditLog* audit = nullptr);

  // Serials of certificates that are good no more, all of them; ends what their owners have under way, but
  // for calls that revoke.
  void set_revoked(std::set<std::string> serials);

  // OK if a caller with this certificate (none: without) may call the method now. UNAUTHENTICATED: no
  // certificate, or one that has ended or is revoked. PERMISSION_DENIED: its role may not. UNAVAILABLE: it is
  // to be audited, and cannot be.
  absl::Status check(std::string_view method, const Certificate* certificate) const;

  // The same for whoever has shown an identity otherwise, as by a token; the audit log is told of a refusal.
  absl::Status admit(std::string_view method, const Identity& caller) const;

  // Tells the audit log of a call that nobody known has made.
  void note_refusal(std::string_view method, const absl::Status& why) const;

  // gRPC's two hooks. The first refuses calls before any handler hears of them; the second knows the calls
  // under way, and writes the audit log.
  std::shared_ptr<grpc::AuthMetadataProcessor> processor();
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> interceptors();

 private:
  class Processor;
  class Factory;
  class CallWatch;
  struct Call;

  static bool may(const AccessRule* rule, const Identity& caller);
  absl::Status check_role(const AccessRule& rule, const Identity& caller) const;
  absl::Duration end_expired();  // until it is to be called again
  void end_if(const std::function<bool(const Call&)>& over);

  const WallClock& clock_;
  AuditLog* const audit_;
  mutable std::mutex mutex_;
  std::set<std::string> revoked_;
  std::set<std::shared_ptr<Call>> calls_;
  PeriodicTask watching_;
};

}  // namespace tf::rpc
