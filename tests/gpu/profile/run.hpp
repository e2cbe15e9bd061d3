// Profiles works for a device: interprets a sample of their dispatches, and compiles their kernels.
#pragma once

#include "gpu/compiler.hpp"
#include "gpu/profile/measured.hpp"
#include "gpu/profile/works.hpp"
#include "interpreter/interpreter.hpp"

namespace heed::gpu_tests {

inline constexpr uint32_t kSample = 8;  // interpreted workgroups of a dispatch, evenly spread

// Profiles a work of heed by its schedule. Returns false, with the reason on stderr, if the device cannot run it.
bool profile(const Work& work, Compiler& compiler, Profile* result);
// Profiles the dispatches of another program, from the folder that tests/gpu/peer/layer.cpp wrote.
bool profile_trace(const std::string& folder, Compiler& compiler, Profile* result);

// Interprets a sample of a dispatch's workgroups. Fills ran, counts and lacking. Returns false, with a message on stderr, if the kernel
// broke a rule.
bool interpret(interpreter::Interpreter& interpreter, interpreter::Launch launch, Measured* measured);

}  // namespace heed::gpu_tests
