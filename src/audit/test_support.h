// For tests of this library: records to write, a disk that counts and fails, and what is in the files.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "audit/disk.h"
#include "audit/log.h"
#include "audit/segment.h"
#include "audit/verify.h"
#include "base/split.h"
#include "sys/test_support.h"

namespace casemate::audit {

inline const std::string kSomeDigest(64, 'a');

inline Verdict some_verdict(Answer answer = Answer::kAllow, const std::string& run = "run_1",
                            const std::string& call = "call_1") {
  Verdict verdict;
  verdict.run = run;
  verdict.call = call;
  verdict.capability = "ledger.read";
  verdict.answer = answer;
  verdict.rule = "allow ledger.read";
  verdict.reason = "a rule names it";
  verdict.policy_sha256 = std::string(64, 'b');
  verdict.arguments_sha256 = kSomeDigest;
  verdict.destination_class = "external";
  verdict.destination = "ledger.example.com";
  verdict.labels = {"private"};
  verdict.effects = {"read"};
  return verdict;
}

inline CallResult some_result(const std::string& run = "run_1", const std::string& call = "call_1") {
  CallResult result;
  result.run = run;
  result.call = call;
  result.capability = "ledger.read";
  result.status = "ok";
  result.result_sha256 = kSomeDigest;
  result.result_bytes = 17;
  result.latency = microseconds{250};
  return result;
}

// The time in every record of a test that does not look at times.
inline Time some_time() { return Time(std::chrono::seconds(1'785'000'000)); }

inline Deadline soon() { return Deadline::in(milliseconds{60'000}); }

// Counts the steps and lets one of them fail: an append when half of it is done, others before anything is.
class TestDisk : public Disk {
 public:
  Result<void> append(const sys::Fd& file, std::string_view bytes) override {
    ++appends;
    const Result<void> good = step();
    const Result<void> written = Disk::append(file, good ? bytes : bytes.substr(0, bytes.size() / 2));
    return good ? written : good;
  }
  Result<void> sync(const sys::Fd& file) override {
    ++syncs;
    TRY(step());
    if (before_sync) before_sync();
    if (fail_syncs != 0) return fail_errno("fdatasync", fail_syncs);
    return Disk::sync(file);
  }
  Result<void> sync_directory(const sys::Fd& directory) override {
    TRY(step());
    return Disk::sync_directory(directory);
  }
  Result<void> cut(const sys::Fd& file, std::uint64_t size) override {
    TRY(step());
    return Disk::cut(file, size);
  }
  Result<void> rename(const sys::Fd& directory, const std::string& from, const std::string& to) override {
    TRY(step());
    return Disk::rename(directory, from, to);
  }

  std::atomic<int> steps{0};
  std::atomic<int> appends{0};
  std::atomic<int> syncs{0};
  std::atomic<int> fail_step{0};  // this one, counted from 1; 0: none
  std::atomic<int> fail_with{EIO};
  std::atomic<int> fail_syncs{0};  // an errno for every sync; 0: none
  std::function<void()> before_sync;

 private:
  Result<void> step() {
    if (++steps == fail_step) return fail_errno("a step of the test", fail_with);
    return {};
  }
};

// An audit directory of the test's own.
class AuditDir {
 public:
  const std::string& root() const { return dir_.path(); }
  std::string path() const { return dir_ / "audit"; }
  std::string in(const std::string& name) const { return path() + "/" + name; }
  std::string segment(std::uint32_t number = 1, const std::string& writer = "main") const {
    return in("writers/" + writer + "/" + segment_name(number));
  }
  LogOptions options(const std::string& writer = "main") const {
    LogOptions options;
    options.directory = path();
    options.writer = writer;
    options.clock = some_time;
    return options;
  }
  Result<std::unique_ptr<Log>> open(const std::string& writer = "main") const {
    return Log::open(options(writer));
  }
  std::vector<std::string> lines(std::uint32_t number = 1, const std::string& writer = "main") const {
    return split(sys::read_text(segment(number, writer)), '\n');
  }
  // What verify says first; empty when all is right.
  std::string first_fault(const VerifyOptions& how = {}) const {
    const auto report = verify(path(), how);
    if (!report) return "verify: " + report.error().message;
    if (report->ok()) return "";
    const Fault& fault = report->faults.front();
    return std::string(fault_kind_name(fault.kind)) + " " + fault.writer + " " +
           std::to_string(fault.sequence);
  }

 private:
  sys::TestDir dir_;
};

}  // namespace casemate::audit
