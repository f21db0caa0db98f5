#pragma once
// Owns: a TLS handshake by hand, for tests of which versions a server speaks.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <memory>

#include "base/files/owned_fd.h"
#include "rpc/connection/endpoint.h"

namespace tf::farm_test {

// Whether a handshake of no later version (TLS1_2_VERSION, for one) succeeds there, on loopback.
inline bool handshake(const rpc::Endpoint& endpoint, int version) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), version);
  const unsigned char h2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), h2, sizeof h2);
  const OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
  SSL_set_fd(ssl.get(), fd.get());
  return SSL_connect(ssl.get()) == 1;
}

}  // namespace tf::farm_test
