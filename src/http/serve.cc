#include "http/serve.h"

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include "http/answer.h"
#include "http/client.h"
#include "http/config.h"

namespace casemate::http {
namespace {

constexpr std::size_t kReadChunk = std::size_t{64} << 10;
constexpr milliseconds kWriteTime{60'000};

class Server {
 public:
  Server(const sys::Fd& in, const sys::Fd& out, const Result<void>& confined) : in_(in), out_(out) {
    if (!confined) refused_ = confined.error().message;
  }

  Result<void> run() {
    TRY(sys::set_nonblocking(in_));
    for (;;) {
      if (client_)
        TRY(client_->wait(in_));
      else
        (void)TRY(sys::wait_readable(in_, Deadline::in(milliseconds{1000})));
      if (client_) lines_ += client_->take();
      if (!lines_.empty()) TRY(sys::write_all(out_, lines_, Deadline::in(kWriteTime)));
      lines_.clear();
      if (!TRY(read())) return {};
    }
  }

 private:
  // False: the caller is gone.
  Result<bool> read() {
    std::array<char, kReadChunk> buffer{};
    const auto got = sys::read_some(in_, buffer);
    if (!got && got.error().errno_value == EAGAIN) return true;
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) return false;
    const std::size_t before = held_.size();
    held_.append(buffer.data(), *got);
    std::size_t begin = 0;
    for (std::size_t end = held_.find('\n', before); end != std::string::npos;
         end = held_.find('\n', begin)) {
      TRY(take(held_.substr(begin, end - begin)));
      begin = end + 1;
    }
    held_.erase(0, begin);
    if (held_.size() > kConfigMax) return fail(ErrorCode::kInvalid, "a line is longer than may be");
    return true;
  }

  Result<void> take(std::string line) {
    if (!configured_) {
      configured_ = true;
      configure(line);
      return {};
    }
    const Asked asked = TRY(read_asked(line));
    if (refused_)
      lines_ += not_done(asked.id, *refused_);
    else
      client_->begin(asked, std::move(line));
    return {};
  }

  // What fails here is told to each call, which then knows that nothing was done.
  void configure(const std::string& line) {
    if (refused_) return;
    auto config = read_config(line);
    if (!config) {
      refused_ = config.error().message;
      return;
    }
    config_ = std::move(*config);
    auto client = Client::make(config_);
    if (client)
      client_ = std::move(*client);
    else
      refused_ = client.error().message;
  }

  const sys::Fd& in_;
  const sys::Fd& out_;
  std::optional<std::string> refused_;
  bool configured_ = false;
  Config config_;
  std::unique_ptr<Client> client_;  // of config_
  std::string held_;                // the beginning of a line
  std::string lines_;               // for the caller
};

}  // namespace

Result<void> serve(const sys::Fd& in, const sys::Fd& out, const Result<void>& confined) {
  return Server(in, out, confined).run();
}

}  // namespace casemate::http
