// One request, as a handler sees it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace casemate::http_server {

struct Field {
  std::string name;
  std::string value;
  bool operator==(const Field&) const = default;
};

// The value of the first with this name, or nullptr.
inline const std::string* find_value(const std::vector<Field>& fields, std::string_view name) {
  for (const Field& field : fields)
    if (field.name == name) return &field.value;
  return nullptr;
}

struct Request {
  std::string method;             // a token, as it came: "GET"
  std::string target;             // as it came; what follows is read from it
  std::vector<std::string> path;  // decoded, UTF-8 without controls: {"v1", "runs"}; {""} for "/"
  std::vector<Field> query;       // decoded likewise, in the order that they came; a name may come twice
  std::vector<Field> fields;      // names in small letters; values without the blanks around them, ASCII
  int minor_version = 1;          // of HTTP/1
  std::string body;

  // Written by who admits it (Handler::admit), for who handles it.
  std::vector<Field> parts;  // the named parts of the route's pattern
  std::size_t route = 0;
  std::string tenant;

  const std::string* field(std::string_view name) const { return find_value(fields, name); }
  const std::string* part(std::string_view name) const { return find_value(parts, name); }
  const std::string* query_value(std::string_view name) const { return find_value(query, name); }
};

}  // namespace casemate::http_server
