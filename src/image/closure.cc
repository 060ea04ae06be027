// Which packages an image is made of. Declared in dpkg.h.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "image/dpkg.h"

namespace casemate::image {
namespace {

class Resolver {
 public:
  Resolver(const std::vector<Package>& installed, const std::vector<Cut>& cuts) : installed_(installed) {
    for (std::size_t i = 0; i < installed.size(); ++i) {
      by_name_.emplace(installed[i].name, i);
      // `installed` is sorted by name, so the first to provide a name is the first by name.
      for (const std::string& provided : installed[i].provides) providers_.emplace(provided, i);
    }
    for (const Cut& cut : cuts) cuts_.insert(cut.package);
  }

  void need(const std::vector<std::string>& ways) {
    for (const std::string& way : ways) {
      if (cuts_.contains(way)) return;
    }
    for (const auto* names : {&by_name_, &providers_}) {
      for (const std::string& way : ways) {
        const auto found = names->find(way);
        if (found == names->end()) continue;
        if (chosen_.insert(found->second).second) pending_.push_back(found->second);
        return;
      }
    }
    missing_.insert(ways.front());
  }

  // A loop over what is pending and not a recursion: dependency chains are as long as a host likes.
  void follow_all() {
    while (!pending_.empty()) {
      const std::size_t index = pending_.back();
      pending_.pop_back();
      for (const auto& ways : installed_[index].depends) need(ways);
    }
  }

  Result<std::vector<Package>> result() const {
    if (!missing_.empty()) {
      std::string names;
      for (const std::string& name : missing_) names += " " + name;
      return fail(ErrorCode::kUnavailable,
                  "packages that the image is made of are not installed:" + names +
                      "; install them with: apt-get install -y --no-install-recommends" + names);
    }
    std::vector<Package> packages;
    for (const std::size_t index : chosen_) packages.push_back(installed_[index]);
    return packages;  // by name, since chosen_ is sorted by place in a list sorted by name
  }

 private:
  const std::vector<Package>& installed_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::unordered_map<std::string, std::size_t> providers_;
  std::set<std::string> cuts_;
  std::set<std::size_t> chosen_;
  std::vector<std::size_t> pending_;
  std::set<std::string> missing_;
};

}  // namespace

Result<std::vector<Package>> resolve_closure(const std::vector<Package>& installed,
                                             const std::vector<std::string>& roots,
                                             const std::vector<Cut>& cuts) {
  Resolver resolver(installed, cuts);
  for (const std::string& root : roots) resolver.need({root});
  resolver.follow_all();
  return resolver.result();
}

}  // namespace casemate::image
