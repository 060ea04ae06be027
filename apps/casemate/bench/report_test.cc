#include "bench/report.h"

#include <gtest/gtest.h>

namespace casemate::bench {
namespace {

Row row_of(Better better, std::vector<double> ours, std::vector<double> theirs) {
  Row row;
  row.measure = "m";
  row.peer = "p";
  row.ours = std::move(ours);
  row.theirs = std::move(theirs);
  row.unit = "ms";
  row.better = better;
  return row;
}

std::vector<double> hundred() {
  std::vector<double> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(i);
  return samples;
}

TEST(Quantiles, AreSamplesByNearestRank) {
  const Quantiles found = quantiles_of(hundred());
  EXPECT_EQ(found.p50, 50);
  EXPECT_EQ(found.p95, 95);
  EXPECT_EQ(found.p99, 99);
}

TEST(Quantiles, OfFewSamplesAreTheNearestOnes) {
  EXPECT_EQ(quantiles_of({7}).p50, 7);
  EXPECT_EQ(quantiles_of({7}).p99, 7);
  EXPECT_EQ(quantiles_of({3, 1, 2}).p50, 2);
  EXPECT_EQ(quantiles_of({3, 1, 2}).p95, 3);
  EXPECT_EQ(quantiles_of({1, 2}).p50, 1);
  EXPECT_EQ(quantiles_of({}).p50, 0);
}

TEST(Ratio, IsMoreThanOneWhenWeAreBetter) {
  EXPECT_EQ(row_of(Better::kLess, {2}, {20}).ratio(), 10);
  EXPECT_EQ(row_of(Better::kMore, {20}, {2}).ratio(), 10);
  EXPECT_EQ(row_of(Better::kLess, {20}, {2}).ratio(), 0.1);
}

TEST(Ratio, IsOfTheMedians) { EXPECT_EQ(row_of(Better::kLess, {1, 1, 100}, {5, 4, 900}).ratio(), 5); }

TEST(Ratio, OfNothingIsNone) { EXPECT_EQ(row_of(Better::kLess, {}, {1}).ratio(), 0); }

TEST(Json, HasTheShapeThatTheDocumentPromises) {
  Report report;
  report.host = {"6.1", 2, "same"};
  Row row = row_of(Better::kLess, {1, 2, 3}, {10, 20, 30});
  row.ours_isolation = "walls";
  row.theirs_isolation = "none";
  row.live = 1000;
  report.rows.push_back(row);
  report.skipped.push_back({"m", "runc", "not installed"});
  report.skipped.push_back({"live_1000", "", "too little memory"});
  EXPECT_EQ(to_json(report), R"({
  "rows": [
    {
      "measure": "m",
      "peer": "p",
      "ours": {
        "p50": 2,
        "p95": 3,
        "p99": 3,
        "unit": "ms"
      },
      "theirs": {
        "p50": 20,
        "p95": 30,
        "p99": 30,
        "unit": "ms"
      },
      "ratio": 10,
      "ours_faults": null,
      "isolation": {
        "ours": "walls",
        "theirs": "none"
      },
      "live": 1000,
      "n": 3
    }
  ],
  "skipped": [
    {
      "measure": "m",
      "peer": "runc",
      "reason": "not installed"
    },
    {
      "measure": "live_1000",
      "peer": null,
      "reason": "too little memory"
    }
  ],
  "host": {
    "kernel": "6.1",
    "cpus": 2,
    "interpreter": "same"
  },
  "quick": false
})");
}

TEST(Json, HasOursFaultsWhereTheyWereCounted) {
  Report report;
  report.rows.push_back(row_of(Better::kLess, {1}, {2}));
  report.rows.back().ours_faults = 4.25;
  EXPECT_NE(to_json(report).find("\"ours_faults\": 4.25,"), std::string::npos);
  EXPECT_EQ(to_json(report).find("\"live\""), std::string::npos);
}

TEST(Table, NamesWhatWasNotMeasured) {
  Report report;
  report.host.interpreter = "same";
  report.rows.push_back(row_of(Better::kLess, {0.5}, {20}));
  report.skipped.push_back({"m", "runc", "not installed"});
  const std::string text = to_table(report);
  EXPECT_NE(text.find("40.0x"), std::string::npos) << text;
  EXPECT_NE(text.find("not measured: m/runc: not installed"), std::string::npos) << text;
}

TEST(Bars, AreReadAndHeld) {
  Report report;
  report.rows.push_back(row_of(Better::kLess, {1}, {40}));
  EXPECT_TRUE(check_bars(report, {*parse_bar("m/p=40")}).all);
  EXPECT_FALSE(check_bars(report, {*parse_bar("m/p=40.1")}).all);
  EXPECT_EQ(check_bars(report, {*parse_bar("m/p=0.5")}).text, "m/p 40.0x (bar 0.500x)");
}

TEST(Bars, OfWhatWasNotMeasuredAreNotMet) {
  const BarsMet met = check_bars({}, {{"m", "p", 1}});
  EXPECT_FALSE(met.all);
  EXPECT_NE(met.text.find("m/p not measured"), std::string::npos);
}

TEST(Bars, OfAnotherFormAreRefused) {
  for (const char* text :
       {"", "m", "m/p", "m/p=", "m/p=x", "m=1", "/p=1", "m/=1", "m/p=-1", "m/p=0", "m/p=inf", "m/p=1x"})
    EXPECT_FALSE(parse_bar(text)) << text;
}

}  // namespace
}  // namespace casemate::bench
