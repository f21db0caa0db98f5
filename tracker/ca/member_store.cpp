#include "tracker/ca/member_store.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "database/sqlite/file_lock.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/transaction.h"

namespace tf::tracker {
namespace {

// Each brings a file of the version before it to the next one; the first makes an empty file one of
// version 1.
constexpr const char* kMemberMigrations[] = {
    // Certificates are kept for ever: what was issued once may be asked after.
    R"sql(
CREATE TABLE certificate (id INTEGER PRIMARY KEY, serial TEXT NOT NULL UNIQUE, role TEXT NOT NULL, name TEXT NOT NULL,
                          issued_s INTEGER NOT NULL, ends_s INTEGER NOT NULL, revoked_s INTEGER);
CREATE TABLE token (secret_sha256 TEXT PRIMARY KEY, role TEXT NOT NULL, name TEXT NOT NULL, ends_s INTEGER NOT NULL,
                    used_s INTEGER) WITHOUT ROWID;
)sql",
    // So that a certificate that its member has lost can be given to it again.
    R"sql(
ALTER TABLE certificate ADD COLUMN der BLOB;
)sql",
    // Tokens for several members, and hosts in certificates. Lists have a space between their parts.
    R"sql(
ALTER TABLE token ADD COLUMN name_pattern TEXT NOT NULL DEFAULT '';
ALTER TABLE token ADD COLUMN hosts TEXT NOT NULL DEFAULT '';
ALTER TABLE token ADD COLUMN uses INTEGER NOT NULL DEFAULT 1;
ALTER TABLE token ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
ALTER TABLE token ADD COLUMN revoked_s INTEGER;
UPDATE token SET used = 1 WHERE used_s IS NOT NULL;
ALTER TABLE certificate ADD COLUMN hosts TEXT NOT NULL DEFAULT '';
ALTER TABLE certificate ADD COLUMN granted TEXT NOT NULL DEFAULT '';
)sql",
};
constexpr int64_t kMemberSchemaVersion = std::size(kMemberMigrations);

absl::Status prepare_member_schema(database::Connection& db) {
  TF_RETURN_IF_ERROR(db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"));
  TF_ASSIGN_OR_RETURN(const int64_t version, db.query_int("PRAGMA user_version"));
  if (version > kMemberSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat(db.path(), " has version ", version,
                                                      ", but this tracker supports up to ",
                                                      kMemberSchemaVersion, ": run the newer tracker"));
  }
  for (int64_t next = version; next < kMemberSchemaVersion; ++next) {
    TF_ASSIGN_OR_RETURN(database::Transaction transaction, database::Transaction::begin(db));
    TF_RETURN_IF_ERROR(db.execute(kMemberMigrations[next]));
    TF_RETURN_IF_ERROR(db.execute(absl::StrCat("PRAGMA user_version = ", next + 1)));
    TF_RETURN_IF_ERROR(transaction.commit());
  }
  return absl::OkStatus();
}

constexpr const char* kTokenColumns = "role, name, name_pattern, hosts, ends_s, uses, used, revoked_s";
constexpr const char* kIsOpen = "WHERE ends_s > ? AND used < uses AND revoked_s IS NULL";
constexpr size_t kTokenIdLength = 12;

std::vector<std::string> list_of(const std::string& text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

// The row's first columns are kTokenColumns.
absl::StatusOr<StoredToken> token_of(const database::Statement& row) {
  TF_ASSIGN_OR_RETURN(const rpc::Role role, rpc::parse_role(row.text(0)));
  return StoredToken{.role = role,
                     .name = row.text(1),
                     .name_pattern = row.text(2),
                     .hosts = list_of(row.text(3)),
                     .ends = absl::FromUnixSeconds(row.integer(4)),
                     .uses = static_cast<uint32_t>(row.integer(5)),
                     .used = static_cast<uint32_t>(row.integer(6)),
                     .revoked = !row.is_null(7)};
}

// The next column is the token's secret.
absl::StatusOr<OpenToken> open_token_of(const database::Statement& row) {
  TF_ASSIGN_OR_RETURN(StoredToken token, token_of(row));
  return OpenToken{.id = row.text(8).substr(0, kTokenIdLength), .token = std::move(token)};
}

struct CertificateRow {
  int64_t id = 0;
  IssuedCertificate certificate;
};

absl::StatusOr<CertificateRow> certificate_of(const database::Statement& row) {
  TF_ASSIGN_OR_RETURN(const rpc::Role role, rpc::parse_role(row.text(1)));
  CertificateRow read{.id = row.integer(6),
                      .certificate = {.serial = row.text(0),
                                      .identity = {role, row.text(2)},
                                      .issued = absl::FromUnixSeconds(row.integer(3)),
                                      .ends = absl::FromUnixSeconds(row.integer(4)),
                                      .hosts = list_of(row.text(7))}};
  if (!row.is_null(5)) read.certificate.revoked = absl::FromUnixSeconds(row.integer(5));
  return read;
}

}  // namespace

std::string token_id(const Digest& secret) {
  return secret.hex().substr(0, kTokenIdLength);
}

MemberStore::MemberStore(std::unique_ptr<database::FileLock> lock, std::unique_ptr<database::Connection> db)
    : lock_(std::move(lock)), db_(std::move(db)) {}

MemberStore::~MemberStore() = default;

absl::StatusOr<std::unique_ptr<MemberStore>> MemberStore::open(const std::string& path) {
  TF_ASSIGN_OR_RETURN(
      auto lock, database::FileLock::acquire(path, "stop that tracker, or give this one a different CA"));
  TF_ASSIGN_OR_RETURN(auto db,
                      database::Connection::open(path, database::Access::kWrite, "the list of members"));
  TF_RETURN_IF_ERROR(prepare_member_schema(*db));
  return std::unique_ptr<MemberStore>(new MemberStore(std::move(lock), std::move(db)));
}

absl::Status MemberStore::add_token(const Digest& secret, const StoredToken& token) {
  return db_->run(
      "INSERT INTO token (secret_sha256, role, name, name_pattern, hosts, ends_s, uses) "
      "VALUES (?, ?, ?, ?, ?, ?, ?)",
      secret.hex(), rpc::role_name(token.role), token.name, token.name_pattern,
      absl::StrJoin(token.hosts, " "), absl::ToUnixSeconds(token.ends), token.uses);
}

absl::StatusOr<std::optional<StoredToken>> MemberStore::find_token(const Digest& secret) {
  return db_->find(absl::StrCat("SELECT ", kTokenColumns, " FROM token WHERE secret_sha256 = ?"), token_of,
                   secret.hex());
}

absl::StatusOr<std::vector<OpenToken>> MemberStore::open_tokens(absl::Time now, size_t most) {
  return db_->select(absl::StrCat("SELECT ", kTokenColumns, ", secret_sha256 FROM token ", kIsOpen,
                                  " ORDER BY ends_s, secret_sha256 LIMIT ?"),
                     open_token_of, absl::ToUnixSeconds(now), most);
}

absl::StatusOr<bool> MemberStore::revoke_token(const std::string& id, absl::Time now) {
  TF_ASSIGN_OR_RETURN(const std::vector<OpenToken> open,
                      open_tokens(now, std::numeric_limits<int32_t>::max()));
  if (std::ranges::find(open, id, &OpenToken::id) == open.end()) return false;
  TF_RETURN_IF_ERROR(db_->run("UPDATE token SET revoked_s = ? WHERE substr(secret_sha256, 1, ?) = ?",
                              absl::ToUnixSeconds(now), kTokenIdLength, id));
  return true;
}

absl::Status MemberStore::apply(const Change& change, absl::Time now) {
  TF_ASSIGN_OR_RETURN(database::Transaction transaction, database::Transaction::begin(*db_));
  TF_RETURN_IF_ERROR(write(change, now));
  return transaction.commit();
}

absl::Status MemberStore::write(const Change& change, absl::Time now) {
  if (change.used_token) {
    TF_RETURN_IF_ERROR(db_->run("UPDATE token SET used_s = ?, used = used + 1 WHERE secret_sha256 = ?",
                                absl::ToUnixSeconds(now), change.used_token->hex()));
  }
  for (const std::string& serial : change.revoked) {
    TF_RETURN_IF_ERROR(db_->run("UPDATE certificate SET revoked_s = ? WHERE serial = ? AND revoked_s IS NULL",
                                absl::ToUnixSeconds(now), serial));
  }
  if (!change.issued) return absl::OkStatus();
  const IssuedCertificate& issued = *change.issued;
  return db_->run(
      "INSERT INTO certificate (serial, role, name, issued_s, ends_s, der, hosts, granted) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      issued.serial, rpc::role_name(issued.identity.role), issued.identity.name,
      absl::ToUnixSeconds(issued.issued), absl::ToUnixSeconds(issued.ends), database::Blob{issued.der},
      absl::StrJoin(issued.hosts, " "), absl::StrJoin(issued.granted, " "));
}

absl::StatusOr<std::string> MemberStore::newest(const rpc::Identity& member) {
  const auto read = [](const database::Statement& row) { return absl::StatusOr<std::string>(row.blob(0)); };
  TF_ASSIGN_OR_RETURN(std::optional<std::string> der,
                      db_->find("SELECT der FROM certificate WHERE role = ? AND name = ? AND "
                                "revoked_s IS NULL ORDER BY id DESC LIMIT 1",
                                read, rpc::role_name(member.role), member.name));
  return std::move(der).value_or("");
}

absl::StatusOr<std::vector<std::string>> MemberStore::granted_hosts(const std::string& serial) {
  const auto read = [](const database::Statement& row) { return absl::StatusOr<std::string>(row.text(0)); };
  TF_ASSIGN_OR_RETURN(const std::optional<std::string> granted,
                      db_->find("SELECT granted FROM certificate WHERE serial = ?", read, serial));
  return list_of(granted.value_or(""));
}

absl::StatusOr<CertificatePage> MemberStore::certificates(int64_t after, size_t most) {
  // One more, to know whether there is one.
  TF_ASSIGN_OR_RETURN(std::vector<CertificateRow> rows,
                      db_->select("SELECT serial, role, name, issued_s, ends_s, revoked_s, id, hosts FROM "
                                  "certificate WHERE id > ? ORDER BY id LIMIT ?",
                                  certificate_of, after, most + 1));
  CertificatePage page;
  if (rows.size() > most) {
    rows.pop_back();
    page.end = rows.back().id;
  }
  for (CertificateRow& row : rows) page.certificates.push_back(std::move(row.certificate));
  return page;
}

}  // namespace tf::tracker
