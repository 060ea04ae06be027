// Server-sent events (WHATWG HTML, section 9.2), the sending side.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "http_server/answer.h"
#include "http_server/request.h"
#include "http_server/writer.h"

namespace casemate::http_server {

struct Event {
  std::string id;    // empty: none, and a client keeps the last one that it had
  std::string name;  // empty: "message"
  // Any text. Its line breaks (CR LF, CR, LF) become lines of their own, which the reader joins with LF
  // again; bytes that are not UTF-8 become U+FFFD. So no data can begin another field or another event.
  std::string data;
};

// The event on the wire, its empty line included. Errors: invalid (an id or name with a line break or another
// control character, or longer than kEventWordMax).
Result<std::string> format_event(const Event& event);

// What a client that comes back says that it has: the field Last-Event-ID as a decimal number without a sign
// or zeros in front. Nothing if it says nothing. Errors: invalid (another form: none of our ids, and no place
// to go on from).
Result<std::optional<std::uint64_t>> last_event_id(const Request& request);

// One thread; a view of a BodyWriter.
class EventWriter {
 public:
  explicit EventWriter(BodyWriter& writer) : writer_(writer) {}
  // Errors: those of format_event() and of BodyWriter::write().
  Result<void> send(const Event& event);
  // A comment, which readers pass over. It keeps proxies from giving the connection up, and tells us that the
  // client is still there: to be sent when nothing was for some seconds.
  Result<void> heartbeat();
  BodyWriter& writer() { return writer_; }

 private:
  BodyWriter& writer_;
};

// 200 and text/event-stream, not to be stored; what `write` returns to is the end of the stream.
Answer event_answer(std::function<void(EventWriter&)> write);

}  // namespace casemate::http_server
