#include "doctor_command.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "engine/run.h"
#include "ensure_image.h"
#include "host_paths.h"
#include "json/utf8.h"
#include "json/writer.h"
#include "options.h"

namespace casemate {
namespace {

// One promise, or one rung: is it kept here, and if not, what would help.
struct Finding {
  std::string name;
  bool kept = false;
  std::string detail;
  std::string fix;
  bool promised = true;  // else casemate does without it, and it is no fault of the host
};

constexpr milliseconds kSlotTime{60'000};

constexpr const char* kExamples =
    "Examples:\n"
    "  casemate doctor            the rungs and promises of this host\n"
    "  casemate doctor --json     the same for a program\n"
    "  casemate doctor --inside   what a box sees: environment, mounts, writable paths, descriptors, "
    "network\n"
    "\n"
    "Exit codes: 0 every promise can be kept, 1 one cannot, 2 usage.";

// What the box itself is asked to look at. It prints one section per line of `[name]`.
constexpr const char* kInsideProgram = R"(import os, socket
def section(name): print('[' + name + ']')
section('identity')
print('uid', os.getuid(), 'gid', os.getgid(), 'groups', os.getgroups(), 'pid', os.getpid(), 'host', os.uname().nodename)
for line in open('/proc/self/status'):
    if line.startswith(('Cap', 'NoNewPrivs', 'Seccomp:')): print(line.rstrip().replace('\t', ' '))
section('environment')
for name in sorted(os.environ): print(name + '=' + os.environ[name])
section('mounts')
for line in open('/proc/self/mountinfo'):
    before, after = line.rstrip().split(' - ')
    print(before.split(' ')[4], after.split(' ')[0], before.split(' ')[5])
section('writable')
for root, dirs, files in os.walk('/'):
    if root == '/proc': dirs[:] = []
    if root in ('/vol', '/tmp', '/dev/shm'): dirs[:] = []
    if os.access(root, os.W_OK): print(root)
section('descriptors')
for fd in sorted(os.listdir('/proc/self/fd'), key=int):
    try: print(fd, os.readlink('/proc/self/fd/' + fd))
    except OSError: pass
section('processes')
print(' '.join(sorted((p for p in os.listdir('/proc') if p.isdigit()), key=int)))
section('network')
for line in open('/proc/self/net/dev') if os.path.exists('/proc/self/net/dev') else []:
    if ':' in line: print('interface', line.split(':')[0].strip())
)"
                                       R"(try:
    socket.create_connection(('192.0.2.1', 80), 2); print('192.0.2.1: reached')
except OSError as e: print('192.0.2.1:', e.strerror)
section('processors and memory')
print('processors', len(os.sched_getaffinity(0)), 'memory', os.environ.get('CASEMATE_MEMORY_BYTES'))
)";

// With what differs between them: docs/limits.md.
std::string cgroup_text(std::uint32_t kind) {
  const char* v1_memory = "; the buffers of sockets have a limit of their own, which makes a sender wait";
  switch (kind) {
    case 1: return std::string("v1") + v1_memory;
    case 2: return "v2; the buffers of sockets count as memory, and a box that is over it ends as a whole";
    case 3: return std::string("hybrid: limits on v1, lifecycle on v2") + v1_memory;
    default: return "none";
  }
}

// What this kernel's Landlock does not decide, and what stands alone there. landlock(7).
std::string landlock_text(std::uint32_t abi) {
  struct Since {
    std::uint32_t abi;
    const char* what;
  };
  std::string missing;
  for (const Since& since :
       {Since{3, "truncation"}, Since{5, "ioctls on devices"}, Since{6, "signals and abstract sockets"}}) {
    if (abi >= since.abi) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(since.what) + " (from ABI " +
               std::to_string(since.abi) + ")";
  }
  const std::string text = "Landlock ABI " + std::to_string(abi);
  if (missing.empty()) return text;
  return text + "; not decided by it here: " + missing +
         "; read-only mounts, the system-call table and namespaces stand alone there";
}

engine::Request probe(const char* program) {
  engine::Request request;
  request.program = program;
  request.program_name = "probe.py";
  request.trust = engine::Trust::kTrusted;
  request.limits.output = mib(1);
  return request;
}

class Doctor {
 public:
  explicit Doctor(std::string store) : store_(std::move(store)) {}

  // Looks at the host by doing: starts a warden, makes a box, destroys it.
  std::vector<Finding> examine();
  // Runs the inside program and prints what it says.
  int inside();

 private:
  Result<outcome::Outcome> run(const char* program, engine::Isolation isolation = engine::Isolation::kJail);
  // Makes a slot and runs in it.
  Result<outcome::Outcome> run_hot(const char* program);
  Finding slots();
  std::optional<std::string> kernel_of(engine::Isolation isolation, Finding& finding);
  Finding gvisor();
  Finding microvm();
  std::optional<engine::Engine> engine_;
  std::string store_;
};

Result<outcome::Outcome> Doctor::run(const char* program, engine::Isolation isolation) {
  if (!engine_) {
    const engine::Paths parts = TRY(find_parts("casemate-warden"));
    engine_.emplace(TRY(engine::Engine::start(parts, {})));
  }
  TRY(engine_->host());
  const image::ImageInfo image = TRY(ensure_image("python", store_));
  auto products = TRY(engine::Products::open({"casemate-out/doctor", false, mib(1)}));
  engine::Request request = probe(program);
  request.isolation = isolation;
  const auto rung = isolation == engine::Isolation::kMicrovm ? frame::Rung::kMicrovm : frame::Rung::kJail;
  return engine_->run(request, TRY(ensure_parts(image, store_, rung)), products, {});
}

Result<outcome::Outcome> Doctor::run_hot(const char* program) {
  const image::ImageInfo image = TRY(ensure_image("python", store_));
  const engine::Image in{image.digest, image.rootfs()};
  TRY(engine_->use_slots(pool::PoolConfig{}, 1));
  TRY(engine_->prepare(probe(program), in, 1, Deadline::in(kSlotTime)));
  auto products = TRY(engine::Products::open({"casemate-out/doctor", false, mib(1)}));
  outcome::Outcome outcome = engine_->run(probe(program), in, products, {});
  engine_->settle(outcome, Deadline::in(kSlotTime));
  return outcome;
}

Finding Doctor::slots() {
  Finding finding{"hot slots", false, "", "read the line; runs get new boxes meanwhile", /*promised=*/false};
  const auto outcome = run_hot("print(6 * 7)");
  if (!outcome) {
    finding.detail = outcome.error().message;
  } else if (outcome->timing.start != outcome::Start::kHot) {
    finding.detail = outcome->timing.cold_reason;
  } else if (outcome->ending.status != outcome::Status::kOk || outcome->stdout_text.text != "42\n" ||
             outcome->teardown != outcome::TeardownVerdict::kDestroyed) {
    finding.detail = outcome->report;
  } else {
    finding.kept = true;
    finding.detail = "a run took less than " + std::to_string(outcome->timing.execution_ms + 1) +
                     " ms in a box that was made before it";
  }
  return finding;
}

// What the kernel of such a box calls itself; nothing: why there was none is the finding's detail.
std::optional<std::string> Doctor::kernel_of(engine::Isolation isolation, Finding& finding) {
  const auto outcome = run("import os; print(6 * 7, os.uname().release)", isolation);
  if (!outcome) {
    finding.detail = outcome.error().message;
    return std::nullopt;
  }
  const std::string& text = outcome->stdout_text.text;
  if (outcome->ending.status == outcome::Status::kOk && text.starts_with("42 "))
    return text.substr(3, text.size() - 4);
  finding.detail = outcome->report;
  return std::nullopt;
}

Finding Doctor::gvisor() {
  Finding finding{"rung gvisor", false, "",
                  "install Debian's package runsc; or use --trust trusted for code that "
                  "you would review",
                  /*promised=*/false};
  const auto parts = find_parts("casemate-warden");
  if (!parts || !parts->rungs.no_gvisor.empty()) {
    finding.detail = parts ? parts->rungs.no_gvisor : parts.error().message;
    return finding;
  }
  finding.fix = "read the line; `runsc --version` may say more";
  if (const auto kernel = kernel_of(engine::Isolation::kGvisor, finding)) {
    finding.kept = true;
    finding.detail =
        "a box ran on a kernel of its own that calls itself " + *kernel + " (runsc, platform ptrace)";
  }
  return finding;
}

// Looks, and downloads nothing.
Finding Doctor::microvm() {
  Finding finding{"rung microvm", false, "", "install Debian's packages qemu-system-x86 and squashfs-tools",
                  /*promised=*/false};
  const auto parts = find_parts("casemate-warden");
  if (!parts || !parts->rungs.no_microvm.empty()) {
    finding.detail = parts ? parts->rungs.no_microvm : parts.error().message;
    return finding;
  }
  if (!has_image("microvm", store_)) {
    finding.detail = "its image is not made yet";
    finding.fix = "casemate image build microvm, or run something with --isolation microvm";
    return finding;
  }
  finding.fix = "read the line";
  if (const auto kernel = kernel_of(engine::Isolation::kMicrovm, finding)) {
    finding.kept = !parts->rungs.emulated;
    finding.detail = "a box ran on Linux " + *kernel + " on a machine of its own (QEMU)";
    if (!finding.kept)
      finding.detail += ", which is emulated and no boundary: it counts as the jail around it";
    finding.fix = "hardware virtualization (/dev/kvm), for which this version has no driver";
  }
  return finding;
}

std::vector<Finding> Doctor::examine() {
  std::vector<Finding> findings;
  const auto outcome = run("print(6 * 7)");
  if (!outcome) {
    findings.push_back({"rung jail", false, outcome.error().message, "see the line itself"});
  } else {
    const bool works = outcome->ending.status == outcome::Status::kOk && outcome->stdout_text.text == "42\n";
    const auto hello = engine_->host();
    findings.push_back({"rung jail", works, works ? "a box ran and was destroyed" : outcome->report,
                        works ? "" : "read the line; `dmesg` may say more"});
    findings.push_back({"proven teardown", outcome->teardown == outcome::TeardownVerdict::kDestroyed,
                        outcome->teardown == outcome::TeardownVerdict::kDestroyed
                            ? "processes reaped, groups removed"
                            : "something of the box is left",
                        "end the processes in the control groups named casemate.*"});
    if (hello) {
      findings.push_back(
          {"limits", true, std::string("control groups ") + cgroup_text(hello->cgroup_kind), ""});
      findings.push_back({"a user of its own for each box", true,
                          hello->by_root != 0 ? "outside ids from a range that nothing else uses"
                                              : "subordinate ids of this user",
                          ""});
      const bool own_devices = hello->by_root != 0;
      findings.push_back({"devices of its own for each box", own_devices,
                          own_devices ? "null, zero, full, random and urandom"
                                      : "the host's null, zero, full, random and urandom: boxes can watch "
                                        "and lock them",
                          "run it as root", /*promised=*/false});
      findings.push_back({"file access decided twice", true, landlock_text(hello->landlock_abi), ""});
      if (works) findings.push_back(slots());
    }
  }
  findings.push_back(gvisor());
  findings.push_back(microvm());
  return findings;
}

int Doctor::inside() {
  const auto outcome = run(kInsideProgram);
  if (!outcome) {
    std::fprintf(stderr, "casemate doctor: %s\n", json::escape_control(outcome.error().message).c_str());
    return 1;
  }
  std::fputs(json::escape_control(outcome->stdout_text.text).c_str(), stdout);
  if (outcome->ending.status == outcome::Status::kOk) return 0;
  std::fputs(json::escape_control(outcome->report).c_str(), stderr);
  return 1;
}

void print_json(const std::vector<Finding>& findings, const utsname& host) {
  json::Writer writer(json::Writer::Style::kPretty);
  writer.begin_object().field("kernel", host.release).key("findings").begin_array();
  for (const Finding& finding : findings) {
    writer.begin_object()
        .field("name", finding.name)
        .field("kept", finding.kept)
        .field("detail", finding.detail);
    if (!finding.kept) writer.field("fix", finding.fix);
    writer.end_object();
  }
  writer.end_array().end_object();
  std::puts(std::move(writer).take().c_str());
}

void print_table(const std::vector<Finding>& findings, const utsname& host) {
  std::printf("kernel %s, %s\n", host.release, ::geteuid() == 0 ? "as root" : "as an ordinary user");
  for (const Finding& finding : findings) {
    std::printf("  %-4s %-32s %s\n", finding.kept ? "yes" : "NO", finding.name.c_str(),
                json::escape_control(finding.detail).c_str());
    if (!finding.kept) std::printf("       %-32s fix: %s\n", "", finding.fix.c_str());
  }
}

}  // namespace

int doctor_command(int argc, char** argv) {
  bool inside = false;
  bool as_json = false;
  std::string store;
  const Command command{"casemate doctor",
                        "Says what this host gives, promise by promise, and how to fix what is missing.",
                        {},
                        {{"--inside", nullptr, "show what a box sees", &inside},
                         {"--json", nullptr, "one JSON document", &as_json},
                         {"--store", "DIR", "image store to use instead of the usual ones", &store}},
                        kExamples};
  if (const auto done = read_command(command, argc, argv)) return *done;
  Doctor doctor(store);
  if (inside) return doctor.inside();
  utsname host{};
  (void)::uname(&host);
  const std::vector<Finding> findings = doctor.examine();
  if (as_json) {
    print_json(findings, host);
  } else {
    print_table(findings, host);
  }
  for (const Finding& finding : findings) {
    if (!finding.kept && finding.promised) return 1;
  }
  return 0;
}

}  // namespace casemate
