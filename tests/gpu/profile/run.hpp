// Profiles works as they would run on a device: their dispatches are interpreted in part, and their kernels compiled.
#pragma once

#include "gpu/compiler.hpp"
#include "gpu/profile/measured.hpp"
#include "gpu/profile/works.hpp"
#include "interpreter/interpreter.hpp"

namespace heed::gpu_tests {

inline constexpr uint32_t kSample = 8;  // workgroups of a dispatch, evenly spread

// Profiles a work of heed's by its schedule. False, with the reason on stderr, if the device cannot do it.
bool profile(const Work& work, Compiler& compiler, Profile* result);
// Profiles what another program dispatched, from the folder that tests/gpu/peer/layer.cpp wrote.
bool profile_trace(const std::string& folder, Compiler& compiler, Profile* result);

// Interprets a sample of a dispatch's workgroups. Fills ran, counts and lacking. False if the kernel did something wrong, as
// stderr then says.
bool interpret(interpreter::Interpreter& interpreter, interpreter::Launch launch, Measured* measured);

}  // namespace heed::gpu_tests
