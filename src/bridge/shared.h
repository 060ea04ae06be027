// What a bridge shares with the threads that work for it, and with who answers its questions.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/bridge.h"
#include "bridge/perform.h"
#include "json/value.h"

namespace casemate::bridge {

struct Bridge::Done {
  std::shared_ptr<Job> job;
  Performed performed;
};

struct Bridge::Settled {
  std::string id;
  approve::Answer answer;
};

// They hold on to it, so it may outlive the bridge.
struct Bridge::Shared {
  sys::Fd finished;  // an eventfd
  std::mutex mutex;
  std::vector<Done> done;
  std::vector<Settled> settled;
  bool over = false;  // nobody takes these any more
};

// Where a call leads, for its record: what is not text there is told as none.
std::string destination_of(const Tool& tool, const json::Value& arguments);

}  // namespace casemate::bridge
