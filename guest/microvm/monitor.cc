#include "microvm/monitor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "microvm/machine.h"

namespace casemate::guest {
namespace {

constexpr std::size_t kLineMax = std::size_t{1} << 20;
// RAM lies in a file that is shared, or private to a machine restored from it: it is not part of what is
// saved.
constexpr const char* kKeepMemory = R"({"execute":"migrate-set-capabilities","arguments":{"capabilities":[)"
                                    R"({"capability":"x-ignore-shared","state":true}]}})";
constexpr const char* kTakeFile = R"({"execute":"getfd","arguments":{"fdname":"state"}})";

}  // namespace

void Monitor::send(std::string_view text, int with_file) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (with_file >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &with_file, sizeof(int));
  }
  if (::sendmsg(fd_, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) die("speak to QEMU");
}

std::string Monitor::line() {
  for (;;) {
    if (const std::size_t end = held_.find('\n'); end != std::string::npos) {
      std::string text = held_.substr(0, end);
      held_.erase(0, end + 1);
      return text;
    }
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = ECONNRESET;
    if (got > 0 && held_.size() > kLineMax) errno = EMSGSIZE;
    if (got <= 0 || held_.size() > kLineMax) die("hear QEMU's monitor");
    held_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::string Monitor::ask(std::string_view command, int with_file) {
  send(command, with_file);
  for (;;) {
    std::string said = line();
    if (said.starts_with(R"({"return")")) return said;
    if (!said.starts_with(R"({"error")")) continue;  // an event
    errno = EPROTO;
    die(said.substr(0, 300).c_str());
  }
}

void Monitor::tell(std::string_view command) { send(command, -1); }

void Monitor::forget_answers() {
  held_.clear();
  std::array<char, 4096> buffer{};
  // As much as it may say in one line: one that never stops is not waited for.
  for (std::size_t taken = 0; taken < kLineMax; taken += buffer.size()) {
    if (::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT) <= 0) return;
  }
}

void Monitor::begin() {
  (void)line();
  (void)ask(R"({"execute":"qmp_capabilities"})");
  (void)ask(kKeepMemory);
}

void Monitor::wait_migrated() {
  for (;;) {
    const std::string said = ask(R"({"execute":"query-migrate"})");
    if (said.find(R"("status": "completed")") != std::string::npos) return;
    if (said.find(R"("status": "failed")") != std::string::npos) {
      errno = EIO;
      die(said.substr(0, 300).c_str());
    }
    const timespec pause{0, 1'000'000};
    (void)::nanosleep(&pause, nullptr);
  }
}

void Monitor::save(int file) {
  (void)ask(R"({"execute":"stop"})");
  (void)ask(kTakeFile, file);
  (void)ask(R"({"execute":"migrate","arguments":{"uri":"fd:state"}})");
  wait_migrated();
  tell(R"({"execute":"quit"})");
}

void Monitor::load(int file) {
  (void)ask(kTakeFile, file);
  (void)ask(R"({"execute":"migrate-incoming","arguments":{"uri":"fd:state"}})");
  wait_migrated();
}

}  // namespace casemate::guest
