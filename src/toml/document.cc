#include "toml/document.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <utility>

namespace casemate::toml {
namespace {

constexpr std::size_t kShownMax = 160;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

Place place_of(const ::toml::source_region& region) {
  return Place{std::max<std::uint32_t>(region.begin.line, 1),
               std::max<std::uint32_t>(region.begin.column, 1)};
}

// From places to offsets, in constant time: a long line with many strings would cost its square otherwise.
class Source {
 public:
  explicit Source(std::string_view text) : text_(text) {
    lines_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (continues(text[i])) continue;
      offsets_.push_back(i);
      if (text[i] == '\n') lines_.push_back(offsets_.size());
    }
  }

  std::string_view from(Place place) const {
    if (place.line > lines_.size()) return {};
    const std::size_t character = lines_[place.line - 1] + place.column - 1;
    return character < offsets_.size() ? text_.substr(offsets_[character]) : std::string_view();
  }

  // `text` is what toml++ made of the string or key that begins at `place`.
  Text text(std::string text, Place place) const {
    Text result;
    result.text = std::move(text);
    result.place = result.body = place;
    std::string_view raw = from(place);
    for (const std::string_view quotes : {"\"\"\"", "'''", "\"", "'"}) {
      // Two quotes are an empty string and no beginning of a third.
      if (!raw.starts_with(quotes)) continue;
      raw.remove_prefix(quotes.size());
      result.body.column += static_cast<std::uint32_t>(quotes.size());
      if (quotes.size() == 3 && (raw.starts_with('\n') || raw.starts_with("\r\n"))) {
        raw.remove_prefix(raw.front() == '\n' ? 1 : 2);
        result.body = Place{place.line + 1, 1};
      }
      break;
    }
    const auto [in_text, in_raw] =
        std::mismatch(result.text.begin(), result.text.end(), raw.begin(), raw.end());
    result.verbatim = static_cast<std::size_t>(in_text - result.text.begin());
    return result;
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> offsets_;  // of each character
  std::vector<std::size_t> lines_;    // the number of each line's first character
};

// What could make toml++ deep or slow, looked for before it sees the text. Its own bound holds for arrays and
// inline tables, and not for the parts of a key.
class Shape {
 public:
  Shape(std::string_view text, const ReadLimits& limits) : text_(text), limits_(limits) {}

  std::optional<Mistake> check() {
    std::size_t depth = 0;
    std::size_t dots = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\0') return here("a NUL byte");
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '"' || c == '\'') {
        pass_string(c);
        continue;
      }
      if (c == '.' && ++dots >= limits_.key_parts_max) {
        return here("a key of more than " + std::to_string(limits_.key_parts_max) + " parts");
      }
      if ((c == '[' || c == '{') && ++depth > limits_.depth_max) {
        return here("more than " + std::to_string(limits_.depth_max) + " lists and tables in each other");
      }
      if ((c == ']' || c == '}') && depth > 0) --depth;
      if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') dots = 0;
      ++at_;
    }
    return std::nullopt;
  }

 private:
  std::optional<Mistake> here(std::string what) const {
    const std::string_view before = text_.substr(0, at_);
    const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
    Mistake mistake;
    mistake.place.line += static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
    mistake.place.column += static_cast<std::uint32_t>(
        std::count_if(line.begin(), line.end(), [](char c) { return !continues(c); }));
    mistake.what = std::move(what);
    return mistake;
  }

  // One that is not triple ends with its line: toml++ goes no further there.
  void pass_string(char quote) {
    const std::string three(3, quote);
    const bool triple = text_.substr(at_).starts_with(three);
    at_ += triple ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        at_ = std::min(at_ + 2, text_.size());
      } else if (triple && text_.substr(at_).starts_with(three)) {
        at_ += 3;
        while (at_ < text_.size() && text_[at_] == quote) ++at_;  // up to two quotes of its own come before
        return;
      } else if (!triple && (c == quote || c == '\n')) {
        ++at_;
        return;
      } else if (c == '\0') {
        return;  // the caller's loop stops at it
      } else {
        ++at_;
      }
    }
  }

  std::string_view text_;
  const ReadLimits& limits_;
  std::size_t at_ = 0;
};

Node convert(const ::toml::node& node, const Source& source);

Node convert_table(const ::toml::table& table, const Source& source) {
  Node result;
  for (auto&& [key, value] : table) {
    result.entries.push_back(
        {source.text(std::string(key.str()), place_of(key.source())), convert(value, source)});
  }
  std::stable_sort(result.entries.begin(), result.entries.end(),
                   [](const Entry& a, const Entry& b) { return a.key.place < b.key.place; });
  return result;
}

// Recurses as deep as Shape allows.
Node convert(const ::toml::node& node, const Source& source) {
  Node result;
  if (const ::toml::table* table = node.as_table()) {
    result = convert_table(*table, source);
  } else if (const ::toml::array* array = node.as_array()) {
    result.kind = Node::Kind::kArray;
    result.items.reserve(array->size());
    for (const ::toml::node& item : *array) result.items.push_back(convert(item, source));
  } else if (const auto* text = node.as_string()) {
    result.kind = Node::Kind::kString;
    result.text = source.text(text->get(), place_of(node.source()));
  } else if (const auto* integer = node.as_integer()) {
    result.kind = Node::Kind::kInteger;
    result.integer = integer->get();
  } else if (const auto* truth = node.as_boolean()) {
    result.kind = Node::Kind::kBoolean;
    result.truth = truth->get();
  } else {
    result.kind = node.is_floating_point() ? Node::Kind::kFloat : Node::Kind::kTime;
  }
  result.place = place_of(node.source());
  return result;
}

}  // namespace

void Mistakes::add(Place place, std::string what) {
  if (kept_.size() == kKept) {
    ++more_;
  } else {
    kept_.push_back({place, std::move(what)});
  }
}

std::vector<Mistake> Mistakes::list() const {
  std::vector<Mistake> all = kept_;
  std::stable_sort(all.begin(), all.end(),
                   [](const Mistake& a, const Mistake& b) { return a.place < b.place; });
  if (more_ > 0) all.push_back({all.back().place, "and " + std::to_string(more_) + " more mistakes"});
  return all;
}

Place Text::at(std::size_t offset) const {
  if (offset > verbatim) return place;
  Place at = body;
  for (const char c : std::string_view(text).substr(0, offset)) {
    if (c == '\n') {
      at = Place{at.line + 1, 1};
    } else if (!continues(c)) {
      ++at.column;
    }
  }
  return at;
}

const char* kind_name(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kString: return "a string";
    case Node::Kind::kInteger: return "an integer";
    case Node::Kind::kFloat: return "a fraction";
    case Node::Kind::kBoolean: return "a boolean";
    case Node::Kind::kTime: return "a date or time";
    case Node::Kind::kArray: return "a list";
    case Node::Kind::kTable: return "a table";
  }
  return "unknown";
}

std::string shown(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (result.size() >= kShownMax && !continues(text[i])) return result + "…";
    if (byte >= 0x20 && byte != 0x7F) {
      result += text[i];
      continue;
    }
    constexpr std::string_view kHex = "0123456789abcdef";
    result += {'\\', 'x', kHex[byte >> 4U], kHex[byte & 0xFU]};
  }
  return result;
}

std::optional<Node> read(std::string_view text, const ReadLimits& limits, Mistakes& mistakes) {
  if (text.size() > limits.bytes_max) {
    mistakes.add({}, "the file has more than " + std::to_string(limits.bytes_max) + " bytes");
    return std::nullopt;
  }
  if (auto mistake = Shape(text, limits).check()) {
    mistakes.add(mistake->place, std::move(mistake->what));
    return std::nullopt;
  }
  const ::toml::parse_result parsed = ::toml::parse(text);
  if (!parsed) {
    mistakes.add(place_of(parsed.error().source()), "not TOML: " + shown(parsed.error().description()));
    return std::nullopt;
  }
  return convert(parsed.table(), Source(text));
}

}  // namespace casemate::toml
