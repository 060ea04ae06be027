#include "bridge/call_reader.h"

#include <utility>

#include "frame/guest.h"
#include "json/utf8.h"

namespace casemate::bridge {
namespace {

using frame::GuestType;
using frame::Tag;

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalid, "the guest sent " + std::move(message));
}

struct Fields {
  std::uint64_t number = 0;
  std::string_view name, piece;
  bool more = false;
};

// In the order of guest.h, each once.
Result<Fields> fields_of(const frame::Frame& frame, bool first) {
  const std::vector<frame::Field> given = TRY(frame::parse_fields(frame.payload));
  const std::size_t least = first ? 3 : 2;
  const auto tag = [&](std::size_t at) { return static_cast<Tag>(given[at].tag); };
  if (given.size() < least || given.size() > least + 1 || tag(0) != Tag::kNumber ||
      (first && tag(1) != Tag::kName) || tag(least - 1) != Tag::kBytes)
    return invalid("a call without its fields");
  Fields fields;
  fields.number = TRY(frame::parse_u64(given[0].bytes));
  if (first) fields.name = given[1].bytes;
  fields.piece = given[least - 1].bytes;
  fields.more = given.size() > least;
  if (fields.more && (tag(least) != Tag::kMore || !given[least].bytes.empty()))
    return invalid("a call with a field that it cannot have");
  return fields;
}

}  // namespace

bool CallReader::is_call(const frame::Frame& frame) {
  const auto type = static_cast<GuestType>(frame.type);
  return type == GuestType::kCall || type == GuestType::kCallData;
}

Result<std::optional<WantedCall>> CallReader::add(const frame::Frame& frame) {
  const bool first = static_cast<GuestType>(frame.type) == GuestType::kCall;
  const Fields fields = TRY(fields_of(frame, first));
  if (first) {
    if (partial_) return invalid("a call within another");
    if (fields.number <= last_number_) return invalid("a call with a number that it had before");
    if (fields.name.empty() || fields.name.size() > kCapabilityNameMax || !json::is_valid_utf8(fields.name))
      return invalid("a call of what is no name");
    last_number_ = fields.number;
    partial_.emplace();
    partial_->number = fields.number;
    partial_->name = fields.name;
  } else if (!partial_ || partial_->number != fields.number) {
    return invalid("a piece of a call that it has not begun");
  } else if (fields.piece.empty()) {
    return invalid("an empty piece of a call");  // or it could go on for ever at no cost
  }
  if (!partial_->too_large && fields.piece.size() > arguments_max_.count - partial_->arguments.size()) {
    partial_->too_large = true;
    partial_->arguments = {};
  }
  if (!partial_->too_large) partial_->arguments += fields.piece;
  if (fields.more) return std::nullopt;
  return std::exchange(partial_, std::nullopt);
}

}  // namespace casemate::bridge
