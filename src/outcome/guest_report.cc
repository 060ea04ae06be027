#include "outcome/guest_report.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <type_traits>

#include "frame/guest.h"
#include "json/utf8.h"

namespace casemate::outcome {
namespace {

using frame::Field;
using frame::GuestType;
using frame::Tag;

constexpr std::uint64_t kLineMax = 1'000'000'000;
constexpr std::uint64_t kErrnoMax = 4095;  // MAX_ERRNO of the kernel
constexpr int kSignalMax = 64;             // signal(7): SIGRTMAX

Tag tag_of(const Field& field) { return static_cast<Tag>(field.tag); }

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalid, "the runner sent " + std::move(message));
}

std::string line_of(std::string_view bytes) { return json::one_line(bytes, kGuestLineMax); }

// Text of several lines, cut from its middle so that both its beginning and its end are there.
std::string bounded_text(std::string_view bytes) {
  constexpr std::string_view kCut = "\n[…]\n";
  constexpr std::size_t kHalf = (kReportTextMax - kCut.size()) / 2;
  std::string text = json::to_text(bytes).text;
  if (text.size() <= kReportTextMax) return text;
  std::string_view tail = std::string_view(text).substr(text.size() - kHalf);
  while ((tail.front() & '\xC0') == '\x80') tail.remove_prefix(1);
  return std::string(json::cut_text(text, kHalf)).append(kCut).append(tail);
}

Result<std::uint64_t> number_of(const Field& field, std::uint64_t min, std::uint64_t max) {
  const std::uint64_t value = TRY(frame::parse_u64(field.bytes));
  if (value < min || value > max) return invalid("a number out of range");
  return value;
}

// Sets a field that may come once.
template <typename T>
Result<void> set_once(std::optional<T>& slot, Result<std::type_identity_t<T>> value) {
  if (slot) return invalid("a field twice");
  slot = TRY(std::move(value));
  return {};
}

bool is_token(std::string_view text) {
  // RFC 6838's restricted-name, in lower case or upper.
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$&-^_.+").find(c) != std::string_view::npos;
  });
}

// Without parameters: a type and a subtype.
bool is_media_type(std::string_view text) {
  const std::size_t slash = text.find('/');
  return text.size() <= kGuestMediaTypeMax && slash != std::string_view::npos &&
         is_token(text.substr(0, slash)) && is_token(text.substr(slash + 1));
}

Result<GuestMessage> parse_order(const std::vector<Field>& fields) {
  if (fields.size() != 2 || tag_of(fields[0]) != Tag::kStream || tag_of(fields[1]) != Tag::kNumber) {
    return invalid("an order without its two fields");
  }
  if (fields[0].bytes != "\x01" && fields[0].bytes != "\x02") return invalid("an order of an unknown stream");
  const std::uint64_t total = TRY(frame::parse_u64(fields[1].bytes));
  return GuestOrder{static_cast<Stream>(fields[0].bytes[0]), total};
}

Result<GuestMessage> parse_done(const std::vector<Field>& fields) {
  if (fields.size() != 1 || tag_of(fields[0]) != Tag::kExitCode)
    return invalid("an end without its exit code");
  const std::uint64_t code = TRY(frame::parse_u64(fields[0].bytes));
  if (code > 255) return invalid("an exit code that is none");
  return GuestDone{static_cast<int>(code)};
}

// All of them, in the order of their tags, or none.
Result<std::optional<GuestCounts>> parse_counts(std::span<const Field> fields) {
  if (fields.empty()) return std::nullopt;
  GuestCounts counts;
  const std::array numbers = {&counts.oom_kills,  &counts.memory_peak_bytes, &counts.pids_refused,
                              &counts.pids_peak,  &counts.disk_used_bytes,   &counts.disk_free_bytes,
                              &counts.inodes_free};
  if (fields.size() != numbers.size()) return invalid("an end with some of its counts");
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (fields[i].tag != static_cast<std::uint16_t>(Tag::kOomKills) + i)
      return invalid("an end with a field that it cannot have");
    *numbers.at(i) = TRY(frame::parse_u64(fields[i].bytes));
  }
  return counts;
}

Result<GuestMessage> parse_end(const std::vector<Field>& fields) {
  if (fields.empty() || tag_of(fields[0]) != Tag::kWaitStatus)
    return invalid("an end without its wait status");
  const std::uint64_t given = TRY(frame::parse_u64(fields[0].bytes));
  const int status = static_cast<int>(given & 0xffff);
  const bool signalled = WIFSIGNALED(status) && WTERMSIG(status) <= kSignalMax;
  if (given != static_cast<std::uint64_t>(status) || (!WIFEXITED(status) && !signalled))
    return invalid("a wait status that is none");
  GuestEnd end;
  end.counts = TRY(parse_counts(std::span(fields).subspan(1)));
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

Result<GuestMessage> parse_result(const std::vector<Field>& fields) {
  GuestResult result;
  if (fields.empty() || fields.size() % 2 != 0 || fields.size() / 2 > kResultFormsMax) {
    return invalid("a result that is not made of pairs, or of too many");
  }
  for (std::size_t i = 0; i < fields.size(); i += 2) {
    if (tag_of(fields[i]) != Tag::kMediaType || tag_of(fields[i + 1]) != Tag::kText) {
      return invalid("a result that is not made of pairs");
    }
    std::string media_type(fields[i].bytes);
    if (!is_media_type(media_type)) return invalid("a media type that is none");
    for (const ResultForm& form : result.forms) {
      if (form.media_type == media_type) return invalid("two results of one media type");
    }
    result.forms.push_back({std::move(media_type), json::to_text(fields[i + 1].bytes).text});
  }
  return result;
}

std::string file_name_of(std::string_view text) {
  std::string name = json::one_line(text, kGuestNameMax);
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

Result<GuestMessage> parse_artifact(const std::vector<Field>& fields) {
  std::optional<std::string> path;
  std::optional<std::string> name;
  std::optional<std::string> summary;
  std::optional<std::string> media_type;
  std::optional<bool> figure;
  for (const Field& field : fields) {
    switch (tag_of(field)) {
      case Tag::kPath:
        if (field.bytes.empty() || field.bytes.size() > kPathMax ||
            field.bytes.find('\0') != std::string_view::npos) {
          return invalid("a path that is none");
        }
        TRY(set_once(path, std::string(field.bytes)));
        break;
      case Tag::kName: TRY(set_once(name, file_name_of(field.bytes))); break;
      case Tag::kText: TRY(set_once(summary, json::one_line(field.bytes, kSummaryMax))); break;
      case Tag::kMediaType:
        // A program may pass what it likes, so one that is none is no claim at all.
        TRY(set_once(media_type, std::string(is_media_type(field.bytes) ? field.bytes : "")));
        break;
      case Tag::kOrigin:
        if (field.bytes != "declared" && field.bytes != "figure") return invalid("an unknown origin");
        TRY(set_once(figure, field.bytes == "figure"));
        break;
      default: return invalid("an artifact with a field that it cannot have");
    }
  }
  if (!path) return invalid("an artifact without a path");
  if (!name || name->empty()) name = file_name_of(std::string_view(*path).substr(path->rfind('/') + 1));
  return GuestArtifact{.path = std::move(*path),
                       .name = std::move(*name),
                       .summary = std::move(summary).value_or(""),
                       .media_type = std::move(media_type).value_or(""),
                       .figure = figure.value_or(false)};
}

// Reads the fields of an exception one after another.
class ExceptionParser {
 public:
  Result<void> add(const Field& field) {
    switch (tag_of(field)) {
      case Tag::kType: return set_once(type_, line_of(field.bytes));
      case Tag::kMessage: return set_once(message_, bounded_text(field.bytes));
      case Tag::kErrno: return set_once(errno_, number_of(field, 1, kErrnoMax));
      case Tag::kFile: return set_once(out_.exception.file, line_of(field.bytes));
      case Tag::kLine: return set_once(out_.exception.line, number_of(field, 0, kLineMax));
      case Tag::kSource: return set_once(out_.exception.source, line_of(field.bytes));
      case Tag::kHiddenFrames: return set_once(hidden_, number_of(field, 0, kLineMax));
      case Tag::kExitCode: return set_once(exit_code_, number_of(field, 0, 255));
      case Tag::kRendered: return set_once(out_.exception.rendered, bounded_text(field.bytes));
      case Tag::kHint:
        if (out_.exception.hints.size() == kReportHintsMax) {
          ++out_.exception.hints_left_out;
        } else {
          out_.exception.hints.push_back(line_of(field.bytes));
        }
        return {};
      default: return add_frame_field(field);
    }
  }

  Result<GuestMessage> take() && {
    if (!type_ || !message_) return invalid("an exception without type or message");
    Exception& exception = out_.exception;
    exception.type = std::move(*type_);
    exception.message = std::move(*message_);
    exception.hidden_frames = hidden_.value_or(0);
    if (errno_) out_.errno_value = static_cast<int>(*errno_);
    if (exit_code_) out_.exit_code = static_cast<int>(*exit_code_);
    for (Draft& draft : frames_) {
      exception.frames.push_back({std::move(draft.file), draft.line, std::move(draft.function).value_or(""),
                                  std::move(draft.source).value_or("")});
    }
    if (exception.frames.size() > kReportFramesMax) {  // the outermost and the innermost tell most
      exception.frames_left_out = exception.frames.size() - kReportFramesMax;
      const auto from = exception.frames.begin() + static_cast<std::ptrdiff_t>(kReportFramesMax / 2);
      exception.frames.erase(from, from + static_cast<std::ptrdiff_t>(exception.frames_left_out));
    }
    return std::move(out_);
  }

 private:
  struct Draft {
    std::string file;
    std::optional<std::uint64_t> line;
    std::optional<std::string> function;
    std::optional<std::string> source;
  };

  Result<void> add_frame_field(const Field& field) {
    if (tag_of(field) == Tag::kFrameFile) {
      frames_.push_back({line_of(field.bytes), {}, {}, {}});  // at most kFieldsMax of them
      return {};
    }
    if (frames_.empty()) return invalid("an exception with a field that it cannot have");
    Draft& frame = frames_.back();
    switch (tag_of(field)) {
      case Tag::kFrameLine: return set_once(frame.line, number_of(field, 0, kLineMax));
      case Tag::kFrameFunction: return set_once(frame.function, line_of(field.bytes));
      case Tag::kFrameSource: return set_once(frame.source, line_of(field.bytes));
      default: return invalid("an exception with a field that it cannot have");
    }
  }

  GuestException out_;
  std::optional<std::string> type_;
  std::optional<std::string> message_;
  std::optional<std::uint64_t> errno_;
  std::optional<std::uint64_t> hidden_;
  std::optional<std::uint64_t> exit_code_;
  std::vector<Draft> frames_;
};

Result<GuestMessage> parse_exception(const std::vector<Field>& fields) {
  ExceptionParser parser;
  for (const Field& field : fields) TRY(parser.add(field));
  return std::move(parser).take();
}

}  // namespace

Result<GuestMessage> parse_guest(const frame::Frame& frame) {
  const std::vector<Field> fields = TRY(frame::parse_fields(frame.payload));
  switch (static_cast<GuestType>(frame.type)) {
    case GuestType::kOrder: return parse_order(fields);
    case GuestType::kResult: return parse_result(fields);
    case GuestType::kArtifact: return parse_artifact(fields);
    case GuestType::kException: return parse_exception(fields);
    case GuestType::kDone: return parse_done(fields);
    case GuestType::kEnded: return parse_end(fields);
    case GuestType::kBegun:
      if (!fields.empty()) return invalid("a beginning with a field");
      return GuestBegun{};
    default: return invalid("a frame of a type that is not its to send");
  }
}

Result<std::optional<GuestOrder>> GuestReport::add(const frame::Frame& frame) {
  if (broken_) return invalid("more on a channel that is broken");
  const bool last = own_kernel_ && frame.type == static_cast<std::uint16_t>(GuestType::kEnded);
  if (end_ || (done_ && !last)) return invalid("more after the end");
  broken_ = true;  // until this frame is in
  bytes_ += frame::kHeaderSize + frame.payload.size();
  if (bytes_ > kControlBytesMax.count) {
    return fail(ErrorCode::kExhausted, "the runner sent more than its channel may carry in one run");
  }
  GuestMessage message = TRY(parse_guest(frame));
  std::optional<GuestOrder> order;
  if (auto* hint = std::get_if<GuestOrder>(&message)) {
    order = *hint;
  } else if (auto* result = std::get_if<GuestResult>(&message)) {
    result_ = std::move(*result);
  } else if (auto* artifact = std::get_if<GuestArtifact>(&message)) {
    if (artifacts_.size() == kArtifactsMax) {
      ++artifacts_left_out_;
    } else {
      artifacts_.push_back(std::move(*artifact));
    }
  } else if (const auto* done = std::get_if<GuestDone>(&message)) {
    done_ = *done;
  } else if (const auto* end = std::get_if<GuestEnd>(&message)) {
    if (!own_kernel_) return invalid("an end that the host's kernel tells");
    end_ = *end;
  } else if (std::holds_alternative<GuestBegun>(message)) {
    if (!own_kernel_ || begun_) return invalid("a beginning that is none");
    begun_ = true;
  } else {
    if (exception_) return invalid("a second exception");
    exception_ = std::move(std::get<GuestException>(message));
  }
  broken_ = false;
  return order;
}

}  // namespace casemate::outcome
