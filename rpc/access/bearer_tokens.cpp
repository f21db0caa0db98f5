#include "rpc/access/bearer_tokens.h"

#include <openssl/rand.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files/file.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/text/json_fault.h"
#include "base/text/json_text.h"
#include "rpc/identity/key_pair.h"

namespace tf::rpc {
namespace {

constexpr std::string_view kTokenPrefix = "tft-";
constexpr const char* kNewToken = "make a new one with `tuner token`";

// Roles of people; the others are programs', which have certificates.
constexpr std::array kPersons = {Role::kViewer, Role::kUser, Role::kDeviceOwner, Role::kBuild, Role::kAdmin};

nlohmann::json to_json(const BearerToken& token) {
  return {{"digest", token.digest.hex()},
          {"identity", token.identity.uri()},
          {"issued", absl::ToUnixSeconds(token.issued)},
          {"ends", absl::ToUnixSeconds(token.ends)},
          {"issuer", token.issuer.uri()},
          {"serial", token.serial}};
}

absl::StatusOr<BearerToken> token_of(const nlohmann::json& json) {
  BearerToken token;
  TF_ASSIGN_OR_RETURN(token.digest, Digest::from_hex(json.at("digest").get<std::string>()));
  TF_ASSIGN_OR_RETURN(token.identity, parse_identity_uri(json.at("identity").get<std::string>()));
  TF_ASSIGN_OR_RETURN(token.issuer, parse_identity_uri(json.at("issuer").get<std::string>()));
  token.issued = absl::FromUnixSeconds(json.at("issued").get<int64_t>());
  token.ends = absl::FromUnixSeconds(json.at("ends").get<int64_t>());
  token.serial = json.at("serial").get<std::string>();
  return token;
}

absl::Status damaged(const std::string& path, const std::string& why) {
  return with_remedy(absl::StatusCode::kDataLoss,
                     absl::StrCat("the tokens in ", path, " cannot be read: ", why),
                     "delete the file, which ends all tokens of HTTP, and make new ones with `tuner token`",
                     Between::kSemicolon);
}

}  // namespace

absl::Status check_may_issue(const Identity& issuer, const Identity& asked) {
  if (std::ranges::find(kPersons, asked.role) == kPersons.end()) {
    std::vector<std::string> names;
    for (const Role role : kPersons) names.emplace_back(role_name(role));
    return absl::InvalidArgumentError(absl::StrCat("tokens of HTTP are for people, with the role ",
                                                   absl::StrJoin(names, ", "), ", not ",
                                                   std::string(role_name(asked.role))));
  }
  TF_RETURN_IF_ERROR(check_identity_name(asked.name));
  const bool is_own = asked.name == issuer.name && (asked.role == issuer.role || asked.role == Role::kViewer);
  if (issuer.role == Role::kAdmin || is_own) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      issuer.text(), " may issue tokens for themselves only, as ", std::string(role_name(issuer.role)),
      issuer.role == Role::kViewer ? "" : " or viewer", "; an admin issues others"));
}

absl::StatusOr<std::unique_ptr<BearerTokens>> BearerTokens::open(const std::string& path,
                                                                 const WallClock& clock) {
  std::unique_ptr<BearerTokens> tokens(new BearerTokens(path, clock));
  TF_RETURN_IF_ERROR(tokens->read());
  return tokens;
}

absl::Status BearerTokens::read() {
  const absl::StatusOr<std::string> text = read_file(path_);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  if (!text.ok()) return text.status();
  try {
    const nlohmann::json all = nlohmann::json::parse(*text);
    for (const nlohmann::json& each : all.at("tokens")) {
      absl::StatusOr<BearerToken> token = token_of(each);
      if (!token.ok()) return damaged(path_, std::string(token.status().message()));
      tokens_.insert_or_assign(token->digest, *std::move(token));
    }
  } catch (const nlohmann::json::exception& error) {
    return damaged(path_, json_fault(error));
  }
  return absl::OkStatus();
}

// What has ended is left out.
absl::Status BearerTokens::write(std::map<Digest, BearerToken> tokens) {
  const absl::Time now = clock_.now();
  std::erase_if(tokens, [&](const auto& each) { return each.second.ends <= now; });
  nlohmann::json all = nlohmann::json::array();
  for (const auto& [digest, token] : tokens) all.push_back(to_json(token));
  TF_RETURN_IF_ERROR(write_file(path_, json_text({{"tokens", std::move(all)}}, 1) + "\n"));
  ::chmod(path_.c_str(), 0600);  // it holds no secrets, but is nobody else's business
  tokens_ = std::move(tokens);
  return absl::OkStatus();
}

absl::StatusOr<IssuedBearerToken> BearerTokens::issue(const Identity& identity, absl::Duration life,
                                                      const Certificate& issuer) {
  if (!issuer.identity()) return absl::PermissionDeniedError("the issuer is not a member of this farm");
  TF_RETURN_IF_ERROR(check_may_issue(*issuer.identity(), identity));
  if (life <= absl::ZeroDuration() || life > kLongestLife) {
    return absl::InvalidArgumentError(absl::StrCat("a token lasts from 1 to ",
                                                   absl::ToInt64Hours(kLongestLife), " hours, not ",
                                                   absl::FormatDuration(life)));
  }
  Digest random;
  if (RAND_bytes(random.bytes.data(), static_cast<int>(random.bytes.size())) != 1)
    return absl::InternalError(absl::StrCat("no random numbers: ", openssl_reason()));
  IssuedBearerToken issued{.text = absl::StrCat(std::string(kTokenPrefix), random.hex())};
  const std::scoped_lock lock(mutex_);
  const absl::Time now = clock_.now();
  issued.token = {.digest = sha256(issued.text),
                  .identity = identity,
                  .issued = now,
                  .ends = std::min(now + life, issuer.not_after()),
                  .issuer = *issuer.identity(),
                  .serial = issuer.serial()};
  const auto is_of_issuer = [&](const auto& each) {
    return each.second.issuer == issued.token.issuer && each.second.ends > now;
  };
  if (static_cast<size_t>(std::ranges::count_if(tokens_, is_of_issuer)) >= kMostOfEach) {
    return absl::ResourceExhaustedError(
        absl::StrCat(issued.token.issuer.text(), " has issued ", kMostOfEach,
                     " tokens that are still good: revoke some with `tuner token --revoke ID`"));
  }
  std::map<Digest, BearerToken> tokens = tokens_;
  tokens.emplace(issued.token.digest, issued.token);
  TF_RETURN_IF_ERROR(write(std::move(tokens)));
  return issued;
}

absl::StatusOr<BearerToken> BearerTokens::find(std::string_view text) const {
  const Digest digest = sha256(text);
  const std::scoped_lock lock(mutex_);
  const auto found = tokens_.find(digest);
  if (found == tokens_.end())
    return with_remedy(absl::StatusCode::kUnauthenticated, "the token is unknown or revoked", kNewToken);
  if (found->second.ends <= clock_.now())
    return with_remedy(absl::StatusCode::kUnauthenticated,
                       absl::StrCat("the token ", found->second.id(), " has expired"), kNewToken);
  return found->second;
}

bool BearerTokens::is_good(const BearerToken& token) const {
  const std::scoped_lock lock(mutex_);
  return tokens_.contains(token.digest) && token.ends > clock_.now();
}

std::vector<BearerToken> BearerTokens::list() const {
  const std::scoped_lock lock(mutex_);
  const absl::Time now = clock_.now();
  std::vector<BearerToken> good;
  for (const auto& [digest, token] : tokens_) {
    if (token.ends > now) good.push_back(token);
  }
  std::ranges::stable_sort(good, {}, &BearerToken::issued);
  return good;
}

absl::Status BearerTokens::revoke(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  const absl::Time now = clock_.now();
  std::map<Digest, BearerToken> tokens = tokens_;
  const auto is_it = [&](const auto& each) { return each.second.id() == id && each.second.ends > now; };
  if (std::erase_if(tokens, is_it) == 0) {
    return absl::NotFoundError(
        absl::StrCat("no good token has the id ", id, ": `tuner token --list` shows those that there are"));
  }
  return write(std::move(tokens));
}

void BearerTokens::set_revoked(const std::set<std::string>& serials) {
  const std::scoped_lock lock(mutex_);
  std::map<Digest, BearerToken> tokens = tokens_;
  if (std::erase_if(tokens, [&](const auto& each) { return serials.contains(each.second.serial); }) == 0)
    return;
  if (const absl::Status written = write(tokens); !written.ok()) {
    // They are revoked in this process all the same; the next one hears of it as this has.
    spdlog::error(absl::StrCat("revoked tokens of HTTP: ", std::string(written.message())));
    tokens_ = std::move(tokens);
  }
}

}  // namespace tf::rpc
