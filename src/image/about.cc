// The `about` file of an image: printing and parsing. Declared in manifest.h.
#include <algorithm>
#include <limits>

#include "image/manifest.h"
#include "image/text_lines.h"

namespace casemate::image {
namespace {

constexpr std::string_view kFirstLine = "casemate-image 1";
constexpr std::size_t kAboutFieldMax = 1024;

// Reads "key value" lines in the one order in which they may stand.
class AboutReader {
 public:
  explicit AboutReader(std::string_view text) : lines_(text) { advance(); }

  Result<void> first_line() {
    if (!line_ || *line_ != kFirstLine)
      return bad("the first line must be '" + std::string(kFirstLine) + "'");
    advance();
    return {};
  }

  // The value of the line that is due; its key must be `key`.
  Result<std::string> text(std::string_view key) {
    const auto value = value_of(key);
    if (!value) return bad("'" + std::string(key) + "' is due here");
    auto bytes = unescape(*value);
    if (!bytes) return bad(bytes.error().message);
    if (bytes->empty() || bytes->size() > kAboutFieldMax) return bad("the value's length is out of bounds");
    advance();
    return bytes;
  }

  Result<std::uint64_t> whole(std::string_view key) {
    const auto value = value_of(key);
    if (!value) return bad("'" + std::string(key) + "' is due here");
    const auto number =
        parse_whole(*value, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (!number) return bad("a whole number is due here");
    advance();
    return *number;
  }

  // Every following line with this key, split into N escaped fields, in strictly rising order.
  template <std::size_t N>
  Result<std::vector<std::array<std::string, N>>> list(std::string_view key) {
    std::vector<std::array<std::string, N>> items;
    while (const auto value = value_of(key)) {
      if (items.size() == kAboutListMax) return bad("too many lines of '" + std::string(key) + "'");
      const auto fields = split_fields<N>(*value);
      if (!fields) return bad("the number of fields is wrong");
      std::array<std::string, N> item;
      for (std::size_t i = 0; i < N; ++i) {
        auto bytes = unescape((*fields)[i]);
        if (!bytes) return bad(bytes.error().message);
        if (bytes->size() > kAboutFieldMax) return bad("a field is too long");
        item[i] = std::move(*bytes);
      }
      if (!items.empty() && !(items.back() < item)) return bad("the lines are not in order");
      items.push_back(std::move(item));
      advance();
    }
    return items;
  }

  bool at(std::string_view key) const { return value_of(key).has_value(); }

  Result<void> end() {
    if (lines_.unfinished()) return fail(ErrorCode::kInvalid, "about: the file is cut short");
    if (line_) return bad("nothing more may follow here");
    return {};
  }

  tl::unexpected<Error> bad(const std::string& what) const {
    return fail(ErrorCode::kInvalid, "about line " + std::to_string(lines_.number()) + ": " + what);
  }

 private:
  void advance() { line_ = lines_.next(); }
  std::optional<std::string_view> value_of(std::string_view key) const {
    if (!line_ || !line_->starts_with(key)) return std::nullopt;
    const std::string_view rest = line_->substr(key.size());
    if (!rest.starts_with(' ')) return std::nullopt;
    return rest.substr(1);
  }

  Lines lines_;
  std::optional<std::string_view> line_;
};

void put(std::string& out, std::string_view key, std::initializer_list<std::string_view> fields) {
  out.append(key);
  for (const std::string_view field : fields) out.append(" ").append(escape(field));
  out.append("\n");
}

}  // namespace

std::string print_about(const About& about) {
  std::string out(kFirstLine);
  out.append("\n");
  put(out, "name", {about.name});
  put(out, "digest", {about.digest});
  put(out, "recipe", {about.recipe});
  put(out, "created", {std::to_string(about.created_s)});
  put(out, "files", {std::to_string(about.files)});
  put(out, "directories", {std::to_string(about.directories)});
  put(out, "links", {std::to_string(about.links)});
  put(out, "bytes", {std::to_string(about.size_bytes)});
  if (!about.python.empty()) put(out, "python", {about.python});
  for (const PackageVersion& package : about.packages) {
    put(out, "package", {package.name, package.version, package.architecture});
  }
  for (const std::string& module : about.modules) put(out, "module", {module});
  for (const Omitted& omitted : about.omitted) put(out, "omitted", {omitted.path, omitted.package});
  return out;
}

Result<About> parse_about(std::string_view text) {
  if (text.size() > kAboutBytesMax) return fail(ErrorCode::kInvalid, "about: the file is too large");
  AboutReader reader(text);
  About about;
  TRY(reader.first_line());
  about.name = TRY(reader.text("name"));
  about.digest = TRY(reader.text("digest"));
  if (!is_image_digest(about.digest)) return reader.bad("the digest above is not one");
  about.recipe = TRY(reader.text("recipe"));
  if (!is_image_digest(about.recipe)) return reader.bad("the recipe above is not a digest");
  about.created_s = static_cast<std::int64_t>(TRY(reader.whole("created")));
  about.files = TRY(reader.whole("files"));
  about.directories = TRY(reader.whole("directories"));
  about.links = TRY(reader.whole("links"));
  about.size_bytes = TRY(reader.whole("bytes"));
  if (reader.at("python")) about.python = TRY(reader.text("python"));
  for (auto& [name, version, architecture] : TRY(reader.list<3>("package"))) {
    about.packages.push_back({std::move(name), std::move(version), std::move(architecture)});
  }
  for (auto& [module] : TRY(reader.list<1>("module"))) about.modules.push_back(std::move(module));
  for (auto& [path, package] : TRY(reader.list<2>("omitted"))) {
    about.omitted.push_back({std::move(path), std::move(package)});
  }
  TRY(reader.end());
  return about;
}

}  // namespace casemate::image
