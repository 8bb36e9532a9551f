#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "bind/convert.hpp"
#include "call/kernel.hpp"

namespace nb = nanobind;

namespace gradbag {

// The settings of a call, in the order of the kernel's, with the memory of their texts.
class Settings {
  public:
    Settings(const std::vector<SettingKind>& kinds, nb::handle values) {
        if (nb::len(values) != kinds.size()) throw std::invalid_argument("other settings than the kernel's");
        texts_.reserve(kinds.size());
        for (std::size_t place = 0; place < kinds.size(); ++place) {
            const nb::object value = values[place];
            gradbag_setting setting{};
            switch (kinds[place]) {
                case SettingKind::integer:
                    setting.integer = nb::cast<std::int64_t>(value);
                    break;
                case SettingKind::real:
                    setting.real = nb::cast<double>(value);
                    break;
                case SettingKind::text:
                    texts_.push_back(text(value));
                    setting.text = texts_.back().data();
                    setting.text_size = texts_.back().size();
                    break;
            }
            all_.push_back(setting);
        }
    }
    Settings(const Settings&) = delete;
    Settings(Settings&&) = default;  // a vector that is moved leaves its strings where they are

    const gradbag_setting* data() const { return all_.data(); }

  private:
    std::vector<std::string> texts_;
    std::vector<gradbag_setting> all_;
};

}  // namespace gradbag
