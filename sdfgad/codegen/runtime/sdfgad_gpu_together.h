// What kernels call whose blocks wait for each other: they are started by `launch_together`. The header of CUDA takes the
// compiler a while, so that only programs with such kernels include it.
#ifndef SDFGAD_GPU_TOGETHER_H
#define SDFGAD_GPU_TOGETHER_H
#include <cooperative_groups.h>

namespace sg {

// Behind it every thread sees what all threads of all blocks did before. For all threads of the launch.
__device__ inline void wait_for_all() { cooperative_groups::this_grid().sync(); }

}  // namespace sg

#endif
