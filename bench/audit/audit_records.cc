// How many records a second an audit log takes, and what one costs: audit_records DIR [THREADS [SECONDS
// [MODE]]]
//
// MODE: verdict (durable; the default), pair (a durable verdict and a buffered result, as a call has them),
// buffered. Writes a log of the name `bench` in DIR and prints one line of JSON. Run it on the disk that it
// is about, and on a quiet machine.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "audit/log.h"

namespace casemate::audit {
namespace {

struct Options {
  std::string directory;
  int threads = 64;
  double seconds = 3;
  std::string mode = "verdict";
};

Verdict some_verdict(int thread) {
  Verdict verdict;
  verdict.run = "run_4f1c0912ab" + std::to_string(thread);
  verdict.capability = "ledger.read";
  verdict.answer = Answer::kAllow;
  verdict.rule = "allow ledger.read";
  verdict.policy_sha256 = verdict.arguments_sha256 = std::string(64, 'a');
  verdict.destination_class = "external";
  verdict.destination = "ledger.example.com";
  verdict.labels = {"private"};
  verdict.effects = {"read"};
  return verdict;
}

double cpu_seconds() {
  rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);  // it cannot fail
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Records until the time is over. Answers how long each of the calls' records took, in microseconds.
std::vector<double> record_calls(Log& log, const Options& options, int thread, Instant end) {
  std::vector<double> spans;
  Verdict verdict = some_verdict(thread);
  CallResult result;
  result.run = verdict.run;
  result.capability = verdict.capability;
  result.status = "ok";
  result.result_sha256 = verdict.arguments_sha256;
  const Durability durability = options.mode == "buffered" ? Durability::kBuffered : Durability::kDurable;
  for (int i = 0; now() < end; ++i) {
    verdict.call = result.call = std::to_string(i);
    const Instant begin = now();
    bool good = log.record(verdict, durability, Deadline::in(milliseconds{60'000})).has_value();
    if (options.mode == "pair")
      good =
          log.append(result, Durability::kBuffered, Deadline::in(milliseconds{60'000})).has_value() && good;
    if (!good) std::abort();
    spans.push_back(std::chrono::duration<double, std::micro>(now() - begin).count());
  }
  return spans;
}

int measure(const Options& options) {
  const auto opened = Log::open({.directory = options.directory, .writer = "bench"});
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    return 1;
  }
  Log& log = **opened;
  const Log::Counts before = log.counts();
  const double cpu = cpu_seconds();
  const Instant begin = now();
  const Instant end =
      begin + std::chrono::duration_cast<Instant::duration>(std::chrono::duration<double>(options.seconds));
  std::vector<std::vector<double>> spans(static_cast<std::size_t>(options.threads));
  std::vector<std::thread> threads;
  for (int t = 0; t < options.threads; ++t) {
    threads.emplace_back([&, t] { spans[static_cast<std::size_t>(t)] = record_calls(log, options, t, end); });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(now() - begin).count();
  const double used = cpu_seconds() - cpu;
  const Log::Counts after = log.counts();
  std::vector<double> all;
  for (const auto& of_thread : spans) all.insert(all.end(), of_thread.begin(), of_thread.end());
  std::sort(all.begin(), all.end());
  const auto records = static_cast<double>(after.records - before.records);
  std::printf(
      "{\"mode\":\"%s\",\"threads\":%d,\"records_per_s\":%.0f,\"calls_per_s\":%.0f,\"records\":%.0f,"
      "\"syncs\":%llu,"
      "\"p50_us\":%.0f,\"p99_us\":%.0f,\"cpu_us_per_record\":%.1f}\n",
      options.mode.c_str(), options.threads, records / seconds, static_cast<double>(all.size()) / seconds,
      records, static_cast<unsigned long long>(after.syncs - before.syncs), all[all.size() / 2],
      all[all.size() * 99 / 100], used * 1e6 / records);
  return log.close() ? 0 : 1;
}

}  // namespace
}  // namespace casemate::audit

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s DIR [THREADS [SECONDS [verdict|pair|buffered]]]\n", argv[0]);
    return 2;
  }
  casemate::audit::Options options;
  options.directory = argv[1];
  if (argc > 2) options.threads = std::max(1, std::atoi(argv[2]));
  if (argc > 3) options.seconds = std::atof(argv[3]);
  if (argc > 4) options.mode = argv[4];
  return casemate::audit::measure(options);
}
