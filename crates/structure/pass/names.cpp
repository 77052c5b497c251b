// Functions that are known by name.

namespace {

bool isIgnored(const Instruction &i) {
  if (isa<DbgInfoIntrinsic>(i))
    return true;
  auto *in = dyn_cast<IntrinsicInst>(&i);
  return in && (in->isLifetimeStartOrEnd() || in->isAssumeLikeIntrinsic());
}

// The name of a function of MPI as it is in C, in small letters, whatever its language, interface and kind of counts; empty
// if the name cannot be one: a program has wrappers with such names in small letters.
std::string mpiName(StringRef name) {
  bool ofC = name.substr(0, 4) == "MPI_" || name.substr(0, 5) == "PMPI_";
  bool ofFortran = name.size() > 5 && name.back() == '_' && name.contains("mpi_");
  if (!ofC && !ofFortran)
    return "";
  std::string low = name.lower();
  StringRef n = StringRef(low).rtrim('_');
  if (n.substr(0, 5) == "pmpi_")
    n = n.drop_front();
  for (StringRef end : {"_f08ts", "_f08", "_c"})
    if (n.size() > end.size() && n.substr(n.size() - end.size()) == end) {
      n = n.drop_back(end.size());
      break;
    }
  return n.str();
}

// Whether a function of MPI keeps the address of its buffer, so that the library or another rank writes there later.
bool keepsBuffer(StringRef name) {
  std::string n = mpiName(name);
  StringRef known(n);
  for (const char *part : {"set_attr", "attr_put", "grequest_start", "keyval", "get_address", "mpi_address",
                           "win_create", "win_attach", "buffer_attach"})
    if (known.contains(part))
      return true;
  bool begins = n == "mpi_init" || n == "mpi_t_init" || n == "mpi_session_init";
  return !begins && n.size() > 5 && known.substr(n.size() - 5) == "_init";
}

// Whether a function is one of MPI's. A program may have others whose names begin so. Conversions of handles and the
// interface for tools are known by their names alone.
bool isMpi(StringRef name) {
  static const StringSet<> known = [] {
    StringSet<> all;
    for (const char *n : mpiFunctions)
      all.insert(mpiName(n));
    for (const char *n : {"wtime", "wtick", "get_version", "get_library_version", "aint_add", "aint_diff", "sizeof"})
      all.insert(std::string("mpi_") + n);
    return all;
  }();
  std::string low = mpiName(name);
  StringRef n(low);
  if (n.substr(0, 4) != "mpi_")
    return false;
  StringRef end = n.size() > 4 ? n.substr(n.size() - 4) : n;
  return known.count(n) || n.substr(0, 6) == "mpi_t_" || end == "_c2f" || end == "_f2c";
}

// A reduction calls the program where its operation is one of the program's.
bool callsBack(const CallBase &c, StringRef name) {
  constexpr unsigned operation = 4;
  std::string n = mpiName(name);
  StringRef known(n);
  if (!known.contains("reduce") && !known.contains("scan"))
    return false;
  if (operation >= c.arg_size())
    return true;
  auto *op = c.getArgOperand(operation)->stripPointerCasts();
  if (auto *g = dyn_cast<GlobalVariable>(op))
    return !g->isConstant() && g->getName().substr(0, 5) != "ompi_";
  // Fortran passes a constant in a variable of its own.
  if (auto *slot = dyn_cast<AllocaInst>(op)) {
    for (auto *u : slot->users())
      if (auto *s = dyn_cast<StoreInst>(u))
        if (s->getPointerOperand() != slot || !isa<ConstantInt>(s->getValueOperand()))
          return true;
    return any_of(slot->users(), [&](User *u) {
      return u != &c && !isa<StoreInst>(u) && !isa<LoadInst>(u) && !isIgnored(*cast<Instruction>(u));
    });
  }
  return !isa<Constant>(op);
}

// Functions of the system's libraries that keep no pointer and write none but through their arguments. What they do to
// these, src/compiler/meaning.rs knows; a test holds that its functions are here.
constexpr const char *harmless[] = {
    "_ZdaPv", "_ZdlPv", "_ZdlPvm", "_Znam", "_Znwm", "__isoc23_fscanf", "__isoc23_scanf", "__isoc23_sscanf",
    "__isoc23_strtol", "__isoc23_strtoll", "__isoc23_strtoul", "__isoc99_fscanf", "__isoc99_scanf",
    "__isoc99_sscanf", "abort", "atof", "atoi", "atol", "atoll", "calloc", "cbrt", "ceil", "ceilf", "clock",
    "clock_gettime", "drand48", "exit", "exp", "exp2", "fabs", "fclose", "fflush", "fgets", "floor", "floorf",
    "fmax", "fmin", "fmod", "fopen", "fprintf", "fputc", "fputs", "fread", "free", "fscanf", "fwrite", "getenv",
    "getpid", "gets", "gettimeofday", "hypot", "log", "log10", "log2", "log2f", "logf", "lrint", "lround", "malloc",
    "nanosleep", "perror", "pow", "powf", "printf", "putchar", "puts", "rand", "read", "rint", "round", "scanf",
    "snprintf", "sprintf", "sqrt", "sqrtf", "srand", "sscanf", "strcmp", "strlen", "strncmp", "strtod", "strtof",
    "strtol", "strtoll", "strtoul", "strtoull", "time", "trunc", "usleep"};

bool isHarmless(StringRef name) {
  for (const char *n : harmless)
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

// Whether a call neither enters a function of the program nor writes memory that it is not given. Assembly that uses a
// variable without being given it is not foreseen by compilers either.
bool isQuiet(const CallBase &c) {
  if (isa<IntrinsicInst>(c) || c.isInlineAsm())
    return true;
  Function *callee = calleeOf(c);
  if (!callee || !callee->isDeclaration() || !isHarmless(callee->getName()))
    return false;
  return !isMpi(callee->getName()) || !callsBack(c, callee->getName());
}

} // namespace
