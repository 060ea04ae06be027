#include "image/sources.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "crypto/digest.h"
#include "image/store_files.h"
#include "sys/fd.h"

namespace casemate::image {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{256} << 10;
constexpr std::size_t kAlternativesMax = 10'000;
constexpr milliseconds kCopySpan{10 * 60'000};

Result<std::string> read_database(const Recipe& recipe, const std::string& name, std::size_t most) {
  return sys::read_file_at(AT_FDCWD, recipe.admin_dir + "/" + name, most);
}

// The same, where a package need not have this file: nothing if it has not.
Result<std::optional<std::string>> read_if_there(const Recipe& recipe, const std::string& name) {
  auto text = read_database(recipe, name, kDpkgFileBytesMax);
  if (text) return std::optional<std::string>(std::move(*text));
  if (text.error().errno_value == ENOENT) return std::optional<std::string>();
  return tl::unexpected<Error>(text.error());
}

Result<PackageFiles> read_package_files(const Recipe& recipe, const Package& package) {
  // "NAME.list", or "NAME:ARCH.list" for a package that can be there for several architectures.
  std::string base = "info/" + package.name;
  if (package.multi_arch_same) base += ":" + package.architecture;
  PackageFiles files;
  files.package = package.name;
  auto paths = parse_list(TRY(read_database(recipe, base + ".list", kDpkgFileBytesMax)));
  if (!paths) return fail_with_context(paths.error(), base + ".list");
  files.paths = std::move(*paths);
  if (const auto text = TRY(read_if_there(recipe, base + ".md5sums"))) {
    auto sums = parse_md5sums(*text);
    if (!sums) return fail_with_context(sums.error(), base + ".md5sums");
    files.md5s = std::move(*sums);
  }
  for (const Conffile& conffile : package.conffiles) {
    if (!conffile.obsolete) files.conffiles[conffile.path] = conffile.md5;
  }
  // What dpkg still lists of an older version is nobody's now.
  std::erase_if(files.paths, [&](const std::string& path) {
    return std::any_of(package.conffiles.begin(), package.conffiles.end(),
                       [&](const Conffile& conffile) { return conffile.obsolete && conffile.path == path; });
  });
  return files;
}

Result<std::vector<Alternative>> read_alternatives(const Recipe& recipe) {
  std::vector<Alternative> alternatives;
  std::vector<std::string> names;
  const sys::Fd admin = TRY(sys::open_at(AT_FDCWD, recipe.admin_dir, O_RDONLY | O_DIRECTORY));
  if (::faccessat(admin.get(), "alternatives", F_OK, 0) < 0) return alternatives;
  TRY(names_below(admin, "alternatives", kAlternativesMax, names));
  for (const std::string& name : names) {
    const std::string text = TRY(read_database(recipe, "alternatives/" + name, kDpkgFileBytesMax));
    alternatives.push_back(TRY(parse_alternative(name, text)));
  }
  return alternatives;
}

std::string on_host(const Recipe& recipe, const std::string& source) {
  return recipe.root == "/" ? source : recipe.root + source;
}

tl::unexpected<Error> differs(const std::string& source, const std::string& package, const std::string& how) {
  return fail(ErrorCode::kUnavailable, source + " of package " + package + " " + how +
                                           "; put it right with: apt-get install --reinstall " + package);
}

// The MD5 of a configuration file as it is now; nothing if it is no file that can be read.
std::optional<std::string> md5_of(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return std::nullopt;
  auto md5 = crypto::digest_hex_of(crypto::DigestKind::kMd5, fd.get());
  if (!md5) return std::nullopt;
  return std::move(*md5);
}

// Adds what is at one packaged path now.
Result<void> add_path(const Recipe& recipe, const PackagedPath& planned, Sources& sources) {
  const std::string path = on_host(recipe, planned.source);
  if (planned.conffile && md5_of(path) != planned.md5) {
    sources.omitted.push_back({planned.path, planned.package});
    return {};
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) < 0) {
    if (errno == ENOENT) return differs(planned.source, planned.package, "is missing");
    return fail_errno(planned.source);
  }
  Item item;
  if (S_ISDIR(status.st_mode) && planned.md5.empty()) return {};  // made where something is in it
  if (S_ISLNK(status.st_mode) && planned.md5.empty()) {
    std::array<char, kImagePathMax + 1> target{};
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    if (length < 0) return fail_errno("readlink " + path);
    item.type = EntryType::kLink;
    item.content.assign(target.data(), static_cast<std::size_t>(length));
    if (item.content.size() > kImagePathMax)
      return fail(ErrorCode::kInvalid, path + ": its target is too long");
  } else if (S_ISREG(status.st_mode)) {
    if (planned.md5.empty())
      return differs(planned.source, planned.package, "has no checksum in dpkg's database");
    item.type = EntryType::kFile;
    item.executable = (status.st_mode & 0111U) != 0;
    item.source = planned.source;
    item.md5 = planned.md5;
    item.package = planned.package;
  } else {
    return differs(planned.source, planned.package, "is not what the package brought");
  }
  sources.layout.emplace(planned.path, std::move(item));
  return {};
}

void add_made(const Recipe& recipe, Layout& layout) {
  for (const MadeFile& file : recipe.files) {
    Item item;
    item.type = EntryType::kFile;
    item.content = file.content;
    layout.insert_or_assign(file.path, std::move(item));
  }
  for (const MadeLink& link : recipe.links) {
    Item item = make_link(link.target);
    item.kept = true;
    layout.insert_or_assign(link.path, std::move(item));
  }
  for (const std::string& directory : recipe.directories) layout.try_emplace(directory, Item{});
}

}  // namespace

Result<std::vector<Package>> read_packages(const Recipe& recipe) {
  auto status = read_database(recipe, "status", kDpkgStatusBytesMax);
  if (!status) {
    return fail(ErrorCode::kUnavailable,
                "images are built from Debian packages, and dpkg's database cannot be read: " +
                    status.error().message);
  }
  const std::vector<Package> installed = TRY(parse_status(*status, recipe.architecture));
  return resolve_closure(installed, recipe.packages, recipe.cuts);
}

Result<Sources> read_sources(const Recipe& recipe, const std::vector<Package>& packages) {
  std::vector<PackageFiles> files;
  for (const Package& package : packages) files.push_back(TRY(read_package_files(recipe, package)));
  std::vector<Diversion> diversions;
  if (const auto text = TRY(read_if_there(recipe, "diversions"))) diversions = TRY(parse_diversions(*text));
  Sources sources;
  for (const PackagedPath& planned : TRY(plan_paths(files, diversions, recipe.only, recipe.exclusions))) {
    TRY(add_path(recipe, planned, sources));
  }
  add_alternatives(TRY(read_alternatives(recipe)), sources.layout);
  add_made(recipe, sources.layout);
  TRY(add_parents(sources.layout));
  drop_dangling_links(sources.layout);
  return sources;
}

Result<std::uint64_t> copy_file(const Recipe& recipe, const std::string& path, const Item& item, int root) {
  const std::string host_path = on_host(recipe, item.source);
  const sys::Fd from = TRY(sys::open_at(AT_FDCWD, host_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  const sys::Fd to = TRY(sys::open_at(root, path.substr(1), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                                      item.executable ? 0755 : 0644));
  crypto::Digest digest(crypto::DigestKind::kMd5);
  std::vector<char> buffer(kCopyBytes);
  const Deadline deadline = Deadline::in(kCopySpan);
  std::uint64_t size = 0;
  for (;;) {
    const std::size_t got = TRY(sys::read_some(from, buffer));
    if (got == 0) break;
    const std::string_view bytes(buffer.data(), got);
    digest.update(bytes);
    TRY(sys::write_all(to, bytes, deadline));
    size += got;
    if (size > kImageFileMax) return fail(ErrorCode::kExhausted, host_path + " is too large for an image");
  }
  if (digest.finish_hex() != item.md5) {
    return differs(item.source, item.package, "differs from what the package brought (MD5)");
  }
  return size;
}

}  // namespace casemate::image
