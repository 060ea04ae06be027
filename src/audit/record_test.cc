#include "audit/record.h"

#include <gtest/gtest.h>

#include "audit/test_support.h"
#include "base/limits.h"

namespace casemate::audit {
namespace {

const crypto::HmacKey& some_key() {
  static const crypto::HmacKey key(std::vector<std::uint8_t>(32, 7));
  return key;
}

template <Kind T>
std::string written(const T& record) {
  const auto body = body_of(record, &some_key());
  return body ? *body : "refused: " + body.error().message;
}

// A kind that this library knows nothing of.
struct Delivery {
  static constexpr std::string_view kKind = "delivery";
  std::string run;
  std::uint64_t bytes = 0;
};
void write_fields(Fields& fields, const Delivery& delivery) {
  fields.id("run", delivery.run).number("size_bytes", delivery.bytes);
}

TEST(AuditRecord, AVerdictSaysWhatWasJudgedAndHow) {
  EXPECT_EQ(written(some_verdict()),
            R"("run":"run_1","call":"call_1","capability":"ledger.read","verdict":"allow",)"
            R"("rule":"allow ledger.read","reason":"a rule names it","policy_sha256":")" +
                std::string(64, 'b') + R"(","arguments_sha256":")" + kSomeDigest +
                R"(","destination_class":"external","destination_hmac":")" +
                some_key().hex_of("ledger.example.com") + R"(","labels":["private"],"effects":["read"])");
}

TEST(AuditRecord, ADestinationIsNeverWritten) {
  EXPECT_EQ(written(some_verdict()).find("ledger.example"), std::string::npos);
}

TEST(AuditRecord, WhatIsNotThereIsAbsentAndListsAreNot) {
  Verdict verdict;
  verdict.run = "r";
  verdict.call = "c";
  verdict.capability = "f";
  verdict.arguments_sha256 = kSomeDigest;
  EXPECT_EQ(written(verdict),
            R"("run":"r","call":"c","capability":"f","verdict":"deny","arguments_sha256":")" + kSomeDigest +
                R"(","labels":[],"effects":[])");
}

TEST(AuditRecord, AResultHasDigestAndSizeAndNoContent) {
  EXPECT_EQ(written(some_result()),
            R"("run":"run_1","call":"call_1","capability":"ledger.read","status":"ok",)"
            R"("result_sha256":")" +
                kSomeDigest + R"(","result_bytes":17,"latency_us":250,"labels_joined":[])");
}

TEST(AuditRecord, ARunIsToldInSteps) {
  RunEvent event;
  event.run = "r";
  event.step = RunEvent::Step::kTornDown;
  event.status = "destroyed";
  event.weakenings = {"no-cgroup"};
  event.teardown = milliseconds{12};
  event.checkout = milliseconds{-1};
  EXPECT_EQ(written(event), R"("run":"r","step":"torn_down","status":"destroyed","weakenings":["no-cgroup"],)"
                            R"("checkout_ms":0,"teardown_ms":12)");
}

TEST(AuditRecord, IdsAreBounded) {
  Verdict verdict = some_verdict();
  verdict.call = std::string(kAuditIdMax, 'x');
  EXPECT_NE(written(verdict).find(verdict.call), std::string::npos);
  verdict.call += "x";
  EXPECT_EQ(written(verdict), "refused: an audit record's call is too long");
  verdict.call = "";
  EXPECT_EQ(written(verdict), "refused: an audit record's call is empty");
  verdict.call = "a\xff";
  EXPECT_EQ(written(verdict), "refused: an audit record's call is not UTF-8");
}

TEST(AuditRecord, ListsAreBounded) {
  Verdict verdict = some_verdict();
  verdict.labels.assign(kAuditListMax, "l");
  EXPECT_TRUE(body_of(verdict, &some_key()));
  verdict.labels.emplace_back("l");
  EXPECT_EQ(written(verdict), "refused: an audit record's labels has too many entries");
  verdict.labels = {std::string(kAuditIdMax + 1, 'l')};
  EXPECT_EQ(written(verdict), "refused: an audit record's labels is too long");
}

TEST(AuditRecord, TextsAreCutAndMadeOneLine) {
  Verdict verdict = some_verdict();
  verdict.reason = "a\nb\x1b[31m" + std::string(2 * kAuditTextMax, 'r');
  const std::string body = written(verdict);
  EXPECT_NE(body.find(R"("reason":"a\\nb)"), std::string::npos) << body;
  EXPECT_LT(body.size(), kAuditTextMax + 1000);
}

TEST(AuditRecord, DigestsAreDigests) {
  Verdict verdict = some_verdict();
  for (const std::string& wrong :
       {std::string(), std::string(63, 'a'), std::string(64, 'A'), std::string(65, 'a')}) {
    verdict.arguments_sha256 = wrong;
    EXPECT_EQ(written(verdict), "refused: an audit record's arguments_sha256 is no SHA-256 in hex") << wrong;
  }
}

TEST(AuditRecord, TheLargestFitsALine) {
  Verdict verdict = some_verdict();
  verdict.run = verdict.call = verdict.capability = verdict.rule = std::string(kAuditIdMax, 'x');
  verdict.destination_class = verdict.idempotency_key = std::string(kAuditIdMax, 'x');
  verdict.reason = std::string(kAuditTextMax, 'x');
  verdict.labels = verdict.effects = std::vector(kAuditListMax, std::string(kAuditIdMax, 'x'));
  EXPECT_LE(line_size_max(Verdict::kKind, written(verdict)), kAuditRecordMax);
}

TEST(AuditRecord, AKindFromElsewhereNeedsNothingButItsMembers) {
  EXPECT_EQ(written(Delivery{"r", 5}), R"("run":"r","size_bytes":5)");
}

}  // namespace
}  // namespace casemate::audit
