// What a benchmark found: rows of samples, and their forms: JSON, a table, and whether bars are met. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace casemate::bench {

// Nearest rank: each is a sample that was taken. All 0 without samples.
struct Quantiles {
  double p50 = 0, p95 = 0, p99 = 0;
};
Quantiles quantiles_of(std::vector<double> samples);

enum class Better { kLess, kMore };  // a time or a size; a rate

// One measure against one peer. Sample i of both arms is of the same turn.
struct Row {
  std::string measure, peer;
  std::vector<double> ours, theirs;
  std::string unit;  // "ms", "runs/s", "MiB"
  Better better = Better::kLess;
  std::string ours_isolation, theirs_isolation;
  std::optional<double> ours_faults;  // minor faults of a run; docs/benchmarks.md says of which processes
  std::optional<std::size_t> live;    // slots that were there at once

  // Of the medians: how many times better we are, whichever way is better.
  double ratio() const;
};

// What was not measured, and why. An empty peer: the whole measure.
struct Skipped {
  std::string measure, peer, reason;
};

struct Host {
  std::string kernel;
  std::size_t cpus = 0;
  std::string
      interpreter;  // "same" when the bare interpreter is byte for byte the image's, else what differs
};

struct Report {
  Host host;
  bool quick = false;
  std::vector<Row> rows;
  std::vector<Skipped> skipped;
};

// {"rows":[…],"skipped":[…],"host":{…},"quick":…}; docs/benchmarks.md has the fields.
std::string to_json(const Report& report);
std::string to_table(const Report& report);

// A ratio that a row shall reach.
struct Bar {
  std::string measure, peer;
  double ratio = 0;
};
// "hot_print/python3=40". Errors: invalid.
Result<Bar> parse_bar(std::string_view text);
// A bar without a row is not met: what was not measured proves nothing.
struct BarsMet {
  bool all = true;
  std::string text;  // "hot_print/python3 52.1x (bar 40x), …"
};
BarsMet check_bars(const Report& report, const std::vector<Bar>& bars);

}  // namespace casemate::bench
