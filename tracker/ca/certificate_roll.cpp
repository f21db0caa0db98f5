#include "tracker/ca/certificate_roll.h"

#include <random>

namespace tf::tracker {
namespace {

// Far from what an earlier run can have reached.
uint64_t first_generation() {
  std::random_device random;
  return uint64_t{random()} << 31 | 1;
}

}  // namespace

CertificateRoll::CertificateRoll(const rpc::WallClock& clock)
    : clock_(clock), revocations_{.generation = first_generation(), .serials = {}} {}

void CertificateRoll::add(const IssuedCertificate& issued) {
  if (clock_.now() >= issued.ends) return;
  by_end_.insert({issued.ends, issued.serial});
  if (issued.revoked) {
    revocations_.serials.insert(issued.serial);
  } else {
    const std::string member = issued.identity.uri();
    good_[issued.serial] = {.member = member, .hosts = issued.hosts};
    of_member_[member].insert(issued.serial);
    for (const std::string& host : issued.hosts) members_of_host_[host].insert(member);
  }
}

void CertificateRoll::revoke(const std::vector<std::string>& serials) {
  forget_ended();
  for (const std::string& serial : serials) {
    if (take_off(serial)) revocations_.serials.insert(serial);
  }
  ++revocations_.generation;
}

bool CertificateRoll::is_good(const std::string& serial) {
  forget_ended();
  return good_.contains(serial);
}

std::vector<std::string> CertificateRoll::good(const rpc::Identity& member) {
  forget_ended();
  const auto found = of_member_.find(member.uri());
  if (found == of_member_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

bool CertificateRoll::is_host_of_other(const std::string& host, const rpc::Identity& member) {
  forget_ended();
  const auto found = members_of_host_.find(host);
  return found != members_of_host_.end() && found->second.count(member.uri()) < found->second.size();
}

void CertificateRoll::forget_ended() {
  while (!by_end_.empty() && by_end_.begin()->first <= clock_.now()) {
    const std::string serial = by_end_.extract(by_end_.begin()).value().second;
    revocations_.serials.erase(serial);
    take_off(serial);
  }
}

bool CertificateRoll::take_off(const std::string& serial) {
  const auto found = good_.extract(serial);
  if (found.empty()) return false;
  const auto& [name, hosts] = found.mapped();
  const auto member = of_member_.find(name);
  member->second.erase(serial);
  if (member->second.empty()) of_member_.erase(member);
  for (const std::string& host : hosts) {
    const auto members = members_of_host_.find(host);
    members->second.erase(members->second.find(name));
    if (members->second.empty()) members_of_host_.erase(members);
  }
  return true;
}

}  // namespace tf::tracker
