// peak.cu as PTX of the oldest architecture and version that has what it needs: drivers compile it for any later one.

#include "device_agent/worker/gpu/peak.h"

namespace tf::worker::gpu_worker {

const char kPeakPtx[] = R"(.version 6.3
.target sm_75
.address_size 64
.visible .entry peak(
  .param .u64 peak_param_0
)
.maxntid 64, 1, 1
{
  .reg .pred   %p<2>;
  .reg .f32   %f<132>;
  .reg .b32   %r<9>;
  .reg .b64   %rd<5>;
  ld.param.u64   %rd2, [peak_param_0];
  cvta.to.global.u64   %rd3, %rd2;
  mov.u32   %r4, %ctaid.x;
  shl.b32   %r5, %r4, 6;
  mov.u32   %r6, %tid.x;
  add.s32   %r7, %r5, %r6;
  mul.wide.u32   %rd4, %r7, 4;
  add.s64   %rd1, %rd3, %rd4;
  ld.global.f32   %f49, [%rd1];
  add.f32   %f131, %f49, 0f00000000;
  add.f32   %f130, %f49, 0f3F800000;
  add.f32   %f129, %f49, 0f40000000;
  add.f32   %f128, %f49, 0f40400000;
  add.f32   %f127, %f49, 0f40800000;
  add.f32   %f126, %f49, 0f40A00000;
  add.f32   %f125, %f49, 0f40C00000;
  add.f32   %f124, %f49, 0f40E00000;
  add.f32   %f123, %f49, 0f41000000;
  add.f32   %f122, %f49, 0f41100000;
  add.f32   %f121, %f49, 0f41200000;
  add.f32   %f120, %f49, 0f41300000;
  add.f32   %f119, %f49, 0f41400000;
  add.f32   %f118, %f49, 0f41500000;
  add.f32   %f117, %f49, 0f41600000;
  add.f32   %f116, %f49, 0f41700000;
  mov.u32   %r8, 0;
$L__BB0_1:
  .pragma "nounroll";
  mov.f32   %f50, 0f3A83126F;
  mov.f32   %f51, 0f3F7FBE77;
  fma.rn.f32   %f52, %f131, %f51, %f50;
  fma.rn.f32   %f53, %f52, %f51, %f50;
  fma.rn.f32   %f54, %f130, %f51, %f50;
  fma.rn.f32   %f55, %f54, %f51, %f50;
  fma.rn.f32   %f56, %f129, %f51, %f50;
  fma.rn.f32   %f57, %f56, %f51, %f50;
  fma.rn.f32   %f58, %f128, %f51, %f50;
  fma.rn.f32   %f59, %f58, %f51, %f50;
  fma.rn.f32   %f60, %f127, %f51, %f50;
  fma.rn.f32   %f61, %f60, %f51, %f50;
  fma.rn.f32   %f62, %f126, %f51, %f50;
  fma.rn.f32   %f63, %f62, %f51, %f50;
  fma.rn.f32   %f64, %f125, %f51, %f50;
  fma.rn.f32   %f65, %f64, %f51, %f50;
  fma.rn.f32   %f66, %f124, %f51, %f50;
  fma.rn.f32   %f67, %f66, %f51, %f50;
  fma.rn.f32   %f68, %f123, %f51, %f50;
  fma.rn.f32   %f69, %f68, %f51, %f50;
  fma.rn.f32   %f70, %f122, %f51, %f50;
  fma.rn.f32   %f71, %f70, %f51, %f50;
  fma.rn.f32   %f72, %f121, %f51, %f50;
  fma.rn.f32   %f73, %f72, %f51, %f50;
  fma.rn.f32   %f74, %f120, %f51, %f50;
  fma.rn.f32   %f75, %f74, %f51, %f50;
  fma.rn.f32   %f76, %f119, %f51, %f50;
  fma.rn.f32   %f77, %f76, %f51, %f50;
  fma.rn.f32   %f78, %f118, %f51, %f50;
  fma.rn.f32   %f79, %f78, %f51, %f50;
  fma.rn.f32   %f80, %f117, %f51, %f50;
  fma.rn.f32   %f81, %f80, %f51, %f50;
  fma.rn.f32   %f82, %f116, %f51, %f50;
  fma.rn.f32   %f83, %f82, %f51, %f50;
  fma.rn.f32   %f84, %f53, %f51, %f50;
  fma.rn.f32   %f85, %f55, %f51, %f50;
  fma.rn.f32   %f86, %f57, %f51, %f50;
  fma.rn.f32   %f87, %f59, %f51, %f50;
  fma.rn.f32   %f88, %f61, %f51, %f50;
  fma.rn.f32   %f89, %f63, %f51, %f50;
  fma.rn.f32   %f90, %f65, %f51, %f50;
  fma.rn.f32   %f91, %f67, %f51, %f50;
  fma.rn.f32   %f92, %f69, %f51, %f50;
  fma.rn.f32   %f93, %f71, %f51, %f50;
  fma.rn.f32   %f94, %f73, %f51, %f50;
  fma.rn.f32   %f95, %f75, %f51, %f50;
  fma.rn.f32   %f96, %f77, %f51, %f50;
  fma.rn.f32   %f97, %f79, %f51, %f50;
  fma.rn.f32   %f98, %f81, %f51, %f50;
  fma.rn.f32   %f99, %f83, %f51, %f50;
  fma.rn.f32   %f131, %f84, %f51, %f50;
  fma.rn.f32   %f130, %f85, %f51, %f50;
  fma.rn.f32   %f129, %f86, %f51, %f50;
  fma.rn.f32   %f128, %f87, %f51, %f50;
  fma.rn.f32   %f127, %f88, %f51, %f50;
  fma.rn.f32   %f126, %f89, %f51, %f50;
  fma.rn.f32   %f125, %f90, %f51, %f50;
  fma.rn.f32   %f124, %f91, %f51, %f50;
  fma.rn.f32   %f123, %f92, %f51, %f50;
  fma.rn.f32   %f122, %f93, %f51, %f50;
  fma.rn.f32   %f121, %f94, %f51, %f50;
  fma.rn.f32   %f120, %f95, %f51, %f50;
  fma.rn.f32   %f119, %f96, %f51, %f50;
  fma.rn.f32   %f118, %f97, %f51, %f50;
  fma.rn.f32   %f117, %f98, %f51, %f50;
  fma.rn.f32   %f116, %f99, %f51, %f50;
  add.s32   %r8, %r8, 4;
  setp.ne.s32   %p1, %r8, 2048;
  @%p1 bra   $L__BB0_1;
  add.f32   %f100, %f131, 0f00000000;
  add.f32   %f101, %f100, %f130;
  add.f32   %f102, %f101, %f129;
  add.f32   %f103, %f102, %f128;
  add.f32   %f104, %f103, %f127;
  add.f32   %f105, %f104, %f126;
  add.f32   %f106, %f105, %f125;
  add.f32   %f107, %f106, %f124;
  add.f32   %f108, %f107, %f123;
  add.f32   %f109, %f108, %f122;
  add.f32   %f110, %f109, %f121;
  add.f32   %f111, %f110, %f120;
  add.f32   %f112, %f111, %f119;
  add.f32   %f113, %f112, %f118;
  add.f32   %f114, %f113, %f117;
  add.f32   %f115, %f114, %f116;
  st.global.f32   [%rd1], %f115;
  ret;
}
)";

}  // namespace tf::worker::gpu_worker
