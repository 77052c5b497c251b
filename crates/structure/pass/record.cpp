// A plugin for clang and flang: writes the structure of what is compiled, and what its loops and branches depend on,
// into the section .headwater.psg of the object file (ScalAna, section III-A).
//
// It is C++ because a plugin has to be built against the headers of the very LLVM that loads it, and these are C++;
// the users who have clang have them. It knows nothing of MPI: which argument of a call is a rank or a message is
// decided by the reader (src/compiler), which has the table of MPI functions. Nothing of the module is changed but
// one directive of module-level assembly. The layout of the record is that which src/compiler/reading.rs reads.
//
// One walk per question would be quadratic. So each value, and each state of memory that somebody asks for, becomes
// one node of a graph of dependences; the reader follows its edges, across translation units.
//
// This source has parts, one for each noun. They are one translation unit, in the order in which src/lib.rs has them; this
// is the first: what the record is made of.

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#if LLVM_VERSION_MAJOR >= 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif
#include "llvm/Support/TargetSelect.h"
#include <deque>
#include <functional>
#include <map>
#include <tuple>

using namespace llvm;

namespace {

// Of the record: changes whenever its layout or meaning does. src/compiler/reading.rs has the same number.
constexpr unsigned Version = 6;
// Functions with more nodes than this, or with more operands of all together, are not followed further.
constexpr size_t MostNodes = 1 << 16;
constexpr size_t MostOperands = 1 << 20;
// Blocks that one question about memory may visit.
constexpr size_t MostBlocks = 4096;
// The argument of a call that writes a global variable by itself.
constexpr unsigned NoArgument = ~0u;
// Calls of a function, each for one global variable, that are followed to what they leave there.
constexpr size_t MostAfter = 2048;

enum Op : unsigned { Const, Mix, Param, Entry, Global, Result, Out, StoreTo, Unknown, Kept, Open, Points, MayPoint, Inner, MayAlias, After };
enum Reason : unsigned { Escapes, ThroughPointer, TooLarge, Copied, Other };
// Of a node: its op, and which of its fields follow.
constexpr unsigned OpBits = 4;
static_assert(After < 1 << OpBits, "an op does not fit");
enum Field : unsigned {
  HasOperands = 1 << OpBits,
  HasLine = 2 << OpBits,
  SameFile = 4 << OpBits, // that of the last node that has one
  OtherFile = 8 << OpBits,
  HasName = 16 << OpBits,
  HasA = 32 << OpBits,
  HasC = 64 << OpBits,
  HasOffset = 128 << OpBits,
  HasAlternatives = 256 << OpBits
};
enum Mode : unsigned { At, Asked, Anywhere };
enum VertexKind : unsigned { LoopVertex, BranchVertex, CallVertex };

// Where in an object: a fixed byte, the byte that the reader asks for, or any.
struct Offset {
  Mode mode;
  int64_t at;
  bool operator<(const Offset &o) const { return std::tie(mode, at) < std::tie(o.mode, o.at); }
};

struct Node {
  Op op = Mix;
  uint64_t a = 0, c = 0;
  Offset off{At, 0};
  unsigned name = 0, file = 0, line = 0;
  SmallVector<unsigned, 4> operands;
  // The first ones are alternatives, and the others decide between them; 0 if there is no choice.
  unsigned alternatives = 0;
};

struct Bytes {
  std::string out;
  void u(uint64_t v) {
    do {
      out.push_back(char((v & 127) | (v > 127 ? 128 : 0)));
      v >>= 7;
    } while (v);
  }
  void s(int64_t v) { u((uint64_t(v) << 1) ^ uint64_t(v >> 63)); }
};

// Strings, each once; 0 is the empty one.
struct Strings {
  StringMap<unsigned> known;
  std::vector<std::string> all{""};
  unsigned id(StringRef text) {
    if (text.empty())
      return 0;
    auto put = known.try_emplace(text, all.size());
    if (put.second)
      all.push_back(text.str());
    return put.first->second;
  }
};

} // namespace
