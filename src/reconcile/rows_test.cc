#include "reconcile/rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reconcile/json_lines.h"
#include "reconcile/outcomes.h"
#include "reconcile/pack.h"
#include "sys/test_support.h"

namespace casemate::reconcile {
namespace {

const std::string kEffect =
    R"({"idempotency_key":"k","capability":"c","run":"r","at":"2026-07-30T12:00:00.123456Z"})";

TEST(EffectOf, TakesWhatATapWrites) {
  const auto effect = effect_of(kEffect);
  ASSERT_TRUE(effect);
  EXPECT_EQ(effect_line(*effect), kEffect + "\n");
}

TEST(EffectOf, RefusesWhatSaysNoEffect) {
  const std::vector<std::string> bad = {
      "",
      "[]",
      "7",
      "{}",
      "\xff",
      kEffect + kEffect,
      R"({"idempotency_key":"k","capability":"c","run":"r"})",
      R"({"idempotency_key":7,"capability":"c","run":"r","at":"2026-07-30T12:00:00Z"})",
      R"({"idempotency_key":"k","idempotency_key":"l","capability":"c","run":"r","at":"2026-07-30T12:00:00Z"})",
      R"({"idempotency_key":"k","capability":"c","run":"r","at":"yesterday"})",
      R"({"idempotency_key":")" + std::string(kNameMax + 1, 'k') +
          R"(","capability":"c","run":"r","at":"2026-07-30T12:00:00Z"})"};
  for (const std::string& line : bad) EXPECT_FALSE(effect_of(line)) << line;
}

TEST(TimeOf, TakesFractionsOfAnyLength) {
  const auto whole = time_of("2026-07-30T12:00:00.120000Z");
  ASSERT_TRUE(whole);
  for (const char* text :
       {"2026-07-30T12:00:00.12Z", "2026-07-30T12:00:00.120Z", "2026-07-30T12:00:00.12+00:00"})
    EXPECT_EQ(time_of(text).value(), *whole) << text;
  for (const char* text : {"", "Z", "2026-07-30", "2026-07-30T12:00:00", "2026-07-30T12:00:00.1234567Z"})
    EXPECT_FALSE(time_of(text)) << text;
}

TEST(Pack, GivesBackWhatItWasGiven) {
  const std::string odd = std::string("3:\0x", 4);
  std::string text, empty = "not yet";
  std::int64_t number = 0;
  bool truth = false;
  unpack(pack(odd, std::string(), std::int64_t{-7}, true), text, empty, number, truth);
  EXPECT_EQ(text, odd);
  EXPECT_EQ(empty, "");
  EXPECT_EQ(number, -7);
  EXPECT_TRUE(truth);
}

std::vector<std::string> told(LineSplitter& lines, const std::vector<std::string>& pieces) {
  std::vector<std::string> told;
  const EachLine each = [&](const SourceLine& line) -> Result<void> {
    told.push_back(line.where + "|" + std::string(line.text) + "|" + (line.fault.empty() ? "" : "fault"));
    return {};
  };
  for (const std::string& piece : pieces) EXPECT_TRUE(lines.feed(piece, each));
  EXPECT_TRUE(lines.finish(each));
  return told;
}

TEST(LineSplitter, DoesNotCareWhereBytesAreCut) {
  const std::string text = "one\n\nthree\nfo";
  const std::vector<std::string> expected = {"f:1|one|", "f:3|three|", "f:4|fo|fault"};
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    LineSplitter lines("f", 8);
    EXPECT_EQ(told(lines, {text.substr(0, cut), text.substr(cut)}), expected) << cut;
  }
}

TEST(LineSplitter, HoldsNoLineThatIsTooLong) {
  LineSplitter lines("f", 8);
  const std::vector<std::string> expected = {"f:1|12345678|", "f:2||fault", "f:3|short|", "f:4||fault"};
  EXPECT_EQ(told(lines, {"12345678\n", "1234", "56789", std::string(1000, 'x'), "\nshort\n123456789"}),
            expected);
}

TEST(FaultOfStored, LooksAtTheFile) {
  const sys::TestDir folder;
  const std::string path = folder / "product";
  sys::write_text(path, "abc");
  const std::string digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(fault_of_stored(path, 3, digest), "");
  EXPECT_NE(fault_of_stored(path, 4, digest), "");
  EXPECT_NE(fault_of_stored(path, 3, std::string(64, '0')), "");
  EXPECT_NE(fault_of_stored(path + "x", 3, digest), "");
  EXPECT_NE(fault_of_stored(folder.path(), 3, digest), "");
}

}  // namespace
}  // namespace casemate::reconcile
