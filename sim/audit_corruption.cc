// Random logs, damaged in one random place in one random way: verify names what it is and the first record
// that is not right. CASEMATE_SEED runs one of them again.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "audit/index.h"
#include "audit/layout.h"
#include "audit/test_support.h"
#include "seeds.h"

namespace casemate::audit {
namespace {

namespace fs = std::filesystem;
using sim::Random;

// Where a record stands: its segment, its line in it, its number.
struct Spot {
  std::uint32_t segment = 0;
  std::size_t line = 0;
  std::uint64_t sequence = 0;
};

// Nothing here asks what is on the disk, only what is in the files.
class QuickDisk : public Disk {
 public:
  Result<void> sync(const sys::Fd&) override { return {}; }
  Result<void> sync_directory(const sys::Fd&) override { return {}; }
};

class Damaged {
 public:
  Damaged(const AuditDir& dir, Random& random) : dir_(dir), random_(random) {
    LogOptions options = dir.options();
    options.segment_max = Bytes{random.between(1, 6'000)};
    options.disk = &disk_;
    const auto log = *Log::open(options);
    const std::size_t count = random.between(4, 30);
    for (std::size_t i = 0; i < count; ++i) write_one(*log, std::to_string(i));
    if (random.one_in(2)) (void)log->close();
    head_ = log->head();
    (void)log->close();
    read();
  }

  // A fault, and what verify must say of it: "KIND WRITER RECORD".
  struct Way {
    const char* name;
    std::string (Damaged::*damage)();
  };
  static const std::vector<Way>& ways();

  std::string flip() {
    const Spot at = any(1);
    std::string& line = segments_[at.segment - 1][at.line];
    // The line end too. Where it is the last one of all, what remains is a part of a record.
    const std::size_t place = random_.below(line.size() + 1);
    const auto bit = static_cast<char>(1U << random_.below(8));
    if (place < line.size()) {
      line[place] = static_cast<char>(line[place] ^ bit);
      return said("changed", at.sequence);
    }
    const bool is_last = at.sequence == last();
    flipped_end_ = at;
    flipped_bit_ = bit;
    if (is_last) return said("torn", at.sequence);
    const bool ends_segment = at.line + 1 == segments_[at.segment - 1].size();
    return said(ends_segment ? "truncated" : "changed", at.sequence);
  }

  std::string remove() {
    Spot at = any(1);
    while (at.sequence == last()) at = any(1);  // the last one is missed only by who kept its digest
    std::vector<std::string>& lines = segments_[at.segment - 1];
    const bool was_last = at.line + 1 == lines.size();
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at.line));
    if (lines.empty()) return said("truncated", at.sequence);
    return said(was_last ? "truncated" : "missing", at.sequence);
  }

  std::string remove_several() {
    const Spot at = any(2);
    std::vector<std::string>& lines = segments_[at.segment - 1];
    if (at.line + 2 >= lines.size()) return remove();
    const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(at.line);
    lines.erase(begin, begin + 2);
    return said("missing", at.sequence);
  }

  std::string cut_the_end_with_a_head_kept() {
    heads_ = {head_.digest};
    std::vector<std::string>& lines = segments_.back();
    lines.resize(random_.between(1, lines.size()));
    return last() >= head_.sequence ? "" : "head  0";
  }

  std::string cut_the_end_with_an_index() {
    build_index();
    std::vector<std::string>& lines = segments_.back();
    if (lines.size() < 2) return "";
    lines.pop_back();
    return said("index", last() + 1);
  }

  std::string cut_inside() {
    const auto number = random_.below(segments_.size());
    std::vector<std::string>& lines = segments_[number];
    const std::size_t keep = random_.below(lines.size());
    const std::uint64_t sequence = first_of(number) + keep;
    const std::string part = lines[keep].substr(0, 1 + random_.below(lines[keep].size() - 1));
    lines.resize(keep);
    part_ = {number, part};
    return said(number + 1 == segments_.size() ? "torn" : "truncated", sequence);
  }

  std::string reorder() {
    Spot at = any(1);
    for (int tries = 0; at.line + 1 >= segments_[at.segment - 1].size(); ++tries) {
      if (tries > 100) return "";
      at = any(1);
    }
    std::vector<std::string>& lines = segments_[at.segment - 1];
    const std::size_t other = random_.between(at.line + 1, lines.size() - 1);
    std::swap(lines[at.line], lines[other]);
    return said("reordered", at.sequence);
  }

  std::string move_back() {
    const Spot at = any(1);
    std::vector<std::string>& lines = segments_[at.segment - 1];
    if (at.line + 1 >= lines.size()) return "";
    const std::string moved = lines[at.line];
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at.line));
    segments_.back().push_back(moved);
    return said("reordered", at.sequence);
  }

  std::string duplicate() {
    const Spot at = any(1);
    std::vector<std::string>& lines = segments_[at.segment - 1];
    const std::size_t to = random_.between(at.line + 1, lines.size());
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(to), lines[at.line]);
    return said("duplicated", at.sequence);
  }

  // Whole in itself: only the next record knows another one.
  std::string replace() {
    Spot at = any(1);
    while (at.sequence == last() || at.line == 0) {
      at = any(1);
      if (segments_.size() >= last()) return "";
    }
    std::string& line = segments_[at.segment - 1][at.line];
    const auto old = *parse_line(line);
    std::string other;
    append_line(other, {old.sequence - 1, std::string(old.previous)}, old.at + microseconds{1}, old.kind,
                old.body);
    other.pop_back();
    line = other;
    return said("replaced", at.sequence);
  }

  std::string remove_segment() {
    if (segments_.size() < 2) return "";
    gone_ = static_cast<std::uint32_t>(random_.between(1, segments_.size() - 1));
    return said("missing_segment", first_of(gone_ - 1));
  }

  std::string exchange_segments() {
    if (segments_.size() < 2) return "";
    const std::size_t one = random_.below(segments_.size() - 1);
    const std::uint64_t sequence = first_of(one);
    std::swap(segments_[one], segments_[random_.between(one + 1, segments_.size() - 1)]);
    return said("missing_segment", sequence);
  }

  std::string remove_writer() {
    (void)dir_.open("other").value()->close();
    fs::remove_all(dir_.in("writers/other"));
    return "missing_writer other 1";
  }

  std::string forget_writer() {
    fs::remove_all(dir_.in("manifest"));
    return "unlisted_writer main 1";
  }

  std::string flip_manifest() {
    const std::string path = dir_.in("manifest/00000001.jsonl");
    std::string text = sys::read_text(path);
    const std::size_t first = text.find('\n');
    const std::size_t place = random_.below(text.size() - 1);
    if (place == first) return "";
    text[place] = static_cast<char>(text[place] ^ 1);
    sys::write_text(path, text);
    return std::string("changed manifest ") + (place < first ? "1" : "2");
  }

  std::string index_of_another() {
    build_index();
    const Spot at = any(1);
    // From here on another chain, whole in itself.
    Position before = at.sequence == 1 ? Position{} : position_before(at);
    for (std::size_t segment = at.segment - 1; segment < segments_.size(); ++segment) {
      for (std::size_t i = segment + 1 == at.segment ? at.line : 0; i < segments_[segment].size(); ++i) {
        const std::string text = segments_[segment][i];
        const auto old = *parse_line(text);
        std::string other;
        before = append_line(other, before, old.at + microseconds{1}, old.kind, old.body);
        other.pop_back();
        segments_[segment][i] = other;
      }
    }
    return said("index", at.sequence);
  }

  void write() {
    for (std::uint32_t number = 1; number <= segments_.size(); ++number) {
      std::string text;
      for (std::size_t i = 0; i < segments_[number - 1].size(); ++i) {
        text += segments_[number - 1][i];
        const bool flipped = flipped_end_ && flipped_end_->segment == number && flipped_end_->line == i;
        text.push_back(flipped ? static_cast<char>('\n' ^ flipped_bit_) : '\n');
      }
      if (part_ && part_->first + 1 == number) text += part_->second;
      sys::write_text(dir_.segment(number), text);
      if (number == gone_) fs::remove(dir_.segment(number));
    }
  }
  VerifyOptions options() const { return {.heads = heads_}; }

 private:
  void write_one(Log& log, const std::string& call) {
    const auto durability = random_.one_in(8) ? Durability::kDurable : Durability::kBuffered;
    switch (random_.below(3)) {
      case 0:
        (void)log.record(some_verdict(random_.one_in(2) ? Answer::kAllow : Answer::kDeny,
                                      "run_" + std::to_string(random_.below(3)), call),
                         durability, soon());
        return;
      case 1:
        (void)log.append(some_result("run_" + std::to_string(random_.below(3)), call), durability, soon());
        return;
      default: break;
    }
    RunEvent event;
    event.run = "run_" + std::to_string(random_.below(3));
    (void)log.append(event, durability, soon());
  }
  void read() {
    for (std::uint32_t number = 1; fs::exists(dir_.segment(number)); ++number)
      segments_.push_back(dir_.lines(number));
  }
  std::uint64_t last() const {
    std::uint64_t count = 0;
    for (const auto& lines : segments_) count += lines.size();
    return count;
  }
  std::uint64_t first_of(std::size_t segment) const {
    std::uint64_t first = 1;
    for (std::size_t i = 0; i < segment; ++i) first += segments_[i].size();
    return first;
  }
  Spot any(std::uint64_t least) {
    const std::uint64_t sequence = random_.between(least, last());
    std::uint64_t left = sequence - 1;
    for (std::uint32_t number = 1;; ++number) {
      const std::size_t size = segments_[number - 1].size();
      if (left < size) return {number, static_cast<std::size_t>(left), sequence};
      left -= size;
    }
  }
  Position position_before(const Spot& at) const {
    const std::string& text =
        at.line > 0 ? segments_[at.segment - 1][at.line - 1] : segments_[at.segment - 2].back();
    const auto line = *parse_line(text);
    return {line.sequence, std::string(line.digest)};
  }
  void build_index() const {
    auto index = *Index::open(dir_.in(kIndexName), Index::Mode::kWrite);
    ASSERT_TRUE(update_index(index, *open_audit_directory(dir_.path())));
  }
  static std::string said(const char* kind, std::uint64_t sequence) {
    return std::string(kind) + " main " + std::to_string(sequence);
  }

  QuickDisk disk_;
  const AuditDir& dir_;
  Random& random_;
  Position head_;
  std::vector<std::vector<std::string>> segments_;
  std::vector<std::string> heads_;
  std::uint32_t gone_ = 0;
  std::optional<Spot> flipped_end_;
  char flipped_bit_ = 0;
  std::optional<std::pair<std::size_t, std::string>> part_;
};

const std::vector<Damaged::Way>& Damaged::ways() {
  static const std::vector<Way> kWays{
      {"flip", &Damaged::flip},
      {"remove", &Damaged::remove},
      {"remove several", &Damaged::remove_several},
      {"cut the end, a head is kept", &Damaged::cut_the_end_with_a_head_kept},
      {"cut the end, there is an index", &Damaged::cut_the_end_with_an_index},
      {"cut inside", &Damaged::cut_inside},
      {"reorder", &Damaged::reorder},
      {"move back", &Damaged::move_back},
      {"duplicate", &Damaged::duplicate},
      {"replace", &Damaged::replace},
      {"remove a segment", &Damaged::remove_segment},
      {"exchange segments", &Damaged::exchange_segments},
      {"remove a writer", &Damaged::remove_writer},
      {"forget a writer", &Damaged::forget_writer},
      {"flip in the manifest", &Damaged::flip_manifest},
      {"an index of another log", &Damaged::index_of_another},
  };
  return kWays;
}

TEST(AuditCorruption, TheFirstRecordThatIsNotRightIsNamed) {
  std::map<std::string, int> done;
  sim::for_each_seed(600, [&](Random& random) {
    const AuditDir dir;
    Damaged log(dir, random);
    ASSERT_EQ(dir.first_fault(), "");
    const Damaged::Way& way = Damaged::ways()[random.below(Damaged::ways().size())];
    SCOPED_TRACE(way.name);
    const std::string expected = (log.*way.damage)();
    log.write();
    EXPECT_EQ(dir.first_fault(log.options()), expected);
    if (!expected.empty()) ++done[way.name];
  });
  if (std::getenv("CASEMATE_SEED") != nullptr) return;
  for (const Damaged::Way& way : Damaged::ways()) EXPECT_GT(done[way.name], 10) << way.name;
}

}  // namespace
}  // namespace casemate::audit
