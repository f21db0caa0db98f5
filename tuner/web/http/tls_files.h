#pragma once
// Owns: the certificate that browsers are shown: a member's files, as they are now. Does not know: how they
// are renewed, connections.

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "rpc/clock.h"

namespace tf::web {

namespace asio = boost::asio;

// Thread-safe.
class TlsFiles {
 public:
  // Of the folder that --tls names. FAILED_PRECONDITION: its key and certificate make no server.
  static absl::StatusOr<std::unique_ptr<TlsFiles>> load(const std::string& folder,
                                                        const rpc::Clock& clock = rpc::real_clock());

  // TLS 1.2 or 1.3, no certificate asked for. Files that were replaced are taken up within two seconds; while
  // they do not fit each other, those of before stand.
  std::shared_ptr<asio::ssl::context> context();

 private:
  TlsFiles(std::string folder, const rpc::Clock& clock) : folder_(std::move(folder)), clock_(clock) {}
  absl::Status read();  // mutex_ is held

  const std::string folder_;
  const rpc::Clock& clock_;
  std::mutex mutex_;
  std::string certificate_, key_;  // that the context has
  std::shared_ptr<asio::ssl::context> context_;
  rpc::Instant looked_;
};

}  // namespace tf::web
