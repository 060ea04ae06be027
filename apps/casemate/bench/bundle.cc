#include "bench/bundle.h"

#include "json/writer.h"

namespace casemate::bench {
namespace {

using json::Writer;

constexpr int kUser = 65'534;
// As casemate's own defaults.
constexpr std::uint64_t kMemoryMax = 512 << 20;
constexpr std::uint64_t kProcessesMax = 128;

void strings(Writer& writer, const char* key, const std::vector<std::string>& values) {
  writer.key(key).begin_array();
  for (const std::string& value : values) writer.value(value);
  writer.end_array();
}

void process(Writer& writer, const std::vector<std::string>& arguments,
             const std::vector<std::string>& environment) {
  writer.key("process").begin_object().field("terminal", false);
  writer.key("user").begin_object().field("uid", kUser).field("gid", kUser).end_object();
  strings(writer, "args", arguments);
  strings(writer, "env", environment);
  writer.field("cwd", "/tmp").field("noNewPrivileges", true).key("capabilities").begin_object();
  for (const char* set : {"bounding", "effective", "inheritable", "permitted", "ambient"})
    strings(writer, set, {});
  writer.end_object().end_object();
}

void mount(Writer& writer, const char* where, const char* type, const std::vector<std::string>& options) {
  writer.begin_object().field("destination", where).field("type", type).field("source", type);
  if (!options.empty()) strings(writer, "options", options);
  writer.end_object();
}

void linux_part(Writer& writer) {
  writer.key("linux").begin_object().key("namespaces").begin_array();
  for (const char* kind : {"pid", "network", "ipc", "uts", "mount"})
    writer.begin_object().field("type", kind).end_object();
  writer.end_array().key("resources").begin_object().key("devices").begin_array();
  writer.begin_object().field("allow", false).field("access", "rwm").end_object().end_array();
  writer.key("memory").begin_object().field("limit", kMemoryMax).end_object();
  writer.key("pids").begin_object().field("limit", kProcessesMax).end_object().end_object();
  strings(writer, "maskedPaths", {"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug"});
  strings(writer, "readonlyPaths",
          {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"});
  writer.end_object();
}

}  // namespace

std::string bundle_config(const std::string& rootfs, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment) {
  Writer writer;
  writer.begin_object().field("ociVersion", "1.0.2");
  process(writer, arguments, environment);
  writer.key("root").begin_object().field("path", rootfs).field("readonly", true).end_object();
  writer.field("hostname", "box").key("mounts").begin_array();
  mount(writer, "/proc", "proc", {});
  mount(writer, "/dev", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"});
  mount(writer, "/tmp", "tmpfs", {"nosuid", "nodev", "mode=1777"});
  writer.end_array();
  linux_part(writer);
  return std::move(writer.end_object()).take();
}

}  // namespace casemate::bench
