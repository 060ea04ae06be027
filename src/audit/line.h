// A record as one line of text, and back. Pure.
//
//   {"seq":7,"prev":"HEX","at":"2026-07-30T12:00:00.123456Z","kind":"verdict",BODY,"digest":"HEX"}
//
// `prev` is the `digest` of record 6. `digest` is the SHA-256 of what stands before `,"digest"`: so a record
// that was changed says so of itself, and one that was exchanged for another is not the one that the next
// names. A line is JSON, has no white space and ends with a line feed. docs/audit.md says it for other
// readers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"

namespace casemate::audit {

// UTC, of the wall clock: it may be set back.
using Time = std::chrono::sys_time<std::chrono::microseconds>;

Time wall_clock();
// "2026-07-30T12:00:00.123456Z", 27 characters. Before 1970 and after 9999 are shown as those years' ends.
std::string format_time(Time at);
// Exactly what format_time() writes. Errors: invalid.
Result<Time> parse_time(std::string_view text);

inline constexpr std::size_t kDigestDigits = 64;

// A record's place in its chain.
struct Position {
  std::uint64_t sequence = 0;  // from 1
  std::string digest = std::string(kDigestDigits, '0');
  bool operator==(const Position&) const = default;
};

// Appends the record that comes after `last`, a Position{} before the first. `kind` must be a kind's name;
// `body` is the members of a JSON object without its braces, and may be empty. Answers where the record is.
Position append_line(std::string& out, const Position& last, Time at, std::string_view kind,
                     std::string_view body);
// What append_line() adds at most.
std::size_t line_size_max(std::string_view kind, std::string_view body);

// [a-z][a-z0-9_]*, at most 32 characters.
bool is_kind_name(std::string_view text);

// What every record has, whatever its kind. The views are into the line.
struct Line {
  std::uint64_t sequence = 0;
  std::string_view previous;
  Time at;
  std::string_view kind;
  std::string_view body;
  std::string_view digest;
};

// Of a line without its line feed. Looks at the form of what every record has, not at the body or the digest.
// Errors: invalid.
Result<Line> parse_line(std::string_view text);
// Whether the digest that a line states is its own.
bool digest_holds(std::string_view text, const Line& line);
// All members, by name. Errors: invalid (it is no JSON object of different names).
Result<json::Value> read_members(std::string_view text);
// A member that is a string; empty where there is none.
std::string_view text_member(const json::Value& members, std::string_view name);

}  // namespace casemate::audit
