// A plugin for clang and flang: writes the structure of what is compiled, and what its loops and branches depend on,
// into the section .headwater.psg of the object file (ScalAna, section III-A).
//
// It is C++ because a plugin has to be built against the headers of the very LLVM that loads it, and these are C++;
// the users who have clang have them. It knows nothing of MPI: which argument of a call is a rank or a message is
// decided by the reader (src/compiler), which has the table of MPI functions. Nothing of the module is changed but
// one directive of module-level assembly. docs/COMPILER.md describes the record.
//
// One walk per question would be quadratic. So each value, and each state of memory that somebody asks for, becomes
// one node of a graph of dependences; the reader follows its edges, across translation units.

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"
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
#include <functional>
#include <map>
#include <set>
#include <tuple>

using namespace llvm;

namespace {

// Of the record: changes whenever its layout or meaning does. src/compiler/record.rs has the same number.
constexpr unsigned Version = 2;
// Functions with more nodes than this are not followed further.
constexpr size_t MostNodes = 1 << 16;
// Blocks that one question about memory may visit.
constexpr size_t MostBlocks = 4096;
// The argument of a call that writes a global variable by itself.
constexpr unsigned NoArgument = ~0u;

enum Op : unsigned { Const, Mix, Param, Entry, Global, Result, Out, StoreTo, Unknown, Kept, Open, Points, MayPoint, Inner, MayAlias };
enum Reason : unsigned { Escapes, ThroughPointer, TooLarge, Copied, Other };
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

// Whether a function of MPI keeps the address of its buffer, so that the library or another rank writes there later.
bool keepsBuffer(StringRef name) {
  std::string low = name.lower();
  StringRef n = StringRef(low).ltrim('p').rtrim('_');
  if (n.contains("set_attr") || n.contains("attr_put") || n.contains("grequest_start") || n.contains("keyval"))
    return true;
  bool persistent = n.size() > 5 && n.substr(n.size() - 5) == "_init" && n != "mpi_init" && n != "mpi_t_init" &&
                    n != "mpi_session_init";
  return persistent || n == "mpi_win_create" || n == "mpi_win_attach" || n == "mpi_buffer_attach";
}

bool isMpi(StringRef name) {
  std::string low = name.lower();
  StringRef n(low);
  return n.substr(0, 4) == "mpi_" || n.substr(0, 5) == "pmpi_";
}

// Functions of the system's libraries that keep no pointer and write none but through their arguments.
bool isHarmless(StringRef name) {
  static const char *const names[] = {"printf", "fprintf", "puts", "putchar", "fputs", "fputc", "fwrite", "fflush",
      "sscanf", "scanf", "fscanf", "__isoc99_sscanf", "__isoc99_scanf", "__isoc99_fscanf", "__isoc23_sscanf",
      "__isoc23_scanf", "__isoc23_fscanf", "fgets", "fread", "read", "getenv", "atoi", "atol", "atof", "strtol",
      "strtod", "strtoll", "strtoul", "__isoc23_strtol", "__isoc23_strtoul", "__isoc23_strtoll", "malloc", "calloc",
      "free", "snprintf", "sprintf", "strlen", "strcmp", "strncmp", "fopen", "fclose", "time", "clock",
      "clock_gettime", "gettimeofday", "usleep", "nanosleep", "exit", "abort", "perror", "rand", "srand", "drand48",
      "getpid", "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm"};
  for (const char *n : names)
    if (name == n)
      return true;
  if (name.substr(0, 8) != "_Fortran")
    return isMpi(name);
  // These may call procedures of the program: its own input and output of types, finalisers, assignments.
  for (const char *n : {"DerivedType", "Destroy", "Finalize", "Assign", "Namelist"})
    if (name.contains(n))
      return false;
  return true;
}

// Functions whose memory is new and has nothing of the program in it.
bool isAllocator(StringRef name) {
  for (const char *n : {"malloc", "calloc", "aligned_alloc", "_Znwm", "_Znam", "_ZnwmSt11align_val_t"})
    if (name == n)
      return true;
  return false;
}

// The function that a call names, if it names one.
Function *calleeOf(const CallBase &call) {
  return dyn_cast<Function>(call.getCalledOperand()->stripPointerCastsAndAliases());
}

// Whether a call may keep a pointer that it is given. Of functions in records the reader knows better.
bool mayKeep(const CallBase &c, unsigned k) {
  if (c.doesNotCapture(k))
    return false;
  Function *callee = calleeOf(c);
  if (!callee)
    return true;
  StringRef name = callee->getName();
  if (isMpi(name))
    return keepsBuffer(name);
  return !(callee->isDeclaration() && (isHarmless(name) || name.substr(0, 8) == "_Fortran"));
}

bool isIgnored(const Instruction &i) {
  if (isa<DbgInfoIntrinsic>(i))
    return true;
  auto *in = dyn_cast<IntrinsicInst>(&i);
  return in && (in->isLifetimeStartOrEnd() || in->isAssumeLikeIntrinsic());
}

// Control dependence (Ferrante, Ottenstein and Warren, 1987) among the blocks from which the function comes back: an error
// check, one way of which ends the program, decides nothing.
class Control {
public:
  // With a loop, what decides within one of its iterations: going on with the next one, or out, is an end.
  Control(Function &f, DominatorTree &dt, const Control *whole = nullptr, const Loop *l = nullptr) {
    std::vector<BasicBlock *> ends;
    auto isIn = [&](const BasicBlock *b) {
      return dt.isReachableFromEntry(b) && (!whole || whole->comesBack(b)) && (!l || l->contains(b));
    };
    auto goesOn = [&](const BasicBlock *to) { return !l || (l->contains(to) && to != l->getHeader()); };
    auto isEnd = [&](BasicBlock &b) {
      return l ? any_of(successors(&b), [&](auto *s) { return !goesOn(s) && whole->comesBack(s); })
               : isa<ReturnInst>(b.getTerminator());
    };
    for (auto &b : f)
      if (isIn(&b) && isEnd(b))
        ends.push_back(&b);
    // A function that never returns ends the program at its end.
    if (ends.empty() && !l)
      for (auto &b : f)
        if (dt.isReachableFromEntry(&b) && succ_empty(&b))
          ends.push_back(&b);
    // The reverse graph in post order; the last number is the exit.
    std::vector<std::pair<BasicBlock *, pred_iterator>> open;
    auto enter = [&](BasicBlock *b) {
      if (isIn(b) && number.try_emplace(b, 0).second)
        open.push_back({b, pred_begin(b)});
    };
    for (auto *end : ends) {
      enter(end);
      while (!open.empty()) {
        auto &[b, next] = open.back();
        if (next != pred_end(b) && goesOn(b)) {
          enter(*next++);
          continue;
        }
        number[b] = order.size();
        order.push_back(b);
        open.pop_back();
      }
    }
    unsigned exit = order.size();
    above.assign(exit + 1, exit + 1);
    above[exit] = exit;
    auto meet = [&](unsigned a, unsigned b) {
      while (a != b)
        if (a < b)
          a = above[a];
        else
          b = above[b];
      return a;
    };
    SmallPtrSet<BasicBlock *, 4> last(ends.begin(), ends.end());
    for (bool changed = true; changed;) {
      changed = false;
      for (unsigned n = exit; n-- > 0;) {
        unsigned to = last.count(order[n]) ? exit : exit + 1;
        for (auto *s : successors(order[n])) {
          auto known = number.find(s);
          if (known == number.end() || !goesOn(s) || above[known->second] > exit)
            continue;
          to = to > exit ? known->second : meet(to, known->second);
        }
        changed |= to != above[n];
        above[n] = to;
      }
    }
    for (unsigned n = 0; n < exit; n++) {
      if (!(whole ? whole : this)->decides(order[n]))
        continue;
      for (auto *s : successors(order[n])) {
        auto known = number.find(s);
        if (known == number.end() || !goesOn(s))
          continue;
        for (unsigned at = known->second; at < exit && at != above[n]; at = above[at])
          if (auto &on = dependent[order[at]]; !is_contained(on, order[n]))
            on.push_back(order[n]);
      }
    }
  }
  bool comesBack(const BasicBlock *b) const { return number.count(b); }
  // Whether a block ends in a choice between ways that come back.
  bool decides(const BasicBlock *b) const {
    if (!isa<BranchInst>(b->getTerminator()) && !isa<SwitchInst>(b->getTerminator()))
      return false;
    SmallPtrSet<const BasicBlock *, 4> ways;
    for (auto *s : successors(b))
      if (comesBack(s) || !comesBack(b))
        ways.insert(s);
    return ways.size() > 1;
  }
  // The blocks whose choices decide whether a block is reached, without those that decide whether these are.
  ArrayRef<BasicBlock *> of(const BasicBlock *b) const {
    auto known = dependent.find(b);
    return known == dependent.end() ? ArrayRef<BasicBlock *>() : ArrayRef<BasicBlock *>(known->second);
  }

private:
  DenseMap<const BasicBlock *, unsigned> number;
  std::vector<BasicBlock *> order;
  std::vector<unsigned> above; // the next one that all ways to the exit pass
  DenseMap<const BasicBlock *, SmallVector<BasicBlock *, 2>> dependent;
};

struct Place {
  unsigned file = 0, line = 0, scope = 0;
};

class OfModule;
bool isObject(Value *v);

// A memory object as far as one function sees it, and who writes it there.
struct Object {
  Value *base = nullptr;
  bool escapes = false;
  struct Writer {
    Instruction *at;
    unsigned argument; // of a call
    Offset off;
    uint64_t size;
    bool barrier; // a call that may write it though it is not an argument
    bool alias = false; // through another parameter, which may point to the same
    Argument *through = nullptr; // a parameter, which may point to this global
    bool elsewhere = false; // if this parameter points to what others can write
  };
  unsigned number = 0;
  // Calls that may keep its address.
  std::vector<std::pair<CallBase *, unsigned>> keepers;
  std::map<BasicBlock *, std::vector<Writer>> writers; // each in the order of the block
  std::set<int64_t> offsets;
};

class OfFunction {
public:
  OfFunction(OfModule &m, Function &f, DominatorTree &dt, LoopInfo &li);
  void run();
  void write(Bytes &b);

private:
  OfModule &m;
  Function &f;
  DominatorTree &dt;
  LoopInfo &li;
  const DataLayout &dl;

  std::vector<Node> nodes;
  std::vector<std::function<void()>> pending;
  DenseMap<const Value *, unsigned> values;
  DenseMap<const Loop *, unsigned> exits;
  std::map<Value *, Object> objects;
  // State of an object's byte before an instruction, and at the end of a block.
  std::map<std::tuple<Value *, Offset, Instruction *>, unsigned> states;

  struct Call {
    CallBase *call;
    unsigned vertex;
    SmallVector<unsigned, 6> arguments, contents;
    SmallVector<std::tuple<unsigned, uint64_t, Offset>, 6> bases;
  };
  std::vector<Call> calls;
  DenseMap<const CallBase *, unsigned> callNumbers;

  struct Vertex {
    VertexKind kind;
    unsigned parent; // plus one
    Place place;
    unsigned last;
    uint64_t call;
    SmallVector<unsigned, 4> conditions;
  };
  std::vector<Vertex> vertices;
  DenseMap<const Loop *, unsigned> loopVertices;
  DenseMap<const BasicBlock *, unsigned> branchVertices;
  std::map<std::tuple<unsigned, unsigned, unsigned, unsigned>, unsigned> loopsByLine;

  unsigned result = 0;
  std::vector<std::tuple<unsigned, unsigned, unsigned>> outs;
  std::map<std::tuple<Op, uint64_t, uint64_t, Offset>, unsigned> alone; // nodes that are the same everywhere
  std::map<std::vector<BasicBlock *>, unsigned> joinedVertices;
  std::map<const Loop *, Control> inLoops;
  Control control;
  std::vector<unsigned> kept; // numbers of parameters whose address is kept somewhere
  std::vector<std::tuple<unsigned, unsigned>> globalOuts;
  size_t blocks = 0, branches = 0, loops = 0;

  unsigned add(Node n);
  unsigned unknown(Reason r, const Instruction *at);
  Place placeOf(const DebugLoc &loc);
  unsigned nameOf(Value *v, int64_t offset);
  unsigned value(Value *v);
  unsigned address();
  unsigned only(Op op, uint64_t a, uint64_t c, Offset off);
  void leave(SmallVectorImpl<unsigned> &to, const BasicBlock *from, const BasicBlock *user);
  unsigned exitNode(Loop *l);
  void fill(unsigned node, Instruction *i);
  void controls(SmallVectorImpl<unsigned> &to, BasicBlock *from, BasicBlock *until, BasicBlock *user, const Loop *within,
                bool own);
  unsigned condition(BasicBlock *b);
  unsigned branchVertex(BasicBlock *at);
  const Control &inLoop(const Loop *l);
  std::pair<Value *, Offset> baseOf(Value *pointer);
  Object &object(Value *base);
  void collect(Object &o, Value *pointer, Offset off, SmallPtrSetImpl<Value *> &seen);
  unsigned load(LoadInst *l);
  unsigned memory(Object &o, Offset off, uint64_t size, Instruction *before);
  unsigned written(Object &o, const Object::Writer &w, Offset off, uint64_t size, BasicBlock *user);
  unsigned lane(Value *v, unsigned k, int depth);
  bool isOneVariable(PHINode &phi);
  unsigned atEntry(Object &o, Offset off);
  unsigned parentOf(BasicBlock *b, const Loop *except);
  unsigned loopVertex(Loop *l);
  void callSite(CallBase &c);
  void drain();
  std::vector<unsigned> compact();
};

class OfModule {
public:
  OfModule(Module &m, FunctionAnalysisManager &fam) : m(m), fam(fam) {}
  std::string record();

  Module &m;
  FunctionAnalysisManager &fam;
  Strings strings;
  SmallPtrSet<GlobalVariable *, 16> escaping;

  unsigned symbol(const GlobalValue &g) { return strings.id(GlobalValue::dropLLVMManglingEscape(g.getName())); }

private:
  void escapes(GlobalVariable &g);
};

OfFunction::OfFunction(OfModule &m, Function &f, DominatorTree &dt, LoopInfo &li)
    : m(m), f(f), dt(dt), li(li), dl(f.getParent()->getDataLayout()), control(f, dt) {
  nodes.emplace_back();
  nodes[0].op = Const;
}

unsigned OfFunction::add(Node n) {
  if (nodes.size() >= MostNodes) {
    n = Node();
    n.op = Unknown;
    n.a = TooLarge;
  }
  nodes.push_back(n);
  return nodes.size() - 1;
}

unsigned OfFunction::unknown(Reason r, const Instruction *at) {
  Node n;
  n.op = Unknown;
  n.a = r;
  if (at) {
    Place p = placeOf(at->getDebugLoc());
    n.file = p.file, n.line = p.line;
  }
  return add(n);
}

Place OfFunction::placeOf(const DebugLoc &loc) {
  Place p;
  if (!loc)
    return p;
  p.line = loc.getLine();
  if (auto *scope = dyn_cast_or_null<DIScope>(loc.getScope())) {
    std::string path = scope->getFilename().str();
    if (!path.empty() && path[0] != '/' && !scope->getDirectory().empty())
      path = scope->getDirectory().str() + "/" + path;
    p.file = m.strings.id(path);
  }
  if (loc.getInlinedAt())
    if (auto *sub = getDISubprogram(loc.getScope()))
      p.scope = m.strings.id(sub->getLinkageName().empty() ? sub->getName() : sub->getLinkageName());
  return p;
}

// `name`, or `name.member` for a byte within a structure.
std::string withMember(StringRef name, const DIType *type, int64_t offset) {
  std::string out = name.str();
  for (int depth = 0; type && depth < 8; depth++) {
    if (auto *derived = dyn_cast<DIDerivedType>(type)) {
      if (derived->getTag() == dwarf::DW_TAG_pointer_type && depth > 0)
        break;
      type = derived->getBaseType();
      continue;
    }
    auto *composite = dyn_cast<DICompositeType>(type);
    if (!composite || composite->getTag() == dwarf::DW_TAG_array_type)
      break;
    const DIDerivedType *found = nullptr;
    for (auto *element : composite->getElements()) {
      auto *member = dyn_cast_or_null<DIDerivedType>(element);
      if (member && member->getTag() == dwarf::DW_TAG_member && int64_t(member->getOffsetInBits() / 8) <= offset)
        if (!found || member->getOffsetInBits() > found->getOffsetInBits())
          found = member;
    }
    if (!found)
      break;
    out += "." + found->getName().str();
    offset -= found->getOffsetInBits() / 8;
    type = found->getBaseType();
  }
  return out;
}

// The variable of the source that a value, or an object at an offset, belongs to.
unsigned OfFunction::nameOf(Value *v, int64_t offset) {
  if (auto *g = dyn_cast<GlobalVariable>(v)) {
    SmallVector<DIGlobalVariableExpression *, 1> all;
    g->getDebugInfo(all);
    for (auto *e : all)
      return m.strings.id(withMember(e->getVariable()->getName(), e->getVariable()->getType(), offset));
    return m.strings.id(g->getName());
  }
  if (isa<Constant>(v))
    return 0;
  // Those of the function itself before those of functions that were inlined.
  std::tuple<bool, unsigned, std::string> best{true, ~0u, ""};
  auto take = [&](DILocalVariable *var, const DebugLoc &loc) {
    if (var && !var->getName().empty() && !var->isArtificial())
      best = std::min(best, {loc && loc.getInlinedAt(), var->getLine(), withMember(var->getName(), isa<AllocaInst>(v) || v->getType()->isPointerTy() ? var->getType() : nullptr, offset)});
  };
  if (v->isUsedByMetadata()) {
#if LLVM_VERSION_MAJOR >= 21
    SmallVector<DbgVariableRecord *, 4> records;
    findDbgUsers(v, records);
    for (auto *r : records)
      take(r->getVariable(), r->getDebugLoc());
#elif LLVM_VERSION_MAJOR >= 19
    SmallVector<DbgVariableIntrinsic *, 4> users;
    SmallVector<DbgVariableRecord *, 4> records;
    findDbgUsers(users, v, &records);
    for (auto *u : users)
      take(u->getVariable(), u->getDebugLoc());
    for (auto *r : records)
      take(r->getVariable(), r->getDebugLoc());
#else
    SmallVector<DbgVariableIntrinsic *, 4> users;
    findDbgUsers(users, v);
    for (auto *u : users)
      take(u->getVariable(), u->getDebugLoc());
#endif
  }
  return m.strings.id(std::get<2>(best));
}

unsigned OfFunction::only(Op op, uint64_t a, uint64_t c, Offset off) {
  auto put = alone.try_emplace({op, a, c, off}, 0);
  if (put.second) {
    Node n;
    n.op = op, n.a = a, n.c = c, n.off = off;
    put.first->second = add(n);
  }
  return put.first->second;
}

unsigned OfFunction::address() { return only(Const, 1, 0, {At, 0}); }

unsigned OfFunction::value(Value *v) {
  if (isa<ConstantInt>(v)) {
    auto put = values.try_emplace(v, 0);
    if (put.second) {
      Node n;
      n.op = Const;
      unsigned id = add(n);
      return values[v] = id;
    }
    return put.first->second;
  }
  // An address is constant, but not what is there.
  if (isa<Constant>(v) && v->getType()->isPointerTy() && !isa<ConstantPointerNull>(v))
    return address();
  if (isa<Constant>(v) || isa<MetadataAsValue>(v) || isa<InlineAsm>(v) || isa<BasicBlock>(v))
    return 0;
  auto known = values.find(v);
  if (known != values.end())
    return known->second;
  Node n;
  n.name = nameOf(v, 0);
  if (auto *a = dyn_cast<Argument>(v)) {
    n.op = Param;
    n.a = a->getArgNo();
    if (auto *sub = f.getSubprogram())
      n.line = sub->getLine();
    return values[v] = add(n);
  }
  auto *i = dyn_cast<Instruction>(v);
  if (i && isa<AllocaInst>(v))
    return address();
  if (!i)
    return values[v] = 0;
  Place p = placeOf(i->getDebugLoc());
  n.file = p.file, n.line = p.line;
  unsigned id = values[v] = add(n);
  if (nodes[id].op == Mix)
    pending.push_back([this, id, i] { fill(id, i); });
  return id;
}

// A value that leaves a loop depends on how often that ran.
void OfFunction::leave(SmallVectorImpl<unsigned> &to, const BasicBlock *from, const BasicBlock *user) {
  for (Loop *l = li.getLoopFor(from); l && !l->contains(user); l = l->getParentLoop())
    to.push_back(exitNode(l));
}

unsigned OfFunction::exitNode(Loop *l) {
  auto known = exits.find(l);
  if (known != exits.end())
    return known->second;
  unsigned id = exits[l] = add(Node());
  pending.push_back([this, id, l] {
    SmallVector<BasicBlock *, 4> exiting;
    l->getExitingBlocks(exiting);
    SmallVector<unsigned, 8> operands;
    for (auto *b : exiting)
      if (control.decides(b)) {
        operands.push_back(condition(b));
        leave(operands, b, l->getHeader());
        controls(operands, b, l->getHeader(), b, l, false);
      } else if (!control.comesBack(b)) {
        operands.push_back(unknown(Other, b->getTerminator()));
      }
    nodes[id].operands.append(operands.begin(), operands.end());
  });
  return id;
}

unsigned OfFunction::condition(BasicBlock *b) {
  Value *c = nullptr;
  if (auto *br = dyn_cast<BranchInst>(b->getTerminator())) {
    if (br->isConditional())
      c = br->getCondition();
  } else if (auto *sw = dyn_cast<SwitchInst>(b->getTerminator())) {
    c = sw->getCondition();
  }
  return c ? value(c) : 0;
}

const Control &OfFunction::inLoop(const Loop *l) {
  return l ? inLoops.try_emplace(l, f, dt, &control, l).first->second : control;
}

// What decides whether `from` is reached once `until`, which dominates it, is, if `user` is reached afterwards.
void OfFunction::controls(SmallVectorImpl<unsigned> &to, BasicBlock *from, BasicBlock *until, BasicBlock *user,
                          const Loop *within, bool own) {
  SmallPtrSet<BasicBlock *, 16> seen;
  SmallVector<BasicBlock *, 16> open{from};
  Loop *both = li.getLoopFor(from);
  while (both && !both->contains(user))
    both = both->getParentLoop();
  const Control &iteration = inLoop(both);
  auto take = [&](BasicBlock *x) {
    if (!dt.dominates(until, x) || (within && !within->contains(x)) || !seen.insert(x).second)
      return;
    // A loop that is not left says nothing.
    if (succ_size(x) == 2)
      for (Loop *l = li.getLoopFor(x); l; l = l->getParentLoop())
        if (l->contains(user) && l->isLoopExiting(x))
          return;
    if (control.decides(x)) {
      to.push_back(condition(x));
      leave(to, x, user);
    }
    open.push_back(x);
  };
  if (!control.comesBack(from) && control.comesBack(&f.getEntryBlock()))
    to.push_back(unknown(Other, from->getTerminator()));
  if (own)
    take(from);
  for (size_t steps = 0; !open.empty(); steps++) {
    if (steps > MostBlocks)
      return to.push_back(unknown(TooLarge, from->getTerminator()));
    auto *b = open.pop_back_val();
    for (auto *x : control.of(b))
      take(x);
    for (auto *x : iteration.of(b))
      take(x);
  }
}

// Whether a phi joins loads of one place with a value that was stored there.
bool OfFunction::isOneVariable(PHINode &phi) {
  for (Value *in : phi.incoming_values()) {
    auto *load = dyn_cast<LoadInst>(in);
    auto [base, off] = load ? baseOf(load->getPointerOperand()) : std::pair<Value *, Offset>(nullptr, {Anywhere, 0});
    if (!base || !isObject(base) || off.mode != At)
      continue;
    bool all = true, stored = false;
    for (Value *other : phi.incoming_values()) {
      bool found = other == in || other == &phi;
      for (auto &block : object(base).writers)
        for (auto &w : block.second)
          if (auto *s = dyn_cast<StoreInst>(w.at))
            found |= w.off.mode == At && w.off.at == off.at && s->getValueOperand() == other;
      stored |= found && other != in;
      all &= found;
    }
    if (all && stored)
      return true;
  }
  return false;
}

void OfFunction::fill(unsigned id, Instruction *i) {
  SmallVector<unsigned, 8> operands;
  BasicBlock *here = i->getParent();
  auto use = [&](Value *v, BasicBlock *user) {
    operands.push_back(value(v));
    if (auto *def = dyn_cast<Instruction>(v))
      leave(operands, def->getParent(), user);
  };
  if (auto *phi = dyn_cast<PHINode>(i)) {
    Loop *l = li.getLoopFor(here);
    bool header = l && l->getHeader() == here;
    unsigned ways = 0;
    for (auto *b : phi->blocks())
      ways += header ? l->contains(b) : 1;
    auto *above = dt.getNode(here) ? dt.getNode(here)->getIDom() : nullptr;
    for (auto &in : phi->incoming_values())
      use(in.get(), here);
    nodes[id].alternatives = operands.size();
    // Optimisation joins what a variable is known to have with a load of it: which of them it is decides nothing, but that
    // both are the same is not certain.
    bool same = isOneVariable(*phi);
    if (same)
      operands.push_back(unknown(Other, phi));
    for (unsigned k = 0; k < phi->getNumIncomingValues() && !same; k++) {
      BasicBlock *from = phi->getIncomingBlock(k);
      // Whether a loop begins is no choice, but from which place it goes on.
      bool choice = !header || (ways > 1 && l->contains(from)) || phi->getNumIncomingValues() > ways + 1;
      if (choice && above && dt.isReachableFromEntry(from))
        controls(operands, from, above->getBlock(), here, nullptr, true);
    }
  } else if (auto *l = dyn_cast<LoadInst>(i)) {
    operands.push_back(load(l));
    // Which element of an array is read depends on the index.
    auto base = baseOf(l->getPointerOperand());
    if (base.second.mode == Anywhere)
      for (Value *p = l->getPointerOperand()->stripPointerCasts(); auto *gep = dyn_cast<GEPOperator>(p);
           p = gep->getPointerOperand()->stripPointerCasts())
        for (auto &index : gep->indices())
          use(index.get(), here);
    nodes[id].alternatives = 1;
  } else if (auto *c = dyn_cast<CallBase>(i)) {
    Function *callee = calleeOf(*c);
    bool pure = c->doesNotAccessMemory() && (!callee || callee->isDeclaration());
    if (pure || isa<IntrinsicInst>(c)) {
      if (!c->doesNotAccessMemory() && !c->onlyReadsMemory())
        operands.push_back(unknown(Other, i));
      for (auto &a : c->args())
        use(a.get(), here);
    } else {
      callSite(*c);
      nodes[id].op = Result;
      nodes[id].a = callNumbers[c];
      return;
    }
  } else if (isa<AtomicRMWInst>(i) || isa<AtomicCmpXchgInst>(i) || isa<VAArgInst>(i) || isa<LandingPadInst>(i)) {
    operands.push_back(unknown(Other, i));
  } else if (auto *select = dyn_cast<SelectInst>(i)) {
    use(select->getTrueValue(), here);
    use(select->getFalseValue(), here);
    nodes[id].alternatives = operands.size();
    use(select->getCondition(), here);
  } else {
    for (auto &o : i->operands()) {
      use(o.get(), here);
      // Of a pointer, what it points into matters more than the index.
      if (isa<GetElementPtrInst>(i) && !nodes[id].alternatives)
        nodes[id].alternatives = operands.size();
    }
  }
  nodes[id].operands.append(operands.begin(), operands.end());
}

// The object that a pointer points into, or what it was made from.
std::pair<Value *, Offset> OfFunction::baseOf(Value *p) {
  Offset off{At, 0};
  for (int i = 0; i < 64; i++) {
    APInt by(dl.getIndexTypeSizeInBits(p->getType()), 0);
    Value *next = p->stripAndAccumulateConstantOffsets(dl, by, true);
    if (off.mode == At)
      off.at += by.getSExtValue();
    if (auto *gep = dyn_cast<GEPOperator>(next)) {
      off = {Anywhere, 0};
      p = gep->getPointerOperand();
      continue;
    }
    // A pointer that is kept in a local variable, and set there once.
    if (auto *l = dyn_cast<LoadInst>(next)) {
      auto *slot = dyn_cast<AllocaInst>(l->getPointerOperand()->stripPointerCasts());
      Value *only = nullptr;
      bool plain = slot != nullptr;
      if (slot)
        for (auto *u : slot->users()) {
          auto *s = dyn_cast<StoreInst>(u);
          if (s && s->getPointerOperand() == slot && !only)
            only = s->getValueOperand();
          else if (!isa<LoadInst>(u) && !isIgnored(*cast<Instruction>(u)))
            plain = false;
          else if (s)
            plain = false;
        }
      if (plain && only && only != l) {
        p = only;
        continue;
      }
    }
    return {next, off};
  }
  return {p, {Anywhere, 0}};
}

bool isObject(Value *v) {
  if (isa<AllocaInst>(v) || isa<GlobalVariable>(v))
    return true;
  if (auto *a = dyn_cast<Argument>(v))
    return a->getType()->isPointerTy();
  auto *c = dyn_cast<CallBase>(v);
  return c && c->returnDoesNotAlias();
}

void OfFunction::collect(Object &o, Value *pointer, Offset off, SmallPtrSetImpl<Value *> &seen) {
  if (!seen.insert(pointer).second)
    return;
  auto writer = [&](Instruction *at, unsigned argument, Offset where, uint64_t size) {
    o.writers[at->getParent()].push_back({at, argument, where, size, false});
  };
  for (auto &use : pointer->uses()) {
    User *u = use.getUser();
    if (auto *ce = dyn_cast<ConstantExpr>(u)) {
      APInt by(dl.getIndexTypeSizeInBits(ce->getType()->isPointerTy() ? ce->getType() : pointer->getType()), 0);
      if (!ce->getType()->isPointerTy()) {
        o.escapes = true;
        continue;
      }
      ce->stripAndAccumulateConstantOffsets(dl, by, true);
      collect(o, ce, {off.mode, by.getSExtValue()}, seen);
      continue;
    }
    auto *i = dyn_cast<Instruction>(u);
    if (!i || i->getFunction() != &f) {
      if (!isa<GlobalVariable>(o.base))
        o.escapes = true;
      continue;
    }
    if (isIgnored(*i) || isa<LoadInst>(i) || isa<ICmpInst>(i))
      continue;
    if (auto *s = dyn_cast<StoreInst>(i)) {
      if (s->getPointerOperand() == pointer) {
        uint64_t size = dl.getTypeStoreSize(s->getValueOperand()->getType()).getKnownMinValue();
        writer(s, 0, off, size);
        continue;
      }
      // A parameter's pointer that is spilled into a variable of its own.
      auto *slot = dyn_cast<AllocaInst>(s->getPointerOperand()->stripPointerCasts());
      bool spilled = slot != nullptr;
      if (slot)
        for (auto *w : slot->users())
          spilled &= w == s || isa<LoadInst>(w) || isIgnored(*cast<Instruction>(w));
      if (!spilled)
        o.escapes = true;
      else
        for (auto *w : slot->users())
          if (isa<LoadInst>(w))
            collect(o, w, off, seen);
      continue;
    }
    if (auto *gep = dyn_cast<GetElementPtrInst>(i)) {
      APInt by(dl.getIndexTypeSizeInBits(gep->getType()), 0);
      if (gep->accumulateConstantOffset(dl, by) && off.mode == At)
        collect(o, gep, {At, off.at + by.getSExtValue()}, seen);
      else
        collect(o, gep, {Anywhere, 0}, seen);
      continue;
    }
    if (isa<BitCastInst>(i) || isa<AddrSpaceCastInst>(i)) {
      collect(o, i, off, seen);
      continue;
    }
    if (auto *c = dyn_cast<CallBase>(i)) {
      if (!c->isArgOperand(&use)) {
        o.escapes |= !c->isCallee(&use);
        continue;
      }
      unsigned k = c->getArgOperandNo(&use);
      if (auto *mi = dyn_cast<MemIntrinsic>(c)) {
        if (k == 0) {
          auto *length = dyn_cast<ConstantInt>(mi->getLength());
          writer(c, 0, length ? off : Offset{Anywhere, 0}, length ? length->getZExtValue() : 0);
        }
        continue;
      }
      Function *callee = calleeOf(*c);
      if (mayKeep(*c, k)) {
        if (!callee || callee->isIntrinsic() || isMpi(callee->getName()))
          o.escapes = true;
        else
          o.keepers.push_back({c, k});
      }
      if (c->onlyReadsMemory() || c->onlyReadsMemory(k) || c->doesNotAccessMemory())
        continue;
      if (callee && callee->getName() == "free")
        continue;
      writer(c, k, off, 0);
      continue;
    }
    // Moved on with a loop, for walking over an array: where it points to is not known, but what into is.
    if (auto *phi = dyn_cast<PHINode>(i)) {
      bool same = true;
      for (auto &in : phi->incoming_values()) {
        Value *at = in.get();
        for (int n = 0; n < 8; n++) {
          if (auto *g = dyn_cast<GEPOperator>(at))
            at = g->getPointerOperand();
        }
        same &= at == phi || baseOf(in.get()).first == o.base;
      }
      if (same) {
        collect(o, phi, {Anywhere, 0}, seen);
        continue;
      }
    }
    o.escapes = true;
  }
}

// What a parameter points to, in the words of the source; null if that is not known.
const DIType *pointee(const Argument &a) {
  auto *sub = a.getParent()->getSubprogram();
  auto types = sub && sub->getType() ? sub->getType()->getTypeArray() : DITypeRefArray();
  // The first one is what the function returns. Where arguments were added or left out, nothing is known.
  if (!types || types.size() != a.getParent()->arg_size() + 1)
    return nullptr;
  bool through = false;
  const DIType *at = types[a.getArgNo() + 1];
  while (auto *derived = dyn_cast_or_null<DIDerivedType>(at)) {
    auto tag = derived->getTag();
    bool pointer = tag == dwarf::DW_TAG_pointer_type || tag == dwarf::DW_TAG_reference_type;
    if (pointer && through)
      return at;
    through |= pointer;
    at = derived->getBaseType();
  }
  return at;
}

bool isFortran(const Function &f) {
  auto *sub = f.getSubprogram();
  StringRef file = sub ? sub->getFilename() : "";
  return file.contains_insensitive(".f");
}

// Whether two parameters may point to the same: not in Fortran, and not if their types differ. Bytes may be anything.
bool mayAlias(const Argument &a, const Argument &b) {
  if (a.hasNoAliasAttr() || b.hasNoAliasAttr() || isFortran(*a.getParent()))
    return false;
  const DIType *of[] = {pointee(a), pointee(b)};
  for (auto *one : of) {
    auto *basic = dyn_cast_or_null<DIBasicType>(one);
    if (!one || (basic && basic->getSizeInBits() == 8))
      return true;
  }
  auto *x = dyn_cast<DIBasicType>(of[0]), *y = dyn_cast<DIBasicType>(of[1]);
  return x && y ? x->getSizeInBits() == y->getSizeInBits() && x->getEncoding() == y->getEncoding() : of[0] == of[1];
}

Object &OfFunction::object(Value *base) {
  auto put = objects.try_emplace(base);
  Object &o = put.first->second;
  if (!put.second)
    return o;
  o.base = base;
  o.number = objects.size();
  SmallPtrSet<Value *, 16> seen;
  collect(o, base, {At, 0}, seen);
  if (auto *g = dyn_cast<GlobalVariable>(base)) {
    o.escapes = m.escaping.count(g);
    if (!g->isConstant())
      for (auto &i : instructions(f)) {
        auto *c = dyn_cast<CallBase>(&i);
        if (!c || isa<IntrinsicInst>(c) || c->onlyReadsMemory() || c->doesNotAccessMemory())
          continue;
        Function *callee = calleeOf(*c);
        if (callee && callee->isDeclaration() && isHarmless(callee->getName()))
          continue;
        auto &here = o.writers[i.getParent()];
        bool given = false;
        for (auto &w : here)
          if (w.at == c)
            given = w.barrier = true;
        if (!given)
          here.push_back({c, NoArgument, {Anywhere, 0}, 0, true});
      }
    // A parameter may point to it; Fortran forbids to use both.
    if (!g->isConstant() && !isFortran(f))
      for (auto &i : instructions(f)) {
        if (isIgnored(i))
          continue;
        Argument *through = nullptr;
        auto take = [&](Value *pointer) {
          auto *a = dyn_cast<Argument>(baseOf(pointer).first);
          if (a && !a->hasNoAliasAttr())
            through = a;
        };
        if (auto *s = dyn_cast<StoreInst>(&i))
          take(s->getPointerOperand());
        else if (auto *c = dyn_cast<CallBase>(&i); c && !c->onlyReadsMemory())
          for (auto &a : c->args())
            if (a->getType()->isPointerTy() && !c->onlyReadsMemory(c->getArgOperandNo(&a)))
              take(a.get());
        auto &here = o.writers[i.getParent()];
        if (through && none_of(here, [&](auto &w) { return w.at == &i; }))
          here.push_back({&i, NoArgument, {Anywhere, 0}, 0, false, false, through});
      }
  }
  if (auto *own = dyn_cast<Argument>(base)) {
    Argument *through = nullptr;
    bool elsewhere = false;
    auto aliases = [&](Value *pointer) {
      Value *base = baseOf(pointer).first;
      auto *other = dyn_cast<Argument>(base);
      if (other && other != own && mayAlias(*own, *other))
        through = other;
      auto *g = dyn_cast<GlobalVariable>(base);
      elsewhere |= g && !g->isConstant();
    };
    bool free = own->hasNoAliasAttr() || isFortran(f);
    for (auto &i : instructions(f)) {
      if (free || isIgnored(i))
        continue;
      through = nullptr, elsewhere = false;
      if (auto *s = dyn_cast<StoreInst>(&i)) {
        aliases(s->getPointerOperand());
      } else if (auto *c = dyn_cast<CallBase>(&i); c && !c->onlyReadsMemory()) {
        for (auto &a : c->args())
          if (a->getType()->isPointerTy() && !c->onlyReadsMemory(c->getArgOperandNo(&a)))
            aliases(a.get());
        Function *callee = calleeOf(*c);
        elsewhere |= !isa<IntrinsicInst>(c) && !(callee && callee->isDeclaration() && isHarmless(callee->getName()));
      }
      if (!through && !elsewhere)
        continue;
      auto &here = o.writers[i.getParent()];
      bool known = false;
      for (auto &w : here)
        if (w.at == &i) {
          w.elsewhere |= elsewhere;
          w.through = w.through ? w.through : through;
          known = true;
        }
      if (!known)
        here.push_back({&i, NoArgument, {Anywhere, 0}, 0, false, through != nullptr, through, elsewhere});
    }
  }
  for (auto &block : o.writers)
    std::stable_sort(block.second.begin(), block.second.end(), [](const auto &a, const auto &b) {
      return a.at != b.at && a.at->comesBefore(b.at);
    });
  return o;
}

unsigned OfFunction::load(LoadInst *l) {
  auto [base, off] = baseOf(l->getPointerOperand());
  if (!isObject(base)) {
    // What a pointer from elsewhere points to: at best as the pointer itself.
    unsigned pointer = value(base);
    Node n;
    n.op = Unknown;
    n.a = ThroughPointer;
    n.operands.push_back(pointer);
    return add(n);
  }
  uint64_t size = dl.getTypeStoreSize(l->getType()).getKnownMinValue();
  Node n;
  n.name = nameOf(base, off.mode == At ? off.at : 0);
  Place p = placeOf(l->getDebugLoc());
  n.file = p.file, n.line = p.line;
  n.operands.push_back(memory(object(base), off, size, l));
  return add(n);
}

unsigned OfFunction::atEntry(Object &o, Offset off) {
  Node n;
  n.off = off;
  if (auto *a = dyn_cast<Argument>(o.base)) {
    n.op = Entry;
    n.a = a->getArgNo();
  } else if (auto *g = dyn_cast<GlobalVariable>(o.base)) {
    if (g->isConstant() && g->hasDefinitiveInitializer())
      return 0;
    n.op = Global;
    n.a = m.symbol(*g);
    n.name = nameOf(g, off.mode == At ? off.at : 0);
  } else {
    auto *c = dyn_cast<CallBase>(o.base);
    if (!c)
      return 0;
    Function *callee = calleeOf(*c);
    if (callee && isAllocator(callee->getName()))
      return 0;
    return unknown(ThroughPointer, c);
  }
  return add(n);
}

bool overlaps(Offset a, uint64_t as, Offset b, uint64_t bs) {
  if (a.mode != At || b.mode != At)
    return true;
  return a.at < b.at + int64_t(bs ? bs : 1) && b.at < a.at + int64_t(as ? as : 1);
}

// What is in an object at an offset before an instruction; everybody who may have written it last.
unsigned OfFunction::memory(Object &o, Offset off, uint64_t size, Instruction *before) {
  // What the program is given stays what it is given, whoever has its address.
  if (isa<Argument>(o.base) && f.getName() == "main")
    return atEntry(o, off);
  if (o.escapes && !isa<GlobalVariable>(o.base))
    return unknown(Escapes, before);
  auto key = std::make_tuple(o.base, off, before);
  auto known = states.find(key);
  if (known != states.end())
    return known->second;
  unsigned id = states[key] = add(Node());
  Object *object = &o;
  pending.push_back([this, id, object, off, size, before] {
    Object &o = *object;
    auto concerns = [&](const Object::Writer &w) {
      return w.barrier || isa<CallBase>(w.at) || overlaps(w.off, w.size, off, size);
    };
    BasicBlock *user = before->getParent();
    SmallPtrSet<BasicBlock *, 16> seen;
    SmallVector<std::pair<BasicBlock *, bool>, 16> open{{user, true}};
    SmallVector<unsigned, 8> found;
    if (auto *g = dyn_cast<GlobalVariable>(o.base); g && !g->isConstant())
      found.push_back(only(Open, m.symbol(*g), 0, {At, 0}));
    else
      for (auto [c, k] : o.keepers) {
        callSite(*c);
        if (isPotentiallyReachable(c, before, nullptr, &dt, &li))
          found.push_back(only(Kept, callNumbers[c], k, {At, 0}));
      }
    bool entry = false;
    size_t steps = 0;
    while (!open.empty()) {
      auto [b, first] = open.pop_back_val();
      const Object::Writer *last = nullptr;
      SmallVector<const Object::Writer *, 4> same;
      auto ws = o.writers.find(b);
      if (ws != o.writers.end())
        for (auto &w : ws->second)
          if (concerns(w) && (!first || w.at->comesBefore(before))) {
            if (last && last->at != w.at)
              same.clear();
            last = &w;
            same.push_back(last);
          }
      if (last) {
        // A call that is given several parts of it: nobody writes before what he is given.
        auto within = [&](const Object::Writer *w) {
          return w->off.mode != At || off.mode != At || w->off.at <= off.at;
        };
        if (same.size() > 1 && any_of(same, within))
          erase_if(same, [&](auto *w) { return !within(w); });
        for (auto *w : same)
          found.push_back(written(o, *w, off, size, user));
        continue;
      }
      if (++steps > MostBlocks) {
        found.push_back(unknown(TooLarge, before));
        break;
      }
      entry |= b == &f.getEntryBlock();
      for (auto *p : predecessors(b))
        if (seen.insert(p).second)
          open.push_back({p, false});
    }
    if (entry)
      found.push_back(atEntry(o, off));
    nodes[id].operands.append(found.begin(), found.end());
  });
  return id;
}

// One element of a vector: optimisation stores neighbours that have nothing in common at once.
unsigned OfFunction::lane(Value *v, unsigned k, int depth) {
  Node n;
  auto both = [&](unsigned a, unsigned b) {
    n.operands.push_back(a);
    n.operands.push_back(b);
    return add(n);
  };
  if (isa<Constant>(v))
    return 0;
  if (depth < 16) {
    if (auto *in = dyn_cast<InsertElementInst>(v))
      if (auto *at = dyn_cast<ConstantInt>(in->getOperand(2)))
        return at->getZExtValue() == k ? value(in->getOperand(1)) : lane(in->getOperand(0), k, depth + 1);
    if (auto *shuffle = dyn_cast<ShuffleVectorInst>(v)) {
      int from = shuffle->getMaskValue(k);
      int first = cast<VectorType>(shuffle->getOperand(0)->getType())->getElementCount().getKnownMinValue();
      return from < 0 ? 0 : lane(shuffle->getOperand(from >= first), from >= first ? from - first : from, depth + 1);
    }
    if (auto *op = dyn_cast<BinaryOperator>(v))
      return both(lane(op->getOperand(0), k, depth + 1), lane(op->getOperand(1), k, depth + 1));
    auto *load = dyn_cast<LoadInst>(v);
    auto [base, at] = load ? baseOf(load->getPointerOperand()) : std::pair<Value *, Offset>(nullptr, {Anywhere, 0});
    if (base && isObject(base) && at.mode == At) {
      uint64_t size = dl.getTypeStoreSize(v->getType()->getScalarType()).getKnownMinValue();
      return memory(object(base), {At, at.at + int64_t(k * size)}, size, load);
    }
  }
  return both(value(v), unknown(Other, dyn_cast<Instruction>(v)));
}

unsigned OfFunction::written(Object &o, const Object::Writer &w, Offset off, uint64_t size, BasicBlock *user) {
  Node n;
  Place p = placeOf(w.at->getDebugLoc());
  n.file = p.file, n.line = p.line;
  SmallVector<unsigned, 4> why;
  BasicBlock *here = w.at->getParent();
  if (here != user)
    if (auto *common = dt.findNearestCommonDominator(here, user))
      controls(why, here, common, user, nullptr, false);
  // How often a loop ran decides what it left, if it wrote the byte at hand.
  leave(why, here, user);
  SmallVector<unsigned, 2> others;
  if (w.through) {
    if (auto *g = dyn_cast<GlobalVariable>(o.base))
      others.push_back(only(MayPoint, w.through->getArgNo(), m.symbol(*g), {At, 0}));
    else
      others.push_back(only(MayAlias, w.through->getArgNo(), cast<Argument>(o.base)->getArgNo(), {At, 0}));
  }
  if (w.elsewhere)
    others.push_back(only(Points, cast<Argument>(o.base)->getArgNo(), 0, off));
  if (w.argument == NoArgument && !others.empty()) {
    Node both;
    both.operands.append(others.begin(), others.end());
    both.operands.push_back(memory(o, off, size, w.at));
    return add(both);
  }
  // Any function may write a global: what all of them leave there.
  if (w.barrier && w.argument == NoArgument)
    return atEntry(o, off);
  if (auto *c = dyn_cast<CallBase>(w.at); c && !isa<MemIntrinsic>(c)) {
    callSite(*c);
    n.op = Out;
    n.a = callNumbers[c];
    n.c = w.argument;
    n.off = off;
    if (w.off.mode != At)
      n.off = {Anywhere, 0};
    else if (off.mode == Asked)
      n.off.at = w.off.at;
    else
      n.off.at = off.at - w.off.at;
    n.name = nameOf(o.base, off.mode == At ? off.at : 0);
    n.operands.push_back(memory(o, off, size, w.at));
    n.operands.append(why.begin(), why.end());
    if (!w.barrier && others.empty())
      return add(n);
    Node both;
    both.operands.push_back(add(n));
    if (w.barrier)
      both.operands.push_back(atEntry(o, off));
    both.operands.append(others.begin(), others.end());
    return add(both);
  }
  unsigned what = 0;
  if (auto *s = dyn_cast<StoreInst>(w.at)) {
    auto *type = dyn_cast<FixedVectorType>(s->getValueOperand()->getType());
    int64_t each = type ? dl.getTypeStoreSize(type->getElementType()).getKnownMinValue() : 0;
    if (type && w.off.mode == At && off.mode != Anywhere && each > 0) {
      bool asked = off.mode == Asked;
      unsigned rest = 0;
      SmallVector<unsigned, 4> parts;
      if (asked)
        rest = memory(o, off, size, w.at);
      for (unsigned k = 0; k < type->getNumElements(); k++) {
        Offset at{At, w.off.at + int64_t(k) * each};
        if (!asked) {
          if (overlaps(at, each, off, size))
            parts.push_back(lane(s->getValueOperand(), k, 0));
          continue;
        }
        Node one;
        one.op = StoreTo, one.off = at, one.c = each;
        one.file = p.file, one.line = p.line, one.name = nameOf(o.base, at.at);
        one.operands.push_back(lane(s->getValueOperand(), k, 0));
        one.operands.push_back(rest);
        one.operands.append(why.begin(), why.end());
        rest = add(one);
      }
      if (asked)
        return rest;
      if (w.off.at > off.at || w.off.at + int64_t(w.size) < off.at + int64_t(size))
        parts.push_back(memory(o, off, size, w.at));
      n.name = nameOf(o.base, off.at);
      n.operands.append(parts.begin(), parts.end());
      n.operands.append(why.begin(), why.end());
      return add(n);
    }
    what = value(s->getValueOperand());
    SmallVector<unsigned, 4> with{what};
    if (auto *def = dyn_cast<Instruction>(s->getValueOperand()))
      leave(with, def->getParent(), here);
    if (with.size() > 1) {
      Node mixed;
      mixed.operands.append(with.begin(), with.end());
      what = add(mixed);
    }
  } else if (auto *set = dyn_cast<MemSetInst>(w.at)) {
    what = value(set->getValue());
  } else if (auto *copy = dyn_cast<MemTransferInst>(w.at)) {
    auto [from, at] = baseOf(copy->getSource());
    if (!isObject(from))
      what = unknown(Copied, copy);
    else if (off.mode == At && w.off.mode == At && at.mode == At)
      what = memory(object(from), {At, off.at - w.off.at + at.at}, size, copy);
    else if (off.mode == Asked && w.off.mode == At && at.mode == At && at.at == w.off.at)
      what = memory(object(from), {Asked, 0}, 0, copy);
    else
      what = memory(object(from), {Anywhere, 0}, 0, copy);
  }
  bool covers = w.off.mode == At && off.mode == At && w.off.at <= off.at &&
                w.off.at + int64_t(w.size) >= off.at + int64_t(size);
  n.name = nameOf(o.base, off.mode == At ? off.at : w.off.mode == At ? w.off.at : 0);
  if (off.mode == Asked) {
    n.op = StoreTo;
    n.off = w.off;
    n.c = w.size;
    n.operands.push_back(what);
    n.operands.push_back(memory(o, off, size, w.at));
  } else {
    n.operands.push_back(what);
    if (!covers)
      n.operands.push_back(memory(o, off, size, w.at));
  }
  n.operands.append(why.begin(), why.end());
  return add(n);
}

// The innermost loop or branch around a block, plus one.
unsigned OfFunction::parentOf(BasicBlock *b, const Loop *except) {
  Loop *l = li.getLoopFor(b);
  while (l && except && except->contains(l))
    l = l->getParentLoop();
  auto around = [&] { return l ? loopVertex(l) + 1 : 0; };
  Place own = except ? placeOf(except->getStartLoc()) : Place();
  auto isWithin = [&](BasicBlock *at) {
    return at != b && (!l || (l->contains(at) && !l->isLoopExiting(at))) && !(except && except->contains(at));
  };
  if (!control.comesBack(b)) {
    // A part that ends the program: all choices on the way there.
    for (auto *node = dt.getNode(b); node && (node = node->getIDom());) {
      BasicBlock *at = node->getBlock();
      if (l && !l->contains(at))
        break;
      if (isWithin(at) && succ_size(at) > 1)
        return branchVertex(at) + 1;
    }
    return around();
  }
  // The test before a loop that is the loop's own.
  auto isGuard = [&](BasicBlock *at) {
    Place p = placeOf(at->getTerminator()->getDebugLoc());
    return except && own.line && p.line == own.line && p.file == own.file;
  };
  const Control &iteration = inLoop(l);
  SmallVector<BasicBlock *, 4> open{b}, direct;
  SmallPtrSet<BasicBlock *, 8> seen;
  while (!open.empty())
    for (auto *x : iteration.of(open.pop_back_val()))
      if (isWithin(x) && seen.insert(x).second) {
        if (isGuard(x))
          open.push_back(x);
        else
          direct.push_back(x);
      }
  if (direct.empty())
    return around();
  if (direct.size() == 1 && dt.dominates(direct[0], b) && (!li.getLoopFor(direct[0]) || li.getLoopFor(direct[0])->contains(b)))
    return branchVertex(direct[0]) + 1;
  // Several ways lead here: one vertex for all choices below the block that all of them pass.
  BasicBlock *top = b;
  for (auto *x : direct)
    top = dt.findNearestCommonDominator(top, x);
  for (Loop *in = li.getLoopFor(top); in && !in->contains(b) && dt.getNode(in->getHeader())->getIDom();
       in = li.getLoopFor(top))
    top = dt.getNode(in->getHeader())->getIDom()->getBlock();
  if (top == b)
    return around();
  std::vector<BasicBlock *> all;
  SmallPtrSet<BasicBlock *, 8> chosen;
  open.assign(direct.begin(), direct.end());
  while (!open.empty()) {
    auto *x = open.pop_back_val();
    if (!dt.dominates(top, x) || !isWithin(x) || !chosen.insert(x).second)
      continue;
    all.push_back(x);
    open.append(iteration.of(x).begin(), iteration.of(x).end());
  }
  std::sort(all.begin(), all.end());
  auto known = joinedVertices.find(all);
  if (known != joinedVertices.end())
    return known->second + 1;
  unsigned parent = parentOf(top, nullptr);
  Place p = placeOf((chosen.count(top) ? top : direct[0])->getTerminator()->getDebugLoc());
  Vertex v{BranchVertex, parent, p, p.line, 0, {}};
  for (auto &x : f)
    if (chosen.count(&x)) {
      v.conditions.push_back(condition(&x));
      leave(v.conditions, &x, b);
    }
  vertices.push_back(v);
  joinedVertices[all] = vertices.size() - 1;
  return vertices.size();
}

unsigned OfFunction::branchVertex(BasicBlock *at) {
  auto known = branchVertices.find(at);
  if (known != branchVertices.end())
    return known->second;
  unsigned parent = parentOf(at, nullptr);
  Place p = placeOf(at->getTerminator()->getDebugLoc());
  vertices.push_back({BranchVertex, parent, p, p.line, 0, {condition(at)}});
  return branchVertices[at] = vertices.size() - 1;
}

unsigned OfFunction::loopVertex(Loop *l) {
  auto known = loopVertices.find(l);
  if (known != loopVertices.end())
    return known->second;
  unsigned parent = parentOf(l->getHeader(), l);
  DebugLoc start = l->getStartLoc();
  Place p = placeOf(start);
  unsigned last = p.line;
  for (auto *b : l->blocks())
    for (auto &i : *b)
      if (auto at = i.getDebugLoc())
        if (start && at.getScope() && start.getScope() && at.getInlinedAt() == start.getInlinedAt() &&
            getDISubprogram(at.getScope()) == getDISubprogram(start.getScope()) && at.getLine())
          last = std::max(last, unsigned(at.getLine()));
  unsigned exit = exitNode(l);
  // Copies of one loop, as vectorising makes them, are one.
  if (p.line) {
    auto put = loopsByLine.try_emplace({parent, p.file, p.line, p.scope}, vertices.size());
    if (!put.second) {
      Vertex &same = vertices[put.first->second];
      same.last = std::max(same.last, last);
      same.conditions.push_back(exit);
      return loopVertices[l] = put.first->second;
    }
  }
  vertices.push_back({LoopVertex, parent, p, last, 0, {exit}});
  return loopVertices[l] = vertices.size() - 1;
}

// A number of the source plus one; 0 if it is none.
uint64_t numberOf(Value *v) {
  auto *number = dyn_cast<ConstantInt>(v);
  return number && number->getBitWidth() <= 32 ? number->getZExtValue() + 1 : 0;
}

void OfFunction::callSite(CallBase &c) {
  if (callNumbers.count(&c))
    return;
  unsigned number = callNumbers[&c] = calls.size();
  calls.push_back({&c, 0, {}, {}, {}});
  pending.push_back([this, number, &c] {
    SmallVector<unsigned, 6> arguments, contents;
    SmallVector<std::tuple<unsigned, uint64_t, Offset>, 6> bases;
    for (auto &a : c.args()) {
      Value *v = a.get();
      unsigned content = 0, base = 0, own = 0;
      uint64_t which = 0;
      Offset off{At, 0};
      if (v->getType()->isPointerTy()) {
        auto [b, at] = baseOf(v);
        off = at;
        if (!isObject(b)) {
          own = value(v);
          base = isa<Constant>(b) ? 0 : 4;
        } else if (auto *g = dyn_cast<GlobalVariable>(b)) {
          base = g->isConstant() ? 0 : 3;
          which = m.symbol(*g);
          if (base)
            content = memory(object(b), {Asked, 0}, 0, &c);
          else
            which = g->hasDefinitiveInitializer() ? numberOf(g->getInitializer()) : 0;
        } else {
          base = isa<Argument>(b) ? 2 : 1;
          if (auto *arg = dyn_cast<Argument>(b))
            which = arg->getArgNo();
          else
            which = object(b).number;
          content = memory(object(b), {Asked, 0}, 0, &c);
          if (object(b).escapes)
            base |= 16;
        }
        if (mayKeep(c, c.getArgOperandNo(&a)))
          base |= 8;
      } else {
        own = value(v);
        which = numberOf(v);
      }
      arguments.push_back(own);
      contents.push_back(content);
      bases.push_back({base, which, off});
    }
    calls[number].arguments = arguments;
    calls[number].contents = contents;
    calls[number].bases = bases;
  });
}

void OfFunction::drain() {
  while (!pending.empty()) {
    auto next = std::move(pending.back());
    pending.pop_back();
    next();
  }
}

void OfFunction::run() {
  blocks = f.size();
  std::vector<Instruction *> returns;
  SmallPtrSet<GlobalVariable *, 8> writtenGlobals;
  std::vector<CallBase *> barriers;
  for (auto &b : f) {
    if (!dt.isReachableFromEntry(&b))
      continue;
    branches += control.decides(&b);
    if (Loop *l = li.getLoopFor(&b))
      if (l->getHeader() == &b) {
        loopVertex(l);
        loops++;
      }
    for (auto &i : b) {
      if (isa<ReturnInst>(i))
        returns.push_back(&i);
      if (auto *s = dyn_cast<StoreInst>(&i))
        if (auto *g = dyn_cast<GlobalVariable>(baseOf(s->getPointerOperand()).first))
          writtenGlobals.insert(g);
      auto *c = dyn_cast<CallBase>(&i);
      if (!c || isIgnored(i))
        continue;
      for (auto &a : c->args())
        if (a->getType()->isPointerTy() && !c->onlyReadsMemory())
          if (auto *g = dyn_cast<GlobalVariable>(baseOf(a.get()).first))
            if (!g->isConstant())
              writtenGlobals.insert(g);
      if (isa<IntrinsicInst>(c))
        continue;
      callSite(*c);
      unsigned number = callNumbers[c];
      unsigned parent = parentOf(&b, nullptr);
      Place p = placeOf(c->getDebugLoc());
      vertices.push_back({CallVertex, parent, p, p.line, number, {}});
      calls[number].vertex = vertices.size() - 1;
      Function *callee = calleeOf(*c);
      if (!(callee && callee->isDeclaration() && isHarmless(callee->getName())))
        barriers.push_back(c);
    }
    drain();
  }
  SmallVector<unsigned, 4> values;
  for (auto *r : returns) {
    auto *ret = cast<ReturnInst>(r);
    if (!ret->getReturnValue())
      continue;
    values.push_back(value(ret->getReturnValue()));
    if (auto *def = dyn_cast<Instruction>(ret->getReturnValue()))
      leave(values, def->getParent(), ret->getParent());
    if (returns.size() > 1)
      controls(values, ret->getParent(), &f.getEntryBlock(), ret->getParent(), nullptr, false);
  }
  Node ret;
  ret.operands.append(values.begin(), values.end());
  result = add(ret);
  auto leaves = [&](Value *base) {
    Object &o = object(base);
    Node n;
    for (auto *r : returns) {
      unsigned at = memory(o, {Asked, 0}, 0, r);
      n.operands.push_back(at);
      if (returns.size() > 1)
        controls(n.operands, r->getParent(), &f.getEntryBlock(), r->getParent(), nullptr, false);
    }
    return n;
  };
  // What others can see of an object before the function returns: at its calls, and within these.
  auto inner = [&](Value *base, Node &n) {
    Object &o = object(base);
    for (auto *c : barriers) {
      unsigned at = memory(o, {Asked, 0}, 0, c);
      n.operands.push_back(at);
      for (auto &w : o.writers[c->getParent()])
        if (w.at == c && w.argument != NoArgument) {
          Offset off = w.off.mode == At ? Offset{Asked, w.off.at} : Offset{Anywhere, 0};
          n.operands.push_back(only(Inner, callNumbers[c], w.argument, off));
        }
    }
  };
  for (auto &a : f.args()) {
    if (!a.getType()->isPointerTy() || a.onlyReadsMemory())
      continue;
    Object &o = object(&a);
    if (o.escapes)
      kept.push_back(a.getArgNo());
    else if (any_of(o.writers, [](auto &b) { return any_of(b.second, [](auto &w) { return w.argument != NoArgument; }); })) {
      Node between;
      inner(&a, between);
      outs.push_back({a.getArgNo(), add(leaves(&a)), add(between)});
    }
  }
  std::vector<GlobalVariable *> sorted(writtenGlobals.begin(), writtenGlobals.end());
  std::sort(sorted.begin(), sorted.end(), [](auto *a, auto *b) { return a->getName() < b->getName(); });
  for (auto *g : sorted) {
    Node n = leaves(g);
    inner(g, n);
    globalOuts.push_back({m.symbol(*g), add(n)});
  }
  drain();
}

// Numbers without the nodes that only pass on what another one says.
std::vector<unsigned> OfFunction::compact() {
  std::vector<unsigned> to(nodes.size());
  auto same = [&](unsigned n) {
    for (int i = 0; i < 256 && nodes[n].op == Mix && nodes[n].operands.size() == 1; i++)
      n = nodes[n].operands[0];
    return n;
  };
  // A choice between equal values is none: optimisation makes them of one.
  for (unsigned i = 1; i < nodes.size(); i++) {
    auto &ops = nodes[i].operands;
    unsigned all = nodes[i].alternatives;
    if (all < 2 || all >= ops.size())
      continue;
    bool equal = true;
    for (unsigned k = 1; k < all; k++)
      equal &= same(ops[k]) == same(ops[0]);
    if (equal)
      ops.resize(all);
  }
  for (unsigned i = 0; i < nodes.size(); i++) {
    to[i] = i;
    auto &ops = nodes[i].operands;
    if (nodes[i].op == Mix) {
      SmallVector<unsigned, 4> left;
      for (unsigned o : ops)
        if ((nodes[o].op != Const || nodes[o].a) && o != i && !is_contained(left, o))
          left.push_back(o);
      unsigned data = 0;
      for (unsigned k = 0; k < nodes[i].alternatives && k < ops.size(); k++)
        data = std::max<unsigned>(data, std::find(left.begin(), left.end(), ops[k]) != left.end() ? std::find(left.begin(), left.end(), ops[k]) - left.begin() + 1 : 0);
      // No data but constants: 0 would say that all of it is.
      if (nodes[i].alternatives && !data && !left.empty())
        left.insert(left.begin(), 0), data = 1;
      nodes[i].alternatives = data;
      ops.assign(left.begin(), left.end());
    }
  }
  for (unsigned i = 1; i < nodes.size(); i++) {
    unsigned at = i;
    for (int n = 0; n < 256 && nodes[at].op == Mix; n++) {
      if (nodes[at].operands.empty())
        at = 0;
      else if (nodes[at].operands.size() == 1 && !nodes[at].name)
        at = nodes[at].operands[0];
      else
        break;
      if (at == i)
        break;
    }
    to[i] = nodes[at].op == Const && !nodes[at].a ? 0 : at;
  }
  return to;
}

// Whether anything but a call uses a function's address, also by another name.
bool isTaken(const GlobalValue &f) {
  SmallVector<const Value *, 4> open{&f};
  SmallPtrSet<const Value *, 4> seen;
  while (!open.empty()) {
    const Value *v = open.pop_back_val();
    if (!seen.insert(v).second)
      continue;
    for (auto &use : v->uses()) {
      auto *c = dyn_cast<CallBase>(use.getUser());
      if (c && c->isCallee(&use))
        continue;
      if (!isa<GlobalAlias>(use.getUser()) && !isa<BlockAddress>(use.getUser()))
        return true;
      open.push_back(use.getUser());
    }
  }
  return false;
}

void OfFunction::write(Bytes &b) {
  std::vector<unsigned> to = compact();
  // Those that are still used, in their order.
  std::vector<unsigned> number(nodes.size(), 0), order{0}, open;
  std::vector<bool> used(nodes.size());
  auto need = [&](unsigned n) {
    n = to[n];
    if (!used[n])
      used[n] = true, open.push_back(n);
  };
  for (auto &v : vertices)
    for (unsigned c : v.conditions)
      need(c);
  for (auto &c : calls) {
    for (unsigned a : c.arguments)
      need(a);
    for (unsigned a : c.contents)
      need(a);
  }
  need(result);
  for (auto &o : outs)
    need(std::get<1>(o)), need(std::get<2>(o));
  for (auto &o : globalOuts)
    need(std::get<1>(o));
  while (!open.empty()) {
    unsigned n = open.back();
    open.pop_back();
    for (unsigned o : nodes[n].operands)
      need(o);
  }
  for (unsigned i = 1; i < nodes.size(); i++)
    if (used[i]) {
      number[i] = order.size();
      order.push_back(i);
    }
  auto id = [&](unsigned n) { return number[to[n]]; };
  auto offset = [&](Offset o) {
    b.u(o.mode);
    b.s(o.at);
  };
  auto *sub = f.getSubprogram();
  b.u(m.symbol(f));
  b.u(sub ? m.strings.id(sub->getName()) : 0);
  b.u(sub ? sub->getLine() : 0);
  b.u((f.hasLocalLinkage() ? 1 : 0) | (isTaken(f) ? 2 : 0) | (f.isInterposable() ? 4 : 0));
  b.u(1 + blocks + loops + branches + calls.size());
  b.u(f.arg_size());
  b.u(order.size());
  for (unsigned i : order) {
    Node &n = nodes[i];
    b.u(n.op);
    b.u(n.name);
    b.u(n.file);
    b.u(n.line);
    b.u(n.a);
    b.u(n.c);
    offset(n.off);
    b.u(n.alternatives);
    b.u(n.operands.size());
    for (unsigned o : n.operands)
      b.u(id(o));
  }
  b.u(vertices.size());
  for (auto &v : vertices) {
    b.u(v.kind);
    b.u(v.parent);
    b.u(v.place.file);
    b.u(v.place.line);
    b.u(v.last);
    b.u(v.place.scope);
    b.u(v.call);
    b.u(v.conditions.size());
    for (unsigned c : v.conditions)
      b.u(id(c));
  }
  b.u(calls.size());
  for (auto &c : calls) {
    Function *callee = calleeOf(*c.call);
    b.u(callee ? m.symbol(*callee) : 0);
    b.u(c.vertex);
    b.u(c.arguments.size());
    for (unsigned k = 0; k < c.arguments.size(); k++) {
      b.u(id(c.arguments[k]));
      b.u(id(c.contents[k]));
      b.u(std::get<0>(c.bases[k]));
      b.u(std::get<1>(c.bases[k]));
      offset(std::get<2>(c.bases[k]));
    }
  }
  b.u(id(result));
  b.u(outs.size());
  for (auto &o : outs) {
    b.u(std::get<0>(o));
    b.u(id(std::get<1>(o)));
    b.u(id(std::get<2>(o)));
  }
  b.u(kept.size());
  for (unsigned k : kept)
    b.u(k);
  b.u(globalOuts.size());
  for (auto &o : globalOuts) {
    b.u(std::get<0>(o));
    b.u(id(std::get<1>(o)));
  }
}

// A global whose address is stored, or compared as a number, may be written by anybody.
void OfModule::escapes(GlobalVariable &g) {
  SmallVector<Value *, 8> open{&g};
  SmallPtrSet<Value *, 8> seen;
  while (!open.empty()) {
    Value *v = open.pop_back_val();
    if (!seen.insert(v).second)
      continue;
    for (auto &use : v->uses()) {
      User *u = use.getUser();
      if (isa<LoadInst>(u) || isa<ICmpInst>(u))
        continue;
      // A pointer that walks over it alone.
      auto *phi = dyn_cast<PHINode>(u);
      bool walks = phi != nullptr;
      if (phi)
        for (Value *in : phi->incoming_values()) {
          for (int n = 0; n < 16 && isa<GEPOperator>(in); n++)
            in = cast<GEPOperator>(in)->getPointerOperand();
          walks &= in == phi || in->stripPointerCasts() == &g;
        }
      if (auto *s = dyn_cast<StoreInst>(u)) {
        if (s->getPointerOperand() == v)
          continue;
      } else if (isa<GEPOperator>(u) || isa<BitCastOperator>(u) || walks) {
        open.push_back(u);
        continue;
      } else if (auto *c = dyn_cast<CallBase>(u)) {
        Function *callee = calleeOf(*c);
        // The reader knows of the functions in records whether they keep it.
        bool known = callee && !callee->isIntrinsic() && !isMpi(callee->getName());
        if (c->isArgOperand(&use) && (known || isa<MemIntrinsic>(c) || !mayKeep(*c, c->getArgOperandNo(&use))))
          continue;
      }
      escaping.insert(&g);
      return;
    }
  }
}

std::string OfModule::record() {
  for (auto &g : m.globals())
    if (!g.isConstant())
      escapes(g);
  Bytes functions;
  unsigned count = 0;
  for (auto &f : m) {
    if (f.isDeclaration() || f.hasAvailableExternallyLinkage())
      continue;
    DominatorTree &dt = fam.getResult<DominatorTreeAnalysis>(f);
    LoopInfo &li = fam.getResult<LoopAnalysis>(f);
    OfFunction of(*this, f, dt, li);
    of.run();
    of.write(functions);
    count++;
  }
  Bytes globals;
  unsigned many = 0;
  for (auto &g : m.globals()) {
    if (g.isConstant() || g.getName().empty())
      continue;
    globals.u(symbol(g));
    bool here = !g.isDeclaration() && !g.hasAvailableExternallyLinkage();
    globals.u((g.hasLocalLinkage() ? 1 : 0) | (escaping.count(&g) ? 2 : 0) | (here ? 4 : 0));
    many++;
  }
  Bytes taken, aliases;
  unsigned manyTaken = 0, manyAliases = 0;
  for (auto &f : m)
    if (!f.hasLocalLinkage() && !f.isIntrinsic() && isTaken(f))
      taken.u(symbol(f)), manyTaken++;
  for (auto &a : m.aliases())
    if (auto *of = dyn_cast_or_null<Function>(a.getAliaseeObject())) {
      aliases.u(symbol(a)), aliases.u(symbol(*of)), manyAliases++;
      if (isTaken(a))
        taken.u(symbol(*of)), manyTaken++;
    }
  unsigned source = strings.id(m.getSourceFileName());
  unsigned maker = strings.id("LLVM " LLVM_VERSION_STRING);
  Bytes out;
  out.u(strings.all.size());
  for (auto &s : strings.all) {
    out.u(s.size());
    out.out += s;
  }
  out.u(source);
  out.u(maker);
  out.u(many);
  out.out += globals.out;
  out.u(manyTaken);
  out.out += taken.out;
  out.u(manyAliases);
  out.out += aliases.out;
  out.u(count);
  out.out += functions.out;
  return out.out;
}

// FNV-1a.
uint32_t checksum(StringRef bytes) {
  uint32_t h = 0x811c9dc5;
  for (unsigned char c : bytes)
    h = (h ^ c) * 0x01000193;
  return h;
}

struct HeadwaterPass : PassInfoMixin<HeadwaterPass> {
  PreservedAnalyses run(Module &m, ModuleAnalysisManager &mam) {
    // What runs on the host of the formats that the reader knows; a device's module is left as it is.
    Triple triple(m.getTargetTriple());
    bool x86 = triple.getArch() == Triple::x86_64, arm = triple.getArch() == Triple::aarch64;
    if (!triple.isOSBinFormatELF() || !(x86 || arm))
      return PreservedAnalyses::all();
    auto &fam = mam.getResult<FunctionAnalysisManagerModuleProxy>(m).getManager();
    std::string payload = OfModule(m, fam).record();
    std::string record = "HWPS";
    auto word = [&](uint32_t w) {
      for (int i = 0; i < 4; i++)
        record.push_back(char(w >> (8 * i)));
    };
    word(Version);
    word(uint32_t(payload.size()));
    word(checksum(payload));
    record += payload;
    std::string text = ".pushsection .headwater.psg,\"\",@progbits\n";
    static const char digits[] = "01234567";
    for (size_t at = 0; at < record.size(); at += 64) {
      text += ".ascii \"";
      for (unsigned char c : StringRef(record).substr(at, 64)) {
        text += '\\';
        text += digits[c >> 6], text += digits[(c >> 3) & 7], text += digits[c & 7];
      }
      text += "\"\n";
    }
    text += ".popsection";
    // flang 19 reads no assembly, if nobody asks for it.
#define LLVM_ASM_PARSER(Target)                                                                                        \
  if (StringRef(#Target) == (x86 ? "X86" : "AArch64"))                                                                 \
    LLVMInitialize##Target##AsmParser();
#include "llvm/Config/AsmParsers.def"
    m.appendModuleInlineAsm(text);
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "headwater", "1", [](PassBuilder &pb) {
#if LLVM_VERSION_MAJOR >= 20
            pb.registerOptimizerLastEPCallback(
                [](ModulePassManager &pm, OptimizationLevel, ThinOrFullLTOPhase) { pm.addPass(HeadwaterPass()); });
#else
            pb.registerOptimizerLastEPCallback(
                [](ModulePassManager &pm, OptimizationLevel) { pm.addPass(HeadwaterPass()); });
#endif
          }};
}
