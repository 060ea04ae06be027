#include "image/dpkg.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "crypto/digest.h"
#include "image/text_lines.h"

namespace casemate::image {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Splits at `separator` and trims; "" gives one empty item.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> items;
  for (;;) {
    const std::size_t end = text.find(separator);
    items.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return items;
    text.remove_prefix(end + 1);
  }
}

// "libfoo2:any (>= 1.2) [amd64]" → "libfoo2"
std::string_view package_name(std::string_view item) { return item.substr(0, item.find_first_of(" \t(:[<")); }

// The fields of one paragraph that matter here; continuation lines keep their line feeds.
struct Paragraph {
  std::string name, status, version, architecture, multi_arch, pre_depends, depends, provides, conffiles;
  std::string* current = nullptr;

  std::string* field(std::string_view key) {
    const std::array<std::pair<std::string_view, std::string*>, 9> known = {{{"Package", &name},
                                                                             {"Status", &status},
                                                                             {"Version", &version},
                                                                             {"Architecture", &architecture},
                                                                             {"Multi-Arch", &multi_arch},
                                                                             {"Pre-Depends", &pre_depends},
                                                                             {"Depends", &depends},
                                                                             {"Provides", &provides},
                                                                             {"Conffiles", &conffiles}}};
    for (const auto& [known_key, value] : known) {
      if (known_key == key) return value;
    }
    return nullptr;
  }

  bool add_line(std::string_view line) {
    if (line.front() == ' ' || line.front() == '\t') {
      if (current != nullptr) current->append("\n").append(line);
      return true;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    current = field(line.substr(0, colon));
    if (current != nullptr) *current = trim(line.substr(colon + 1));
    return true;
  }
};

// " /etc/bash.bashrc 89269e1298235f1b12b4c16e4065ad0d [obsolete|remove-on-upgrade]"
std::vector<Conffile> parse_conffiles(std::string_view field) {
  std::vector<Conffile> files;
  for (const std::string_view line : split(field, '\n')) {
    const std::vector<std::string_view> words = split(line, ' ');
    if (words.size() < 2) continue;
    files.push_back({std::string(words[0]), std::string(words[1]), words.size() > 2});
  }
  return files;
}

// "install ok installed": installed; the two trigger states are installed with work outstanding.
bool is_installed(std::string_view status) {
  const std::string_view state = status.substr(status.rfind(' ') + 1);
  return state == "installed" || state == "triggers-pending" || state == "triggers-awaited";
}

std::optional<Package> to_package(const Paragraph& from, std::string_view architecture) {
  if (!is_installed(from.status)) return std::nullopt;
  if (from.architecture != architecture && from.architecture != "all") return std::nullopt;
  Package package;
  package.name = from.name;
  package.version = from.version;
  package.architecture = from.architecture;
  package.multi_arch_same = from.multi_arch == "same";
  package.depends = parse_dependencies(from.pre_depends);
  for (auto& need : parse_dependencies(from.depends)) package.depends.push_back(std::move(need));
  for (auto& need : parse_dependencies(from.provides)) {
    for (std::string& name : need) package.provides.push_back(std::move(name));
  }
  package.conffiles = parse_conffiles(from.conffiles);
  return package;
}

bool is_absolute(std::string_view path) { return path.size() > 1 && path.front() == '/'; }

}  // namespace

std::vector<std::vector<std::string>> parse_dependencies(std::string_view field) {
  std::vector<std::vector<std::string>> needs;
  for (const std::string_view need : split(field, ',')) {
    std::vector<std::string> names;
    for (const std::string_view way : split(need, '|')) {
      const std::string_view name = package_name(trim(way));
      if (!name.empty()) names.emplace_back(name);
    }
    if (!names.empty()) needs.push_back(std::move(names));
  }
  return needs;
}

Result<std::vector<Package>> parse_status(std::string_view text, std::string_view architecture) {
  if (text.size() > kDpkgStatusBytesMax) return fail(ErrorCode::kInvalid, "dpkg's status file is too large");
  std::vector<Package> packages;
  Paragraph paragraph;
  const auto finish = [&] {
    if (auto package = to_package(paragraph, architecture)) packages.push_back(std::move(*package));
    paragraph = Paragraph();
  };
  Lines lines(text);
  while (const auto line = lines.next()) {
    if (line->empty()) {
      finish();
    } else if (!paragraph.add_line(*line)) {
      return fail(ErrorCode::kInvalid, "dpkg's status file, line " + std::to_string(lines.number()) +
                                           ": neither a field nor a continuation");
    }
    if (packages.size() > kPackagesMax) return fail(ErrorCode::kInvalid, "dpkg knows too many packages");
  }
  if (lines.unfinished()) return fail(ErrorCode::kInvalid, "dpkg's status file is cut short");
  finish();
  std::sort(packages.begin(), packages.end(),
            [](const Package& a, const Package& b) { return a.name < b.name; });
  return packages;
}

Result<std::map<std::string, std::string>> parse_md5sums(std::string_view text) {
  std::map<std::string, std::string> sums;
  Lines lines(text);
  while (const auto line = lines.next()) {
    // "d41d8cd98f00b204e9800998ecf8427e  usr/share/doc/x"; md5sum(1) marks odd names with a backslash.
    if (line->size() < 35 || !crypto::is_lower_hex(line->substr(0, 32), 32) || line->substr(32, 2) != "  ") {
      return fail(ErrorCode::kInvalid,
                  "line " + std::to_string(lines.number()) + " is not an MD5 and a path");
    }
    sums["/" + std::string(line->substr(34))] = line->substr(0, 32);
  }
  if (lines.unfinished()) return fail(ErrorCode::kInvalid, "the list of MD5 sums is cut short");
  return sums;
}

Result<std::vector<std::string>> parse_list(std::string_view text) {
  std::vector<std::string> paths;
  Lines lines(text);
  while (const auto line = lines.next()) {
    if (*line == "/.") continue;
    if (!is_absolute(*line)) {
      return fail(ErrorCode::kInvalid, "line " + std::to_string(lines.number()) + " is not an absolute path");
    }
    paths.emplace_back(*line);
  }
  if (lines.unfinished()) return fail(ErrorCode::kInvalid, "the list of files is cut short");
  return paths;
}

Result<std::vector<Diversion>> parse_diversions(std::string_view text) {
  std::vector<Diversion> diversions;
  Lines lines(text);
  while (const auto from = lines.next()) {
    const auto to = lines.next();
    const auto package = to ? lines.next() : std::nullopt;
    if (!package || !is_absolute(*from) || !is_absolute(*to) || package->empty()) {
      return fail(ErrorCode::kInvalid,
                  "dpkg's diversions: line " + std::to_string(lines.number()) + " is malformed");
    }
    diversions.push_back({std::string(*from), std::string(*to), std::string(*package)});
  }
  if (lines.unfinished()) return fail(ErrorCode::kInvalid, "dpkg's diversions are cut short");
  return diversions;
}

Result<Alternative> parse_alternative(std::string_view name, std::string_view text) {
  Lines lines(text);
  const auto bad = [&] {
    return fail(ErrorCode::kInvalid, "alternative " + std::string(name) + ": line " +
                                         std::to_string(lines.number()) + " is malformed");
  };
  const auto status = lines.next();
  const auto link = lines.next();
  if (!status || !link || !is_absolute(*link)) return bad();
  Alternative alternative;
  alternative.master = {std::string(name), std::string(*link)};
  for (;;) {
    const auto slave = lines.next();
    if (!slave) return bad();
    if (slave->empty()) break;
    const auto slave_link = lines.next();
    if (!slave_link || !is_absolute(*slave_link)) return bad();
    alternative.slaves.push_back({std::string(*slave), std::string(*slave_link)});
  }
  for (;;) {
    const auto path = lines.next();
    if (!path) return bad();
    if (path->empty()) return alternative;
    AlternativeChoice choice;
    choice.path = *path;
    const auto priority = lines.next();
    if (!priority || !is_absolute(choice.path)) return bad();
    const char* end = priority->data() + priority->size();
    const auto [after, error] = std::from_chars(priority->data(), end, choice.priority);
    if (error != std::errc{} || after != end) return bad();
    for (std::size_t i = 0; i < alternative.slaves.size(); ++i) {
      const auto slave = lines.next();
      if (!slave || (!slave->empty() && !is_absolute(*slave))) return bad();
      choice.slaves.emplace_back(*slave);
    }
    alternative.choices.push_back(std::move(choice));
  }
}

}  // namespace casemate::image
