// Theory of operation: each measure has an arm of ours and arms of peers, which take turns on one machine, so
// that what disturbs one disturbs the other. A sample counts only if its output and its end are what they
// must be; a wrong one ends the benchmark. place.h has the measures, peers.h whom they compare with.
#include "bench/bench_command.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/split.h"
#include "bench/place.h"
#include "bench/plot.h"
#include "box/spec.h"
#include "ensure_image.h"
#include "host_paths.h"
#include "json/utf8.h"
#include "options.h"

namespace casemate {
namespace {

using namespace bench;

constexpr const char* kWardenName = "casemate-warden";
constexpr milliseconds kQuickTime{30'000};
constexpr int kExitWrong = 1;
constexpr int kExitUsage = 2;
constexpr int kExitUnavailable = 4;

struct Measure {
  const char* name;
  Take* take;
  Boxes boxes;
  bool all_peers;     // else it compares with python3 alone
  bool quick = true;  // part of --quick although it is not asked for by name
};
using Rung = engine::Isolation;
constexpr Boxes kShared{Rung::kGvisor, engine::Sandbox::kShared};
constexpr Measure kMeasures[] = {
    {"hot_print", measure_hot_print, Rung::kJail, true},
    {"pandas_job", measure_pandas_job, Rung::kJail, true},
    {"cold_run", measure_cold_run, Rung::kJail, true},
    {"sustained", measure_sustained, Rung::kJail, true},
    {"memory_hot_slot", measure_memory, Rung::kJail, false},
    {"live_1000", measure_live_1000, Rung::kJail, false},
    {"callbacks_1", measure_callbacks, Rung::kJail, false, false},
    {"callbacks_1_durable", measure_callbacks, Rung::kJail, false, false},
    {"callbacks_64", measure_callbacks, Rung::kJail, false, false},
    {"callbacks_64_durable", measure_callbacks, Rung::kJail, false, false},
    {"hot_gvisor", measure_hot_print, Rung::kGvisor, true, false},
    {"sustained_gvisor", measure_sustained, Rung::kGvisor, true, false},
    {"hot_gvisor_shared", measure_hot_print, kShared, true, false},
    {"sustained_gvisor_shared", measure_sustained, kShared, true, false},
    {"memory_gvisor_slot", measure_memory, Rung::kGvisor, false, false},
    {"hot_microvm", measure_hot_print, Rung::kMicrovm, true, false},
    {"restore_microvm", measure_restore, Rung::kMicrovm, false, false},
    {"sustained_microvm", measure_sustained, Rung::kMicrovm, true, false},
    {"memory_microvm_slot", measure_memory, Rung::kMicrovm, false, false},
};

const std::string kMeasuresHelp = [] {
  std::string names;
  for (const Measure& measure : kMeasures)
    names += (names.empty() ? "only these: " : ", ") + std::string(measure.name);
  return names;
}();

struct Options {
  bool quick = false;
  bool as_json = false;
  std::string samples = "200";
  std::string measures, peers, store;
  std::optional<std::string> out;
  std::vector<std::string> bars;
};

struct Chosen {
  std::vector<Measure> measures;
  bool named = false;  // by --measures
  std::vector<Peer> peers;
  std::vector<Bar> bars;
  std::size_t samples = 0;
};

Command command_of(Options& options) {
  return {
      "casemate bench",
      "Measures what runs cost here, against the bare interpreter and other sandboxes, in turns.",
      {},
      {{"--quick", nullptr, "fewer and shorter: within a minute", &options.quick},
       {"--measures", "A,B", kMeasuresHelp.c_str(), &options.measures},
       {"--peers", "A,B", "only these: python3, bwrap, runc, runsc", &options.peers},
       {"--samples", "N", "turns of each measure at most (200)", &options.samples},
       {"--bar", "MEASURE/PEER=RATIO", "fail when a ratio is below it; may be given again", &options.bars},
       {"--json", nullptr, "one JSON document", &options.as_json},
       {"--out", "DIR", "write bench.json, and a plot as bench.svg and bench.png", &options.out},
       {"--store", "DIR", "image store to use instead of the usual ones", &options.store}},
      "Examples:\n"
      "  casemate bench --quick\n"
      "  casemate bench --json > bench.json\n"
      "  casemate bench --out results\n"
      "  casemate bench --measures cold_run --peers python3 --bar cold_run/python3=0.67\n"
      "\n"
      "A ratio is of the medians: theirs over ours for times and sizes, ours over theirs for rates, so that\n"
      "more is better. The output and the exit code of every sample are held against what they must be. "
      "What\n"
      "is not installed or does not work here is named as not measured. docs/benchmarks.md says what is\n"
      "measured and how. Run as an ordinary user it measures boxes of an ordinary user.\n"
      "\n"
      "Exit codes: 0 measured, 1 a sample was wrong or a bar was missed, 2 usage, 4 unavailable."};
}

// The entries of `all` that a list names, in the order of `all`; all of them when it is empty.
template <typename Entry, typename All>
Result<std::vector<Entry>> choose(const All& all, const std::string& list, const char* option) {
  std::vector<Entry> chosen;
  const std::vector<std::string> names = split(list, ',');
  std::string known;
  for (const Entry& one : all) {
    known += (known.empty() ? "" : ", ") + std::string(one.name);
    if (list.empty() || std::find(names.begin(), names.end(), one.name) != names.end()) chosen.push_back(one);
  }
  for (const std::string& name : names) {
    const auto is_it = [&](const Entry& one) { return one.name == name; };
    if (!list.empty() && std::none_of(chosen.begin(), chosen.end(), is_it))
      return fail(ErrorCode::kInvalid, std::string(option) + " takes " + known + ", not '" + name + "'");
  }
  return chosen;
}

Result<Chosen> chosen_by(const Options& options) {
  Chosen chosen;
  chosen.measures = TRY(choose<Measure>(kMeasures, options.measures, "--measures"));
  chosen.named = !options.measures.empty();
  chosen.peers = TRY(choose<Peer>(known_peers(), options.peers, "--peers"));
  for (const std::string& text : options.bars) chosen.bars.push_back(TRY(parse_bar(text)));
  const std::string& text = options.samples;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), chosen.samples);
  if (error != std::errc{} || after != text.data() + text.size() || chosen.samples < 1 ||
      chosen.samples > 100'000)
    return fail(ErrorCode::kInvalid, "--samples takes 1 to 100000, not '" + text + "'");
  if (options.quick) chosen.samples = std::min<std::size_t>(chosen.samples, 40);
  return chosen;
}

// Why a peer cannot be measured here; empty when it can. One that ends well and printed something else is no
// peer that does not work but a wrong sample. Errors: internal (that), system.
Result<std::string> try_peer(const Peer& peer, PeerRoom& room) {
  if (peer.program.empty()) return std::string("not installed");
  const Launch what = TRY(room.launch_of(peer, kPrint.text));
  const auto launched = launch(what);
  if (!launched) return launched.error().message;
  if (launched->exit_code == 0) {
    if (launched->out == kPrint.expected) return std::string();
    return fail(ErrorCode::kInternal, peer.name + ": a wrong sample: \"" + first_line(launched->out) + "\"");
  }
  std::string why = first_line(launched->err);
  if (why.size() > kSummaryMax) why.resize(kSummaryMax);
  return "does not work here: exit code " + std::to_string(launched->exit_code) + ": " +
         json::escape_control(why);
}

// The peers that can be measured; for the others each measure says why not.
Result<std::vector<Peer>> working_peers(const Chosen& chosen, PeerRoom& room, Report& report) {
  std::vector<Peer> working;
  for (const Peer& peer : chosen.peers) {
    const std::string why = TRY(try_peer(peer, room));
    if (why.empty()) working.push_back(peer);
    for (const Measure& measure : chosen.measures) {
      if (!why.empty() && (measure.all_peers || peer.name == "python3"))
        report.skipped.push_back({measure.name, peer.name, why});
    }
  }
  return working;
}

// Byte for byte, since another build of the interpreter would be another peer.
std::string compare_interpreters(const std::string& rootfs) {
  std::error_code error;
  const std::string path = std::filesystem::canonical("/usr/bin/python3", error).string();
  if (error) return "this host has no /usr/bin/python3";
  constexpr std::size_t kMost = 256 << 20;
  const auto bare = sys::read_file_at(AT_FDCWD, path, kMost);
  const auto boxed = sys::read_file_at(AT_FDCWD, rootfs + path, kMost);
  if (bare && boxed && *bare == *boxed) return "same";
  return path + " of this host is not that of the image";
}

Host this_host(const std::string& rootfs) {
  utsname names{};
  (void)::uname(&names);
  return {names.release, box::this_machine().cpus, compare_interpreters(rootfs)};
}

// A measure takes up to ten seconds of --quick, and more where others keep the machine busy. One that fails
// is named as not measured, and the others go on: they took long, and are right. The first failure, if any.
std::optional<Error> measure_all(const Chosen& chosen, const Place& place) {
  const bool tell = ::isatty(STDERR_FILENO) == 1;
  const Instant begun = now();
  std::optional<Error> failure;
  for (const Measure& measure : chosen.measures) {
    if (place.quick && !measure.quick && !chosen.named) {
      place.report->skipped.push_back({measure.name, "", "not part of --quick: name it with --measures"});
      continue;
    }
    if (place.quick && now() - begun > kQuickTime) {
      place.report->skipped.push_back({measure.name, "", "no time left for it in a minute (--quick)"});
      continue;
    }
    if (const std::string& why = missing_rung(place, measure.boxes.rung); !why.empty()) {
      place.report->skipped.push_back({measure.name, "", why});
      continue;
    }
    if (tell) std::fprintf(stderr, "casemate bench: measuring %s\n", measure.name);
    if (auto done = measure.take(place, measure.name, measure.boxes); !done) {
      place.report->skipped.push_back({measure.name, "", done.error().message});
      if (!failure) failure = fail_with_context(done.error(), measure.name).value();
    }
  }
  return failure;
}

int failed(const Error& error) {
  std::fprintf(stderr, "casemate bench: %s\n", json::escape_control(error.message).c_str());
  switch (error.code) {
    case ErrorCode::kInternal: return kExitWrong;
    case ErrorCode::kInvalid: return kExitUsage;
    default: return kExitUnavailable;
  }
}

int finish(const Report& report, const Chosen& chosen, const Options& options, const Place& place) {
  const std::string document = to_json(report);
  std::printf("%s", options.as_json ? (document + "\n").c_str() : to_table(report).c_str());
  if (options.out) {
    if (auto done = write_results(*options.out, document, place); !done) return failed(done.error());
  }
  if (chosen.bars.empty()) return 0;
  const BarsMet met = check_bars(report, chosen.bars);
  std::fprintf(options.as_json ? stderr : stdout, "bar: %s\n", met.text.c_str());
  return met.all ? 0 : kExitWrong;
}

Result<int> measure_and_tell(const Chosen& chosen, const Options& options) {
  Report report;
  report.quick = options.quick;
  const image::ImageInfo image = TRY(ensure_image("python", options.store));
  report.host = this_host(image.rootfs());
  PeerRoom room = TRY(PeerRoom::make(image.rootfs()));
  Place place;
  place.parts = TRY(find_parts(kWardenName));
  place.store = options.store;
  const auto on_machine = [&](const Measure& one) {
    return one.boxes.rung == Rung::kMicrovm && (one.quick || chosen.named || !options.quick);
  };
  const bool machine = std::any_of(chosen.measures.begin(), chosen.measures.end(), on_machine) &&
                       missing_rung(place, Rung::kMicrovm).empty();
  auto parts = ensure_parts(image, options.store, machine ? frame::Rung::kMicrovm : frame::Rung::kJail);
  if (!parts) {  // what it is measured in cannot be made here
    place.parts.rungs.no_microvm = parts.error().message;
    parts = TRY(ensure_parts(image, options.store, frame::Rung::kJail));
  }
  place.image = std::move(*parts);
  std::error_code unreadable;
  place.self = std::filesystem::canonical("/proc/self/exe", unreadable).string();
  if (unreadable) return fail_errno("find this program through /proc", unreadable.value());
  place.peers = TRY(working_peers(chosen, room, report));
  place.room = &room;
  place.quick = options.quick;
  place.samples = chosen.samples;
  place.report = &report;
  const std::optional<Error> failure = measure_all(chosen, place);
  const int code = finish(report, chosen, options, place);
  return failure ? failed(*failure) : code;
}

}  // namespace

int bench_command(int argc, char** argv) {
  Options options;
  if (const auto done = read_command(command_of(options), argc, argv)) return *done;
  const auto chosen = chosen_by(options);
  if (!chosen) return failed(chosen.error());
  const auto code = measure_and_tell(*chosen, options);
  return code ? *code : failed(code.error());
}

}  // namespace casemate
