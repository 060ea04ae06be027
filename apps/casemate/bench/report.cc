#include "bench/report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "json/writer.h"

namespace casemate::bench {
namespace {

// Four digits are more than any sample is worth, and make two reports comparable by eye.
double rounded(double number) {
  if (number == 0 || !std::isfinite(number)) return 0;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::fabs(number))));
  return std::round(number * scale) / scale;
}

std::string shown(double number, const char* unit) {
  char text[64];
  const int digits = number >= 100 ? 0 : number >= 10 ? 1 : number >= 1 ? 2 : 3;
  std::snprintf(text, sizeof(text), "%.*f%s", digits, number, unit);
  return text;
}

void write_arm(json::Writer& writer, const char* name, const std::vector<double>& samples,
               const std::string& unit) {
  const Quantiles found = quantiles_of(samples);
  writer.key(name).begin_object();
  writer.field("p50", rounded(found.p50)).field("p95", rounded(found.p95)).field("p99", rounded(found.p99));
  writer.field("unit", unit).end_object();
}

void write_row(json::Writer& writer, const Row& row) {
  writer.begin_object().field("measure", row.measure).field("peer", row.peer);
  write_arm(writer, "ours", row.ours, row.unit);
  write_arm(writer, "theirs", row.theirs, row.unit);
  writer.field("ratio", rounded(row.ratio()));
  writer.key("ours_faults");
  row.ours_faults ? writer.value(rounded(*row.ours_faults)) : writer.null();
  writer.key("isolation").begin_object().field("ours", row.ours_isolation);
  writer.field("theirs", row.theirs_isolation).end_object();
  if (row.live) writer.field("live", *row.live);
  writer.field("n", row.ours.size()).end_object();
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::string space(width > text.size() ? width - text.size() : 0, ' ');
  return left ? text + space : space + text;
}

// Columns as wide as their widest cell; the first two to the left, the others to the right.
std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths;
  for (const auto& cells : lines) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text;
  for (const auto& cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      line += padded(cells[i], widths[i], i < 2);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

Quantiles quantiles_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto rank = [&](std::size_t percent) { return samples[(percent * samples.size() + 99) / 100 - 1]; };
  return {rank(50), rank(95), rank(99)};
}

double Row::ratio() const {
  const double our = quantiles_of(ours).p50;
  const double their = quantiles_of(theirs).p50;
  const double above = better == Better::kLess ? their : our;
  const double below = better == Better::kLess ? our : their;
  return below > 0 ? above / below : 0;
}

std::string to_json(const Report& report) {
  json::Writer writer(json::Writer::Style::kPretty);
  writer.begin_object().key("rows").begin_array();
  for (const Row& row : report.rows) write_row(writer, row);
  writer.end_array().key("skipped").begin_array();
  for (const Skipped& one : report.skipped) {
    writer.begin_object().field("measure", one.measure);
    writer.key("peer");
    one.peer.empty() ? writer.null() : writer.value(one.peer);
    writer.field("reason", one.reason).end_object();
  }
  writer.end_array().key("host").begin_object();
  writer.field("kernel", report.host.kernel).field("cpus", report.host.cpus);
  writer.field("interpreter", report.host.interpreter).end_object();
  writer.field("quick", report.quick).end_object();
  return std::move(writer).take();
}

std::string to_table(const Report& report) {
  std::vector<std::vector<std::string>> lines = {
      {"measure", "peer", "ours p50", "p95", "p99", "theirs p50", "p95", "p99", "ratio", "faults", "n"}};
  for (const Row& row : report.rows) {
    const Quantiles ours = quantiles_of(row.ours);
    const Quantiles theirs = quantiles_of(row.theirs);
    const std::string unit = " " + row.unit;
    lines.push_back({row.measure, row.peer, shown(ours.p50, unit.c_str()), shown(ours.p95, ""),
                     shown(ours.p99, ""), shown(theirs.p50, unit.c_str()), shown(theirs.p95, ""),
                     shown(theirs.p99, ""), shown(row.ratio(), "x"),
                     row.ours_faults ? shown(std::round(*row.ours_faults), "") : "",
                     std::to_string(row.ours.size())});
  }
  std::string text = aligned(lines) + "\n";
  std::vector<std::string> told;
  const auto tell = [&](const std::string& name, const std::string& isolation) {
    if (std::find(told.begin(), told.end(), name) != told.end()) return;
    told.push_back(name);
    text += padded(name, 9, true) + " " + isolation + "\n";
  };
  for (const Row& row : report.rows) tell("casemate", row.ours_isolation);
  for (const Row& row : report.rows) tell(row.peer, row.theirs_isolation);
  for (const Row& row : report.rows) {
    if (row.live) text += row.measure + "/" + row.peer + ": " + std::to_string(*row.live) + " slots live\n";
  }
  for (const Skipped& one : report.skipped) {
    const std::string what = one.peer.empty() ? one.measure : one.measure + "/" + one.peer;
    text += "not measured: " + what + ": " + one.reason + "\n";
  }
  if (report.host.interpreter != "same") text += "interpreter: " + report.host.interpreter + "\n";
  return text;
}

Result<Bar> parse_bar(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::size_t equals = text.find('=');
  Bar bar;
  if (slash != std::string_view::npos && equals != std::string_view::npos && slash > 0 &&
      slash + 1 < equals) {
    bar.measure = text.substr(0, slash);
    bar.peer = text.substr(slash + 1, equals - slash - 1);
    const auto [end, error] = std::from_chars(text.data() + equals + 1, text.data() + text.size(), bar.ratio);
    if (error == std::errc{} && end == text.data() + text.size() && bar.ratio > 0 && std::isfinite(bar.ratio))
      return bar;
  }
  return fail(ErrorCode::kInvalid,
              "--bar takes MEASURE/PEER=RATIO, e.g. hot_print/python3=40, not '" + std::string(text) + "'");
}

BarsMet check_bars(const Report& report, const std::vector<Bar>& bars) {
  BarsMet met;
  for (const Bar& bar : bars) {
    const auto row = std::find_if(report.rows.begin(), report.rows.end(), [&](const Row& one) {
      return one.measure == bar.measure && one.peer == bar.peer;
    });
    const bool there = row != report.rows.end();
    met.all = met.all && there && row->ratio() >= bar.ratio;
    if (!met.text.empty()) met.text += ", ";
    met.text += bar.measure + "/" + bar.peer + " " + (there ? shown(row->ratio(), "x") : "not measured") +
                " (bar " + shown(bar.ratio, "x") + ")";
  }
  return met;
}

}  // namespace casemate::bench
