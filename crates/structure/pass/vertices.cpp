// Vertices of a function: loops, branches and calls.

namespace {

// Lines of a loop's code that are in the same copy of the same function as a place, but for the line that declares the
// function, to which what is made ready for it belongs: the first and the last one, each with its place.
std::pair<DebugLoc, DebugLoc> linesOf(const Loop *l, const DebugLoc &as) {
  DebugLoc first, last;
  auto *sub = as && as.getScope() ? getDISubprogram(as.getScope()) : nullptr;
  if (!sub)
    return {first, last};
  for (auto *b : l->blocks())
    for (auto &i : *b) {
      const DebugLoc &at = i.getDebugLoc();
      if (!at || !at.getLine() || !at.getScope() || at.getInlinedAt() != as.getInlinedAt() ||
          getDISubprogram(at.getScope()) != sub || (!at.getInlinedAt() && at.getLine() == sub->getLine()))
        continue;
      if (!first || at.getLine() < first.getLine())
        first = at;
      if (!last || at.getLine() > last.getLine())
        last = at;
    }
  return {first, last};
}

// Where a loop begins. clang says it. flang does not: then it is where the loop turns back, as a DO does, or else its first
// line, as the reader finds it in machine code.
DebugLoc startOf(const Loop *l) {
  if (MDNode *id = l->getLoopID())
    for (unsigned i = 1; i < id->getNumOperands(); i++)
      if (auto *at = dyn_cast_or_null<DILocation>(id->getOperand(i)))
        return DebugLoc(at);
  SmallVector<BasicBlock *, 2> latches;
  l->getLoopLatches(latches);
  DebugLoc turn;
  for (auto *b : latches) {
    const DebugLoc &at = b->getTerminator()->getDebugLoc();
    if (l->isLoopExiting(b) && at && at.getLine() && (!turn || at.getLine() < turn.getLine()))
      turn = at;
  }
  DebugLoc start = l->getStartLoc();
  for (auto *b : l->blocks())
    for (auto &i : *b)
      if (!start && i.getDebugLoc() && i.getDebugLoc().getLine())
        start = i.getDebugLoc();
  auto [first, last] = linesOf(l, turn ? turn : start);
  if (!first)
    return start;
  return turn && turn.getLine() < last.getLine() ? turn : first;
}

// The innermost loop or branch around a block, plus one.
unsigned OfFunction::parentOf(BasicBlock *b, const Loop *except) {
  Loop *l = li.getLoopFor(b);
  while (l && except && except->contains(l))
    l = l->getParentLoop();
  auto around = [&] { return l ? loopVertex(l) + 1 : 0; };
  Place own = except ? placeOf(startOf(except)) : Place();
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
  DebugLoc start = startOf(l);
  Place p = placeOf(start);
  DebugLoc end = linesOf(l, start).second;
  unsigned last = std::max(p.line, end ? unsigned(end.getLine()) : 0);
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
  pending.emplace_back(0, [this, number, &c] {
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
    auto [id, find] = std::move(pending.back());
    pending.pop_back();
    if (!id || (!tooMany && allOperands < MostOperands)) {
      find();
      continue;
    }
    // Without what it is made of, a node would be a constant.
    nodes[id].op = Unknown;
    nodes[id].a = TooLarge;
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
      if (!isQuiet(*c))
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
    unsigned end = add(leaves(g));
    Node n;
    n.operands.push_back(end);
    inner(g, n);
    globalOuts.push_back({m.symbol(*g), add(n), end});
  }
  drain();
}

} // namespace
