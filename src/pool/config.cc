#include "pool/config.h"

#include "base/limits.h"

namespace casemate::pool {
namespace {

Result<void> within(const char* name, std::size_t value, std::size_t max) {
  if (value >= 1 && value <= max) return {};
  return fail(ErrorCode::kInvalid,
              std::string(name) + " is " + std::to_string(value) + "; it may be 1 to " + std::to_string(max));
}

Result<void> positive(const char* name, milliseconds value) {
  // A year: beyond it, adding it to an instant is what would go wrong first.
  constexpr milliseconds kMost = std::chrono::hours{24 * 365};
  if (value > milliseconds{0} && value <= kMost) return {};
  return fail(ErrorCode::kInvalid,
              std::string(name) + " is " + std::to_string(value.count()) + " ms; it may be 1 ms to a year");
}

Result<void> affordable(const char* name, Bytes value) {
  // So that a sum over all slots and nests does not overflow.
  if (value.count <= gib(1u << 20).count) return {};
  return fail(ErrorCode::kInvalid, std::string(name) + " is more than 1 PiB");
}

}  // namespace

Result<void> check_config(const PoolConfig& config) {
  TRY(affordable("memory_budget", config.memory_budget));
  for (const Bytes cost : config.nest_cost) TRY(affordable("nest_cost", cost));
  for (const Bytes cost : config.template_cost) TRY(affordable("template_cost", cost));
  for (const Bytes cost : config.sandbox_cost) TRY(affordable("sandbox_cost", cost));
  TRY(within("slots_max", config.slots_max, kPoolSlotsMax));
  TRY(within("nests_max", config.nests_max, kPoolNestsMax));
  TRY(within("preparing_max", config.preparing_max, kPoolSlotsMax));
  TRY(within("teardown_debt_max", config.teardown_debt_max, kPoolSlotsMax));
  TRY(within("quarantined_max", config.quarantined_max, kPoolSlotsMax));
  TRY(within("nest_forks_max", config.nest_forks_max, std::size_t{1} << 30));
  TRY(positive("nest_age_max", config.nest_age_max));
  TRY(positive("slot_age_max", config.slot_age_max));
  TRY(positive("nest_start_max", config.nest_start_max));
  TRY(positive("template_start_max", config.template_start_max));
  TRY(positive("slot_create_max", config.slot_create_max));
  TRY(positive("restored_create_max", config.restored_create_max));
  TRY(positive("teardown_max", config.teardown_max));
  TRY(positive("backoff_min", config.backoff_min));
  TRY(positive("backoff_max", config.backoff_max));
  return {};
}

Result<void> check_class(const SlotClass& slot_class) {
  if (slot_class.key.empty() || slot_class.key.size() > kPoolKeyMax || slot_class.image.empty() ||
      slot_class.image.size() > kPoolKeyMax) {
    return fail(ErrorCode::kInvalid, "the key or the image of a class of slots is empty or too long");
  }
  TRY(affordable("slot_cost", slot_class.slot_cost));
  if (slot_class.hot_min > slot_class.hot_max) {
    return fail(ErrorCode::kInvalid, "hot_min is above hot_max");
  }
  if (slot_class.hot_max > kPoolTargetMax || slot_class.warm > kPoolTargetMax) {
    return fail(ErrorCode::kInvalid,
                "a class may have at most " + std::to_string(kPoolTargetMax) + " hot and as many warm slots");
  }
  if (slot_class.waived.size() > kPoolRowsMax) return fail(ErrorCode::kInvalid, "too many waived rows");
  return {};
}

}  // namespace casemate::pool
