#include "tuner/web/http/tls_files.h"

#include <spdlog/spdlog.h>

#include <boost/asio/buffer.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "rpc/identity/identity_folder.h"

namespace tf::web {
namespace {

constexpr absl::Duration kLookEvery = absl::Seconds(2);

absl::StatusOr<std::shared_ptr<asio::ssl::context>> context_of(const std::string& certificate,
                                                               const std::string& key) {
  using asio::ssl::context;
  auto made = std::make_shared<context>(context::tls_server);
  boost::system::error_code error;
  made->set_options(context::no_compression | context::single_dh_use | SSL_OP_NO_RENEGOTIATION, error);
  if (!error && SSL_CTX_set_min_proto_version(made->native_handle(), TLS1_2_VERSION) != 1)
    return absl::InternalError("OpenSSL does not know TLS 1.2");
  if (!error) made->use_certificate_chain(asio::buffer(certificate), error);
  if (!error) made->use_private_key(asio::buffer(key), context::pem, error);
  if (error) return absl::FailedPreconditionError(error.message());
  if (SSL_CTX_check_private_key(made->native_handle()) != 1)
    return absl::FailedPreconditionError("the key is another certificate's");
  return made;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsFiles>> TlsFiles::load(const std::string& folder, const rpc::Clock& clock) {
  std::unique_ptr<TlsFiles> files(new TlsFiles(folder, clock));
  files->looked_ = clock.now();
  TF_RETURN_IF_ERROR(files->read());
  return files;
}

absl::Status TlsFiles::read() {
  const rpc::IdentityFiles paths = rpc::identity_files(folder_);
  TF_ASSIGN_OR_RETURN(std::string certificate, read_file(paths.certificate));
  TF_ASSIGN_OR_RETURN(std::string key, read_file(paths.key));
  if (certificate == certificate_ && key == key_) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(context_, context_of(certificate, key));
  certificate_ = std::move(certificate);
  key_ = std::move(key);
  return absl::OkStatus();
}

std::shared_ptr<asio::ssl::context> TlsFiles::context() {
  const std::scoped_lock lock(mutex_);
  const rpc::Instant now = clock_.now();
  if (now - looked_ >= kLookEvery) {
    looked_ = now;
    if (const absl::Status status = read(); !status.ok())
      spdlog::warn(
          absl::StrCat("HTTP goes on with the certificate of before: ", std::string(status.message())));
  }
  return context_;
}

}  // namespace tf::web
