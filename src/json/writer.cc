#include "json/writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "json/utf8.h"

namespace casemate::json {
namespace {

void append_escaped(std::string& out, char32_t code) {
  switch (code) {
    case '"': out.append("\\\""); return;
    case '\\': out.append("\\\\"); return;
    case '\b': out.append("\\b"); return;
    case '\f': out.append("\\f"); return;
    case '\n': out.append("\\n"); return;
    case '\r': out.append("\\r"); return;
    case '\t': out.append("\\t"); return;
    default: break;
  }
  std::array<char, 8> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "\\u%04x", static_cast<unsigned>(code));
  out.append(buffer.data());
}

bool needs_escape(char32_t code) {
  return code < 0x20 || code == '"' || code == '\\' || (code >= 0x7F && code <= 0x9F);
}

}  // namespace

void Writer::new_line() {
  if (style_ == Style::kCompact) return;
  out_.push_back('\n');
  out_.append(2 * levels_.size(), ' ');
}

void Writer::before_value() {
  CHECK(!whole_);
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (level.object) {
    CHECK(level.keyed);
    level.keyed = false;
    return;
  }
  if (!level.empty) out_.push_back(',');
  level.empty = false;
  new_line();
}

Writer& Writer::raw(std::string_view text) {
  before_value();
  out_.append(text);
  whole_ = levels_.empty();
  return *this;
}

Writer& Writer::begin_object() {
  before_value();
  CHECK(levels_.size() < kWriterDepthMax);
  out_.push_back('{');
  levels_.push_back(Level{.object = true});
  return *this;
}

Writer& Writer::begin_array() {
  before_value();
  CHECK(levels_.size() < kWriterDepthMax);
  out_.push_back('[');
  levels_.push_back(Level{.object = false});
  return *this;
}

void Writer::close(bool object, char end) {
  CHECK(!levels_.empty() && levels_.back().object == object && !levels_.back().keyed);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) new_line();
  out_.push_back(end);
  whole_ = levels_.empty();
}

Writer& Writer::end_object() {
  close(true, '}');
  return *this;
}

Writer& Writer::end_array() {
  close(false, ']');
  return *this;
}

Writer& Writer::key(std::string_view name) {
  CHECK(!levels_.empty() && levels_.back().object && !levels_.back().keyed);
  Level& level = levels_.back();
  if (!level.empty) out_.push_back(',');
  level.empty = false;
  level.keyed = true;
  new_line();
  quoted(name);
  out_.append(style_ == Style::kPretty ? ": " : ":");
  return *this;
}

void Writer::quoted(std::string_view text) {
  out_.push_back('"');
  std::size_t good = 0;  // bytes at the front that stand for themselves
  while (good < text.size()) {
    const Char next = decode(text.substr(good));
    const bool valid = next.kind == Char::Kind::kValid;
    if (valid && !needs_escape(next.code)) {
      good += next.size;
      continue;
    }
    out_.append(text.substr(0, good));
    if (valid) {
      append_escaped(out_, next.code);
    } else {
      append_utf8(out_, kReplacement);
    }
    text.remove_prefix(good + next.size);
    good = 0;
  }
  out_.append(text);
  out_.push_back('"');
}

Writer& Writer::value(std::string_view text) {
  before_value();
  quoted(text);
  whole_ = levels_.empty();
  return *this;
}

Writer& Writer::value(double number) {
  CHECK(std::isfinite(number));
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  CHECK(error == std::errc{});
  return raw({buffer.data(), static_cast<std::size_t>(end - buffer.data())});
}

Writer& Writer::boolean(bool truth) { return raw(truth ? "true" : "false"); }
Writer& Writer::integer(std::int64_t number) { return raw(std::to_string(number)); }
Writer& Writer::unsigned_integer(std::uint64_t number) { return raw(std::to_string(number)); }
Writer& Writer::null() { return raw("null"); }

Writer& Writer::value(const Value& read) {
  switch (read.kind()) {
    case Value::Kind::kNull: return null();
    case Value::Kind::kBoolean: return boolean(*read.as_boolean());
    case Value::Kind::kNumber: return raw(*read.as_number_text());
    case Value::Kind::kString: return value(*read.as_string());
    case Value::Kind::kArray:
      begin_array();
      for (const Value& item : read.items()) value(item);
      return end_array();
    case Value::Kind::kObject: break;
  }
  begin_object();
  for (const Member& member : read.members()) key(member.key).value(member.value);
  return end_object();
}

std::string Writer::take() && {
  CHECK(whole_);
  return std::move(out_);
}

}  // namespace casemate::json
