#pragma once
// Owns: reading a daemon's page of metrics as Prometheus does.

#include <string>
#include <vector>

#include "rpc/connection/endpoint.h"

namespace tf::test {

// What GET /metrics answers, headers included; "" if nobody does.
std::string scrape(const rpc::Endpoint& endpoint);

// The value of the sample with this name, its labels included, as in a_total{state="away"}; NaN: it is not
// there.
double metric(const std::string& text, const std::string& sample);

// The families of the daemon's own on the page: without those of every process and of the library.
std::vector<std::string> own_families(const std::string& text);

}  // namespace tf::test
