#include "image/unpacked.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <memory>

#include "crypto/sha256.h"
#include "image/program.h"
#include "image/store_files.h"
#include "image/tree.h"

namespace casemate::image {
namespace {

constexpr const char* kDpkgDeb = "/usr/bin/dpkg-deb";
constexpr const char* kDirectory = "package";  // in the draft
constexpr std::size_t kFetchedMax = 16;
constexpr milliseconds kWriteSpan{60'000};  // of one piece

// Ours, since a proxy is named there, but for the language of messages.
std::vector<std::string> environment() {
  std::vector<std::string> variables = {"LC_ALL=C"};
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable = *at;
    if (!variable.starts_with("LC_ALL=") && !variable.starts_with("LANGUAGE="))
      variables.emplace_back(variable);
  }
  return variables;
}

tl::unexpected<Error> no_package(const Recipe& recipe, const std::string& why) {
  return fail(ErrorCode::kUnavailable,
              why + "; try `apt-get update`, or give a package file that you have: casemate image build " +
                  recipe.name + " --kernel FILE.deb");
}

Result<std::string> ask_apt(const UnpackedPackage& unpacked, const std::string& package, Deadline deadline) {
  const sys::Fd top = TRY(sys::open_at(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY));
  return run_beside({{unpacked.apt_cache, "show", "--no-all-versions", package}, environment(), &top},
                    deadline);
}

Result<std::string> absolute_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> whole(::realpath(path.c_str(), nullptr), std::free);
  if (!whole) return fail(ErrorCode::kInvalid, fail_errno(path).value().message);
  return std::string(whole.get());
}

Result<PackageFile> resolve_given(const Recipe& recipe, Deadline deadline) {
  const std::string& given = recipe.unpacked->given;
  const std::string path = TRY(absolute_path(given));
  const sys::Fd top = TRY(sys::open_at(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY));
  const auto said = run_beside(
      {{kDpkgDeb, "--field", path, "Package", "Version", "Architecture"}, environment(), &top}, deadline);
  if (!said) {
    const bool asked = said.error().code == ErrorCode::kUnavailable;  // it is no package
    return fail(asked ? ErrorCode::kInvalid : said.error().code, given + ": " + said.error().message);
  }
  auto package = parse_control(*said, recipe.unpacked->pattern, recipe.architecture);
  if (!package) return fail_with_context(package.error(), given);
  return PackageFile{std::move(*package), "", 0};
}

// As root, apt lets a user of its own do what it does on the network, and that user must be able to write
// here. It is the one to whom apt's own directory for this belongs.
void lend_to_apt(const sys::Fd& directory) {
  struct stat status {};
  if (::geteuid() != 0 || ::stat("/var/lib/apt/lists/partial", &status) < 0) return;
  (void)::fchown(directory.get(), status.st_uid, static_cast<gid_t>(-1));  // else apt does it as root
}

Result<void> take_back(const sys::Fd& directory) {
  if (::geteuid() == 0 && ::fchown(directory.get(), 0, 0) < 0) return fail_errno("chown package");
  return {};
}

// That the fetched file is the one that apt's signed lists describe.
Result<void> check_fetched(const sys::Fd& directory, const std::string& name, const PackageFile& file) {
  const sys::Fd fd = TRY(sys::open_at(directory.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (::fstat(fd.get(), &status) < 0) return fail_errno(name);
  // Nobody whom apt has work for it can change it after this.
  if (::geteuid() == 0 && ::fchown(fd.get(), 0, 0) < 0) return fail_errno("chown " + name);
  if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) != file.size_bytes ||
      TRY(crypto::sha256_hex_of(fd.get())) != file.sha256) {
    return fail(ErrorCode::kUnavailable, "what apt fetched is not the " + file.package.name + " " +
                                             file.package.version + " of its lists (SHA-256)");
  }
  return {};
}

// Returns its path, in the directory or absolute.
Result<std::string> fetch(const Recipe& recipe, const PackageFile& file, const sys::Fd& draft,
                          const sys::Fd& directory, Deadline deadline) {
  const UnpackedPackage& unpacked = *recipe.unpacked;
  if (!unpacked.given.empty()) return absolute_path(unpacked.given);
  const NamedPackage wanted{file.package.name, file.package.version};
  lend_to_apt(directory);
  const auto fetched = run_beside({{unpacked.apt_get, "-q", "-o", "APT::Get::AllowUnauthenticated=false",
                                    "-o", "Acquire::Retries=1", "download", wanted.argument()},
                                   environment(),
                                   &directory},
                                  deadline);
  TRY(take_back(directory));
  if (!fetched && fetched.error().code == ErrorCode::kDeadline) return tl::unexpected<Error>(fetched.error());
  if (!fetched)
    return no_package(recipe, wanted.argument() + " cannot be fetched: " + fetched.error().message);
  std::vector<std::string> names;
  TRY(names_below(draft, kDirectory, kFetchedMax, names));
  if (names.size() != 1)
    return no_package(recipe, "apt says that it fetched " + wanted.argument() + ", and has not");
  TRY(check_fetched(directory, names.front(), file));
  return "./" + names.front();
}

// The tar archive that dpkg-deb makes of a package's files, with a bound to it.
class DebSource final : public ByteSource {
 public:
  DebSource(Program program, std::uint64_t bytes_max, Deadline deadline)
      : program_(std::move(program)), deadline_(deadline), bytes_left_(bytes_max) {}
  Result<std::string_view> next() override {
    const std::string_view piece = TRY(program_.next(deadline_));
    if (piece.size() > bytes_left_)
      return fail(ErrorCode::kExhausted, "it holds more bytes than a package may");
    bytes_left_ -= piece.size();
    return piece;
  }
  // Reads what is left; that dpkg-deb found no fault.
  Result<void> finish() {
    while (!TRY(next()).empty()) {
    }
    return program_.finish(deadline_);
  }

 private:
  Program program_;
  Deadline deadline_;
  std::uint64_t bytes_left_;
};

Result<void> write_taken(TarReader& tar, const sys::Fd& root, const std::string& path) {
  const sys::Fd to =
      TRY(sys::open_at(root.get(), path.substr(1), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
  for (;;) {
    const std::string_view piece = TRY(tar.data());
    if (piece.empty()) return {};
    TRY(sys::write_all(to, piece, Deadline::in(kWriteSpan)));
  }
}

Result<std::string> read_text(TarReader& tar) {
  std::string text;
  for (;;) {
    const std::string_view piece = TRY(tar.data());
    if (piece.empty()) return text;
    text.append(piece);
    if (text.size() > kControlBytesMax) return fail(ErrorCode::kExhausted, "modules.builtin is too large");
  }
}

Result<void> take_files(ByteSource& source, const std::vector<TakenFile>& files, const sys::Fd& root) {
  TarReader tar(source);
  TakePlan plan(files);
  std::string builtin;
  while (const auto entry = TRY(tar.next())) {
    const TakenFile* file = TRY(plan.add(*entry));
    if (file != nullptr) TRY(write_taken(tar, root, file->path));
    if (TakePlan::is_builtin_list(*entry)) builtin = TRY(read_text(tar));
  }
  return plan.finish(builtin);
}

Result<void> unpack(const std::string& path, const sys::Fd& directory, const UnpackedPackage& unpacked,
                    const sys::Fd& root, Deadline deadline) {
  DebSource source(TRY(Program::start({{kDpkgDeb, "--fsys-tarfile", path}, environment(), &directory})),
                   unpacked.bytes_max, deadline);
  const auto taken = take_files(source, unpacked.files, root);
  const auto ended = taken || taken.error().code == ErrorCode::kInvalid ? source.finish() : Result<void>();
  // Where both find fault, dpkg-deb saw more of the package.
  if (!ended && ended.error().code == ErrorCode::kUnavailable) {
    return fail(ErrorCode::kInvalid, ended.error().message);
  }
  return !ended ? ended : taken;
}

}  // namespace

Result<PackageFile> resolve_unpacked(const Recipe& recipe, Deadline deadline) {
  const UnpackedPackage& unpacked = *recipe.unpacked;
  if (!unpacked.given.empty()) return resolve_given(recipe, deadline);
  const auto meta = ask_apt(unpacked, unpacked.meta, deadline);
  if (!meta) return no_package(recipe, "apt says nothing of " + unpacked.meta + ": " + meta.error().message);
  const auto named = parse_meta(*meta, unpacked.pattern);
  if (!named) return no_package(recipe, unpacked.meta + " in apt's lists: " + named.error().message);
  const auto text = ask_apt(unpacked, named->argument(), deadline);
  if (!text)
    return no_package(recipe, "apt says nothing of " + named->argument() + ": " + text.error().message);
  auto file = parse_package_file(*text, *named);
  if (!file) return no_package(recipe, named->argument() + " in apt's lists: " + file.error().message);
  return file;
}

Result<void> take_unpacked(const Recipe& recipe, const PackageFile& file, const sys::Fd& draft,
                           const sys::Fd& root, Deadline deadline, Progress& progress) {
  if (recipe.unpacked->given.empty()) progress.stage("fetch " + file.package.name);
  if (::mkdirat(draft.get(), kDirectory, 0755) < 0) return fail_errno("mkdir package");
  const sys::Fd directory = TRY(sys::open_at(draft.get(), kDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  const std::string path = TRY(fetch(recipe, file, draft, directory, deadline));
  progress.stage("unpack " + file.package.name);
  const auto done = unpack(path, directory, *recipe.unpacked, root, deadline);
  if (!done) {
    const bool given = !recipe.unpacked->given.empty();
    return fail_with_context(done.error(), given ? recipe.unpacked->given : file.package.name);
  }
  return remove_tree(draft, kDirectory);
}

}  // namespace casemate::image
