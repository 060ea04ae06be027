// The program of the connectors of kind "http": started by casemate, and spoken to over its standard input
// and output. A program of its own so that nothing else links libcurl and what that brings, and so that what
// reads a server's answers has no right that casemate has.
#include <unistd.h>

#include <cstdio>

#include "http/confine.h"
#include "http/serve.h"
#include "sys/fd.h"

int main(int argc, char**) {
  if (argc > 1) {
    std::puts(
        "casemate-http serves the connectors of kind \"http\" in a tools file, and is started by casemate:\n"
        "  casemate run --tools tools.toml --policy policy.toml program.py\n"
        "It takes no arguments. docs/tools.md says what such a connector is.");
    return 2;
  }
  const auto confined = casemate::http::confine();
  const casemate::sys::Fd in(STDIN_FILENO), out(STDOUT_FILENO);
  if (const auto served = casemate::http::serve(in, out, confined); !served) {
    std::fprintf(stderr, "casemate-http: %s\n", served.error().message.c_str());
    return 1;
  }
  return 0;
}
