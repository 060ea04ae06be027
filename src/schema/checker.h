// One check in progress. check.cc has what is asked of every value, check_containers.cc arrays and objects,
// check_branches.cc the schemas that are alternatives.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema/check.h"
#include "schema/node.h"
#include "schema/place.h"

namespace casemate::schema {

// A schema is asked in one of two ways. Quietly: is the value valid? Ends at the first thing that is wrong.
// Or with a list of faults, which goes on and collects. Alternatives are asked quietly first, so that what is
// valid costs no words.
//
// Past a limit everything is answered with false, quickly, and the answer of the whole is the limit.
class Checker {
 public:
  Checker(const Program& program, const CheckLimits& limits) : program_(program), limits_(limits) {}
  Result<Report> run(const json::Value& value);

 private:
  using Value = json::Value;
  struct List {
    std::vector<Fault> faults;
    std::size_t most = 0;
    bool more = false;
  };
  // Puts a list, or none, in the place of the current one for as long as it lives.
  class Listening {
   public:
    Listening(Checker& checker, List* list) : checker_(checker), outer_(checker.list_) {
      checker.list_ = list;
    }
    ~Listening() { checker_.list_ = outer_; }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

   private:
    Checker& checker_;
    List* outer_;
  };

  bool accepts(NodeId id, const Value& value);
  bool accepts_quietly(NodeId id, const Value& value);

  bool charge(std::uint64_t steps);
  bool give_up(Error error);
  // Whether going on after a fault can add to the list, or can tell that there is more than it holds.
  bool goes_on() const { return list_ != nullptr && !list_->more && !gave_up_; }
  // Adds to the list if there is one. False, always. `message` is called only when it is needed.
  template <typename Message>
  bool fault(std::string_view keyword, Message message) {
    if (list_ == nullptr || gave_up_) return false;
    if (list_->faults.size() >= list_->most) {
      list_->more = true;
      return false;
    }
    charge(kStepsOfFault);
    add(keyword, message());
    return false;
  }
  void add(std::string_view keyword, const std::string& message);

  bool node(const Node& node, const Value& value);
  bool type(const Node& node, const Value& value);
  bool equal(const Node& node, const Value& value);
  bool number(const Node& node, const Value& value);
  bool string(const Node& node, const Value& value);
  bool decimal(const Value& value);
  bool is_found(std::size_t pattern, std::string_view text);

  bool array(const ArrayRules& rules, const Value& value);
  bool unique(const Value& value);
  bool contains(const ArrayRules& rules, const Value& value);
  bool object(const ObjectRules& rules, const Value& value);
  bool member(const ObjectRules& rules, const json::Member& member);
  bool name(const ObjectRules& rules, std::string_view key);
  bool needed(const ObjectRules& rules, const Value& value);
  std::string lacks(const ObjectRules& rules, std::string_view key) const;
  std::string not_known(const ObjectRules& rules, std::string_view key) const;

  bool logic(const Logic& logic, const Value& value);
  bool any_of(const std::vector<NodeId>& branches, const Value& value);
  bool one_of(const std::vector<NodeId>& branches, const Value& value);
  bool no_branch(std::string_view keyword, const std::vector<NodeId>& branches, const Value& value);

  static constexpr std::uint64_t kStepsOfFault = 50;

  const Program& program_;
  const CheckLimits& limits_;
  std::uint64_t steps_ = 0;
  std::size_t depth_ = 0;  // of schemas in schemas
  std::optional<Error> gave_up_;
  std::unordered_map<const Value*, Members> members_;  // of large objects: each is sorted once
  Place place_;
  List* list_ = nullptr;
};

}  // namespace casemate::schema
