#include "catalog/catalog.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/near_names.h"
#include "catalog/index.h"
#include "catalog/paths.h"
#include "catalog/words.h"
#include "json/utf8.h"
#include "schema/stub.h"

namespace casemate::catalog {
namespace {

constexpr std::size_t kSummaryBytes = 120;
constexpr std::size_t kQueryWordsMax = 32;
constexpr std::string_view kSuffix = ".pyi";

// How much a word counts where it stands.
constexpr double kInName = 4;
constexpr double kInDescription = 1;
constexpr double kInParameterName = 1.5;
constexpr double kInParameterDescription = 0.5;
// Of a capability that is asked for by its name: more than any words are worth.
constexpr double kNamed = 1e6;

Result<void> check_one(const Capability& one) {
  if (one.name.empty() || one.name.size() > kNameMax || !json::is_valid_utf8(one.name)) {
    return fail(ErrorCode::kInvalid, "a capability's name is 1 to " + std::to_string(kNameMax) +
                                         " bytes of UTF-8, not \"" + json::one_line(one.name, 80) + "\"");
  }
  const std::string shown = "the capability \"" + json::one_line(one.name, 80) + "\" has ";
  if (one.description.size() > kDescriptionMax || one.notes.size() > kNotesMax) {
    return fail(ErrorCode::kExhausted, shown + "a description or notes that are too long");
  }
  if (!json::is_valid_utf8(one.description)) {
    return fail(ErrorCode::kInvalid, shown + "a description that is not UTF-8");
  }
  return {};
}

std::string summary_of(std::string_view description) {
  description.remove_prefix(std::min(description.find_first_not_of(" \t\r\n"), description.size()));
  return json::one_line(description.substr(0, description.find_first_of("\r\n")), kSummaryBytes);
}

// The same on every machine, whatever its logarithm makes of the last digits.
double rounded(double score) { return std::round(score * 1e6) / 1e6; }

std::string_view last_part(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

schema::StubSource source_of(const Capability& one, std::string_view path) {
  return {one.name,
          path,
          one.description,
          one.notes,
          one.parameters ? &*one.parameters : nullptr,
          one.result ? &*one.result : nullptr};
}

}  // namespace

struct Catalog::Index {
  std::vector<Capability> capabilities;  // by name
  std::vector<std::string> paths;
  std::map<std::string_view, std::size_t> by_path;
  std::map<std::string, std::vector<Entry>, std::less<>> folders;  // "ledger": what it holds, sorted
  WordIndex words{{}};
};

Catalog::Catalog(std::unique_ptr<const Index> index) : index_(std::move(index)) {}
Catalog::Catalog(Catalog&& other) noexcept = default;
Catalog& Catalog::operator=(Catalog&& other) noexcept = default;
Catalog::~Catalog() = default;

Result<Catalog> Catalog::make(std::vector<Capability> capabilities) {
  if (capabilities.size() > kCapabilitiesMax) {
    return fail(ErrorCode::kExhausted, "more than " + std::to_string(kCapabilitiesMax) + " capabilities");
  }
  for (const Capability& one : capabilities) TRY(check_one(one));
  std::sort(capabilities.begin(), capabilities.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(capabilities.begin(), capabilities.end(),
                                        [](const auto& a, const auto& b) { return a.name == b.name; });
  if (twice != capabilities.end()) {
    return fail(ErrorCode::kInvalid,
                "two capabilities are called \"" + json::one_line(twice->name, 80) + "\"");
  }
  auto index = std::make_unique<Index>();
  std::vector<std::string> names;
  std::vector<WordWeights> words;
  for (const Capability& one : capabilities) {
    names.push_back(one.name);
    WordWeights& weights = words.emplace_back();
    weights.add(one.name, kInName);
    weights.add(one.description, kInDescription);
    if (one.parameters) weights.add_schema(*one.parameters, kInParameterName, kInParameterDescription);
  }
  index->capabilities = std::move(capabilities);
  index->paths = python_paths(names);
  index->words = WordIndex(words);
  index->folders[""];
  for (std::size_t i = 0; i < index->paths.size(); ++i) {
    const std::string& path = index->paths[i];
    index->by_path.emplace(path, i);
    std::string folder;
    for (std::size_t from = 0;;) {
      const std::size_t dot = path.find('.', from);
      const std::string part = path.substr(from, dot == std::string::npos ? dot : dot - from);
      std::vector<Entry>& entries = index->folders[folder];
      if (dot == std::string::npos) {
        entries.push_back({part + std::string(kSuffix), false});
        break;
      }
      folder += (folder.empty() ? "" : "/") + part;
      if (!index->folders.contains(folder)) {
        entries.push_back({part, true});
        index->folders[folder];
      }
      from = dot + 1;
    }
  }
  for (auto& [folder, entries] : index->folders) {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  }
  return Catalog(std::move(index));
}

std::size_t Catalog::size() const { return index_->capabilities.size(); }

const Capability* Catalog::find(std::string_view name) const {
  const auto& all = index_->capabilities;
  const auto found =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const Capability& one, std::string_view wanted) { return one.name < wanted; });
  return found != all.end() && found->name == name ? &*found : nullptr;
}

const Capability* Catalog::find_path(std::string_view path) const {
  const auto found = index_->by_path.find(path);
  return found == index_->by_path.end() ? nullptr : &index_->capabilities[found->second];
}

std::string_view Catalog::path_of(const Capability& capability) const {
  return index_->paths[static_cast<std::size_t>(&capability - index_->capabilities.data())];
}

std::vector<std::string> Catalog::near(std::string_view name, std::size_t most) const {
  std::vector<std::string_view> names;
  for (const Capability& one : index_->capabilities) names.push_back(one.name);
  std::vector<std::string> found = near_names(name, names, most);
  if (!found.empty()) return found;
  const auto add = [&](std::string_view one) {
    if (found.size() < most && one != name && std::find(found.begin(), found.end(), one) == found.end()) {
      found.emplace_back(one);
    }
  };
  // Often only the namespace is wrong or left out.
  const std::string_view last = last_part(name);
  for (const std::string_view one : names) {
    if (last_part(one) == last) add(one);
  }
  std::vector<std::string_view> lasts;
  for (const std::string_view one : names) lasts.push_back(last_part(one));
  std::sort(lasts.begin(), lasts.end());
  lasts.erase(std::unique(lasts.begin(), lasts.end()), lasts.end());
  for (const std::string& near : near_names(last, lasts, most)) {
    for (const std::string_view one : names) {
      if (last_part(one) == near) add(one);
    }
  }
  return found;
}

std::vector<Found> Catalog::search(std::string_view query, std::size_t limit) const {
  const std::string_view kept = json::cut_text(query, kQueryMax);
  std::vector<double> scores = index_->words.scores(words_of(kept, kQueryWordsMax));
  for (std::string_view named : {kept, kept.starts_with("tools.") ? kept.substr(6) : kept}) {
    const Capability* one = find(named);
    if (one == nullptr) one = find_path(named);
    if (one != nullptr) scores[static_cast<std::size_t>(one - index_->capabilities.data())] = kNamed;
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = rounded(scores[i]);
    if (scores[i] > 0) order.push_back(i);
  }
  const std::size_t count = std::min({limit, kFoundMax, order.size()});
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
      [&](std::size_t a, std::size_t b) { return std::pair(-scores[a], a) < std::pair(-scores[b], b); });
  std::vector<Found> found;
  for (std::size_t n = 0; n < count; ++n) {
    const Capability& one = index_->capabilities[order[n]];
    const std::string& path = index_->paths[order[n]];
    found.push_back({one.name, path, schema::python_signature(source_of(one, path)),
                     summary_of(one.description), scores[order[n]]});
  }
  return found;
}

std::optional<std::vector<Entry>> Catalog::list(std::string_view folder) const {
  const auto found = index_->folders.find(folder);
  if (found == index_->folders.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string> Catalog::read(std::string_view file) const {
  // No part of a path has a dot, so that each file has one name: "a/b.pyi" and not "a.b.pyi".
  if (!file.ends_with(kSuffix)) return std::nullopt;
  std::string path(file.substr(0, file.size() - kSuffix.size()));
  if (path.find('.') != std::string::npos) return std::nullopt;
  std::replace(path.begin(), path.end(), '/', '.');
  const auto found = index_->by_path.find(path);
  if (found == index_->by_path.end()) return std::nullopt;
  return schema::python_stub(source_of(index_->capabilities[found->second], index_->paths[found->second]));
}

}  // namespace casemate::catalog
