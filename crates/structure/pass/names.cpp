// Functions that are known by name.

namespace {

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

// Functions of the system's libraries that keep no pointer and write none but through their arguments. What they do to
// these, src/compiler/meaning.rs knows; a test holds that its functions are here.
constexpr const char *harmless[] = {
    "_ZdaPv", "_ZdlPv", "_ZdlPvm", "_Znam", "_Znwm", "__isoc23_fscanf", "__isoc23_scanf", "__isoc23_sscanf",
    "__isoc23_strtol", "__isoc23_strtoll", "__isoc23_strtoul", "__isoc99_fscanf", "__isoc99_scanf",
    "__isoc99_sscanf", "abort", "atof", "atoi", "atol", "atoll", "calloc", "clock", "clock_gettime", "drand48",
    "exit", "fclose", "fflush", "fgets", "fopen", "fprintf", "fputc", "fputs", "fread", "free", "fscanf",
    "fwrite", "getenv", "getpid", "gets", "gettimeofday", "malloc", "nanosleep", "perror", "printf", "putchar",
    "puts", "rand", "read", "scanf", "snprintf", "sprintf", "srand", "sscanf", "strcmp", "strlen", "strncmp",
    "strtod", "strtof", "strtol", "strtoll", "strtoul", "strtoull", "time", "usleep"};

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
  return callee && callee->isDeclaration() && isHarmless(callee->getName());
}

bool isIgnored(const Instruction &i) {
  if (isa<DbgInfoIntrinsic>(i))
    return true;
  auto *in = dyn_cast<IntrinsicInst>(&i);
  return in && (in->isLifetimeStartOrEnd() || in->isAssumeLikeIntrinsic());
}

} // namespace
