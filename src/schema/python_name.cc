#include "schema/python_name.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>

#include "json/utf8.h"

namespace casemate::schema {
namespace {

// keyword.kwlist; sorted as bytes. "match", "case", "type" and "_" are names too.
constexpr std::array<std::string_view, 35> kKeywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

static_assert(std::is_sorted(kKeywords.begin(), kKeywords.end()));

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_keyword(std::string_view name) {
  return std::binary_search(kKeywords.begin(), kKeywords.end(), name);
}

// A name that is like `text`; another text may have the same.
std::string similar_name(std::string_view text) {
  std::string name;
  while (!text.empty() && name.size() < kPythonNameMax - 1) {
    const std::size_t size = json::decode(text).size;
    const char c = text.front();
    name += size == 1 && (is_letter(c) || is_digit(c)) ? c : '_';
    text.remove_prefix(size);
  }
  if (name.empty() || is_digit(name.front())) name.insert(name.begin(), '_');
  if (is_keyword(name)) name += '_';
  return name;
}

// Characters that a reader does not see, or that change what he sees: as json::ControlEscaper has them, and a
// few marks that are harmless elsewhere.
bool must_escape(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0xAD || code == 0x61C || code == 0x200E ||
         code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         code == 0xFEFF || (code >= 0xE0000 && code <= 0xE0FFF);
}

void append_escape(std::string& out, char32_t code) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const int digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
  out += code < 0x100 ? "\\x" : code < 0x10000 ? "\\u" : "\\U";
  for (int i = digits - 1; i >= 0; --i) out += kDigits[(static_cast<std::uint32_t>(code) >> (4 * i)) & 0xF];
}

}  // namespace

bool is_python_name(std::string_view name) {
  return !name.empty() && name.size() <= kPythonNameMax && is_letter(name.front()) && !is_keyword(name) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

std::vector<std::string> python_names(std::span<const std::string_view> names) {
  std::set<std::string, std::less<>> taken;
  for (const std::string_view name : names) {
    if (is_python_name(name)) taken.emplace(name);
  }
  std::map<std::string, std::size_t> next;  // the number to try for a name that many are like
  std::vector<std::string> found;
  found.reserve(names.size());
  for (const std::string_view name : names) {
    if (is_python_name(name)) {
      found.emplace_back(name);
      continue;
    }
    const std::string similar = similar_name(name);
    std::string one = similar;
    std::size_t& number = next.try_emplace(similar, 2).first->second;
    while (!taken.insert(one).second) {
      const std::string suffix = '_' + std::to_string(number++);
      one = similar.substr(0, kPythonNameMax - suffix.size()) + suffix;
    }
    found.push_back(std::move(one));
  }
  return found;
}

std::string python_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const json::Char next = json::decode(text);
    if (next.code == '\n') {
      out += "\\n";
    } else if (next.code == '\t') {
      out += "\\t";
    } else if (next.code == '"' || next.code == '\\') {
      out += '\\';
      out += text.front();
    } else if (must_escape(next.code)) {
      append_escape(out, next.code);
    } else {
      out += text.substr(0, next.size);
    }
    text.remove_prefix(next.size);
  }
  return out + '"';
}

std::string python_docstring(std::string_view text, std::size_t indent) {
  constexpr std::string_view kQuotes = "\"\"\"";
  constexpr std::string_view kBlanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);  // npos + 1 is 0
  const std::string margin(indent, ' ');
  std::string out(kQuotes);
  bool at_line_start = false;
  bool lines = false;
  while (!text.empty()) {
    const json::Char next = json::decode(text);
    const std::string_view bytes = text.substr(0, next.size);
    text.remove_prefix(next.size);
    if (next.code == '\n') {
      while (out.ends_with(' ')) out.pop_back();
      out += '\n';
      at_line_start = lines = true;
      continue;
    }
    if (next.code == '\r' && text.starts_with('\n')) continue;
    if (at_line_start) out += margin;
    at_line_start = false;
    // A backslash is doubled, also of what is shown escaped: the reader sees the escape.
    if (next.code == '\\') {
      out += "\\\\";
    } else if (next.code == '"' && (text.empty() || text.front() == '"') && !(text.empty() && lines)) {
      out += "\\\"";  // neither three of them nor one before the closing ones
    } else if (next.code == '\t') {
      out += "    ";
    } else if (must_escape(next.code)) {
      out += '\\';
      append_escape(out, next.code);
    } else {
      out += bytes;
    }
  }
  if (lines) out += '\n' + margin;
  return out.append(kQuotes);
}

std::string python_comment(std::string_view text, std::size_t bytes_max) {
  while (text.starts_with(' ') || text.starts_with('\n')) text.remove_prefix(1);
  std::string line = json::one_line(text, bytes_max);
  while (line.ends_with(' ')) line.pop_back();
  return line.starts_with("type:") ? "- " + line : line;
}

}  // namespace casemate::schema
