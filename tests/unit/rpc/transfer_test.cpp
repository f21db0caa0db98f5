#include "rpc/transfer/transfer.h"

namespace tf::rpc {
namespace {

absl::StatusOr<Received> carry(const std::string& bytes,
                               const std::function<void(std::string&)>& damage = nullptr) {
  Assembler assembler;
  absl::Status status;
  send_chunks(sha256(bytes), bytes, [&](const Chunk& chunk) {
    std::string content(chunk.content);
    if (damage) damage(content);
    status = assembler.add({chunk.digest, chunk.size_bytes, content});
    return status.ok();
  });
  if (!status.ok()) return status;
  return std::move(assembler).finish();
}

TEST(Transfer, CarriesEverySizeAroundTheChunk) {
  for (const size_t size :
       {size_t{0}, size_t{1}, kChunkBytes - 1, kChunkBytes, kChunkBytes + 1, 3 * kChunkBytes}) {
    const std::string bytes(size, 'x');
    const auto received = carry(bytes);
    ASSERT_TRUE(received.ok()) << size << received.status();
    EXPECT_EQ(received->bytes, bytes);
  }
}

TEST(Transfer, NoticesADamagedByte) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(carry(std::string(1000, 'x'), [](std::string& c) { c[500] = 'y'; }).status()));
}

TEST(Transfer, NoticesMissingAndSurplusBytes) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(carry(std::string(1000, 'x'), [](std::string& c) { c.pop_back(); }).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(carry(std::string(1000, 'x'), [](std::string& c) { c += 'x'; }).status()));
}

TEST(Transfer, RefusesWhatIsTooLargeBeforeItArrives) {
  Assembler assembler(100);
  EXPECT_TRUE(absl::IsResourceExhausted(assembler.add({sha256("").hex(), 101, ""})));
}

TEST(Transfer, RefusesALaterChunkThatBringsNothing) {
  Assembler assembler;
  ASSERT_TRUE(assembler.add({sha256("abc").hex(), 3, ""}).ok());
  ASSERT_TRUE(assembler.add({"", 0, "a"}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(assembler.add({"", 0, ""})));
}

TEST(Transfer, RefusesAStreamWithoutDigest) {
  Assembler assembler;
  EXPECT_TRUE(absl::IsInvalidArgument(assembler.add({"", 0, "abc"})));
  EXPECT_TRUE(absl::IsInvalidArgument(Assembler().finish().status()));
}

}  // namespace
}  // namespace tf::rpc
