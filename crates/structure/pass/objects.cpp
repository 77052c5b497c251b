// Objects in memory: what a pointer points into, and who may write it.

namespace {

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
      // The callee has a copy of its own.
      if (c->isByValArgument(k))
        continue;
      if (auto *mi = dyn_cast<MemIntrinsic>(c)) {
        if (k == 0) {
          // The length of other ones may not be in bytes.
          bool inBytes = isa<MemSetInst>(mi) || isa<MemTransferInst>(mi);
          auto *length = inBytes ? dyn_cast<ConstantInt>(mi->getLength()) : nullptr;
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

// By the name of its source: other languages must not be taken for Fortran.
bool isFortran(const Function &f) {
  auto *sub = f.getSubprogram();
  std::string file = sub ? sub->getFilename().lower() : "";
  std::string end = file.substr(file.rfind('.') + 1);
  for (const char *one : {"f", "for", "ftn", "fpp", "f77", "f90", "f95", "f03", "f08", "f18", "cuf"})
    if (end == one)
      return true;
  return false;
}

// A type without names, qualifiers and dimensions; null if that is not known.
const DIType *bare(const DIType *at) {
  for (int i = 0; at && i < 64; i++) {
    if (auto *derived = dyn_cast<DIDerivedType>(at)) {
      auto tag = derived->getTag();
      if (tag == dwarf::DW_TAG_pointer_type || tag == dwarf::DW_TAG_reference_type ||
          tag == dwarf::DW_TAG_rvalue_reference_type || tag == dwarf::DW_TAG_ptr_to_member_type)
        return at;
      at = derived->getBaseType();
      continue;
    }
    auto *composite = dyn_cast<DICompositeType>(at);
    if (!composite || composite->getTag() != dwarf::DW_TAG_array_type)
      return at;
    at = composite->getBaseType();
  }
  return nullptr;
}

bool isInteger(const DIBasicType &t) {
  auto encoding = t.getEncoding();
  return encoding != dwarf::DW_ATE_float && encoding != dwarf::DW_ATE_complex_float;
}

// Whether there may be one of the second type in one of the first.
bool mayContain(const DIType *outer, const DIType *inner, int depth) {
  outer = bare(outer), inner = bare(inner);
  if (!outer || !inner || outer == inner || depth > 8)
    return true;
  auto *x = dyn_cast<DIBasicType>(outer), *y = dyn_cast<DIBasicType>(inner);
  // Bytes may be anything.
  if ((x && x->getSizeInBits() == 8) || (y && y->getSizeInBits() == 8))
    return true;
  // Enumerations are integers.
  auto *record = dyn_cast<DICompositeType>(outer), *other = dyn_cast<DICompositeType>(inner);
  bool first = record && record->getTag() == dwarf::DW_TAG_enumeration_type;
  bool second = other && other->getTag() == dwarf::DW_TAG_enumeration_type;
  if ((x || first) && (y || second))
    return outer->getSizeInBits() == inner->getSizeInBits() && (first || isInteger(*x)) == (second || isInteger(*y));
  if (first)
    return false;
  if (!record)
    return isa<DIDerivedType>(outer) && isa<DIDerivedType>(inner);
  if (other && !record->getName().empty() && record->getName() == other->getName())
    return true;
  if (record->isForwardDecl() || record->getElements().empty())
    return true;
  for (auto *element : record->getElements())
    if (auto *member = dyn_cast<DIDerivedType>(element))
      if (mayContain(member->getBaseType(), inner, depth + 1))
        return true;
  return false;
}

// Whether two parameters may point to the same: not in Fortran, and not if neither type has anything of the other one.
bool mayAlias(const Argument &a, const Argument &b) {
  if (a.hasNoAliasAttr() || b.hasNoAliasAttr() || isFortran(*a.getParent()))
    return false;
  const DIType *x = pointee(a), *y = pointee(b);
  return mayContain(x, y, 0) || mayContain(y, x, 0);
}

// Finds what may write in this function. Each object asks for it: a walk over all code for each would be quadratic.
void OfFunction::look() {
  if (looked)
    return;
  looked = true;
  for (auto &i : instructions(f)) {
    auto *c = dyn_cast<CallBase>(&i);
    auto *s = dyn_cast<StoreInst>(&i);
    if (!(c || s) || (c && c->onlyReadsMemory()))
      continue;
    bool quiet = !c || isQuiet(*c);
    if (!quiet)
      writingCalls.push_back(c);
    if (isIgnored(i))
      continue;
    Access access{&i, {}};
    auto take = [&](Value *pointer) {
      Value *base = baseOf(pointer).first;
      if (auto *a = dyn_cast<Argument>(base))
        access.parameters.push_back(a);
      auto *g = dyn_cast<GlobalVariable>(base);
      access.global |= g && !g->isConstant();
    };
    if (s)
      take(s->getPointerOperand());
    else
      for (auto &a : c->args())
        if (unsigned k = c->getArgOperandNo(&a);
            a->getType()->isPointerTy() && !c->onlyReadsMemory(k) && !c->isByValArgument(k))
          take(a.get());
    // Where a parameter points to, assembly may write as well.
    access.outside = !quiet || (c && c->isInlineAsm());
    if (!access.parameters.empty() || access.global || access.outside)
      accesses.push_back(std::move(access));
  }
}

// The object, with its writers in the order of the code.
Object &sorted(Object &o) {
  for (auto &block : o.writers)
    std::stable_sort(block.second.begin(), block.second.end(), [](const auto &a, const auto &b) {
      return a.at != b.at && a.at->comesBefore(b.at);
    });
  return o;
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
    if (g->isConstant())
      return sorted(o);
    look();
    for (auto *c : writingCalls) {
      auto &here = o.writers[c->getParent()];
      bool given = false;
      for (auto &w : here)
        if (w.at == c)
          given = w.barrier = true;
      if (!given)
        here.push_back({c, NoArgument, {Anywhere, 0}, 0, true});
    }
    // A parameter may point to it; Fortran forbids to use both.
    if (!isFortran(f))
      for (auto &access : accesses) {
        Argument *through = nullptr;
        for (auto *a : access.parameters)
          through = a->hasNoAliasAttr() ? through : a;
        if (!through)
          continue;
        auto &here = o.writers[access.at->getParent()];
        if (none_of(here, [&](auto &w) { return w.at == access.at; }))
          here.push_back({access.at, NoArgument, {Anywhere, 0}, 0, false, false, through});
      }
  }
  if (auto *own = dyn_cast<Argument>(base)) {
    DenseMap<const Argument *, bool> aliases;
    if (own->hasNoAliasAttr() || isFortran(f))
      return sorted(o);
    look();
    for (auto &access : accesses) {
      Argument *through = nullptr;
      for (auto *other : access.parameters) {
        auto put = aliases.try_emplace(other, false);
        if (put.second)
          put.first->second = other != own && mayAlias(*own, *other);
        through = put.first->second ? other : through;
      }
      bool elsewhere = access.global || access.outside;
      if (!through && !elsewhere)
        continue;
      auto &here = o.writers[access.at->getParent()];
      bool known = false;
      for (auto &w : here)
        if (w.at == access.at) {
          w.elsewhere |= elsewhere;
          w.through = w.through ? w.through : through;
          known = true;
        }
      if (!known)
        here.push_back({access.at, NoArgument, {Anywhere, 0}, 0, false, through != nullptr, through, elsewhere});
    }
  }
  return sorted(o);
}

} // namespace
