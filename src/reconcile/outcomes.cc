#include "reconcile/outcomes.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>
#include <vector>

#include "crypto/sha256.h"
#include "json/reader.h"
#include "json/value.h"
#include "sys/fd.h"

namespace casemate::reconcile {
namespace {

constexpr std::size_t kOutcomeValuesMax = 2'000'000;
constexpr std::size_t kPathMax = 4096;

Result<std::string> text_in(const json::Value& object, std::string_view member, std::size_t most) {
  const json::Value* value = object.find(member);
  if (value == nullptr) return fail(ErrorCode::kInvalid, "it has no " + std::string(member));
  const std::string_view text = TRY(value->as_string());
  if (text.size() > most) return fail(ErrorCode::kInvalid, std::string(member) + " is too long");
  return std::string(text);
}

struct Checked {
  std::string id, fault;
};

Result<Checked> check_artifact(const json::Value& artifact) {
  Checked checked;
  checked.id = TRY(text_in(artifact, "id", kNameMax));
  const std::string state = TRY(text_in(artifact, "state", kNameMax));
  if (state == "failed") return checked;
  if (state != "stored") {
    checked.fault = "it is " + state;
    return checked;
  }
  const json::Value* bytes = artifact.find("bytes");
  if (bytes == nullptr) return fail(ErrorCode::kInvalid, "an artifact has no bytes");
  const std::string uri = TRY(text_in(artifact, "uri", kPathMax));
  const std::string digest = TRY(text_in(artifact, "sha256", kNameMax));
  checked.fault = fault_of_stored(uri, TRY(bytes->as_uint64()), digest);
  return checked;
}

struct Read {
  OutcomeFacts facts;
  std::vector<Checked> artifacts;
};

Result<Read> read_outcome(std::string_view text) {
  const json::Value value = TRY(json::read(text, {text.size(), json::kReaderDepthMax, kOutcomeValuesMax}));
  Read read;
  read.facts.run = TRY(text_in(value, "run_id", kNameMax));
  read.facts.box = TRY(text_in(value, "sandbox_id", kNameMax));
  read.facts.status = TRY(text_in(value, "status", kNameMax));
  const json::Value* artifacts = value.find("artifacts");
  if (artifacts == nullptr) return fail(ErrorCode::kInvalid, "it has no artifacts");
  for (const json::Value& artifact : artifacts->items())
    read.artifacts.push_back(TRY(check_artifact(artifact)));
  read.facts.artifacts = read.artifacts.size();
  if (const json::Value* left_out = value.find("artifacts_left_out"))
    read.facts.artifacts += TRY(left_out->as_uint64());
  return read;
}

}  // namespace

std::string fault_of_stored(const std::string& path, std::uint64_t bytes, std::string_view sha256) {
  const auto file = sys::open_at(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (!file) return "it is said to be stored, and cannot be opened: " + file.error().message;
  struct stat about {};
  if (::fstat(file->get(), &about) < 0 || !S_ISREG(about.st_mode)) return path + " is no regular file";
  if (static_cast<std::uint64_t>(about.st_size) != bytes)
    return path + " has " + std::to_string(about.st_size) + " bytes, and had " + std::to_string(bytes);
  const auto digest = crypto::sha256_hex_of(file->get());
  if (!digest) return path + ": " + digest.error().message;
  return *digest == sha256 ? "" : path + " is not what was stored: its digest is another";
}

Result<void> add_outcome(const SourceLine& line, Reconciler& to) {
  if (!line.fault.empty()) {
    to.unreadable(Question::kArtifacts, line.where, line.fault);
    return {};
  }
  auto read = read_outcome(line.text);
  if (!read) {
    to.unreadable(Question::kArtifacts, line.where, read.error().message);
    return {};
  }
  read->facts.where = line.where;
  TRY(to.add(read->facts));
  for (const Checked& artifact : read->artifacts)
    TRY(to.add_artifact(read->facts.run, artifact.id, artifact.fault));
  return {};
}

}  // namespace casemate::reconcile
