#include "engine/request.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/limits.h"

namespace casemate::engine {

const char* trust_name(Trust trust) {
  switch (trust) {
    case Trust::kTrusted: return "trusted";
    case Trust::kUntrusted: return "untrusted";
    case Trust::kHostile: return "hostile";
  }
  return "untrusted";
}

const char* isolation_name(Isolation isolation) {
  switch (isolation) {
    case Isolation::kAuto: return "auto";
    case Isolation::kJail: return "jail";
    case Isolation::kGvisor: return "gvisor";
    case Isolation::kMicrovm: return "microvm";
  }
  return "auto";
}

namespace {

constexpr std::string_view kWork = "/vol/work/";  // what a path below /work begins with in a box
constexpr std::size_t kOwnInodes = 16;            // what a layer has before its first file

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

// The parts of a path; the empty ones too.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

Result<void> check_path_below_work(const std::string& path, const char* what) {
  const auto bad = [&](const char* why) {
    return fail(ErrorCode::kInvalid, std::string(what) + " '" + path + "' " + why);
  };
  if (path.empty()) return fail(ErrorCode::kInvalid, std::string(what) + " has an empty path");
  if (has_nul(path)) return fail(ErrorCode::kInvalid, std::string(what) + "'s path has a NUL byte in it");
  if (path.size() + kWork.size() >= kPathMax) return bad("has a path that is too long");
  if (path.front() == '/') return bad("must be relative to /work");
  for (const std::string& part : parts_of(path)) {
    if (part == "..") return bad("leads out of /work");
    if (part.size() > 255) return bad("has a name that is longer than 255 bytes");
  }
  return {};
}

// What the runner, who puts the files in place, could only fail at: it would look like the program's end.
Result<void> check_input_files(const Request& request) {
  std::uint64_t together = 0;
  std::set<std::string> files;
  std::set<std::string> directories = {"out"};  // every box has it
  for (const InputFile& file : request.files) {
    TRY(check_path_below_work(file.path, "the input file"));
    const auto bad = [&](const std::string& why) {
      return fail(ErrorCode::kInvalid, "the input file '" + file.path + "' " + why);
    };
    if (!files.insert(file.path).second) return bad("is given twice");
    std::string directory;
    for (const std::string& part : parts_of(file.path)) {
      if (part.empty() || part == ".") return bad("has an empty part or a '.' in its path");
      if (!directory.empty()) directories.insert(directory);
      directory += (directory.empty() ? "" : "/") + part;
    }
    struct stat status {};
    if (::fstat(file.source.get(), &status) < 0) return fail_errno("look at the input file " + file.path);
    const Bytes size{static_cast<std::uint64_t>(status.st_size)};
    if (size > request.limits.file_size) {
      return bad("has " + format_bytes(size) + "; the file-size limit is " +
                 format_bytes(request.limits.file_size));
    }
    together += (size.count + 4095) / 4096 * 4096;  // whole pages
  }
  for (const std::string& path : files) {
    if (directories.contains(path)) {
      return fail(ErrorCode::kInvalid, "the input file '" + path + "' has the name of a directory in /work");
    }
  }
  if (files.size() + directories.size() + kOwnInodes > request.limits.inodes) {
    return fail(ErrorCode::kInvalid,
                "the input files need " + std::to_string(files.size() + directories.size()) +
                    " files and directories; a box has " + std::to_string(request.limits.inodes) +
                    ": pack them into an archive");
  }
  if (Bytes{together} > request.limits.disk) {
    return fail(ErrorCode::kInvalid, "the input files have " + format_bytes(Bytes{together}) +
                                         " together; the disk limit is " + format_bytes(request.limits.disk) +
                                         ", ask for more with --disk");
  }
  return {};
}

}  // namespace

Result<void> check_request(const Request& request) {
  if (request.program.size() > kProgramMax.count) {
    return fail(ErrorCode::kInvalid, "the program is " + format_bytes(Bytes{request.program.size()}) +
                                         "; at most " + format_bytes(kProgramMax) +
                                         " are taken: pass data with --file instead");
  }
  if (has_nul(request.program)) {
    return fail(ErrorCode::kInvalid, "the program has a NUL byte in it, so it is not source text");
  }
  if (request.arguments.size() > kArgumentsMax)
    return fail(ErrorCode::kInvalid, "there are too many arguments");
  std::size_t strings = 0;
  for (const std::string& argument : request.arguments) {
    if (has_nul(argument)) return fail(ErrorCode::kInvalid, "an argument has a NUL byte in it");
    strings += argument.size();
  }
  if (request.environment.size() > kEnvironmentMax) {
    return fail(ErrorCode::kInvalid, "there are too many environment variables");
  }
  for (const std::string& entry : request.environment) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos || has_nul(entry)) {
      return fail(ErrorCode::kInvalid, "--env takes NAME=VALUE, not '" + entry.substr(0, 80) + "'");
    }
    strings += entry.size();
  }
  if (strings > kFramePayloadMax / 2) {
    return fail(ErrorCode::kInvalid, "the arguments and environment are too long; pass data with --file");
  }
  if (request.files.size() > kInputFilesMax)
    return fail(ErrorCode::kInvalid, "there are too many input files");
  TRY(check_input_files(request));
  if (request.artifacts.size() > kArtifactsMax)
    return fail(ErrorCode::kInvalid, "there are too many artifacts");
  for (const std::string& path : request.artifacts) TRY(check_path_below_work(path, "the artifact"));
  if (request.sandbox == Sandbox::kShared && !request.artifacts.empty()) {
    return fail(ErrorCode::kInvalid, "a sandbox that runs share keeps no products: ask for the artifact '" +
                                         request.artifacts.front() + "' without --share-sandbox");
  }
  return box::check_limits(request.limits, box::this_machine());
}

outcome::LimitValues effective_limits(const box::Limits& limits) {
  outcome::LimitValues values;
  values.wall_ms = static_cast<std::uint64_t>(limits.wall.count());
  values.cpu_time_ms = static_cast<std::uint64_t>(limits.cpu_time.count());
  values.memory_bytes = limits.memory.count;
  values.output_bytes = limits.output.count;
  values.disk_bytes = limits.disk.count;
  values.inodes = limits.inodes;
  values.file_size_bytes = limits.file_size.count;
  values.pids = limits.pids;
  values.open_files = limits.open_files;
  values.cpus = static_cast<double>(limits.cpus_milli) / 1000;
  return values;
}

}  // namespace casemate::engine
