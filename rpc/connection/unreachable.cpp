#include "rpc/connection/unreachable.h"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files/owned_fd.h"
#include "base/remedy.h"
#include "rpc/connection/default_endpoints.h"
#include "rpc/identity/key_pair.h"

namespace tf::rpc {
namespace {

// The first bytes of a record (RFC 8446, 5.1): its type, and a version that begins with 3.
constexpr unsigned char kAlert = 21;
constexpr unsigned char kHandshake = 22;
constexpr unsigned char kRecordVersion = 3;
// The fourth byte of what a server says first in HTTP/2 (RFC 9113, 4.1 and 3.4): a frame of this type, after
// its length, which is small.
constexpr unsigned char kSettings = 4;

bool wait_for(int fd, short events, absl::Duration at_most) {
  pollfd waiting{.fd = fd, .events = events, .revents = 0};
  return poll(&waiting, 1, static_cast<int>(absl::ToInt64Milliseconds(at_most))) == 1;
}

// Below 0: nobody listens there.
OwnedFd connected_to(const Endpoint& endpoint, absl::Duration at_most) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(endpoint.host.c_str(), absl::StrCat(endpoint.port).c_str(), &hints, &found) != 0)
    return OwnedFd();
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  for (const addrinfo* each = found; each; each = each->ai_next) {
    OwnedFd fd(socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd.get() < 0) continue;
    if (connect(fd.get(), each->ai_addr, each->ai_addrlen) != 0 && errno != EINPROGRESS) continue;
    int error = 0;
    socklen_t size = sizeof error;
    if (wait_for(fd.get(), POLLOUT, at_most) &&
        getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
      return fd;
  }
  return OwnedFd();
}

// What a client says first.
std::string client_hello() {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(context ? SSL_new(context.get()) : nullptr, SSL_free);
  if (!ssl) return "";
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_connect(ssl.get());  // has nothing to read yet
  openssl_reason();        // which it calls an error: cleared
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(SSL_get_wbio(ssl.get()), &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

// Which port it should be; the likely mistakes are the other ports of the same machine.
std::string compared_port(const std::string& what) {
  const Endpoint usual = parse_endpoint(what == "tuner" ? kDefaultTuner : kDefaultTracker).value();
  return absl::StrCat("compare the port with that of `", what, " serve --listen` (", usual.port,
                      " by default); --metrics and an agent's --listen use other ports");
}

// What ExpectedServer (identity.h) said of a member of this farm at the port of another, as in "the tuner
// ada, not a tracker", out of gRPC's words around it; else nothing.
std::string other_member(const std::string& detail) {
  constexpr std::string_view kBegin = "the server is ", kEnd = " as expected";
  const size_t begin = detail.find(kBegin);
  const size_t end = detail.find(kEnd, begin);
  if (begin == std::string::npos || end == std::string::npos) return "";
  return detail.substr(begin + kBegin.size(), end - begin - kBegin.size());
}

// Whether nobody refused anything: the handshake came to no end before its time was over, or before the other
// end went, as of a server that starts, stops or is busy.
bool is_unfinished(const std::string& detail) {
  const auto says = [&](const char* words) { return absl::StrContains(detail, words); };
  return says("Handshake read failed") || says("Handshake timed out") || says("handshaker shutdown");
}

}  // namespace

Spoken spoken_at(const Endpoint& endpoint, absl::Duration at_most) {
  const OwnedFd fd = connected_to(endpoint, at_most);
  if (fd.get() < 0) return Spoken::kNothing;
  const std::string hello = client_hello();
  // It fits into any socket's buffer.
  if (send(fd.get(), hello.data(), hello.size(), MSG_NOSIGNAL) < 0) return Spoken::kNothing;
  unsigned char begin[4] = {};
  if (!wait_for(fd.get(), POLLIN, at_most)) return Spoken::kNothing;
  const ssize_t heard = recv(fd.get(), begin, sizeof begin, 0);
  if (heard <= 0) return Spoken::kNothing;
  if (heard < 4) return Spoken::kOther;
  if ((begin[0] == kAlert || begin[0] == kHandshake) && begin[1] == kRecordVersion) return Spoken::kTls;
  return begin[0] == 0 && begin[3] == kSettings ? Spoken::kHttp2 : Spoken::kOther;
}

absl::Status unreachable(const std::string& what, const Endpoint& endpoint, bool secured,
                         const std::string& detail) {
  const auto because = [](const std::string& truth, const std::string& remedy) {
    return with_remedy(absl::StatusCode::kUnavailable, truth, remedy);
  };
  const std::string it = absl::StrCat("the server at ", endpoint.text());
  const std::string one = absl::StrCat(what == "agent" ? "an " : "a ", what);
  const Spoken spoken = spoken_at(endpoint);
  // In plain text, an HTTP/2 server may well be the one that is meant, and slow.
  if (spoken == Spoken::kNothing || (spoken == Spoken::kHttp2 && !secured)) {
    return because(absl::StrCat("no ", what, " answers at ", endpoint.text()),
                   "check the address, that it is running, and firewalls in between");
  }
  if (spoken == Spoken::kTls && !secured) {
    return because(it + " requires TLS", "give --tls DIR, the folder that `join` made");
  }
  const std::string port = compared_port(what);
  if (const std::string other = other_member(detail); spoken == Spoken::kTls && !other.empty())
    return because(absl::StrCat(it, " is ", other), port);
  if (spoken == Spoken::kTls && is_unfinished(detail)) {
    return because(absl::StrCat(it, " did not finish the TLS handshake in time (", detail, ")"),
                   absl::StrCat("try again; if that does not help, check its load and ", port));
  }
  if (spoken == Spoken::kTls) {
    return because(absl::StrCat(it, " is not ", one, " of this farm, or a certificate has expired",
                                detail.empty() ? "" : absl::StrCat(" (", detail, ")")),
                   port + ", and --tls on both sides");
  }
  if (secured) {
    const std::string plain = spoken == Spoken::kHttp2
                                  ? absl::StrCat("; if it is ", one, " without --tls, omit --tls here too")
                                  : "";
    return because(absl::StrCat(it, " does not speak TLS, so it is not ", one, " of a secured farm"),
                   port + plain);
  }
  return because(absl::StrCat(it, " does not respond like ", one), port);
}

absl::Status knows_no_such_call(const std::string& what, const Endpoint& endpoint) {
  return with_remedy(
      absl::StatusCode::kUnimplemented,
      absl::StrCat("the server at ", endpoint.text(), " does not support this call: it is not a ", what,
                   " or has another version"),
      absl::StrCat(compared_port(what), ", and the --version of both programs"));
}

}  // namespace tf::rpc
