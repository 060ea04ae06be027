#include "connect/connectors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "connect/exec_connector.h"
#include "json/writer.h"
#include "sys/fd.h"
#include "url/url.h"

namespace casemate::connect {
namespace {

constexpr std::size_t kCaFileMax = std::size_t{1} << 20;

// What a program finds of our own environment: what it needs to start, and nothing that may be a secret.
std::vector<std::string> bare_environment() {
  std::vector<std::string> environment;
  for (const char* name : {"PATH", "HOME", "LANG", "TMPDIR"}) {
    if (const char* value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

tl::unexpected<Error> invalid(const bridge::ConnectorSpec& spec, const std::string& what) {
  return fail(ErrorCode::kInvalid, "connectors." + spec.name + ": " + what);
}

Result<std::string> read_ca_file(const std::string& name, const std::string& folder) {
  const std::string path = name.starts_with("/") ? name : folder + "/" + name;
  return sys::read_file_at(AT_FDCWD, path, kCaFileMax);
}

// The one line that tells casemate-http what it serves (src/http/config.h). On its standard input, since
// others can read arguments, and an environment outlives its use.
Result<Secret> first_line(const bridge::ConnectorSpec& spec, const Places& places, Bytes answer_max) {
  json::Writer writer;
  writer.begin_object().field("url", spec.http.url).field("parallel", spec.parallel);
  writer.field("answer_max_bytes", answer_max.count);
  if (!spec.http.ca_file.empty()) {
    const auto certificates = read_ca_file(spec.http.ca_file, places.folder);
    if (!certificates) return invalid(spec, "ca_file: " + certificates.error().message);
    writer.field("ca", *certificates);
  }
  writer.key("headers").begin_object();
  for (const auto& header : spec.http.headers) writer.field(header.name, header.value);
  writer.end_object().key("secret_headers").begin_object();
  for (const auto& header : spec.http.headers_from_env) {
    const char* value = std::getenv(header.value.c_str());
    if (value == nullptr)
      return invalid(spec, "headers_from_env." + header.name + ": the environment has no " + header.value);
    if (const auto valid = url::check_header_value(value); !valid)
      return invalid(spec, "headers_from_env." + header.name + ": what the environment has as " +
                               header.value + " " + valid.error().message);
    writer.field(header.name, value);
  }
  writer.end_object().end_object();
  return Secret(std::move(writer).take() + "\n");
}

Result<std::shared_ptr<bridge::Connector>> make_http(const bridge::ConnectorSpec& spec,
                                                     const Places& places) {
  if (::access(places.http_program.c_str(), X_OK) != 0)
    return fail(ErrorCode::kNotFound,
                "a part of casemate is missing: " + places.http_program + "; build or install it again");
  ExecOptions options;
  options.command = {places.http_program};
  options.called = "casemate-http";
  options.folder = "/";
  options.parallel = spec.parallel;
  options.first_line = TRY(first_line(spec, places, options.answer_max));
  return std::make_shared<ExecConnector>(std::move(options));
}

}  // namespace

Result<std::shared_ptr<bridge::Connector>> make_connector(const bridge::ConnectorSpec& spec,
                                                          const Places& places) {
  switch (spec.kind) {
    case bridge::ConnectorSpec::Kind::kExec: {
      ExecOptions options;
      options.command = spec.command;
      options.called = spec.command.front();
      options.environment = bare_environment();
      options.folder = places.folder;
      options.parallel = spec.parallel;
      return std::make_shared<ExecConnector>(std::move(options));
    }
    case bridge::ConnectorSpec::Kind::kHttp: return make_http(spec, places);
    case bridge::ConnectorSpec::Kind::kCaller: break;
  }
  return invalid(
      spec,
      "kind \"caller\" is for a program that uses the engine itself; the command line has nobody to "
      "answer");
}

}  // namespace casemate::connect
