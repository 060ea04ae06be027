// RapidJSON finds the tokens; what it leaves open is decided here.
//
// Before it sees the text: size, NUL bytes (which it takes for the end), UTF-8. While it reads, Builder
// hears of each token: depth, number of values, keys that come twice, the lone low surrogates that it lets
// pass. It also refuses numbers that are beyond a double although it is asked for their text alone;
// LongNumbers is there for those.
#include "json/reader.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "json/utf8.h"

namespace casemate::json {
namespace {

constexpr std::size_t kKeyShownMax = 80;
// A number with fewer digits than this and without an exponent is within a double's range.
constexpr std::size_t kPlainNumberMax = 300;

tl::unexpected<Error> fail_at(std::string_view text, std::size_t offset, ErrorCode code,
                              const std::string& what) {
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fail(code, "line " + std::to_string(lines + 1) + ", column " +
                        std::to_string(before.size() - line_start + 1) + ": " + what);
}

const char* what_is_wrong(rapidjson::ParseErrorCode code) {
  switch (code) {
    case rapidjson::kParseErrorDocumentEmpty: return "a value is due here";
    case rapidjson::kParseErrorValueInvalid: return "no JSON value begins like this";
    case rapidjson::kParseErrorObjectMissName: return "a key in quotes is due here";
    case rapidjson::kParseErrorObjectMissColon: return "a colon is due here";
    case rapidjson::kParseErrorObjectMissCommaOrCurlyBracket: return "a comma or '}' is due here";
    case rapidjson::kParseErrorArrayMissCommaOrSquareBracket: return "a comma or ']' is due here";
    case rapidjson::kParseErrorStringUnicodeEscapeInvalidHex: return "four hex digits are due after \\u";
    case rapidjson::kParseErrorStringUnicodeSurrogateInvalid: return "half of a surrogate pair stands alone";
    case rapidjson::kParseErrorStringEscapeInvalid:
      return "an escape that JSON does not have, or a control character that is not escaped";
    case rapidjson::kParseErrorStringMissQuotationMark: return "the string does not end";
    case rapidjson::kParseErrorNumberMissFraction: return "a digit is due after the point";
    case rapidjson::kParseErrorNumberMissExponent: return "a digit is due in the exponent";
    default: return "this is not JSON";
  }
}

// number = [ "-" ] ( "0" / 1-9 *digit ) [ "." 1*digit ] [ "e" [ "+" / "-" ] 1*digit ], of the whole text.
bool is_number(std::string_view text) {
  const auto take = [&](std::string_view any) {
    const bool there = !text.empty() && any.find(text.front()) != std::string_view::npos;
    if (there) text.remove_prefix(1);
    return there;
  };
  const auto digits = [&] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count > 0;
  };
  take("-");
  if (!take("0") && !digits()) return false;
  if (take(".") && !digits()) return false;
  if (take("eE")) {
    take("+-");
    if (!digits()) return false;
  }
  return text.empty();
}

// The numbers of a text that may be beyond a double. In what RapidJSON reads, "0" and spaces stand for each,
// so that every offset stays what it is.
class LongNumbers {
 public:
  explicit LongNumbers(std::string_view text) : text_(text) {
    for (std::size_t i = 0; i < text.size();) {
      const char c = text[i];
      if (c == '"') {
        i = after_string(i);
      } else if (c == '-' || (c >= '0' && c <= '9')) {
        const std::size_t end = std::min(text.find_first_not_of("0123456789+-.eE", i), text.size());
        replace_if_long(i, end);
        i = end;
      } else {
        ++i;
      }
    }
  }

  std::string_view text() const { return copy_.empty() ? text_ : std::string_view(copy_); }

  // The number that "0" at this offset stands for, or nullopt. The offsets asked for must rise.
  std::optional<std::string_view> at(std::size_t offset) {
    while (next_ < places_.size() && places_[next_].first < offset) ++next_;
    if (next_ == places_.size() || places_[next_].first != offset) return std::nullopt;
    return text_.substr(offset, places_[next_].second);
  }

 private:
  std::size_t after_string(std::size_t quote) const {
    for (std::size_t i = quote + 1; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '"') {
        return i + 1;
      }
    }
    return text_.size();
  }

  void replace_if_long(std::size_t begin, std::size_t end) {
    const std::string_view token = text_.substr(begin, end - begin);
    if (token.size() < kPlainNumberMax && token.find_first_of("eE") == std::string_view::npos) return;
    if (!is_number(token)) return;  // RapidJSON says what is wrong with it
    if (copy_.empty()) copy_ = text_;
    copy_.replace(begin, token.size(), token.size(), ' ');
    copy_[begin] = '0';
    places_.emplace_back(begin, token.size());
  }

  std::string_view text_;
  std::string copy_;  // empty when there are none
  std::vector<std::pair<std::size_t, std::size_t>> places_;
  std::size_t next_ = 0;
};

// Puts the value together as its tokens come.
class Builder {
 public:
  using Ch = char;
  Builder(const ReadLimits& limits, const rapidjson::MemoryStream& stream, LongNumbers& long_numbers)
      : limits_(limits), stream_(stream), long_numbers_(long_numbers) {}

  // rapidjson::Handler. False ends the reading.
  bool Null() { return add(Value()); }
  bool Bool(bool truth) { return add(Value::boolean(truth)); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    const std::optional<std::string_view> whole = long_numbers_.at(stream_.Tell() - size);
    return add(Value::number(std::string(whole ? *whole : std::string_view(text, size))));
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return check_text({text, size}) && add(Value::string(std::string(text, size)));
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    if (!check_text({text, size}) || !count()) return false;
    levels_.back().keys.push_back({std::string(text, size), stream_.Tell()});
    return true;
  }
  bool StartObject() { return open(); }
  bool StartArray() { return open(); }
  bool EndArray(rapidjson::SizeType) {
    std::vector<Value> items = std::move(levels_.back().values);
    levels_.pop_back();
    return add_counted(Value::array(std::move(items)));
  }
  bool EndObject(rapidjson::SizeType) {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    if (!check_keys(level.keys)) return false;
    std::vector<Member> members;
    members.reserve(level.keys.size());
    for (std::size_t i = 0; i < level.keys.size(); ++i) {
      members.push_back({std::move(level.keys[i].text), std::move(level.values[i])});
    }
    return add_counted(Value::object(std::move(members)));
  }
  // Never called: kParseNumbersAsStringsFlag is set.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }

  struct Refusal {
    std::size_t offset = 0;
    ErrorCode code = ErrorCode::kInvalid;
    std::string what;
  };
  const std::optional<Refusal>& refusal() const { return refusal_; }
  Value take() { return std::move(root_); }

 private:
  struct PlacedKey {
    std::string text;
    std::size_t end = 0;  // the offset behind it
  };
  struct Level {
    std::vector<PlacedKey> keys;  // of an object: one for each value
    std::vector<Value> values;
  };

  bool refuse(std::size_t offset, ErrorCode code, std::string what) {
    refusal_ = {offset, code, std::move(what)};
    return false;
  }

  bool count() {
    if (++count_ <= limits_.values_max) return true;
    return refuse(stream_.Tell(), ErrorCode::kExhausted,
                  "more than " + std::to_string(limits_.values_max) + " values");
  }

  bool open() {
    if (!count()) return false;
    if (levels_.size() == std::min(limits_.depth_max, kReaderDepthMax)) {
      return refuse(stream_.Tell(), ErrorCode::kExhausted,
                    "more than " + std::to_string(levels_.size()) + " levels of arrays and objects");
    }
    levels_.emplace_back();
    return true;
  }

  bool add(Value value) { return count() && add_counted(std::move(value)); }
  bool add_counted(Value value) {
    if (levels_.empty()) {
      root_ = std::move(value);
    } else {
      levels_.back().values.push_back(std::move(value));
    }
    return true;
  }

  // The bytes of the text are UTF-8; an escape may still have made half of a pair.
  bool check_text(std::string_view text) {
    if (is_valid_utf8(text)) return true;
    return refuse(stream_.Tell() - 1, ErrorCode::kInvalid,
                  "half of a surrogate pair stands alone in the string that ends here");
  }

  // By sorting: no choice of keys makes it slow.
  bool check_keys(const std::vector<PlacedKey>& keys) {
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(std::string_view(keys[a].text), a) < std::pair(std::string_view(keys[b].text), b);
    });
    const auto twice = std::adjacent_find(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return keys[a].text == keys[b].text;
    });
    if (twice == order.end()) return true;
    const PlacedKey& second = keys[*std::next(twice)];
    return refuse(
        second.end - 1, ErrorCode::kInvalid,
        "the key that ends here comes twice in one object: \"" + one_line(second.text, kKeyShownMax) + "\"");
  }

  const ReadLimits& limits_;
  const rapidjson::MemoryStream& stream_;
  LongNumbers& long_numbers_;
  std::size_t count_ = 0;
  std::vector<Level> levels_;
  Value root_;
  std::optional<Refusal> refusal_;
};

// The offset of the first byte that no JSON text can have, and why.
std::optional<Builder::Refusal> check_bytes(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0) return Builder::Refusal{i, ErrorCode::kInvalid, "a NUL byte"};
    if (byte < 0x80) {
      ++i;
      continue;
    }
    const Char next = decode(text.substr(i));
    if (next.kind != Char::Kind::kValid) return Builder::Refusal{i, ErrorCode::kInvalid, "this is not UTF-8"};
    i += next.size;
  }
  return std::nullopt;
}

}  // namespace

Result<Value> read(std::string_view text, const ReadLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return fail_at(text, limits.bytes_max, ErrorCode::kExhausted,
                   "the text has more than " + std::to_string(limits.bytes_max) + " bytes");
  }
  if (const auto bad = check_bytes(text)) return fail_at(text, bad->offset, bad->code, bad->what);
  LongNumbers long_numbers(text);
  const std::string_view seen = long_numbers.text();
  rapidjson::MemoryStream stream(seen.data(), seen.size());
  rapidjson::Reader reader;
  Builder builder(limits, stream, long_numbers);
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseStopWhenDoneFlag;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, builder);
  if (builder.refusal()) {
    return fail_at(text, builder.refusal()->offset, builder.refusal()->code, builder.refusal()->what);
  }
  if (result.IsError()) {
    return fail_at(text, result.Offset(), ErrorCode::kInvalid, what_is_wrong(result.Code()));
  }
  const std::size_t rest = seen.find_first_not_of(" \t\r\n", stream.Tell());
  if (rest != std::string_view::npos) {
    return fail_at(text, rest, ErrorCode::kInvalid, "nothing but white space may follow the value");
  }
  return builder.take();
}

}  // namespace casemate::json
