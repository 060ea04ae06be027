#include "http_server/events.h"

#include <algorithm>
#include <charconv>

#include "http_server/limits.h"
#include "json/utf8.h"

namespace casemate::http_server {
namespace {

bool is_word(std::string_view text) {
  return text.size() <= kEventWordMax && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

}  // namespace

Result<std::string> format_event(const Event& event) {
  if (!is_word(event.id) || !is_word(event.name))
    return fail(ErrorCode::kInvalid, "an event's id or name holds a control character, or is too long");
  std::string text;
  if (!event.id.empty()) text += "id: " + event.id + "\n";
  if (!event.name.empty()) text += "event: " + event.name + "\n";
  const std::string data = json::to_text(event.data).text;
  // Every break ends a line, the last one too: "a\n" has two lines, and is joined to "a\n" again.
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(data.find_first_of("\r\n", at), data.size());
    text.append("data: ").append(data, at, end - at).append("\n");
    if (end == data.size()) break;
    at = end + (data.compare(end, 2, "\r\n") == 0 ? 2 : 1);
  }
  text += '\n';
  return text;
}

Result<std::optional<std::uint64_t>> last_event_id(const Request& request) {
  const std::string* text = request.field("last-event-id");
  if (text == nullptr) return std::optional<std::uint64_t>();
  std::uint64_t id = 0;
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, id);
  if (text->empty() || read.ec != std::errc() || read.ptr != end ||
      (text->size() > 1 && text->front() == '0'))
    return fail(ErrorCode::kInvalid, "Last-Event-ID should be the id of an event: a decimal number");
  return std::optional<std::uint64_t>(id);
}

Result<void> EventWriter::send(const Event& event) { return writer_.write(TRY(format_event(event))); }

Result<void> EventWriter::heartbeat() { return writer_.write(":\n\n"); }

Answer event_answer(std::function<void(EventWriter&)> write) {
  Answer answer;
  answer.fields.push_back({"Content-Type", "text/event-stream"});
  answer.fields.push_back({"Cache-Control", "no-store"});
  answer.fields.push_back({"X-Accel-Buffering", "no"});  // nginx in front would hold events back
  answer.stream = [write = std::move(write)](BodyWriter& writer) {
    EventWriter events(writer);
    write(events);
  };
  return answer;
}

}  // namespace casemate::http_server
