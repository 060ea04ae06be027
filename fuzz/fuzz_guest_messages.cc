// The launcher of a microvm between an engine and a guest that says what it likes and is then gone: it comes
// to an end, gives the engine no more than the guest said, and makes files beneath the layer alone.
//
// Input: the guest's messages (guest/microvm/channel.h).
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "frame/frame.h"
#include "fuzz.h"
#include "microvm/relay.h"
#include "sys/test_support.h"

namespace casemate::guest {
namespace {

namespace fs = std::filesystem;

// What fits in a pipe and a socket that nobody reads: whatever is handed on, nobody waits.
constexpr std::size_t kInputMax = std::size_t{48} << 10;

struct Pair {
  explicit Pair(bool pipe) {
    const int made = pipe ? ::pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK)
                          : ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data());
    FUZZ_CHECK(made == 0);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    for (const int fd : fds) (void)::close(fd);
  }
  std::string read_all() const {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::read(fds[0], buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(got));
    return text;
  }
  std::array<int, 2> fds{};
};

// The layer, and beside it nothing.
class Layer {
 public:
  std::string path() {
    fs::remove_all(dir_ / "vol");
    fs::create_directory(dir_ / "vol");
    return dir_ / "vol";
  }
  void check() const {
    std::size_t beside = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(dir_.path())) ++beside;
    FUZZ_CHECK(beside == 1);
  }

 private:
  sys::TestDir dir_;
};

void run(std::string_view said) {
  static Layer layer;
  const Pair control(false), out(true), err(true), port(false);
  FUZZ_CHECK(::write(port.fds[0], said.data(), said.size()) == static_cast<ssize_t>(said.size()));
  FUZZ_CHECK(::shutdown(port.fds[0], SHUT_WR) == 0);
  const std::size_t before = sys::open_descriptors();
  {
    Relay relay({control.fds[1], out.fds[1], err.fds[1], port.fds[1], layer.path()}, nullptr,
                casemate::guest::Nonce{});
    (void)relay.carry();
  }
  FUZZ_CHECK(sys::open_descriptors() == before);
  layer.check();
  const std::string frames = control.read_all();
  FUZZ_CHECK(out.read_all().size() + err.read_all().size() + frames.size() <=
             said.size() + frame::kHeaderSize);
  frame::Reader reader;
  frame::Frame frame;
  FUZZ_CHECK(reader.feed(frames).has_value());
  for (Result<bool> next = true; next && *next;) {
    next = reader.next(frame);
    if (next && *next) FUZZ_CHECK(frame.type != static_cast<std::uint16_t>(frame::GuestType::kEnded));
    if (next && !*next) FUZZ_CHECK(!reader.partial());
  }
}

}  // namespace
}  // namespace casemate::guest

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  casemate::guest::run(casemate::fuzz::view(data, size).substr(0, casemate::guest::kInputMax));
  return 0;
}
