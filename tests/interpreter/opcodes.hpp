// Numbers of the SPIR-V specification and of SPV_KHR_cooperative_matrix that heed's kernels use.
#pragma once

#include <cstdint>

namespace heed::interpreter {

// clang-format off: it would put each number on its own line.

enum class Op : uint16_t {
  Nop = 0, Undef, ExtInst = 12, MemoryModel = 14, EntryPoint, ExecutionMode, Capability, TypeVoid = 19, TypeBool,
  TypeInt, TypeFloat, TypeVector, TypeMatrix, TypeArray = 28, TypeRuntimeArray, TypeStruct, TypePointer = 32,
  TypeFunction, ConstantTrue = 41, ConstantFalse, Constant, ConstantComposite, ConstantNull = 46,
  SpecConstantTrue = 48, SpecConstantFalse, SpecConstant, SpecConstantComposite, SpecConstantOp, Function = 54,
  FunctionParameter, FunctionEnd, FunctionCall, Variable = 59, Load = 61, Store, AccessChain = 65, InBoundsAccessChain,
  Decorate = 71, MemberDecorate, VectorExtractDynamic = 77, VectorInsertDynamic, VectorShuffle, CompositeConstruct,
  CompositeExtract, CompositeInsert, CopyObject, Transpose, ConvertFToU = 109, ConvertFToS, ConvertSToF, ConvertUToF,
  UConvert, SConvert, FConvert, Bitcast = 124, SNegate = 126, FNegate, IAdd, FAdd, ISub, FSub, IMul, FMul, UDiv, SDiv, FDiv, UMod,
  VectorTimesScalar = 142, MatrixTimesScalar, VectorTimesMatrix, MatrixTimesVector, Dot = 148, IAddCarry,
  UMulExtended = 151, Any = 154, All, IsNan, IsInf, LogicalEqual = 164, LogicalNotEqual, LogicalOr, LogicalAnd,
  LogicalNot, Select, IEqual, INotEqual, UGreaterThan, SGreaterThan, UGreaterThanEqual, SGreaterThanEqual, ULessThan,
  SLessThan, ULessThanEqual, SLessThanEqual, FOrdEqual, FOrdNotEqual = 182, FUnordNotEqual, FOrdLessThan,
  FUnordLessThan, FOrdGreaterThan, FUnordGreaterThan, FOrdLessThanEqual, FUnordLessThanEqual, FOrdGreaterThanEqual,
  FUnordGreaterThanEqual, ShiftRightLogical = 194, ShiftRightArithmetic, ShiftLeftLogical, BitwiseOr, BitwiseXor,
  BitwiseAnd, Not, BitFieldInsert, BitFieldSExtract, BitFieldUExtract, ControlBarrier = 224, MemoryBarrier, AtomicIAdd = 234, AtomicUMin = 237, AtomicUMax = 239,
  AtomicAnd, AtomicOr, Phi = 245, LoopMerge, SelectionMerge, Label, Branch, BranchConditional, Switch, Kill, Return,
  ReturnValue, Unreachable, ExecutionModeId = 331, GroupNonUniformElect = 333, GroupNonUniformAll, GroupNonUniformAny, GroupNonUniformBroadcast = 337,
  GroupNonUniformShuffle = 345, GroupNonUniformShuffleXor, GroupNonUniformIAdd = 349, GroupNonUniformFAdd,
  GroupNonUniformUMin = 354, GroupNonUniformFMin, GroupNonUniformUMax = 357, GroupNonUniformFMax,
  GroupNonUniformBitwiseAnd, GroupNonUniformBitwiseOr, CopyLogical = 400, SDot = 4450, UDot, SUDot, TypeCooperativeMatrix = 4456, CooperativeMatrixLoad,
  CooperativeMatrixStore, CooperativeMatrixMulAdd, CooperativeMatrixLength
};

// Instructions of GLSL.std.450.
enum class Glsl : uint32_t {
  Round = 1, RoundEven, Trunc, FAbs, SAbs, FSign, SSign, Floor, Ceil, Sin = 13, Cos, Tanh = 21, Pow = 26, Exp, Log, Exp2, Log2, Sqrt, InverseSqrt, FMin = 37,
  UMin, SMin, FMax, UMax, SMax, FClamp, UClamp, SClamp, Fma = 50, PackHalf2x16 = 58, UnpackHalf2x16 = 62
};

enum class Decoration : uint32_t {
  SpecId = 1, ArrayStride = 6, MatrixStride, BuiltIn = 11, Binding = 33, Offset = 35, NoContraction = 42
};

enum class BuiltIn : uint32_t {
  NumWorkgroups = 24, WorkgroupSize, WorkgroupId, LocalInvocationId, GlobalInvocationId, LocalInvocationIndex, SubgroupSize = 36,
  NumSubgroups = 38, SubgroupId = 40, SubgroupLocalInvocationId
};

enum class Storage : uint32_t {
  Input = 1, Workgroup = 4, Private = 6, Function, PushConstant = 9, StorageBuffer = 12
};

enum class Scope : uint32_t { Device = 1, Workgroup, Subgroup, Invocation };

// clang-format on

// Bits of memory semantics: which memory a barrier orders.
constexpr uint32_t kOrdersBuffers = 0x40, kOrdersShared = 0x100;

}  // namespace heed::interpreter
