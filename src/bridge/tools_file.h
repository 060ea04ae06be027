// The tools file: capabilities and what gives them their bodies. docs/tools.md has its form.
//
//     [connectors.books]
//     kind = "exec"
//     command = ["/usr/bin/python3", "books.py"]
//     unboxed = true
//
//     [[tools]]
//     name = "ledger.read"
//     description = "The ledger of one tenant."
//     connector = "books"
//     arguments = '''{"type": "object", "properties": {"tenant": {"type": "string"}}, "required":
//     ["tenant"]}'''
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bridge/toolbox.h"
#include "toml/document.h"

namespace casemate::bridge {

// An HTTP endpoint as the file says it. All of it is checked but what only the host knows: whether the
// variables and the file are there.
struct HttpSpec {
  struct Header {
    std::string name;
    std::string value;  // of headers_from_env: the name of a variable of our environment
  };
  std::string url;
  std::vector<Header> headers;
  std::vector<Header> headers_from_env;
  std::string ca_file;  // of the certificates to trust instead of the system's; empty: the system's
};

// What gives capabilities their bodies, as the file says it. connect makes the thing itself.
struct ConnectorSpec {
  enum class Kind { kExec, kHttp, kCaller };
  std::string name;
  Kind kind = Kind::kExec;
  std::vector<std::string> command;  // kExec: not empty. It has no box, which needs the weakening
  HttpSpec http;                     // kHttp
  std::size_t parallel = 16;         // calls at once
};

struct ToolsFile {
  std::vector<Tool> tools;              // without their connectors
  std::vector<std::string> connectors;  // of each tool, by name
  std::vector<ConnectorSpec> specs;
  std::vector<toml::Mistake> mistakes;  // all of them, in the order of the file; none: the above is whole
};

// Pure. Its time and memory are bounded by kToolsFileMax and kToolsMax.
ToolsFile read_tools_file(std::string_view text);

}  // namespace casemate::bridge
