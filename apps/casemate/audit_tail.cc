// Following is waiting: inotify(7) says that something in a writer's directory or among the writers changed,
// and then every writer is read on from where it was. What is half written has no line end and waits for the
// next time.
#include "audit_tail.h"

#include <poll.h>
#include <sys/inotify.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "audit/layout.h"
#include "audit/line.h"
#include "audit/segment.h"
#include "audit_output.h"
#include "sys/fd.h"

namespace casemate {
namespace {

using audit::Cursor;
using audit::Place;

constexpr milliseconds kLookAgain{60'000};

struct Shown {
  audit::Time at;
  std::string text;
};

class Tail {
 public:
  explicit Tail(const TailOptions& options) : options_(options) {}

  Result<void> run() {
    audit_ = TRY(audit::open_audit_directory(options_.directory));
    if (options_.follow) TRY(begin_watching());
    TRY(show_last());
    while (options_.follow) {
      TRY(show_new());
      TRY(wait());
    }
    return {};
  }

 private:
  Result<std::vector<std::string>> writers() const {
    if (options_.writer.empty()) return audit::writer_names(audit_);
    return std::vector{options_.writer};
  }

  Result<void> show_last() {
    std::vector<Shown> last;
    const std::vector<std::string> names = TRY(writers());
    for (const std::string& name : names) {
      sys::Fd directory = TRY(open_writer(name));
      const Place from = TRY(audit::place_of_last(directory, options_.lines));
      Cursor cursor(std::move(directory), from);
      std::string_view line;
      while (TRY(cursor.next(line))) last.push_back({time_of(line), text_of(name, line)});
      places_[name] = cursor.place();
      std::stable_sort(last.begin(), last.end(), [](const Shown& a, const Shown& b) { return a.at < b.at; });
      if (last.size() > options_.lines)
        last.erase(last.begin(), last.end() - static_cast<std::ptrdiff_t>(options_.lines));
    }
    for (const Shown& shown : last) TRY(print(shown.text));
    return flush();
  }

  Result<void> show_new() {
    const std::vector<std::string> names = TRY(writers());
    for (const std::string& name : names) {
      TRY(watch(std::string(audit::kWritersName) + "/" + name));
      Place& place = places_[name];
      Cursor cursor(TRY(open_writer(name)), place);
      std::string_view line;
      while (TRY(cursor.next(line))) TRY(print(text_of(name, line)));
      place = cursor.place();
    }
    return flush();
  }

  Result<sys::Fd> open_writer(const std::string& name) const {
    if (!audit::is_writer_name(name)) return fail(ErrorCode::kInvalid, "'" + name + "' is no writer's name");
    auto directory = audit::open_chain_directory(audit_, audit::writer_path(name));
    if (!directory && directory.error().errno_value == ENOENT)
      return fail(ErrorCode::kNotFound, "there is no writer " + name);
    return directory;
  }

  static audit::Time time_of(std::string_view line) {
    const auto parsed = audit::parse_line(line);
    return parsed ? parsed->at : audit::Time{};
  }
  std::string text_of(const std::string& name, std::string_view line) const {
    return options_.json ? audit_record_json(name, line) + "\n" : audit_record_text(name, line);
  }
  static Result<void> print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) return fail_errno("write");
    return {};
  }
  static Result<void> flush() {
    if (std::fflush(stdout) != 0) return fail_errno("write");
    return {};
  }

  Result<void> begin_watching() {
    events_ = sys::Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!events_) return fail_errno("inotify_init1");
    return watch(audit::kWritersName);
  }
  // Watching what is watched already changes nothing.
  Result<void> watch(const std::string& below) const {
    const std::string path = options_.directory + "/" + below;
    if (::inotify_add_watch(events_.get(), path.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0)
      return fail_errno("watch " + path);
    return {};
  }
  Result<void> wait() {
    (void)TRY(sys::wait_readable(events_, Deadline::in(kLookAgain)));  // looking once too often does no harm
    std::vector<char> ignored(4096);
    while (auto got = sys::read_some(events_, ignored)) {
      if (*got == 0) break;
    }
    return {};
  }

  const TailOptions& options_;
  sys::Fd audit_;
  sys::Fd events_;
  std::map<std::string, Place> places_;
};

}  // namespace

Result<void> audit_tail(const TailOptions& options) { return Tail(options).run(); }

}  // namespace casemate
