#include "engine/products.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include "crypto/random.h"
#include "crypto/sha256.h"
#include "frame/layer_path.h"
#include "json/utf8.h"

namespace casemate::engine {
namespace {

constexpr milliseconds kWriteTime{60'000};

// A name that is safe as one path component and readable in a listing.
std::string safe_name(const std::string& wanted) {
  std::string name;
  for (const char c : wanted) {
    const auto byte = static_cast<unsigned char>(c);
    name.push_back(byte < 0x20 || byte == 0x7f || c == '/' ? '_' : c);
  }
  if (name.size() > 200) {
    name = name.substr(name.size() - 200);
    while (!name.empty() && (name.front() & 0xc0) == 0x80) name.erase(0, 1);  // half a UTF-8 character
  }
  // A name that begins with a dash is an option to somebody's next command. One that begins with a dot
  // is hidden, configures some program (.bashrc, .envrc), or is that of a product still being written.
  if (name.empty() || name.front() == '.' || name.front() == '-') name = "_" + name;
  return name;
}

// For a product whose declaration names no type: what its name says. The runner knows more of them.
std::string media_type_of(const std::string& name) {
  struct Known {
    std::string_view suffix;
    const char* type;
  };
  constexpr std::array<Known, 16> kKnown = {{
      {".csv", "text/csv"},
      {".gif", "image/gif"},
      {".html", "text/html"},
      {".jpeg", "image/jpeg"},
      {".jpg", "image/jpeg"},
      {".json", "application/json"},
      {".md", "text/markdown"},
      {".parquet", "application/vnd.apache.parquet"},
      {".pdf", "application/pdf"},
      {".png", "image/png"},
      {".svg", "image/svg+xml"},
      {".tar", "application/x-tar"},
      {".txt", "text/plain"},
      {".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
      {".xml", "application/xml"},
      {".zip", "application/zip"},
  }};
  for (const Known& known : kKnown) {
    if (name.ends_with(known.suffix)) return known.type;
  }
  return "application/octet-stream";
}

std::string numbered(const std::string& name, int number) {
  const std::size_t dot = name.rfind('.');
  const std::string suffix = "-" + std::to_string(number);
  if (dot == std::string::npos || dot == 0) return name + suffix;
  return name.substr(0, dot) + suffix + name.substr(dot);
}

}  // namespace

std::string shown_name(const std::string& path) {
  std::string_view bytes = std::string_view(path).substr(path.rfind('/') + 1);
  std::string name;
  while (!bytes.empty()) {
    const json::Char next = json::decode(bytes);
    if (next.kind == json::Char::Kind::kValid) {
      name += bytes.substr(0, next.size);
    } else {
      constexpr const char* kDigits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(bytes.front());
      name += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    bytes.remove_prefix(next.kind == json::Char::Kind::kValid ? next.size : 1);
  }
  return json::one_line(name, 1024);
}

std::vector<outcome::GuestArtifact> manifest(const std::vector<outcome::GuestArtifact>& declared,
                                             const std::vector<std::string>& named) {
  std::vector<outcome::GuestArtifact> wanted;
  std::map<std::string, std::size_t> places;
  const auto place_of = [&](const std::string& path) {
    const auto beneath = frame::path_beneath_layer(path);
    return places.try_emplace(beneath ? *beneath : path, wanted.size());
  };
  for (const outcome::GuestArtifact& artifact : declared) {
    const auto [place, is_new] = place_of(artifact.path);
    if (is_new) {
      wanted.push_back(artifact);
    } else if (!artifact.figure || wanted[place->second].figure) {
      wanted[place->second] = artifact;
    }
  }
  for (const std::string& path : named) {
    if (!place_of(path).second) continue;
    outcome::GuestArtifact artifact;
    artifact.path = path;
    artifact.name = shown_name(path);
    wanted.push_back(std::move(artifact));
  }
  return wanted;
}

Result<Products> Products::open(Options options) {
  Products products(std::move(options));
  if (products.options_.create_now) TRY(products.make_directory());
  return products;
}

Result<void> Products::make_directory() {
  if (directory_) return {};
  // Every directory on the way; what is there already is told by opening the last.
  const std::string& path = options_.directory;
  int failed = 0;
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    failed = ::mkdir(path.substr(0, end).c_str(), 0777) < 0 ? errno : 0;
  }
  auto opened = sys::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
  if (!opened) {
    const int why = failed == 0 || failed == EEXIST ? opened.error().errno_value : failed;
    return fail(ErrorCode::kDenied, "cannot make the directory '" + path + "': " + ::strerror(why));
  }
  directory_ = std::move(*opened);
  if (::faccessat(directory_.get(), ".", W_OK | X_OK, 0) < 0) {
    return fail(ErrorCode::kDenied,
                "cannot write in the directory '" + options_.directory + "'; name another with --out");
  }
  return {};
}

Result<sys::Fd> Products::create(const std::string& wanted, std::string& name) {
  TRY(make_directory());
  name = safe_name(wanted);
  for (int number = 2; std::find(names_.begin(), names_.end(), name) != names_.end(); ++number) {
    name = numbered(safe_name(wanted), number);
  }
  // A product of an earlier run is replaced whole: the new one is written beside it and renamed.
  (void)::unlinkat(directory_.get(), ("." + name + ".part").c_str(), 0);
  sys::Fd file = TRY(
      sys::open_at(directory_.get(), "." + name + ".part", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
  names_.push_back(name);
  return file;
}

Result<void> Products::copy(const sys::Fd& from, const sys::Fd& to, outcome::Artifact& artifact) {
  crypto::Sha256 digest;
  std::vector<char> chunk(256 << 10);
  for (;;) {
    // What the file says of its size is not believed: it is read until it ends or the budget does.
    const std::size_t got = TRY(sys::read_some(from, chunk));
    if (got == 0) break;
    if (used_ + got > options_.budget.count) {
      return fail(ErrorCode::kExhausted,
                  "the products of one run may have " + format_bytes(options_.budget) + " together");
    }
    used_ += got;
    artifact.bytes += got;
    const std::string_view bytes(chunk.data(), got);
    digest.update(bytes);
    TRY(sys::write_all(to, bytes, Deadline::in(kWriteTime)));
  }
  if (::fsync(to.get()) < 0) return fail_errno("fsync");
  artifact.sha256 = digest.finish_hex();
  return {};
}

Products::Stored Products::store(const outcome::GuestArtifact& declared, const OpenInLayer& open) {
  Stored stored;
  outcome::Artifact& artifact = stored.artifact;
  artifact.id = "art_" + crypto::random_hex(6);
  artifact.name = declared.name;
  artifact.summary = declared.summary;
  artifact.media_type = declared.media_type.empty() ? media_type_of(declared.name) : declared.media_type;
  artifact.state = outcome::ArtifactState::kFailed;

  auto path = frame::path_beneath_layer(declared.path);
  Result<sys::Fd> source = path ? open(*path) : Result<sys::Fd>(tl::unexpected<Error>(path.error()));
  if (!source) {
    artifact.description = "not stored: " + source.error().message;
    stored.ours =
        source.error().code == ErrorCode::kUnavailable || source.error().code == ErrorCode::kDeadline;
    return stored;
  }
  std::string name;
  auto file = create(declared.name, name);
  Result<void> done =
      file ? copy(*source, *file, artifact) : Result<void>(tl::unexpected<Error>(file.error()));
  if (done &&
      ::renameat(directory_.get(), ("." + name + ".part").c_str(), directory_.get(), name.c_str()) < 0) {
    done = fail_errno("rename");
  }
  if (!done) {
    if (file) (void)::unlinkat(directory_.get(), ("." + name + ".part").c_str(), 0);
    // What was written is gone again: a file that does not fit leaves the room to those that do.
    used_ -= artifact.bytes;
    artifact.bytes = 0;
    artifact.description = "not stored: " + done.error().message;
    stored.ours = done.error().code != ErrorCode::kExhausted;
    return stored;
  }
  artifact.state = outcome::ArtifactState::kStored;
  artifact.uri = options_.directory + "/" + name;
  return stored;
}

void Products::spool(outcome::Stream stream, std::string_view bytes) {
  Spool& spool = spools_[static_cast<std::size_t>(stream) - 1];
  if (spool.failed) return;
  if (!spool.file) {
    auto file = create(std::string(outcome::stream_name(stream)) + ".bin", spool.name);
    if (!file) {
      spool.failed = true;
      return;
    }
    spool.file = std::move(*file);
  }
  spool.failed = !sys::write_all(spool.file, bytes, Deadline::in(kWriteTime));
  spool.bytes += bytes.size();
}

std::optional<Products::Stored> Products::finish_stream(outcome::Stream stream) {
  Spool& spool = spools_[static_cast<std::size_t>(stream) - 1];
  if (!spool.file && !spool.failed) return std::nullopt;
  Stored stored;
  outcome::Artifact& artifact = stored.artifact;
  artifact.id = "art_" + crypto::random_hex(6);
  artifact.name = spool.name;
  artifact.media_type = "application/octet-stream";
  artifact.description = std::string("all of ") + outcome::stream_name(stream);
  artifact.bytes = spool.bytes;
  artifact.state = outcome::ArtifactState::kFailed;
  stored.ours = true;
  if (spool.failed) return stored;
  const std::string part = "." + spool.name + ".part";
  const auto reader = sys::open_at(directory_.get(), part, O_RDONLY | O_NOFOLLOW);
  if (!reader) return stored;
  if (const auto digest = crypto::sha256_hex_of(reader->get())) artifact.sha256 = *digest;
  if (::renameat(directory_.get(), part.c_str(), directory_.get(), spool.name.c_str()) < 0) return stored;
  artifact.state = outcome::ArtifactState::kStored;
  artifact.uri = options_.directory + "/" + spool.name;
  stored.ours = false;
  return stored;
}

}  // namespace casemate::engine
