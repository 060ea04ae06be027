#include "audit/verify.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "audit/index.h"
#include "audit/layout.h"
#include "audit/record.h"
#include "audit/verify_chain.h"
#include "base/limits.h"
#include "crypto/digest.h"

namespace casemate::audit {
namespace {

constexpr std::size_t kRowsAtOnce = 1024;

// The rows that the index has of one chain, against its records. What the index has was fixed before the
// chain was looked at: it may lag behind the chain, never be ahead of it.
class IndexCheck {
 public:
  IndexCheck(Index& index, const IndexedWriter& writer) : index_(index), writer_(writer) {}

  std::optional<Fault> next(const ChainCheck& check, const Place& place, std::size_t size) {
    const std::uint64_t sequence = check.head().sequence;
    if (sequence > writer_.last) return std::nullopt;
    const auto differs = [&](std::string what) {
      return Fault{FaultKind::kIndex, check.writer(), place.segment, place.offset, sequence, std::move(what)};
    };
    if (at_ == rows_.size()) {
      auto rows = index_.rows(writer_.instance, sequence - 1, writer_.last, kRowsAtOnce);
      if (!rows) return differs(rows.error().message);
      rows_ = std::move(*rows);
      at_ = 0;
    }
    if (at_ == rows_.size() || rows_[at_].sequence != sequence)
      return differs("the index does not have this record, but later ones");
    const bool same = rows_[at_++] == row_of(check, place, size);
    return same ? std::nullopt : std::optional(differs("the index says something else of this record"));
  }

  std::optional<Fault> finish(const ChainReport& report) const {
    if (writer_.last <= report.head.sequence) return std::nullopt;
    return Fault{FaultKind::kIndex,
                 report.name,
                 report.segments,
                 0,
                 report.head.sequence + 1,
                 "the index has records up to " + std::to_string(writer_.last) +
                     ", the log ends with record " + std::to_string(report.head.sequence) +
                     ": its end was cut off, or the index is of another log"};
  }
  std::uint64_t rows() const { return writer_.last; }

 private:
  Index& index_;
  const IndexedWriter& writer_;
  std::vector<IndexRow> rows_;
  std::size_t at_ = 0;
};

class Verifier {
 public:
  Verifier(sys::Fd audit, const VerifyOptions& options)
      : audit_(std::move(audit)), heads_(options.heads.begin(), options.heads.end()) {}

  Result<VerifyReport> run(const std::string& path) {
    open_index(path);
    // In this order, so that a log that is begun meanwhile is in the manifest, if it is looked at.
    const std::vector<std::string> names = TRY(writer_names(audit_));
    check_manifest();
    if (report_.chains.empty() && names.empty())
      return fail(ErrorCode::kNotFound, "there is no audit log in " + path);
    std::set<std::string> all(names.begin(), names.end());
    for (const ListedWriter& writer : manifest_) all.insert(writer.writer);
    for (const std::string& name : all) check_writer(name);
    check_missing();
    for (const std::string& head : heads_)
      others_.push_back({FaultKind::kHead, "", 0, 0, 0, "no record has the digest " + head});
    for (const ChainReport& chain : report_.chains) {
      if (chain.fault) report_.faults.push_back(*chain.fault);
    }
    report_.faults.insert(report_.faults.end(), others_.begin(), others_.end());
    return std::move(report_);
  }

 private:
  void open_index(const std::string& path) {
    auto index = Index::open(path + "/" + kIndexName, Index::Mode::kRead);
    if (index) {
      auto writers = index->writers();
      if (writers) {
        index_.emplace(std::move(*index));
        for (IndexedWriter& writer : *writers) indexed_.emplace(writer.instance, std::move(writer));
        return;
      }
      others_.push_back({FaultKind::kIndex, "", 0, 0, 0, writers.error().message});
    } else if (index.error().code == ErrorCode::kNotFound) {
      report_.notes.emplace_back("there is no index");
    } else {
      others_.push_back({FaultKind::kIndex, "", 0, 0, 0, index.error().message});
    }
  }

  // Takes the heads that are found off the list.
  void look_for_heads(const Position& head) {
    if (!heads_.empty()) heads_.erase(head.digest);
  }

  // There is none before the first log is made; add_writer() misses it.
  void check_manifest() {
    const auto directory = open_chain_directory(audit_, kManifestName);
    if (!directory) {
      if (directory.error().errno_value != ENOENT)
        others_.push_back({FaultKind::kUnreadable, kManifestName, 0, 0, 1, directory.error().message});
      return;
    }
    ChainReport report =
        verify_chain(*directory, kManifestName, [&](const ChainCheck& check, const Place&, std::size_t) {
          look_for_heads(check.head());
          if (check.line().kind == ListedWriter::kKind && manifest_.size() < kAuditWritersMax) {
            manifest_.push_back({std::string(text_member(check.members(), "writer")),
                                 std::string(text_member(check.members(), "instance"))});
          }
          return std::optional<Fault>();
        });
    manifest_whole_ = !report.fault;
    report_.chains.push_back(std::move(report));
  }

  void check_writer(const std::string& name) {
    const auto directory = is_writer_name(name)
                               ? open_chain_directory(audit_, writer_path(name))
                               : Result<sys::Fd>(fail(ErrorCode::kInvalid, "this is no name"));
    if (!directory) {
      if (directory.error().errno_value != ENOENT)
        others_.push_back({FaultKind::kUnreadable, name, 0, 0, 1, directory.error().message});
      return;  // check_missing() says it
    }
    std::optional<IndexCheck> rows;
    ChainReport report =
        verify_chain(*directory, name, [&](const ChainCheck& check, const Place& place, std::size_t size) {
          look_for_heads(check.head());
          if (!rows && index_) {
            const auto indexed = indexed_.find(check.instance());
            if (indexed == indexed_.end()) return std::optional<Fault>();
            rows.emplace(*index_, indexed->second);
          }
          return rows ? rows->next(check, place, size) : std::nullopt;
        });
    if (rows && !report.fault) {
      report.indexed = rows->rows();
      report.fault = rows->finish(report);
    }
    add_writer(std::move(report));
  }

  void add_writer(ChainReport report) {
    const ListedWriter self{report.name, report.instance};
    if (!report.instance.empty()) present_.insert(report.instance);
    const bool listed = std::find(manifest_.begin(), manifest_.end(), self) != manifest_.end();
    // A log is on the manifest before its second record.
    if (!listed && !report.fault && report.records <= 1) {
      report_.notes.push_back(report.name + ": begun, and not finished yet");
    } else if (!listed && manifest_whole_ && !report.fault) {
      report.fault = Fault{FaultKind::kUnlistedWriter,
                           report.name,
                           0,
                           0,
                           1,
                           "the manifest does not name this log, or is not there"};
    } else if (!report.live && !report.closed && !report.fault) {
      report_.notes.push_back(report.name + ": not closed: a crash, or records were cut off its end");
    }
    report_.chains.push_back(std::move(report));
  }

  // Logs that the manifest or the index names and that are not there.
  void check_missing() {
    std::set<std::string> named;
    for (const ListedWriter& writer : manifest_) {
      named.insert(writer.instance);
      if (present_.contains(writer.instance)) continue;
      others_.push_back({FaultKind::kMissingWriter, writer.writer, 0, 0, 1,
                         "the log of instance " + writer.instance + " is not there"});
    }
    for (const auto& [instance, writer] : indexed_) {
      if (present_.contains(instance) || named.contains(instance)) continue;
      others_.push_back({FaultKind::kIndex, writer.name, 0, 0, 1,
                         "the index knows a log of instance " + instance + " that is not there"});
    }
  }

  sys::Fd audit_;
  std::set<std::string> heads_;  // not found yet
  std::optional<Index> index_;
  std::map<std::string, IndexedWriter> indexed_;  // by instance
  std::vector<ListedWriter> manifest_;
  bool manifest_whole_ = true;     // else it may have named more
  std::set<std::string> present_;  // instances
  std::vector<Fault> others_;
  VerifyReport report_;
};

}  // namespace

Result<VerifyReport> verify(const std::string& directory, const VerifyOptions& options) {
  if (options.heads.size() > kAuditHeadsMax)
    return fail(ErrorCode::kInvalid, "more than " + std::to_string(kAuditHeadsMax) + " heads");
  for (const std::string& head : options.heads) {
    if (!crypto::is_lower_hex(head, kDigestDigits))
      return fail(ErrorCode::kInvalid, "a head is 64 digits of 0-9 and a-f");
  }
  sys::Fd audit = TRY(open_audit_directory(directory));
  return Verifier(std::move(audit), options).run(directory);
}

}  // namespace casemate::audit
