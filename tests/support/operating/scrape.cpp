#include "tests/support/operating/scrape.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "base/files/owned_fd.h"

namespace tf::test {

std::string scrape(const rpc::Endpoint& endpoint) {
  const OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return "";
  constexpr std::string_view request = "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n";
  if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return "";
  std::string text;
  char bytes[4096];
  for (ssize_t count = 0; (count = ::recv(fd.get(), bytes, sizeof bytes, 0)) > 0;)
    text.append(bytes, static_cast<size_t>(count));
  return text;
}

double metric(const std::string& text, const std::string& sample) {
  const size_t at = text.find("\n" + sample + " ");
  return at == std::string::npos ? std::nan("") : std::strtod(text.c_str() + at + sample.size() + 2, nullptr);
}

std::vector<std::string> own_families(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# TYPE tunefarm_", 0) == 0) names.push_back(line.substr(7, line.find(' ', 7) - 7));
  }
  return names;
}

}  // namespace tf::test
