// Where something stands in a document: JSON pointers (RFC 6901), written and followed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json/value.h"

namespace casemate::schema {

// Of a pointer that is written for people; a longer one is cut and ends in "…".
inline constexpr std::size_t kPointerMax = 1000;

// Appends "/" and the key, "~" and "/" escaped.
void append_key(std::string& pointer, std::string_view key);

// The way from a document's root down to where one stands. Keys are views: they must outlive it. One thread.
class Place {
 public:
  // Goes one step down for as long as it lives.
  class Step {
   public:
    Step(Place& place, std::string_view key) : place_(place) { place_.steps_.push_back({key, 0, false}); }
    Step(Place& place, std::size_t index) : place_(place) { place_.steps_.push_back({{}, index, true}); }
    ~Step() { place_.steps_.pop_back(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Place& place_;
  };

  // "" at the root. At most kPointerMax bytes.
  std::string pointer() const;
  std::size_t depth() const { return steps_.size(); }

 private:
  struct Part {
    std::string_view key;
    std::size_t index = 0;
    bool is_index = false;
  };
  std::vector<Part> steps_;
};

// The members of one object by their keys. Small objects are searched, large ones sorted at the first
// question, so that many questions about a large object stay n log n. The object must outlive it. One thread.
class Members {
 public:
  explicit Members(const json::Value& object) : object_(object) {}
  // nullptr when there is none.
  const json::Value* find(std::string_view key);

 private:
  const json::Value& object_;
  std::vector<const json::Member*> sorted_;  // empty until a large object is asked
};

// Follows pointers within one document, many of them quickly. The document must outlive it. One thread.
class Follower {
 public:
  explicit Follower(const json::Value& document) : document_(document) {}
  // `pointer` as RFC 6901 writes it: "" is the document, else it begins with "/". nullptr when nothing is
  // there or when it is no pointer.
  const json::Value* follow(std::string_view pointer);

 private:
  const json::Value& document_;
  std::unordered_map<const json::Value*, Members> members_;
};

}  // namespace casemate::schema
