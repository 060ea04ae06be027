#include "image/deb.h"

#include <algorithm>
#include <optional>

#include "crypto/digest.h"
#include "image/text_lines.h"

namespace casemate::image {
namespace {

constexpr std::size_t kWordMax = 200;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// deb-control(5): names of two or more of these, the first a letter or digit.
bool is_package_name(std::string_view text) {
  return text.size() >= 2 && text.size() <= kWordMax && (is_lower(text[0]) || is_digit(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower(c) || is_digit(c) || c == '+' || c == '-' || c == '.'; });
}

// deb-version(7): begins with a digit.
bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= kWordMax && is_digit(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_lower(c) || (c >= 'A' && c <= 'Z') || is_digit(c) ||
                  std::string_view("+-.:~").find(c) != std::string_view::npos;
         });
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// "linux-image-6.1.0-57-cloud-amd64 (= 6.1.192-3)"
NamedPackage parse_need(std::string_view need) {
  const std::size_t end = need.find_first_of(" \t(:[<");
  NamedPackage package{std::string(need.substr(0, end)), ""};
  const std::size_t open = need.find("(=");
  const std::size_t close = need.find(')');
  if (open != std::string_view::npos && close != std::string_view::npos && close > open) {
    package.version = trim(need.substr(open + 2, close - open - 2));
  }
  return package;
}

std::string field(const std::map<std::string, std::string>& fields, const char* name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

tl::unexpected<Error> bad(const std::string& what) { return fail(ErrorCode::kInvalid, what); }

// "./lib/modules/…" → "/usr/lib/modules/…"; nothing for a path that no package has.
std::optional<std::string> path_of(const TarEntry& entry) {
  std::string_view path = entry.path;
  if (path == "." || path == "./") return "/";
  if (!path.starts_with("./")) return std::nullopt;
  path.remove_prefix(1);
  if (path.ends_with('/') && entry.type == TarEntry::Type::kDirectory) path.remove_suffix(1);
  if (!is_image_path(path)) return std::nullopt;
  return merge_usr(path);
}

std::string name_in(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

}  // namespace

Result<std::map<std::string, std::string>> parse_paragraph(std::string_view text) {
  if (text.size() > kControlBytesMax) return bad("it says too much");
  std::map<std::string, std::string> fields;
  Lines lines(text);
  while (const auto line = lines.next()) {
    if (line->empty()) break;
    if (line->front() == ' ' || line->front() == '\t') continue;
    const std::size_t colon = line->find(':');
    if (colon == std::string_view::npos || colon == 0) return bad("it has a line without a field");
    if (!fields.emplace(line->substr(0, colon), trim(line->substr(colon + 1))).second) {
      return bad("it has a field twice");
    }
  }
  if (lines.unfinished()) return bad("it ends in the middle of a line");
  return fields;
}

Result<NamedPackage> parse_meta(std::string_view text, const std::string& pattern) {
  const auto fields = TRY(parse_paragraph(text));
  std::string depends = field(fields, "Depends");
  std::optional<NamedPackage> chosen;
  for (std::string_view rest = depends; !rest.empty();) {
    const std::size_t end = rest.find(',');
    // Of several ways the first: a meta package has no others.
    const std::string_view need = rest.substr(0, end);
    NamedPackage package = parse_need(trim(need.substr(0, need.find('|'))));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (!matches(pattern, package.name)) continue;
    if (!is_package_name(package.name) || !(package.version.empty() || is_version(package.version))) {
      return bad("it depends on what no package is called: " + escape(depends));
    }
    if (chosen) return bad("it depends on several packages that are called as " + pattern);
    chosen = std::move(package);
  }
  if (!chosen) return bad("it depends on no package that is called as " + pattern);
  return std::move(*chosen);
}

Result<PackageFile> parse_package_file(std::string_view text, const NamedPackage& asked) {
  const auto fields = TRY(parse_paragraph(text));
  PackageFile file;
  file.package = {field(fields, "Package"), field(fields, "Version"), field(fields, "Architecture")};
  if (file.package.name != asked.name || !is_version(file.package.version) ||
      (!asked.version.empty() && file.package.version != asked.version) ||
      !is_package_name(file.package.architecture)) {
    return bad("it is of another package than " + asked.argument());
  }
  file.sha256 = field(fields, "SHA256");
  const auto size = parse_whole(field(fields, "Size"), kImageFileMax);
  if (!crypto::is_lower_hex(file.sha256, 64) || !size) return bad("it has no SHA-256 or no size");
  file.size_bytes = *size;
  return file;
}

Result<PackageVersion> parse_control(std::string_view text, const std::string& pattern,
                                     std::string_view architecture) {
  const auto fields = TRY(parse_paragraph(text));
  PackageVersion package{field(fields, "Package"), field(fields, "Version"), field(fields, "Architecture")};
  if (!is_package_name(package.name) || !matches(pattern, package.name)) {
    return bad("it is no package that is called as " + pattern + ", but '" + escape(package.name) + "'");
  }
  if (!is_version(package.version)) return bad("it has no version");
  if (package.architecture != architecture) {
    return bad("it is made for '" + escape(package.architecture) + "', not for " + std::string(architecture));
  }
  return package;
}

Result<const TakenFile*> TakePlan::add(const TarEntry& entry) {
  const auto path = path_of(entry);
  if (!path) return bad("it holds a path that no package has: " + escape(entry.path));
  if (entry.type == TarEntry::Type::kDirectory) return nullptr;
  for (const TakenFile& file : *files_) {
    // Newer kernels have their modules compressed, each on its own.
    if (file.module && matches(file.pattern + ".*", *path)) packed_.emplace(&file, *path);
    if (!matches(file.pattern, *path)) continue;
    if (entry.type != TarEntry::Type::kFile) return bad(escape(*path) + " is no regular file");
    if (const auto [at, added] = found_.emplace(&file, *path); !added) {
      return bad("both " + escape(at->second) + " and " + escape(*path) + " would be " + file.path);
    }
    if (entry.size > kTakenFileMax) return fail(ErrorCode::kExhausted, escape(*path) + " is too large");
    return &file;
  }
  return nullptr;
}

bool TakePlan::is_builtin_list(const TarEntry& entry) {
  const auto path = path_of(entry);
  return path && entry.type == TarEntry::Type::kFile && matches("/usr/lib/modules/*/modules.builtin", *path);
}

Result<void> TakePlan::finish(std::string_view builtin_list) const {
  std::set<std::string> builtin;
  Lines lines(builtin_list);
  while (const auto line = lines.next()) builtin.insert(name_in(*line));
  for (const TakenFile& file : *files_) {
    if (found_.contains(&file)) continue;
    if (const auto packed = packed_.find(&file); packed != packed_.end()) {
      return bad(escape(packed->second) + " is a compressed module, which is not taken");
    }
    if (file.module && builtin.contains(name_in(file.pattern))) continue;
    return bad("it has no " + file.pattern + (file.module ? ", and no kernel with it" : ""));
  }
  return {};
}

}  // namespace casemate::image
