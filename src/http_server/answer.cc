#include "http_server/answer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "http_server/head.h"
#include "http_server/limits.h"
#include "http_server/wire.h"
#include "json/utf8.h"
#include "json/writer.h"

namespace casemate::http_server {
namespace {

constexpr milliseconds kRetryUsual{1000};

constexpr std::array<std::string_view, 5> kOurs = {"connection", "content-length", "date", "keep-alive",
                                                   "transfer-encoding"};

bool is_ours(std::string_view name) {
  return std::any_of(kOurs.begin(), kOurs.end(),
                     [&](std::string_view known) { return equals_ignoring_case(known, name); });
}

bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\t'; });
}

}  // namespace

Answer json_answer(int status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.fields.push_back({"Content-Type", "application/json"});
  answer.body = std::move(body);
  return answer;
}

Answer problem(const Problem& about) {
  json::Writer writer;
  writer.begin_object();
  writer.field("type", "urn:casemate:problem:" + about.code);
  writer.field("title", reason_phrase(about.status));
  writer.field("status", about.status);
  writer.field("code", about.code);
  writer.field("detail", json::one_line(about.detail, kProblemDetailMax));
  if (!about.field.empty()) writer.field("field", json::one_line(about.field, kProblemDetailMax));
  if (about.retry_after) writer.field("retry_after_ms", about.retry_after->count());
  writer.end_object();
  Answer answer;
  answer.status = about.status;
  answer.fields.push_back({"Content-Type", "application/problem+json"});
  if (about.retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*about.retry_after).count();
    answer.fields.push_back({"Retry-After", std::to_string(std::max<decltype(seconds)>(seconds, 1))});
  }
  answer.body = std::move(writer).take();
  return answer;
}

Answer problem(const Refusal& refusal) {
  Problem about{refusal.status, refusal.code, refusal.detail, "", std::nullopt};
  if (refusal.status == 503) about.retry_after = kRetryUsual;
  Answer answer = problem(about);
  answer.last = true;
  return answer;
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid: return 400;
    case ErrorCode::kNotFound: return 404;
    case ErrorCode::kDenied: return 403;
    case ErrorCode::kExhausted: return 429;
    case ErrorCode::kDeadline: return 504;
    case ErrorCode::kCancelled: return 409;
    case ErrorCode::kUnavailable: return 503;
    case ErrorCode::kSystem:
    case ErrorCode::kInternal: return 500;
  }
  return 500;
}

Answer problem_of(const Error& error, std::optional<milliseconds> retry_after) {
  Problem about;
  about.status = status_of(error.code);
  about.code = error_code_name(error.code);
  about.detail =
      about.status == 500 ? "casemate could not do it; the fault is not the request's" : error.message;
  if (about.status == 429 || about.status == 503) about.retry_after = retry_after.value_or(kRetryUsual);
  return problem(about);
}

Result<void> check_answer(const Answer& answer) {
  // 1xx are no ends of a request, and a 101 would hand the connection on.
  if (answer.status < 200 || answer.status > 599)
    return fail(ErrorCode::kInternal, "an answer has no such status");
  if (answer.fields.size() > kAnswerFieldsMax)
    return fail(ErrorCode::kInternal, "an answer has too many fields");
  for (const Field& field : answer.fields) {
    if (!is_token(field.name) || is_ours(field.name) || !is_field_value(field.value))
      return fail(ErrorCode::kInternal, "an answer has a field that cannot be sent");
  }
  return {};
}

std::string http_date(std::int64_t seconds) {
  using namespace std::chrono;
  const sys_seconds at{std::chrono::seconds(seconds)};
  const sys_days day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss time(at - day);
  constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
                      kDays[weekday(day).c_encoding()], static_cast<unsigned>(date.day()),
                      kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                      static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                      static_cast<int>(time.seconds().count()));
  return text.data();
}

}  // namespace casemate::http_server
