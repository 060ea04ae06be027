#include "box/warden_line.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace casemate::box {
namespace {

// For what is there already.
constexpr milliseconds kAtOnce{1000};

// First the arguments, then the environment, each ended by NUL.
Result<void> put_strings(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment,
                         std::array<char, frame::kStringsSize>& out) {
  std::size_t at = 0;
  for (const auto* list : {&arguments, &environment}) {
    for (const std::string& text : *list) {
      if (text.find('\0') != std::string::npos)
        return fail(ErrorCode::kInvalid, "an argument has a NUL byte in it");
      if (at + text.size() + 1 > out.size()) {
        return fail(ErrorCode::kInvalid, "the box's own arguments and environment are too long");
      }
      std::memcpy(out.data() + at, text.data(), text.size());
      at += text.size() + 1;  // the array is zero: the NUL is there
    }
  }
  return {};
}

}  // namespace

std::uint64_t subject_of(std::string_view message) {
  frame::WardenHeader header;
  if (message.size() < sizeof(header)) return 0;
  std::memcpy(&header, message.data(), sizeof(header));
  return header.box;
}

Result<void> WardenLine::make_box(std::uint64_t box, const BoxSpec& spec, const BoxEnds& ends) {
  frame::MakeBox message;
  message.header.box = box;
  message.memory_max_bytes = spec.limits.memory.count;
  message.disk_max_bytes = spec.limits.disk.count;
  message.disk_inodes_max = spec.limits.inodes;
  message.file_size_max_bytes = spec.limits.file_size.count;
  message.wall_max_ms = static_cast<std::uint64_t>(spec.limits.wall.count());
  message.cpu_time_max_ms = static_cast<std::uint64_t>(spec.limits.cpu_time.count());
  message.cpus_milli = spec.limits.cpus_milli;
  message.pids_max = spec.limits.pids;
  message.open_files_max = spec.limits.open_files;
  message.walls_off = spec.walls_off;
  message.fail_stage = spec.fail_stage;
  message.argument_count = static_cast<std::uint32_t>(spec.arguments.size());
  message.environment_count = static_cast<std::uint32_t>(spec.environment.size());
  TRY(put_strings(spec.arguments, spec.environment, message.strings));
  message.nest = spec.nest;
  message.rehearse = spec.rehearse ? 1 : 0;
  message.rung = spec.rung;
  message.parks = spec.parks ? 1 : 0;
  std::vector<int> fds = {ends.stdin_fd, ends.stdout_fd, ends.stderr_fd, ends.control};
  if (spec.nest == 0) fds.insert(fds.begin(), {ends.image, ends.guest});
  for (const int fd : ends.runtime) {
    if (fd < 0) continue;
    fds.push_back(fd);
    ++message.runtime_files;
  }
  return tell(frame::bytes_of(message), fds);
}

Result<void> WardenLine::end_box(std::uint64_t box, frame::EndCause cause) {
  frame::EndBox message;
  message.header.box = box;
  message.cause = cause;
  return tell(frame::bytes_of(message), {});
}

Result<void> WardenLine::make_nest(std::uint64_t nest, const NestSpec& spec, int image, int guest) {
  frame::MakeNest message;
  message.header.box = nest;
  message.memory_max_bytes = spec.memory.count;
  message.ready_max_ms = static_cast<std::uint64_t>(spec.ready_max.count());
  message.walls_off = spec.walls_off;
  message.argument_count = static_cast<std::uint32_t>(spec.arguments.size());
  message.environment_count = static_cast<std::uint32_t>(spec.environment.size());
  TRY(put_strings(spec.arguments, spec.environment, message.strings));
  const std::array<int, 2> fds = {image, guest};
  return tell(frame::bytes_of(message), fds);
}

Result<void> WardenLine::end_nest(std::uint64_t nest) {
  frame::EndNest message;
  message.header.box = nest;
  return tell(frame::bytes_of(message), {});
}

Result<void> WardenLine::park_box(std::uint64_t box) {
  frame::ParkBox message;
  message.header.box = box;
  return tell(frame::bytes_of(message), {});
}

Result<void> WardenLine::start_box(std::uint64_t box, milliseconds wall, milliseconds cpu_time,
                                   microseconds running) {
  frame::StartBox message;
  message.header.box = box;
  message.wall_max_ms = static_cast<std::uint64_t>(wall.count());
  message.cpu_time_max_ms = static_cast<std::uint64_t>(cpu_time.count());
  message.running_us = static_cast<std::uint64_t>(running.count());
  return tell(frame::bytes_of(message), {});
}

Result<void> WardenLine::freeze_box(std::uint64_t box, milliseconds most) {
  frame::FreezeBox message;
  message.header.box = box;
  message.freeze = 1;
  message.wait_max_ms = static_cast<std::uint64_t>(most.count());
  return tell(frame::bytes_of(message), {});
}

Result<void> WardenLine::thaw_box(std::uint64_t box) {
  frame::FreezeBox message;
  message.header.box = box;
  return tell(frame::bytes_of(message), {});
}

Result<void> WardenLine::begin_destroy(std::uint64_t box) {
  frame::DestroyBox message;
  message.header.box = box;
  return tell(frame::bytes_of(message), {});
}

Result<WardenEvent> event_of(sys::Message& message) {
  using frame::WardenType;
  const auto as = [&]<typename T>(T) -> Result<WardenEvent> {
    return WardenEvent(TRY(frame::parse_message<T>(message.bytes)));
  };
  switch (TRY(frame::warden_type(message.bytes))) {
    case WardenType::kBoxStarted: return as(frame::BoxStarted{});
    case WardenType::kBoxEnded: return as(frame::BoxEnded{});
    case WardenType::kBoxGone: return as(frame::BoxGone{});
    case WardenType::kBoxParked: {
      const auto parked = TRY(frame::parse_message<frame::BoxParked>(message.bytes));
      if (message.fds.empty()) return fail(ErrorCode::kInvalid, "a parked box without its descriptors");
      sys::Fd timer = std::move(message.fds.front());
      message.fds.erase(message.fds.begin());
      UsageFiles usage = TRY(UsageFiles::from(parked, std::move(message.fds)));
      return WardenEvent(Parked{parked.header, parked.walls_on, parked.setup_us, parked.outside_id,
                                parked.processor, std::move(timer), std::move(usage)});
    }
    case WardenType::kNestReady: return as(frame::NestReady{});
    case WardenType::kNestEnded: return as(frame::NestEnded{});
    case WardenType::kBoxFrozen: return as(frame::BoxFrozen{});
    case WardenType::kZygoteGone: return as(frame::ZygoteGone{});
    default: return WardenEvent(std::monostate{});
  }
}

Result<WardenEvent> WardenLine::next() {
  if (!events_.empty()) {
    WardenEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  sys::Message message = TRY(receive(Deadline::in(kAtOnce)));
  return event_of(message);
}

// About one box at a time: events of others that come first are kept.
template <typename T>
Result<T> WardenLine::await_answer(frame::WardenType type, std::uint64_t box, Deadline deadline,
                                   std::vector<sys::Fd>& fds) {
  for (;;) {
    sys::Message message = TRY(receive(deadline));
    frame::WardenHeader header;
    if (TRY(frame::warden_type(message.bytes)) == type) {
      std::memcpy(&header, message.bytes.data(), sizeof(header));
      if (header.box == box) {
        fds = std::move(message.fds);
        return frame::parse_message<T>(message.bytes);
      }
    }
    events_.push_back(TRY(event_of(message)));
  }
}

Result<sys::Fd> WardenLine::open_file(std::uint64_t box, const std::string& path, Deadline deadline) {
  frame::OpenFile request;
  request.header.box = box;
  if (path.size() >= request.path.size() || path.find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalid, "the path is too long or has a NUL byte in it");
  }
  frame::put_text(request.path, path);
  TRY(tell(frame::bytes_of(request), {}));
  std::vector<sys::Fd> fds;
  const auto answer =
      TRY(await_answer<frame::FileOpened>(frame::WardenType::kFileOpened, box, deadline, fds));
  switch (answer.errno_value) {
    case 0: break;
    case ENOENT: return fail(ErrorCode::kNotFound, "there is no such file");
    case EPERM:
      return fail(ErrorCode::kDenied,
                  "it is not a regular file with one name (a link, a pipe, a directory, ...)");
    default: return fail_errno("open it in the layer", static_cast<int>(answer.errno_value));
  }
  if (fds.size() != 1) return fail(ErrorCode::kUnavailable, "the warden sent no file");
  return std::move(fds.front());
}

Result<frame::BoxGone> WardenLine::destroy_box(std::uint64_t box, Deadline deadline) {
  TRY(begin_destroy(box));
  std::vector<sys::Fd> fds;
  return await_answer<frame::BoxGone>(frame::WardenType::kBoxGone, box, deadline, fds);
}

}  // namespace casemate::box
