#include "http_server/roster.h"

#include <sys/socket.h>

namespace casemate::http_server {

void Roster::cut(Place place) {
  (void)::shutdown(place->fd, SHUT_RDWR);  // it may be broken already, which is as good
  std::list<Seat>& cut = list_of(Stage::kCut);
  cut.splice(cut.end(), list_of(place->stage), place);
  place->stage = Stage::kCut;
}

Roster::Place Roster::enter(const sys::Fd& socket) {
  const std::lock_guard lock(mutex_);
  std::list<Seat>& waiting = list_of(Stage::kNew);
  const Place place = waiting.insert(waiting.end(), Seat{socket.get(), Stage::kNew});
  if (draining_) cut(place);
  return place;
}

void Roster::leave(Place place) {
  const std::lock_guard lock(mutex_);
  list_of(place->stage).erase(place);
}

bool Roster::move(Place place, Stage stage) {
  const std::lock_guard lock(mutex_);
  if (place->stage == Stage::kCut) return false;
  if (draining_ && stage == Stage::kIdle) {
    cut(place);
    return false;
  }
  std::list<Seat>& to = list_of(stage);
  to.splice(to.end(), list_of(place->stage), place);
  place->stage = stage;
  return true;
}

bool Roster::cut_one_waiting() {
  const std::lock_guard lock(mutex_);
  for (const Stage stage : {Stage::kNew, Stage::kIdle, Stage::kReading}) {
    if (list_of(stage).empty()) continue;
    cut(list_of(stage).begin());
    return true;
  }
  return false;
}

void Roster::drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  for (const Stage stage : {Stage::kNew, Stage::kIdle})
    while (!list_of(stage).empty()) cut(list_of(stage).begin());
}

std::size_t Roster::cut_all() {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const Stage stage : {Stage::kNew, Stage::kIdle, Stage::kReading, Stage::kBusy}) {
    for (; !list_of(stage).empty(); ++count) cut(list_of(stage).begin());
  }
  return count;
}

}  // namespace casemate::http_server
