#include "rpc/access/call_guard.h"

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/remedy.h"
#include "base/status.h"
#include "rpc/access/audit_log.h"
#include "rpc/access/local_caller.h"
#include "rpc/access/refusal.h"
#include "rpc/access/seen_certificates.h"
#include "rpc/connection/grpc_status.h"

namespace tf::rpc {
namespace {

constexpr absl::Duration kLookForExpiredEvery = absl::Seconds(1);

// Asked several times a call.
std::optional<Certificate> certificate_of(const grpc::AuthContext* context) {
  static auto& seen = *new SeenCertificates;
  if (!context) return std::nullopt;
  const std::vector<grpc::string_ref> pem = context->FindPropertyValues("x509_pem_cert");
  if (pem.empty()) return std::nullopt;
  absl::StatusOr<Certificate> certificate = seen.from_pem({pem[0].data(), pem[0].size()});
  if (!certificate.ok()) return std::nullopt;
  return *std::move(certificate);
}

std::string name_of(const std::optional<Identity>& identity) {
  return identity ? identity->text() : "nobody";
}

// "/tunefarm.farm.v1.Operators/SetAdmission" → "Operators/SetAdmission"
std::string short_name(std::string_view method) {
  const size_t slash = method.rfind('/');
  const size_t dot = slash == std::string_view::npos ? slash : method.rfind('.', slash);
  return std::string(dot == std::string_view::npos ? method : method.substr(dot + 1));
}

std::string needed(const AccessRule& rule) {
  std::vector<std::string> names;
  for (const Role role : rule.roles) names.emplace_back(role_name(role));
  if (names.empty()) return "of nobody";
  const std::string last = std::move(names.back());
  names.pop_back();
  return names.empty() ? last : absl::StrCat(absl::StrJoin(names, ", "), " or ", last);
}

// The value of a scalar field, for people; "a.b" is the field b of the message a.
std::string field_text(const google::protobuf::Message& message, std::string_view path) {
  const size_t dot = path.find('.');
  const auto* field = message.GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  if (!field || field->is_repeated()) return "";
  const auto& reflection = *message.GetReflection();
  using google::protobuf::FieldDescriptor;
  if (dot != std::string_view::npos) {
    const bool has_it =
        field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && reflection.HasField(message, field);
    return has_it ? field_text(reflection.GetMessage(message, field), path.substr(dot + 1)) : "";
  }
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetString(message, field);
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(reflection.GetInt64(message, field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(reflection.GetUInt64(message, field));
    default:
      return "";
  }
}

// What AccessRule::audited asks for.
std::string object_text(const google::protobuf::Message& message, std::string_view audited) {
  std::vector<std::string> texts;
  const std::vector<std::string> paths = absl::StrSplit(std::string(audited), '/');
  for (const std::string& path : paths) {
    std::string text = field_text(message, path);
    if (!text.empty()) texts.push_back(std::move(text));
  }
  return absl::StrJoin(texts, "/");
}

}  // namespace

std::optional<Certificate> caller_certificate(const grpc::ServerContextBase& context) {
  return certificate_of(context.auth_context().get());
}

std::optional<Identity> caller(const grpc::ServerContextBase& context) {
  const std::optional<Certificate> certificate = caller_certificate(context);
  return certificate ? certificate->identity() : local_caller(context);
}

// One call under way. Its lock is recursive: cancelling a call may run its end in the same thread.
struct CallGuard::Call {
  std::string serial;
  absl::Time not_after;
  bool revokes = false;  // AccessRule::revokes
  std::recursive_mutex mutex;
  grpc::ServerContextBase* context = nullptr;  // null: it has answered

  void end() {
    const std::scoped_lock lock(mutex);
    if (context) context->TryCancel();
  }
  void answered() {
    const std::scoped_lock lock(mutex);
    context = nullptr;
  }
};

class CallGuard::Processor final : public grpc::AuthMetadataProcessor {
 public:
  explicit Processor(const CallGuard& guard) : guard_(guard) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    const auto path = metadata.find(":path");
    const std::string method =
        path == metadata.end() ? "" : std::string(path->second.data(), path->second.size());
    const std::optional<Certificate> certificate = certificate_of(context);
    const absl::Status status = guard_.check(method, certificate ? &*certificate : nullptr);
    if (!status.ok() && guard_.audit_) {
      guard_.audit_->record_denial({.who = name_of(certificate ? certificate->identity() : std::nullopt),
                                    .method = short_name(method),
                                    .outcome = code_and_message(status)});
    }
    return to_grpc(status);
  }

 private:
  const CallGuard& guard_;
};

// gRPC makes one for each call and tells it of the call's events.
class CallGuard::CallWatch final : public grpc::experimental::Interceptor {
 public:
  CallWatch(CallGuard& guard, grpc::experimental::ServerRpcInfo& info)
      : guard_(guard), info_(info), rule_(find_rule(info.method())) {}
  ~CallWatch() override { leave(); }

  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (batch->QueryInterceptionHookPoint(Hook::POST_RECV_INITIAL_METADATA)) enter();
    const bool is_audited = guard_.audit_ && rule_ && rule_->audited;
    // Whoever cancels the call passes here, too, on his own thread beside the call's: what is kept of the
    // call is looked at only after the hook point has said that this is not he.
    if (batch->QueryInterceptionHookPoint(Hook::POST_RECV_MESSAGE) && is_audited && object_.empty()) {
      const auto* request = static_cast<const google::protobuf::Message*>(batch->GetRecvMessage());
      if (request) object_ = object_text(*request, *rule_->audited);
    }
    if (is_audited && !rule_->audited_reply.empty() &&
        batch->QueryInterceptionHookPoint(Hook::PRE_SEND_MESSAGE)) {
      const auto* reply = static_cast<const google::protobuf::Message*>(batch->GetSendMessage());
      if (reply) made_ = field_text(*reply, rule_->audited_reply);
    }
    if (batch->QueryInterceptionHookPoint(Hook::PRE_SEND_STATUS)) {
      const grpc::Status sent = batch->GetSendStatus();
      // Word for word: from_grpc reads what a caller receives.
      if (guard_.audit_)
        audit(absl::Status(static_cast<absl::StatusCode>(sent.error_code()), sent.error_message()));
      leave();
    }
    batch->Proceed();
  }

 private:
  void enter() {
    const std::optional<Certificate> certificate =
        certificate_of(info_.server_context()->auth_context().get());
    if (!certificate) {
      // Of the network, gRPC has asked the processor; a call within this process has come past it.
      who_ = local_caller(*info_.server_context());
      const bool may = (rule_ && rule_->anyone) || (who_ && guard_.may(rule_, *who_));
      if (!may) info_.server_context()->TryCancel();
      return;
    }
    who_ = certificate->identity();
    call_ = std::make_shared<Call>();
    call_->serial = certificate->serial();
    call_->not_after = certificate->not_after();
    call_->revokes = rule_ && rule_->revokes;
    call_->context = info_.server_context();
    bool revoked = false;
    {
      const std::scoped_lock lock(guard_.mutex_);
      guard_.calls_.insert(call_);
      revoked = guard_.revoked_.contains(call_->serial);
    }
    if (revoked) call_->end();  // between the check and here
  }

  // Also what a handler has denied: another's lease, for one.
  void audit(const absl::Status& outcome) {
    const AuditLine line{.who = name_of(who_),
                         .method = short_name(info_.method()),
                         .object = absl::StrCat(made_, made_.empty() || object_.empty() ? "" : " ", object_),
                         .outcome = code_and_message(outcome)};
    const bool is_audited = rule_ && rule_->audited;
    if (absl::IsPermissionDenied(outcome) || (is_audited && absl::IsUnauthenticated(outcome))) {
      guard_.audit_->record_denial(line);
    } else if (is_audited && !rule_->routine) {
      guard_.audit_->record(line);
    } else if (is_audited && outcome.ok()) {
      guard_.audit_->record_routine(line);
    }
  }

  // From the status on, the call's context may go at any time.
  void leave() {
    if (!call_) return;
    call_->answered();
    const std::scoped_lock lock(guard_.mutex_);
    guard_.calls_.erase(call_);
    call_ = nullptr;
  }

  CallGuard& guard_;
  grpc::experimental::ServerRpcInfo& info_;
  const AccessRule* const rule_;
  std::optional<Identity> who_;
  std::string object_;  // that it is about
  std::string made_;    // by it
  std::shared_ptr<Call> call_;
};

class CallGuard::Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(CallGuard& guard) : guard_(guard) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    return new CallWatch(guard_, *info);
  }

 private:
  CallGuard& guard_;
};

CallGuard::CallGuard(const WallClock& clock, AuditLog* audit)
    : clock_(clock), audit_(audit), watching_([this] { return end_expired(); }) {}

absl::Status CallGuard::check(std::string_view method, const Certificate* certificate) const {
  const AccessRule* rule = find_rule(method);
  const std::string what = short_name(method);
  if (!rule) {
    return absl::PermissionDeniedError(
        absl::StrCat(what, " is not in the access table: calls to it are refused"));
  }
  if (rule->anyone) return absl::OkStatus();
  if (!certificate || !certificate->identity()) {
    return refused_caller(
        absl::StrCat(what, " needs the role ", needed(*rule), ", but the caller shows no certificate"),
        kJoinFirst);
  }
  const std::string who = name_of(certificate->identity());
  if (clock_.now() >= certificate->not_after())
    return refused_caller(absl::StrCat("the certificate of ", who, " has expired"), kJoinAgain);
  {
    const std::scoped_lock lock(mutex_);
    if (revoked_.contains(certificate->serial())) {
      return refused_caller(
          absl::StrCat("the certificate ", certificate->serial(), " of ", who, " is revoked"), kJoinAgain);
    }
  }
  return check_role(*rule, *certificate->identity());
}

bool CallGuard::may(const AccessRule* rule, const Identity& caller) {
  return rule && std::ranges::find(rule->roles, caller.role) != rule->roles.end();
}

absl::Status CallGuard::check_role(const AccessRule& rule, const Identity& caller) const {
  if (!may(&rule, caller)) {
    return absl::PermissionDeniedError(absl::StrCat(caller.text(), " may not call ", short_name(rule.method),
                                                    ": that needs the role ", needed(rule)));
  }
  return audit_ && rule.audited && !rule.routine ? audit_->writable() : absl::OkStatus();
}

absl::Status CallGuard::admit(std::string_view method, const Identity& caller) const {
  const AccessRule* rule = find_rule(method);
  const absl::Status status =
      rule ? check_role(*rule, caller)
           : absl::PermissionDeniedError(
                 absl::StrCat(short_name(method), " is not in the access table: calls to it are refused"));
  if (!status.ok() && audit_) {
    audit_->record_denial(
        {.who = caller.text(), .method = short_name(method), .outcome = code_and_message(status)});
  }
  return status;
}

void CallGuard::note_refusal(std::string_view method, const absl::Status& why) const {
  if (!audit_) return;
  audit_->record_denial(
      {.who = name_of(std::nullopt), .method = short_name(method), .outcome = code_and_message(why)});
}

void CallGuard::set_revoked(std::set<std::string> serials) {
  {
    const std::scoped_lock lock(mutex_);
    revoked_ = serials;
  }
  end_if([&](const Call& call) { return !call.revokes && serials.contains(call.serial); });
}

void CallGuard::end_if(const std::function<bool(const Call&)>& over) {
  std::vector<std::shared_ptr<Call>> ending;
  {
    const std::scoped_lock lock(mutex_);
    std::ranges::copy_if(calls_, std::back_inserter(ending), [&](const auto& call) { return over(*call); });
  }
  for (const std::shared_ptr<Call>& call : ending) call->end();
}

// Certificates end while calls are under way.
absl::Duration CallGuard::end_expired() {
  end_if([now = clock_.now()](const Call& call) { return now >= call.not_after; });
  return kLookForExpiredEvery;
}

std::shared_ptr<grpc::AuthMetadataProcessor> CallGuard::processor() {
  return std::make_shared<Processor>(*this);
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CallGuard::interceptors() {
  return std::make_unique<Factory>(*this);
}

}  // namespace tf::rpc
