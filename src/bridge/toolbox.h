// The capabilities that a request is granted: what they are, what judges them, what gives them their bodies.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "bridge/connector.h"
#include "catalog/catalog.h"
#include "policy/judge.h"
#include "schema/schema.h"
#include "schema/stub.h"

namespace casemate::bridge {

// One capability.
struct Tool {
  policy::Capability capability;
  std::string description;
  std::optional<schema::Schema> arguments;  // nothing: any object
  std::optional<schema::Schema> result;     // nothing: anything
  std::string destination;                  // the argument that says where it leads: "to"; empty: none does
  milliseconds time_max{30'000};            // of one call
  bool durable = true;                      // the record of its verdict is on the disk before it is called
  std::shared_ptr<Connector> connector;
};

// A Tool and what follows from it.
struct Granted {
  Tool tool;
  std::string path;                           // how programs spell it after "tools."
  std::vector<schema::Parameter> parameters;  // likewise
  std::vector<std::string> typed;             // of its result: "decimal /rows/*/amount" (frame/guest.h)
};

// Immutable, hence thread-safe.
class Toolbox {
 public:
  // A request without any.
  Toolbox() = default;
  // Errors: invalid (two of one name, more than kToolsMax, a text that is not UTF-8).
  static Result<Toolbox> make(std::vector<Tool> tools);

  // By the name itself, or by how programs spell it; nullptr: there is none.
  const Granted* find(std::string_view name) const;
  // What a program finds of them by looking; nullptr: there are none.
  const catalog::Catalog* catalog() const { return catalog_.get(); }
  // In the order of their names.
  std::vector<const Granted*> all() const;
  bool empty() const { return tools_.empty(); }

 private:
  std::map<std::string, Granted, std::less<>> tools_;  // by name
  std::shared_ptr<const catalog::Catalog> catalog_;
};

// Where in a schema's values are decimals and bytes, as kTyped says them. At most kTypedPlacesMax.
std::vector<std::string> typed_places(const json::Value& schema);

// "tools.ledger.read(*, tenant: str) -> list": one line.
std::string signature_of(const Granted& granted);

}  // namespace casemate::bridge
