#include "engine/collect.h"

#include <utility>

#include "crypto/random.h"
#include "outcome/guest_report.h"

namespace casemate::engine {
namespace {

using outcome::Outcome;
using outcome::Stream;

constexpr const char* kWithheld = "(withheld)";

std::uint64_t bytes_of(const std::vector<outcome::ResultForm>& forms) {
  std::uint64_t bytes = 0;
  for (const outcome::ResultForm& form : forms) bytes += form.text.size();
  return bytes;
}

// Nothing of it is the program's word, its name neither.
Products::Stored withheld_product() {
  Products::Stored stored;
  stored.artifact.id = "art_" + crypto::random_hex(6);
  stored.artifact.name = kWithheld;
  stored.artifact.state = outcome::ArtifactState::kFailed;
  stored.artifact.description = "withheld by policy";
  return stored;
}

}  // namespace

void take_output(const LiveRun& run, Outcome& result) {
  static_cast<outcome::StreamText&>(result.stdout_text) = run.capture().text(Stream::kStdout);
  static_cast<outcome::StreamText&>(result.stderr_text) = run.capture().text(Stream::kStderr);
  result.output = run.capture().combined();
}

void take_ending(LiveRun& run, const outcome::Observed& observed, Outcome& result) {
  result.ending = outcome::decide(observed);
  auto& exception = result.ending.exception;
  if (!exception || run.lets(policy::PseudoSink::kStdout, exception->message.size())) return;
  exception = outcome::Exception{};
  exception->type = kWithheld;
}

void take_result(LiveRun& run, Outcome& result) {
  const auto& told = run.report().result();
  if (told && run.lets(policy::PseudoSink::kResult, bytes_of(told->forms))) result.result = told->forms;
}

void collect(const Request& request, LiveRun& run, Products& products, const Products::OpenInLayer& open,
             Outcome& result, outcome::Observed& observed) {
  const auto keep = [&](Products::Stored stored) {
    if (stored.ours) ++observed.artifacts_not_stored;
    stored.artifact.volume_id = result.volume.id;
    result.artifacts.push_back(std::move(stored.artifact));
  };
  for (const outcome::GuestArtifact& wanted : manifest(run.report().artifacts(), request.artifacts))
    keep(run.lets(policy::PseudoSink::kArtifact, 1) ? products.store(wanted, open) : withheld_product());
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    auto& text = stream == Stream::kStdout ? result.stdout_text : result.stderr_text;
    // Bytes that are not text are kept exactly beside the text that stands for them.
    if (text.lossy && !text.truncated) products.spool(stream, run.capture().exact(stream));
    auto stored = products.finish_stream(stream);
    if (!stored) continue;
    if (stored->artifact.state == outcome::ArtifactState::kStored) text.artifact = stored->artifact.id;
    keep(std::move(*stored));
  }
  result.artifacts_left_out = run.report().artifacts_left_out();
}

}  // namespace casemate::engine
