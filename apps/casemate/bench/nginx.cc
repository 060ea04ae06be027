#include "bench/nginx.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/clock.h"
#include "sys/fd.h"

namespace casemate::bench {
namespace {

constexpr const char* kProgram = "/usr/sbin/nginx";
// Of util-linux, which every Debian has: nginx does not outlive us, however we end.
constexpr const char* kWithUs = "/usr/bin/setpriv";
constexpr milliseconds kStartTime{10'000};
constexpr milliseconds kLookAgain{5};

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Result<sys::Fd> make_socket() {
  sys::Fd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!made) return fail_errno("make a socket");
  return made;
}

// One that nobody has now. nginx cannot be told to take any: if somebody else takes it meanwhile, it ends.
Result<std::uint16_t> free_port() {
  const sys::Fd bound = TRY(make_socket());
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  if (::bind(bound.get(), reinterpret_cast<const sockaddr*>(&address), size) < 0 ||
      ::getsockname(bound.get(), reinterpret_cast<sockaddr*>(&address), &size) < 0)
    return fail_errno("find a free port");
  return ntohs(address.sin_port);
}

std::string configuration(const std::string& folder, std::uint16_t port) {
  std::string text =
      "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr crit;\n"
      "events { worker_connections 1024; }\nhttp {\n  access_log off;\n"
      "  keepalive_requests 1000000000;\n  keepalive_timeout 10m;\n";
  for (const char* what : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"})
    text += std::string("  ") + what + "_temp_path " + folder + "/unused;\n";
  return text + "  server { listen 127.0.0.1:" + std::to_string(port) +
         "; location / { default_type text/plain; return 200 \"1\"; } }\n}\n";
}

bool answers(std::uint16_t port) {
  const auto tried = make_socket();
  const sockaddr_in address = loopback(port);
  return tried && ::connect(tried->get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace

std::string Nginx::find() { return ::access(kProgram, X_OK) == 0 ? kProgram : ""; }

Result<Nginx> Nginx::start(const std::string& program, const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) < 0 && errno != EEXIST) return fail_errno("make " + folder);
  const std::uint16_t port = TRY(free_port());
  const std::string file = folder + "/nginx.conf";
  {
    const sys::Fd conf = TRY(sys::open_at(AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    TRY(sys::write_all(conf, configuration(folder, port), Deadline::in(milliseconds{5000})));
  }
  sys::SpawnOptions options;
  options.program = kWithUs;
  options.arguments = {"setpriv", "--pdeathsig", "KILL", program, "-p", folder, "-c", file, "-e", "stderr"};
  options.environment = {"PATH=/usr/bin:/bin"};
  options.new_session = true;
  Nginx nginx(TRY(sys::spawn(options)), port);
  // Nothing tells us that a stranger listens but an answer.
  const Deadline deadline = Deadline::in(kStartTime);
  while (!answers(port)) {
    if (TRY(nginx.child_.poll())) return fail(ErrorCode::kUnavailable, "nginx does not start here");
    if (deadline.passed(now())) return fail(ErrorCode::kUnavailable, "nginx does not answer");
    std::this_thread::sleep_for(kLookAgain);
  }
  return nginx;
}

}  // namespace casemate::bench
