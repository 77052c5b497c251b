// What the value of an instruction, a loop or a branch comes from.

namespace {

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
    pending.emplace_back(id, [this, id, i] { fill(id, i); });
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
  pending.emplace_back(id, [this, id, l] {
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
    give(id, operands);
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

// Whether a number is made of two neighbours in memory, or is one of two: optimisation passes and returns small structures
// as one number.
bool isPacked(const Instruction &i) {
  auto by = [](const Value *v) {
    auto *amount = dyn_cast<ConstantInt>(v);
    return amount && amount->getZExtValue() >= 32 && amount->getZExtValue() % 8 == 0;
  };
  if (!i.getType()->isIntegerTy() || i.getType()->getIntegerBitWidth() < 64)
    return false;
  if (i.getOpcode() == Instruction::LShr || i.getOpcode() == Instruction::AShr) {
    // Moved to the left and back: its sign is extended.
    auto *left = dyn_cast<BinaryOperator>(i.getOperand(0));
    bool back = left && left->getOpcode() == Instruction::Shl && left->getOperand(1) == i.getOperand(1);
    return by(i.getOperand(1)) && !back;
  }
  if (i.getOpcode() != Instruction::Or && i.getOpcode() != Instruction::Add)
    return false;
  for (auto &o : i.operands()) {
    auto *shift = dyn_cast<BinaryOperator>(o.get());
    if (shift && shift->getOpcode() == Instruction::Shl && by(shift->getOperand(1)))
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
    bool computes = c->isInlineAsm() && c->doesNotAccessMemory();
    if (computes || isa<IntrinsicInst>(c)) {
      // Which memory it reads, as a masked load or a gather does, is not followed.
      if (!c->doesNotAccessMemory())
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
  } else if (isPacked(*i)) {
    operands.push_back(unknown(Other, i));
  } else {
    for (auto &o : i->operands()) {
      use(o.get(), here);
      // Of a pointer, what it points into matters more than the index.
      if (isa<GetElementPtrInst>(i) && !nodes[id].alternatives)
        nodes[id].alternatives = operands.size();
    }
  }
  give(id, operands);
}

} // namespace
