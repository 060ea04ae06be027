#include "engine/switchboard.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace casemate::engine {
namespace {

void ring(const sys::Fd& ready) { (void)::eventfd_write(ready.get(), 1); }

}  // namespace

Result<std::unique_ptr<Switchboard::Line>> Switchboard::line(std::uint64_t box) {
  sys::Fd ready(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  if (!ready) return fail_errno("eventfd");
  std::unique_ptr<Line> made(new Line(*this, box, std::move(ready)));
  const std::lock_guard lock(mutex_);
  made->lost_ = lost_;
  if (lost_) ring(made->ready_);
  lines_[box] = made.get();
  return made;
}

std::optional<sys::Message> Switchboard::hand_on(sys::Message message) {
  const std::lock_guard lock(mutex_);
  const auto found = lines_.find(box::subject_of(message.bytes));
  if (found == lines_.end()) return message;
  found->second->messages_.push_back(std::move(message));
  ring(found->second->ready_);
  return std::nullopt;
}

void Switchboard::lose() {
  const std::lock_guard lock(mutex_);
  lost_ = true;
  for (const auto& [box, line] : lines_) {
    line->lost_ = true;
    ring(line->ready_);
  }
}

Switchboard::Line::~Line() { (void)close(); }

std::vector<box::WardenEvent> Switchboard::Line::close() {
  std::vector<box::WardenEvent> unread;
  for (box::WardenEvent& event : take_events()) unread.push_back(std::move(event));
  const std::lock_guard lock(board_.mutex_);
  for (sys::Message& message : messages_)
    if (auto event = box::event_of(message)) unread.push_back(std::move(*event));
  messages_.clear();
  const auto mine = board_.lines_.find(box_);
  if (mine != board_.lines_.end() && mine->second == this) board_.lines_.erase(mine);
  return unread;
}

Result<void> Switchboard::Line::tell(std::string_view message, std::span<const int> fds) {
  return board_.warden_.tell(message, fds);
}

Result<sys::Message> Switchboard::Line::receive(Deadline deadline) {
  for (;;) {
    {
      const std::lock_guard lock(board_.mutex_);
      if (!messages_.empty()) {
        sys::Message message = std::move(messages_.front());
        messages_.pop_front();
        eventfd_t one = 0;
        (void)::eventfd_read(ready_.get(), &one);
        return message;
      }
      if (lost_) return fail(ErrorCode::kUnavailable, "the warden is gone");
    }
    if (!TRY(sys::wait_readable(ready_, deadline)))
      return fail(ErrorCode::kDeadline, "the warden does not answer");
  }
}

}  // namespace casemate::engine
