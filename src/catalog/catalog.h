// The capabilities that a program may find: searched by words, read as files, looked up by name.
//
// A catalog of thousands costs a model nothing until it looks: search() gives a few lines, and a stub is
// written when somebody reads its file. Names are given spellings that Python has, once for the whole
// catalog, so that no two capabilities have the same.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/schema.h"

namespace casemate::catalog {

inline constexpr std::size_t kCapabilitiesMax = 20'000;
inline constexpr std::size_t kNameMax = 256;            // bytes of a capability's name
inline constexpr std::size_t kDescriptionMax = 16'384;  // bytes
inline constexpr std::size_t kNotesMax = 16;
inline constexpr std::size_t kFoundMax = 100;   // of one search
inline constexpr std::size_t kQueryMax = 1024;  // bytes of a query that are looked at

struct Capability {
  std::string name;                // "ledger.read": what stands before the dots are its namespaces
  std::string description;         // UTF-8, and anything
  std::vector<std::string> notes;  // lines of ours for its stub: its tier, what it costs
  std::optional<schema::Schema> parameters;
  std::optional<schema::Schema> result;
};

// What search() shows of one capability.
struct Found {
  std::string name;
  std::string path;       // how Python spells it after "tools."
  std::string signature;  // one line, schema::python_signature
  std::string summary;    // the first line of its description, bounded and safe to print
  double score = 0;       // only for comparing within one answer
};

// One entry of a folder of /tools.
struct Entry {
  std::string name;  // "read.pyi", "ledger"
  bool is_folder = false;
};

// Immutable, and safe to use from any thread. Deterministic: the order in which capabilities were given, and
// the machine, make no difference to any answer.
class Catalog {
 public:
  // Errors: invalid (a name that is empty, too long, not UTF-8, or comes twice; a description that is not
  // UTF-8), exhausted (too many capabilities, a description or notes beyond their bounds). Time n log n.
  static Result<Catalog> make(std::vector<Capability> capabilities);

  Catalog(Catalog&& other) noexcept;
  Catalog& operator=(Catalog&& other) noexcept;
  ~Catalog();

  std::size_t size() const;
  // nullptr when there is none of this name. Lives as long as the catalog does not move.
  const Capability* find(std::string_view name) const;
  // The capability that Python spells so: "ledger.read".
  const Capability* find_path(std::string_view path) const;
  // Its spelling; `capability` must be of this catalog.
  std::string_view path_of(const Capability& capability) const;
  // "did you mean": names that are nearly this one; where there are none, those whose last part
  // is its last part, then those whose last part is nearly it.
  std::vector<std::string> near(std::string_view name, std::size_t most = 3) const;

  // The best `limit` for some words, the best first; at most kFoundMax. Words match whole or at their
  // beginning, in names, descriptions and the names and descriptions of parameters. Ranked by BM25 over those
  // fields (Robertson and Zaragoza, 2009); equals in the order of their names. No words: nothing.
  std::vector<Found> search(std::string_view query, std::size_t limit) const;

  // The tree /tools. Paths are relative to it: "ledger/read.pyi". Nothing of it is written before it is asked
  // for. What a folder holds, sorted by name; "" is the root. nullopt: no such folder.
  std::optional<std::vector<Entry>> list(std::string_view folder) const;
  // The text of a file. nullopt: no such file.
  std::optional<std::string> read(std::string_view file) const;

 private:
  struct Index;
  explicit Catalog(std::unique_ptr<const Index> index);
  std::unique_ptr<const Index> index_;
};

}  // namespace casemate::catalog
