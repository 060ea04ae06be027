#include "bridge/reply.h"

#include "base/limits.h"
#include "frame/frame.h"
#include "json/writer.h"

namespace casemate::bridge {
namespace {

using frame::GuestType;
using frame::Tag;

// Leaves room for the other fields in a frame.
constexpr std::size_t kPiece = kFramePayloadMax / 2;

void add(std::string& payload, Tag tag, std::string_view bytes) {
  frame::append_field(payload, static_cast<std::uint16_t>(tag), bytes);
}

}  // namespace

Reply reply_of(std::string_view capability, const CallError& error) {
  json::Writer writer;
  writer.begin_object().field("capability", capability).field("code", error.code);
  writer.field("message", error.message).key("effect");
  if (error.effect)
    writer.value(*error.effect);
  else
    writer.null();
  writer.end_object();
  return {frame::ReplyStatus::kError, std::move(writer).take(), {}};
}

Reply reply_of(std::string_view capability, const Denial& denial) {
  json::Writer writer;
  writer.begin_object().field("capability", capability).field("message", denial.message);
  writer.field("rule", denial.rule).field("reason", denial.reason).end_object();
  return {frame::ReplyStatus::kDenied, std::move(writer).take(), {}};
}

void append_reply(std::string& out, std::uint64_t number, const Reply& reply) {
  std::string_view rest = reply.json;
  for (bool first = true; first || !rest.empty(); first = false) {
    std::string payload;
    add(payload, Tag::kNumber, frame::u64_bytes(number));
    if (first) {
      const char status = static_cast<char>(reply.status);
      add(payload, Tag::kStatus, {&status, 1});
      for (const std::string& place : reply.typed) add(payload, Tag::kTyped, place);
    }
    const std::string_view piece = rest.substr(0, kPiece);
    rest.remove_prefix(piece.size());
    add(payload, Tag::kBytes, piece);
    if (!rest.empty()) add(payload, Tag::kMore, "");
    const GuestType type = first ? GuestType::kReply : GuestType::kReplyData;
    frame::append_frame(out, static_cast<std::uint16_t>(type), payload);
  }
}

}  // namespace casemate::bridge
