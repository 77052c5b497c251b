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
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
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
constexpr unsigned Version = 1;
// Functions with more nodes than this are not followed further.
constexpr size_t MostNodes = 1 << 16;
// Blocks that one question about memory may visit.
constexpr size_t MostBlocks = 4096;
// The argument of a call that writes a global variable by itself.
constexpr unsigned NoArgument = ~0u;

enum Op : unsigned { Const, Mix, Param, Entry, Global, Result, Out, StoreTo, Unknown };
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
      "free", "realloc", "snprintf", "sprintf", "strlen", "strcmp", "strncmp", "fopen", "fclose", "time", "clock",
      "clock_gettime", "gettimeofday", "usleep", "nanosleep", "exit", "abort", "perror", "rand", "srand", "drand48",
      "getopt", "getpid", "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm"};
  for (const char *n : names)
    if (name == n)
      return true;
  return isMpi(name) || name.substr(0, 8) == "_Fortran";
}

// The function that a call names, if it names one.
Function *calleeOf(const CallBase &call) {
  return dyn_cast<Function>(call.getCalledOperand()->stripPointerCasts());
}

bool isIgnored(const Instruction &i) {
  if (isa<DbgInfoIntrinsic>(i))
    return true;
  auto *in = dyn_cast<IntrinsicInst>(&i);
  return in && (in->isLifetimeStartOrEnd() || in->isAssumeLikeIntrinsic());
}

struct Place {
  unsigned file = 0, line = 0, scope = 0;
};

class OfModule;

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
  };
  std::map<BasicBlock *, std::vector<Writer>> writers; // each in the order of the block
  std::set<int64_t> offsets;
};

class OfFunction {
public:
  OfFunction(OfModule &m, Function &f, DominatorTree &dt, PostDominatorTree &pdt, LoopInfo &li);
  void run();
  void write(Bytes &b);

private:
  OfModule &m;
  Function &f;
  DominatorTree &dt;
  PostDominatorTree &pdt;
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
  std::vector<std::pair<unsigned, unsigned>> outs;
  std::vector<unsigned> kept; // numbers of parameters whose address is kept somewhere
  std::vector<std::tuple<unsigned, unsigned>> globalOuts;
  size_t blocks = 0, branches = 0, loops = 0;

  unsigned add(Node n);
  unsigned unknown(Reason r, const Instruction *at);
  Place placeOf(const DebugLoc &loc);
  unsigned nameOf(Value *v, int64_t offset);
  unsigned value(Value *v);
  unsigned operand(Value *v, const Instruction *user);
  void leave(SmallVectorImpl<unsigned> &to, const BasicBlock *from, const BasicBlock *user);
  unsigned exitNode(Loop *l);
  void fill(unsigned node, Instruction *i);
  void controls(SmallVectorImpl<unsigned> &to, BasicBlock *from, BasicBlock *until, bool own);
  unsigned condition(BasicBlock *b);
  bool decides(BasicBlock *b);
  std::pair<Value *, Offset> baseOf(Value *pointer);
  Object &object(Value *base);
  void collect(Object &o, Value *pointer, Offset off, SmallPtrSetImpl<Value *> &seen);
  unsigned load(LoadInst *l);
  unsigned memory(Object &o, Offset off, uint64_t size, Instruction *before);
  unsigned written(Object &o, const Object::Writer &w, Offset off, uint64_t size, BasicBlock *user);
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

OfFunction::OfFunction(OfModule &m, Function &f, DominatorTree &dt, PostDominatorTree &pdt, LoopInfo &li)
    : m(m), f(f), dt(dt), pdt(pdt), li(li), dl(f.getParent()->getDataLayout()) {
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
  std::pair<unsigned, std::string> best{~0u, ""};
  auto take = [&](DILocalVariable *var) {
    if (var && !var->getName().empty() && !var->isArtificial())
      best = std::min(best, {var->getLine(), withMember(var->getName(), isa<AllocaInst>(v) || v->getType()->isPointerTy() ? var->getType() : nullptr, offset)});
  };
  if (v->isUsedByMetadata()) {
#if LLVM_VERSION_MAJOR >= 21
    SmallVector<DbgVariableRecord *, 4> records;
    findDbgUsers(v, records);
    for (auto *r : records)
      take(r->getVariable());
#elif LLVM_VERSION_MAJOR >= 19
    SmallVector<DbgVariableIntrinsic *, 4> users;
    SmallVector<DbgVariableRecord *, 4> records;
    findDbgUsers(users, v, &records);
    for (auto *u : users)
      take(u->getVariable());
    for (auto *r : records)
      take(r->getVariable());
#else
    SmallVector<DbgVariableIntrinsic *, 4> users;
    findDbgUsers(users, v);
    for (auto *u : users)
      take(u->getVariable());
#endif
  }
  return m.strings.id(best.second);
}

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
  if (!i || isa<AllocaInst>(v))
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
    for (auto *b : exiting)
      if (decides(b)) {
        unsigned c = condition(b);
        nodes[id].operands.push_back(c);
      }
  });
  return id;
}

unsigned OfFunction::operand(Value *v, const Instruction *) { return value(v); }

// Whether a block ends in a choice between ways that come back: one way of an error check does not.
bool OfFunction::decides(BasicBlock *b) {
  unsigned ways = 0;
  for (auto *s : successors(b)) {
    auto *at = s;
    for (int i = 0; i < 4 && at->getSingleSuccessor(); i++)
      at = at->getSingleSuccessor();
    ways += !isa<UnreachableInst>(at->getTerminator());
  }
  return ways > 1 && (isa<BranchInst>(b->getTerminator()) || isa<SwitchInst>(b->getTerminator()));
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

// What decides whether `from` is reached once `until`, which dominates it, is.
void OfFunction::controls(SmallVectorImpl<unsigned> &to, BasicBlock *from, BasicBlock *until, bool own) {
  if (own && decides(from) && from != until)
    to.push_back(condition(from));
  auto *node = dt.getNode(from);
  for (; node && node->getBlock() != until;) {
    node = node->getIDom();
    if (!node)
      break;
    BasicBlock *b = node->getBlock();
    if (decides(b) && !pdt.dominates(from, b))
      to.push_back(condition(b));
  }
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
    bool header = l && l->getHeader() == here && phi->getNumIncomingValues() == 2;
    auto *above = dt.getNode(here) ? dt.getNode(here)->getIDom() : nullptr;
    for (auto &in : phi->incoming_values())
      use(in.get(), here);
    nodes[id].alternatives = operands.size();
    for (unsigned k = 0; k < phi->getNumIncomingValues(); k++) {
      BasicBlock *from = phi->getIncomingBlock(k);
      if (!header && above && dt.isReachableFromEntry(from))
        controls(operands, from, above->getBlock(), true);
    }
    if (!header && above && decides(above->getBlock()))
      operands.push_back(condition(above->getBlock()));
  } else if (auto *l = dyn_cast<LoadInst>(i)) {
    operands.push_back(load(l));
    // Which element of an array is read depends on the index.
    auto base = baseOf(l->getPointerOperand());
    if (base.second.mode == Anywhere)
      for (Value *p = l->getPointerOperand()->stripPointerCasts(); auto *gep = dyn_cast<GEPOperator>(p);
           p = gep->getPointerOperand()->stripPointerCasts())
        for (auto &index : gep->indices())
          use(index.get(), here);
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
  } else {
    for (auto &o : i->operands())
      use(o.get(), here);
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
      if (c->onlyReadsMemory() || c->onlyReadsMemory(k) || c->doesNotAccessMemory())
        continue;
      Function *callee = calleeOf(*c);
      if (callee && callee->getName() == "free")
        continue;
      bool kept = callee ? isMpi(callee->getName()) && keepsBuffer(callee->getName()) : !c->doesNotCapture(k);
      o.escapes |= kept;
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
  }
  if (auto *own = dyn_cast<Argument>(base)) {
    auto aliases = [&](Value *pointer) {
      auto *other = dyn_cast<Argument>(baseOf(pointer).first);
      return other && other != own && mayAlias(*own, *other);
    };
    for (auto &i : instructions(f)) {
      bool writes = false;
      if (auto *s = dyn_cast<StoreInst>(&i))
        writes = aliases(s->getPointerOperand());
      else if (auto *c = dyn_cast<CallBase>(&i); c && !isIgnored(i) && !c->onlyReadsMemory())
        for (auto &a : c->args())
          writes |= a->getType()->isPointerTy() && !c->onlyReadsMemory(c->getArgOperandNo(&a)) && aliases(a.get());
      if (!writes)
        continue;
      auto &here = o.writers[i.getParent()];
      if (none_of(here, [&](auto &w) { return w.at == &i; }))
        here.push_back({&i, NoArgument, {Anywhere, 0}, 0, false, true});
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
    if (a->hasByValAttr() && !a->hasStructRetAttr())
      n.op = Entry;
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
    if (callee && isHarmless(callee->getName()))
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
    bool entry = false;
    size_t steps = 0;
    while (!open.empty()) {
      auto [b, first] = open.pop_back_val();
      const Object::Writer *last = nullptr;
      auto ws = o.writers.find(b);
      if (ws != o.writers.end())
        for (auto &w : ws->second)
          if (concerns(w) && (!first || w.at->comesBefore(before)))
            last = &w;
      if (last) {
        found.push_back(written(o, *last, off, size, user));
        // How often others may have written a global says nothing about what they wrote.
        if (!last->barrier || last->argument != NoArgument)
          leave(found, b, user);
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

unsigned OfFunction::written(Object &o, const Object::Writer &w, Offset off, uint64_t size, BasicBlock *user) {
  Node n;
  Place p = placeOf(w.at->getDebugLoc());
  n.file = p.file, n.line = p.line;
  SmallVector<unsigned, 4> why;
  BasicBlock *here = w.at->getParent();
  if (here != user)
    if (auto *common = dt.findNearestCommonDominator(here, user))
      controls(why, here, common, false);
  if (w.alias) {
    Node both;
    both.operands.push_back(unknown(ThroughPointer, w.at));
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
    if (!w.barrier)
      return add(n);
    Node both;
    both.operands.push_back(add(n));
    both.operands.push_back(atEntry(o, off));
    return add(both);
  }
  unsigned what = 0;
  if (auto *s = dyn_cast<StoreInst>(w.at)) {
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
  auto *node = dt.getNode(b);
  Place own = except ? placeOf(except->getStartLoc()) : Place();
  BasicBlock *from = b;
  while (node && (node = node->getIDom())) {
    BasicBlock *at = node->getBlock();
    if (l && !l->contains(at))
      break;
    if (!decides(at) || pdt.dominates(from, at) || (l && l->isLoopExiting(at)))
      continue;
    if (except && except->contains(at))
      continue;
    Place p = placeOf(at->getTerminator()->getDebugLoc());
    // The test before a loop that is the loop's own.
    if (except && own.line && p.line == own.line && p.file == own.file)
      continue;
    auto known = branchVertices.find(at);
    if (known != branchVertices.end())
      return known->second + 1;
    unsigned parent = parentOf(at, nullptr);
    Vertex v{BranchVertex, parent, p, p.line, 0, {condition(at)}};
    vertices.push_back(v);
    branchVertices[at] = vertices.size() - 1;
    return vertices.size();
  }
  return l ? loopVertex(l) + 1 : 0;
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
        } else {
          base = isa<Argument>(b) ? 2 : 1;
          if (auto *arg = dyn_cast<Argument>(b))
            which = arg->getArgNo();
          content = memory(object(b), {Asked, 0}, 0, &c);
        }
      } else {
        own = value(v);
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
    branches += decides(&b);
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
      controls(values, ret->getParent(), &f.getEntryBlock(), false);
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
    }
    return n;
  };
  for (auto &a : f.args()) {
    if (!a.getType()->isPointerTy() || a.onlyReadsMemory())
      continue;
    Object &o = object(&a);
    if (o.escapes)
      kept.push_back(a.getArgNo());
    else if (any_of(o.writers, [](auto &b) { return any_of(b.second, [](auto &w) { return !w.alias; }); }))
      outs.push_back({a.getArgNo(), add(leaves(&a))});
  }
  std::vector<GlobalVariable *> sorted(writtenGlobals.begin(), writtenGlobals.end());
  std::sort(sorted.begin(), sorted.end(), [](auto *a, auto *b) { return a->getName() < b->getName(); });
  for (auto *g : sorted) {
    Node n = leaves(g);
    for (auto *c : barriers) {
      unsigned at = memory(object(g), {Asked, 0}, 0, c);
      n.operands.push_back(at);
    }
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
        if (nodes[o].op != Const && o != i && !is_contained(left, o))
          left.push_back(o);
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
    to[i] = nodes[at].op == Const ? 0 : at;
  }
  return to;
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
    need(o.second);
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
  b.u((f.hasLocalLinkage() ? 1 : 0) | (f.hasAddressTaken() ? 2 : 0) | (f.isInterposable() ? 4 : 0));
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
    b.u(o.first);
    b.u(id(o.second));
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
      if (auto *s = dyn_cast<StoreInst>(u)) {
        if (s->getPointerOperand() == v)
          continue;
      } else if (isa<GEPOperator>(u) || isa<BitCastOperator>(u) || isa<PHINode>(u)) {
        open.push_back(u);
        continue;
      } else if (auto *c = dyn_cast<CallBase>(u)) {
        Function *callee = calleeOf(*c);
        bool kept = callee && isMpi(callee->getName()) && keepsBuffer(callee->getName());
        if (c->isArgOperand(&use) && !kept && (callee || c->doesNotCapture(c->getArgOperandNo(&use))))
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
    PostDominatorTree &pdt = fam.getResult<PostDominatorTreeAnalysis>(f);
    LoopInfo &li = fam.getResult<LoopAnalysis>(f);
    OfFunction of(*this, f, dt, pdt, li);
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
    globals.u((g.hasLocalLinkage() ? 1 : 0) | (escaping.count(&g) ? 2 : 0));
    many++;
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
    InitializeAllAsmParsers();
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
