#pragma once
// Owns: HTTP as a test speaks it: whole requests and their answers, or bytes that are none. Does not know:
// what is asked.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/connection/endpoint.h"

namespace tf::farm_test {

struct HttpReply {
  int status = 0;                             // 0: the server has ended the connection without an answer
  std::map<std::string, std::string> fields;  // names in lower case
  std::string body;
};

// One connection; with TLS if there is a CA (its PEM), whose certificate the server must show. Not thread-safe.
class HttpClient {
 public:
  explicit HttpClient(const rpc::Endpoint& endpoint, const std::string& ca = "");
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  bool is_open() const;
  // Of the certificate that the server has shown.
  std::string server_serial() const;

  // The answer to a request with these fields besides Host and Content-Length.
  HttpReply get(const std::string& target, const std::map<std::string, std::string>& fields = {});
  HttpReply post(const std::string& target, const std::string& body,
                 const std::map<std::string, std::string>& fields = {});
  // Bytes as they are, and the answer that comes to them.
  bool send(std::string_view bytes);
  HttpReply receive();
  // The next bytes of a stream; empty: it has ended.
  std::string receive_some();

 private:
  HttpReply request(const std::string& method, const std::string& target, const std::string& body,
                    std::map<std::string, std::string> fields);
  struct Connection;
  std::unique_ptr<Connection> connection_;
  std::string host_;
};

}  // namespace tf::farm_test
