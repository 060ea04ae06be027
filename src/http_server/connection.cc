#include "http_server/connection.h"

#include <chrono>
#include <utility>

#include "http_server/limits.h"
#include "http_server/socket.h"
#include "http_server/target.h"

namespace casemate::http_server {
namespace {

constexpr Refusal kHeadLate{408, "head_late", "the head of a request did not come whole in time"};
constexpr Refusal kBodyLate{408, "body_late", "the body of a request came too slowly"};
constexpr Refusal kNoRoom{503, "body_memory",
                          "there is no room for this body among those of other requests: try again"};
// Reading a head; bodies are larger.
constexpr std::size_t kHeadReadMax = std::size_t{16} << 10;

constexpr Refusal kBadAnswer{500, "internal", "the answer to this request could not be sent"};

bool has_no_body(int status) { return status == 204 || status == 304; }

}  // namespace

class Connection::Held {
 public:
  explicit Held(Shared& shared) : shared_(shared) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { drop(); }
  // False when there is no room for these beside what is held.
  bool grow(std::uint64_t bytes) {
    bytes_ += bytes;
    return (shared_.body_bytes += bytes) <= shared_.options.bodies_max.count;
  }
  void drop() { shared_.body_bytes -= std::exchange(bytes_, 0); }

 private:
  Shared& shared_;
  std::uint64_t bytes_ = 0;
};

void Connection::serve() {
  for (;;) {
    HeadScanner scanner;
    if (!wait_for_head(scanner)) break;
    if (!shared_.roster.move(place_, Roster::Stage::kReading)) break;
    first_ = false;
    const bool goes_on = serve_request(scanner);
    if (!shared_.roster.move(place_, Roster::Stage::kIdle) || !goes_on) break;
  }
  close_gently(socket_, Deadline::in(shared_.options.linger_time));
}

Deadline Connection::deadline_for(Instant begin, milliseconds base, std::uint64_t bytes) const {
  return Deadline::at(begin + base + milliseconds(bytes * 1000 / shared_.options.least_rate));
}

bool Connection::wait_for_head(HeadScanner& scanner) {
  // Who connects says at once what it wants; between requests there may be a pause.
  bool begun = first_ || !in_.empty();
  const auto has_begun = [&] { return in_.size() > scanner.begin(); };  // an empty line alone is no beginning
  Deadline deadline = Deadline::in(begun ? shared_.options.head_time : shared_.options.idle_time);
  for (;;) {
    const HeadScanner::State state = scanner.scan(in_);
    if (state == HeadScanner::State::kWhole) return true;
    if (state == HeadScanner::State::kRefused) {
      refuse(scanner.refusal(), Request());
      return false;
    }
    if (!begun && has_begun()) {
      begun = true;
      deadline = Deadline::in(shared_.options.head_time);
    }
    const ReadEnd end = read_more(socket_, in_, kHeadReadMax, deadline);
    if (end == ReadEnd::kData) continue;
    if (end == ReadEnd::kLate && has_begun()) {
      ++shared_.late;
      refuse(kHeadLate, Request());
    }
    return false;
  }
}

bool Connection::serve_request(const HeadScanner& scanner) {
  HeadFacts facts;
  Request request;
  RequestParser parser;
  const std::string head = in_.substr(scanner.begin(), scanner.end() - scanner.begin());
  in_.erase(0, scanner.end());
  auto refusal = check_head(head, facts);
  if (!refusal) refusal = parser.take_head(head, facts, request);
  if (!refusal) refusal = read_target(facts.host, request);
  if (refusal) {
    refuse(*refusal, request);
    return false;
  }
  keep_ = request.minor_version == 1 && parser.keep_alive();
  ++shared_.requests;
  return answer_admitted(facts, parser, request);
}

bool Connection::answer_admitted(const HeadFacts& facts, RequestParser& parser, Request& request) {
  const Admission admission = shared_.handler.admit(request);
  if (admission.refusal) {
    keep_ = pass_over_body(facts, parser) && keep_;
    return send(request, *admission.refusal);
  }
  if (auto refusal = parser.limit_body(admission.body_max)) {
    refuse(*refusal, request);
    return false;
  }
  Held held(shared_);
  if (facts.has_body()) {
    // RFC 9110, section 10.1.1: not to a client whose body is on its way already.
    if (facts.expects_continue && in_.empty() &&
        !send_all(socket_, {"HTTP/1.1 100 Continue\r\n\r\n", "", ""},
                  Deadline::in(shared_.options.write_time)))
      return false;
    const Body body = read_body(parser, request.body, &held, shared_.options.body_time);
    if (body.end != BodyEnd::kWhole) {
      request.body = {};
      held.drop();  // before the answer, which the client may read slowly
      if (body.end == BodyEnd::kRefused) refuse(body.refusal, request);
      return false;
    }
  }
  if (!shared_.roster.move(place_, Roster::Stage::kBusy)) return false;
  const Client client(socket_, shared_.drain, shared_.draining);
  const Answer answer = shared_.handler.handle(request, client);
  request.body = {};
  held.drop();
  return send(request, answer);
}

Connection::Body Connection::read_body(RequestParser& parser, std::string& body, Held* held,
                                       milliseconds base) {
  const Instant begin = now();
  std::uint64_t came = 0;
  for (;;) {
    std::size_t taken = 0;
    const std::size_t before = body.size();
    if (auto refusal = parser.take_body(in_, body, taken)) return {BodyEnd::kRefused, *refusal};
    in_.erase(0, taken);
    const std::size_t grown = body.size() - before;
    came += grown;
    if (held == nullptr)
      body.clear();
    else if (!held->grow(grown))
      return {BodyEnd::kRefused, kNoRoom};
    if (parser.done()) return {};
    switch (read_more(socket_, in_, kReadMax, deadline_for(begin, base, came))) {
      case ReadEnd::kData: break;
      case ReadEnd::kClosed: return {BodyEnd::kGone, {}};
      case ReadEnd::kLate: ++shared_.late; return {BodyEnd::kRefused, kBodyLate};
    }
  }
}

bool Connection::pass_over_body(const HeadFacts& facts, RequestParser& parser) {
  if (!facts.has_body()) return true;
  // Whether a client that was to be told to go on sends its body all the same is not known.
  if (facts.expects_continue || parser.limit_body(kDiscardMax)) return false;
  std::string nothing;
  return read_body(parser, nothing, nullptr, shared_.options.linger_time).end == BodyEnd::kWhole;
}

void Connection::refuse(const Refusal& refusal, const Request& request) {
  ++shared_.refused;
  (void)send(request, problem(refusal));  // the connection ends anyway
}

bool Connection::send(const Request& request, const Answer& given) {
  std::optional<Answer> instead;
  if (!check_answer(given)) instead = problem(kBadAnswer);
  const Answer& answer = instead ? *instead : given;
  if (answer.last || shared_.draining) keep_ = false;
  const bool head_only = request.method == "HEAD";
  const bool streamed = answer.stream != nullptr;
  std::vector<Field> fields = answer.fields;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  fields.push_back({"Date", http_date(std::chrono::duration_cast<std::chrono::seconds>(wall).count())});
  if (streamed && !head_only && !has_no_body(answer.status))
    return send_stream(request, answer, std::move(fields));
  if (!has_no_body(answer.status) && !streamed)
    fields.push_back({"Content-Length", std::to_string(answer.body.size())});
  if (!keep_) fields.push_back({"Connection", "close"});
  const std::string head = answer_head(answer.status, fields);
  const std::string_view body = head_only || has_no_body(answer.status) ? "" : std::string_view(answer.body);
  const Deadline deadline = deadline_for(now(), shared_.options.write_time, head.size() + body.size());
  if (!send_all(socket_, {head, body, ""}, deadline)) {
    ++shared_.unread;
    return false;
  }
  return keep_;
}

bool Connection::send_stream(const Request& request, const Answer& answer, std::vector<Field> fields) {
  const bool chunked = request.minor_version == 1;
  if (chunked) fields.push_back({"Transfer-Encoding", "chunked"});
  if (!keep_) fields.push_back({"Connection", "close"});
  const std::string head = answer_head(answer.status, fields);
  const milliseconds write_time = shared_.options.write_time;
  if (!send_all(socket_, {head, "", ""}, Deadline::in(write_time))) {
    ++shared_.unread;
    return false;
  }
  BodyWriter writer(socket_, chunked ? BodyWriter::Form::kChunked : BodyWriter::Form::kUntilEnd, write_time);
  answer.stream(writer);
  const BodyWriter::End end = writer.finish();
  if (end == BodyWriter::End::kUnread) ++shared_.unread;
  // A stream may have begun before the server drained, and ended since.
  return end == BodyWriter::End::kWhole && chunked && keep_ && !shared_.draining;
}

}  // namespace casemate::http_server
