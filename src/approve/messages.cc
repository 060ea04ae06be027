#include "approve/messages.h"

#include <algorithm>
#include <array>

#include "approve/text.h"
#include "json/reader.h"
#include "json/utf8.h"

namespace casemate::approve {
namespace {

constexpr std::size_t kValuesMax = 100'000;
constexpr const char* kBy = "approvals";

// "" where it is missing or no text.
std::string text_of(const json::Value& object, std::string_view key) {
  const json::Value* member = object.find(key);
  if (member == nullptr) return {};
  const auto text = member->as_string();
  return text ? std::string(*text) : std::string();
}

std::uint64_t number_of(const json::Value& object, std::string_view key) {
  const json::Value* member = object.find(key);
  if (member == nullptr) return 0;
  return member->as_uint64().value_or(0);
}

Listed listed_of(const Desk::Pending& pending, Instant at, std::size_t arguments_max) {
  Listed listed{*pending.question, pending.question->arguments.size(), 0};
  listed.question.arguments = std::string(json::cut_text(listed.question.arguments, arguments_max));
  listed.left_ms = static_cast<std::uint64_t>(pending.until.poll_timeout_ms(at));
  return listed;
}

std::string reply_of(const std::vector<Listed>& asks) {
  json::Writer writer;
  writer.begin_object().key("asks").begin_array();
  for (const Listed& listed : asks) {
    writer.begin_object();
    write_listed(writer, listed);
    writer.end_object();
  }
  writer.end_array().end_object();
  return std::move(writer).take();
}

Result<std::vector<Listed>> carry_out(Desk& desk, std::string_view line, Instant at) {
  const auto request = json::read(line, {kRequestMax.count, json::kReaderDepthMax, kValuesMax});
  if (!request || request->kind() != json::Value::Kind::kObject)
    return fail(ErrorCode::kInvalid, "a request that cannot be read");
  const std::string what = text_of(*request, "do"), id = text_of(*request, "id");
  std::vector<Listed> asks;
  desk.expire(at);
  if (what == "list") {
    for (const Desk::Pending& pending : desk.pending())
      asks.push_back(listed_of(pending, at, kArgumentsShownMax));
    return asks;
  }
  if (what == "show") {
    asks.push_back(listed_of(TRY(desk.find(id)), at, kReplyMax.count));
    return asks;
  }
  Answer answer{Answer::Kind::kDeny, kBy, text_of(*request, "reason")};
  if (what == "allow") {
    answer.kind = Answer::Kind::kAllow;
    if (request->find("arguments") != nullptr) answer.arguments = text_of(*request, "arguments");
  } else if (what != "deny") {
    return fail(ErrorCode::kInvalid, "there is no such request");
  }
  TRY(desk.answer(id, std::move(answer), at));
  return asks;
}

ErrorCode code_of(std::string_view name) {
  constexpr std::array kCodes = {ErrorCode::kInvalid, ErrorCode::kNotFound, ErrorCode::kDenied};
  const auto* found = std::find_if(kCodes.begin(), kCodes.end(),
                                   [&](ErrorCode code) { return name == error_code_name(code); });
  return found == kCodes.end() ? ErrorCode::kUnavailable : *found;
}

}  // namespace

void write_listed(json::Writer& writer, const Listed& listed) {
  const Question& question = listed.question;
  writer.field("id", question.id).field("run", question.run).field("capability", question.capability);
  writer.field("arguments", question.arguments).field("arguments_bytes", listed.arguments_bytes);
  writer.key("labels").begin_array();
  for (const auto& [label, source] : question.labels)
    writer.begin_object().field("label", label).field("source", source).end_object();
  writer.end_array().field("rule", question.rule).field("reason", question.reason);
  writer.field("left_ms", listed.left_ms);
}

std::string write_request(const Request& request) {
  json::Writer writer;
  writer.begin_object().field("do", request.what).field("id", request.id);
  if (request.arguments) writer.field("arguments", *request.arguments);
  writer.field("reason", request.reason).end_object();
  return std::move(writer).take();
}

std::string answer_request(Desk& desk, std::string_view line, Instant at) {
  const auto done = carry_out(desk, line, at);
  if (done) return reply_of(*done);
  json::Writer writer;
  writer.begin_object().field("error", json::to_text(done.error().message).text);
  writer.field("code", error_code_name(done.error().code)).end_object();
  return std::move(writer).take();
}

Result<std::vector<Listed>> read_reply(std::string_view line) {
  const json::Value reply = TRY(json::read(line, {kReplyMax.count, json::kReaderDepthMax, kValuesMax}));
  if (reply.find("error") != nullptr) return fail(code_of(text_of(reply, "code")), text_of(reply, "error"));
  const json::Value* asks = reply.find("asks");
  if (asks == nullptr) return fail(ErrorCode::kInvalid, "a reply that cannot be read");
  std::vector<Listed> listed;
  for (const json::Value& item : asks->items()) {
    Listed one;
    one.question.id = text_of(item, "id");
    one.question.run = text_of(item, "run");
    one.question.capability = text_of(item, "capability");
    one.question.arguments = text_of(item, "arguments");
    one.question.rule = text_of(item, "rule");
    one.question.reason = text_of(item, "reason");
    one.arguments_bytes = number_of(item, "arguments_bytes");
    one.left_ms = number_of(item, "left_ms");
    if (const json::Value* labels = item.find("labels")) {
      for (const json::Value& label : labels->items())
        one.question.labels.emplace_back(text_of(label, "label"), text_of(label, "source"));
    }
    listed.push_back(std::move(one));
  }
  return listed;
}

}  // namespace casemate::approve
