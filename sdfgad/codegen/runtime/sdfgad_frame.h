// What the text around a program's code asks of DaCe's headers: how functions are exported, and the names of those
// types that C++ has no name for. All of DaCe's headers take the compiler longer than most programs do.
#pragma once
#include "sdfgad_scalars.h"

#define DACE_EXPORTED extern "C"

namespace dace {
using uint = unsigned int;
#if !defined(SG_REAL)
using complex64 = std::complex<float>;
using complex128 = std::complex<double>;
#endif
}  // namespace dace
