#include "audit/line.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"
#include "base/limits.h"
#include "crypto/sha256.h"
#include "json/reader.h"

namespace casemate::audit {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year;

constexpr std::string_view kSequenceKey = R"({"seq":)";
constexpr std::string_view kPreviousKey = R"(,"prev":")";
constexpr std::string_view kTimeKey = R"(","at":")";
constexpr std::string_view kKindKey = R"(","kind":")";
constexpr std::string_view kDigestKey = R"(,"digest":")";
constexpr std::string_view kLineEnd = R"("})";
constexpr std::size_t kTimeSize = 27;
constexpr std::size_t kKindMax = 32;
constexpr std::size_t kSequenceMax = 20;  // digits of 2^64 - 1
constexpr std::size_t kDigestPartSize = kDigestKey.size() + kDigestDigits + kLineEnd.size();

constexpr Time kFirstTime = sys_days(year{1970} / 1 / 1);
constexpr Time kLastTime = sys_days(year{10000} / 1 / 1) - microseconds{1};

void put_digits(char* at, int count, std::uint64_t value) {
  for (int i = count - 1; i >= 0; --i, value /= 10) at[i] = static_cast<char>('0' + value % 10);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The decimal number that all of `text` is, or -1.
int number_of(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Takes a text apart from its front.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool take(std::string_view literal) {
    if (!rest_.starts_with(literal)) return false;
    rest_.remove_prefix(literal.size());
    return true;
  }
  // Up to the next quotation mark, which stays; nothing when none follows.
  std::string_view take_quoted() {
    const std::size_t size = rest_.find('"');
    return size == std::string_view::npos ? std::string_view() : take_size(size);
  }
  std::string_view take_size(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view take_digits() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_digit);
    return take_size(static_cast<std::size_t>(end - rest_.begin()));
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

tl::unexpected<Error> not_a_record(const char* what) {
  return fail(ErrorCode::kInvalid, std::string("it does not have the form of a record: ") + what);
}

bool parse_sequence(std::string_view digits, std::uint64_t& sequence) {
  if (digits.empty() || digits.size() > kSequenceMax || digits.front() == '0') return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), sequence);
  return error == std::errc{} && end == digits.data() + digits.size();
}

}  // namespace

Time wall_clock() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

std::string format_time(Time at) {
  at = std::clamp(at, kFirstTime, kLastTime);
  const auto day = std::chrono::floor<days>(at);
  const std::chrono::year_month_day date(day);
  const auto since = static_cast<std::uint64_t>((at - day).count());
  const std::uint64_t seconds = since / 1'000'000;
  std::string text = "0000-00-00T00:00:00.000000Z";
  put_digits(text.data(), 4, static_cast<std::uint64_t>(static_cast<int>(date.year())));
  put_digits(text.data() + 5, 2, static_cast<unsigned>(date.month()));
  put_digits(text.data() + 8, 2, static_cast<unsigned>(date.day()));
  put_digits(text.data() + 11, 2, seconds / 3600);
  put_digits(text.data() + 14, 2, seconds / 60 % 60);
  put_digits(text.data() + 17, 2, seconds % 60);
  put_digits(text.data() + 20, 6, since % 1'000'000);
  return text;
}

Result<Time> parse_time(std::string_view text) {
  const auto wrong = [] {
    return fail(ErrorCode::kInvalid, "a time looks like 2026-07-30T12:00:00.123456Z");
  };
  if (text.size() != kTimeSize || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':' || text[19] != '.' || text[26] != 'Z') {
    return wrong();
  }
  const int parts[] = {number_of(text.substr(0, 4)),  number_of(text.substr(5, 2)),
                       number_of(text.substr(8, 2)),  number_of(text.substr(11, 2)),
                       number_of(text.substr(14, 2)), number_of(text.substr(17, 2)),
                       number_of(text.substr(20, 6))};
  if (std::any_of(std::begin(parts), std::end(parts), [](int part) { return part < 0; })) return wrong();
  const std::chrono::year_month_day date(year{parts[0]}, std::chrono::month{static_cast<unsigned>(parts[1])},
                                         std::chrono::day{static_cast<unsigned>(parts[2])});
  if (!date.ok() || parts[0] < 1970 || parts[3] > 23 || parts[4] > 59 || parts[5] > 59) return wrong();
  return sys_days(date) + std::chrono::hours{parts[3]} + std::chrono::minutes{parts[4]} +
         std::chrono::seconds{parts[5]} + microseconds{parts[6]};
}

bool is_kind_name(std::string_view text) {
  if (text.empty() || text.size() > kKindMax || text.front() < 'a' || text.front() > 'z') return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_'; });
}

Position append_line(std::string& out, const Position& last, Time at, std::string_view kind,
                     std::string_view body) {
  CHECK(is_kind_name(kind) && last.digest.size() == kDigestDigits);
  const std::size_t begin = out.size();
  Position made{last.sequence + 1, {}};
  out.append(kSequenceKey).append(std::to_string(made.sequence));
  out.append(kPreviousKey).append(last.digest);
  out.append(kTimeKey).append(format_time(at));
  out.append(kKindKey).append(kind).push_back('"');
  if (!body.empty()) out.append(",").append(body);
  made.digest = crypto::sha256_hex(std::string_view(out).substr(begin));
  out.append(kDigestKey).append(made.digest).append(kLineEnd).push_back('\n');
  return made;
}

std::size_t line_size_max(std::string_view kind, std::string_view body) {
  return kSequenceKey.size() + kSequenceMax + kPreviousKey.size() + kDigestDigits + kTimeKey.size() +
         kTimeSize + kKindKey.size() + kind.size() + 2 + body.size() + kDigestPartSize + 1;
}

Result<Line> parse_line(std::string_view text) {
  Line line;
  if (text.size() >= kAuditRecordMax) return not_a_record("it is too long");
  if (text.size() < kDigestPartSize) return not_a_record("it is too short");
  Scanner end(text.substr(text.size() - kDigestPartSize));
  if (!end.take(kDigestKey)) return not_a_record("it does not end with a digest");
  line.digest = end.take_size(kDigestDigits);
  if (end.rest() != kLineEnd || !crypto::is_lower_hex(line.digest, kDigestDigits))
    return not_a_record("it does not end with a digest");

  Scanner scanner(text.substr(0, text.size() - kDigestPartSize));
  if (!scanner.take(kSequenceKey) || !parse_sequence(scanner.take_digits(), line.sequence))
    return not_a_record("it does not begin with a number");
  if (!scanner.take(kPreviousKey)) return not_a_record("the digest of the record before is not there");
  line.previous = scanner.take_size(kDigestDigits);
  if (!crypto::is_lower_hex(line.previous, kDigestDigits))
    return not_a_record("the digest of the record before is none");
  if (!scanner.take(kTimeKey)) return not_a_record("the time is not there");
  const auto at = parse_time(scanner.take_size(kTimeSize));
  if (!at) return not_a_record("the time is none");
  line.at = *at;
  if (!scanner.take(kKindKey)) return not_a_record("the kind is not there");
  line.kind = scanner.take_quoted();
  if (!is_kind_name(line.kind) || !scanner.take("\"")) return not_a_record("the kind is none");
  if (!scanner.rest().empty() && !scanner.take(",")) return not_a_record("something follows the kind");
  line.body = scanner.rest();
  return line;
}

bool digest_holds(std::string_view text, const Line& line) {
  return crypto::sha256_hex(text.substr(0, text.size() - kDigestPartSize)) == line.digest;
}

Result<json::Value> read_members(std::string_view text) {
  auto value = json::read(text, json::ReadLimits{.bytes_max = kAuditRecordMax});
  if (!value) return fail_with_context(value.error(), "it is not JSON");
  if (value->kind() != json::Value::Kind::kObject) return not_a_record("it is no object");
  return value;
}

std::string_view text_member(const json::Value& members, std::string_view name) {
  const json::Value* found = members.find(name);
  if (found == nullptr) return {};
  const auto text = found->as_string();
  return text ? *text : std::string_view();
}

}  // namespace casemate::audit
