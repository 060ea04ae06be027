// Where calls wait for a person: what policy would have asked about, until it is answered.
//
// A question waits, and is then settled exactly once: allowed, denied, out of time, or its run is over. Who
// answers may be any thread, and any number of people at once; the first answer counts, and each later one is
// told what has become of the question. Nothing here waits or has a thread: who asks is called back.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace casemate::approve {

inline constexpr std::size_t kPendingMax = 256;   // that wait at once, of all runs
inline constexpr std::size_t kSettledMax = 1024;  // of which it is remembered what became of them
inline constexpr std::size_t kWordsMax = 512;     // bytes of a person's reason

// What a person is asked. All but the rule is what a program, or a peer of it, has shaped.
struct Question {
  std::string id;  // the call's
  std::string run;
  std::string capability;
  std::string arguments;                                      // JSON
  std::vector<std::pair<std::string, std::string>> labels{};  // of the run, each with what brought it
  std::string rule{}, reason{};                               // of the verdict
};

struct Answer {
  enum class Kind { kAllow, kDeny, kExpired, kOver };
  Kind kind = Kind::kDeny;
  std::string by;                          // "terminal", "approvals"
  std::string reason{};                    // a person's, cut to kWordsMax
  std::optional<std::string> arguments{};  // allowed, but with these
};

// Whether the call could be made with such arguments; then as the capability's schema names them.
using Check = std::function<Result<std::string>(const std::string& arguments)>;
// Called once, on the thread that settles it, which holds the desk: it must not come back to it.
using Settle = std::function<void(Answer answer)>;

// Thread-safe.
class Desk {
 public:
  struct Pending {
    std::shared_ptr<const Question> question;
    Instant asked_at;
    Deadline until;
  };

  // Errors: exhausted (kPendingMax wait), invalid (there is or was one of this id).
  Result<void> ask(Question question, Instant at, Deadline until, Check check, Settle settle);
  // Those that wait, oldest first.
  std::vector<Pending> pending() const;
  // Errors: as answer().
  Result<Pending> find(std::string_view id) const;
  // The kind must be kAllow or kDeny. Errors: not_found, invalid (its arguments, which leaves the question
  // waiting), denied (it is settled already, or out of time: the message says how).
  Result<void> answer(std::string_view id, Answer answer, Instant at);
  // Settles those whose time is over.
  void expire(Instant at);
  // Settles all of a run. No callback of that run comes after it.
  void close(std::string_view run);

 private:
  struct Waiting {
    Pending pending;
    Check check;
    Settle settle;
  };
  using Map = std::map<std::string, Waiting, std::less<>>;
  void settle(Map::iterator which, Answer answer);
  Error why_not(std::string_view id) const;

  mutable std::mutex mutex_;
  Map waiting_;
  std::deque<std::pair<std::string, std::string>> settled_;  // its id, and what has become of it
};

}  // namespace casemate::approve
