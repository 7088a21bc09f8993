// The part of boost::any that programs of the HumanEval-X form use, over std::any: Boost need not be installed.
#pragma once
#include <any>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace boost {
using bad_any_cast = std::bad_any_cast;

class any {
  public:
    any() = default;
    any(const any &) = default;
    any(any &&) noexcept = default;
    template <class Value, class = std::enable_if_t<!std::is_same_v<std::decay_t<Value>, any>>>
    any(Value &&value) : held(std::forward<Value>(value)) {}
    any &operator=(const any &) = default;
    any &operator=(any &&) noexcept = default;
    template <class Value, class = std::enable_if_t<!std::is_same_v<std::decay_t<Value>, any>>>
    any &operator=(Value &&value) {
        held = std::forward<Value>(value);
        return *this;
    }
    any &swap(any &other) noexcept {
        held.swap(other.held);
        return *this;
    }
    bool empty() const noexcept { return !held.has_value(); }
    void clear() noexcept { held.reset(); }
    const std::type_info &type() const noexcept { return held.type(); }

    std::any held;
};

inline void swap(any &left, any &right) noexcept { left.swap(right); }

template <class Value> Value *any_cast(any *operand) noexcept {
    return operand == nullptr ? nullptr : std::any_cast<Value>(&operand->held);
}
template <class Value> const Value *any_cast(const any *operand) noexcept {
    return operand == nullptr ? nullptr : std::any_cast<Value>(&operand->held);
}
template <class Value> Value any_cast(any &operand) { return std::any_cast<Value>(operand.held); }
template <class Value> Value any_cast(const any &operand) { return std::any_cast<Value>(operand.held); }
template <class Value> Value any_cast(any &&operand) { return std::any_cast<Value>(std::move(operand.held)); }
} // namespace boost
