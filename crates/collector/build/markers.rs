//! Functions of Caliper and Score-P by which a program marks its regions: symbol, number of arguments, and what they do
//! (`markers::Does`).
//!
//! Sources: Caliper's `cali.h`, `cali_macros.h` and `Annotation.h`; Score-P's `SCOREP_User_Functions.h`. The symbols of C++
//! are those of its common ABI.

pub const MARKERS: [(&str, usize, &str); 26] = [
    ("cali_begin_region", 1, "Begins"),
    ("cali_end_region", 1, "Ends"),
    ("cali_begin_phase", 1, "Begins"),
    ("cali_end_phase", 1, "Ends"),
    ("cali_begin_comm_region", 1, "Begins"),
    ("cali_end_comm_region", 1, "Ends"),
    ("cali_begin_string", 2, "BeginsOfAttribute"),
    ("cali_safe_end_string", 2, "EndsAttribute"),
    ("cali_end", 1, "EndsAttribute"),
    ("cali_make_loop_iteration_attribute", 1, "MakesIterations"),
    ("_ZN4cali8FunctionC1EPKc", 2, "BeginsOfObject"),
    ("_ZN4cali8FunctionD1Ev", 1, "EndsObject"),
    ("_ZN4cali15ScopeAnnotationC1EPKc", 2, "BeginsOfObject"),
    ("_ZN4cali15ScopeAnnotationD1Ev", 1, "EndsObject"),
    ("_ZN4cali4LoopC1EPKc", 2, "BeginsOfObject"),
    ("_ZN4cali4Loop3endEv", 1, "EndsObject"),
    ("_ZN4cali4LoopD1Ev", 1, "DestroysObject"),
    ("_ZN4cali4Loop9IterationD1Ev", 1, "Iterates"),
    ("SCOREP_User_RegionBegin", 7, "BeginsOfHandle"),
    ("SCOREP_User_OaPhaseBegin", 7, "BeginsOfHandle"),
    ("SCOREP_User_RegionInit", 7, "NamesHandle"),
    ("SCOREP_User_RegionEnter", 1, "EntersHandle"),
    ("SCOREP_User_RegionEnd", 1, "EndsObject"),
    ("SCOREP_User_OaPhaseEnd", 1, "EndsObject"),
    ("SCOREP_User_RegionByNameBegin", 4, "Begins"),
    ("SCOREP_User_RegionByNameEnd", 1, "Ends"),
];
