/* What a program sees of Caliper and of Score-P, as far as their calls mark regions. */
#include <stdint.h>

extern "C" {
extern uint64_t cali_loop_attr_id;
void cali_init();
void cali_begin_region(const char *);
void cali_end_region(const char *);
void cali_begin_string(uint64_t, const char *);
void cali_begin_int(uint64_t, int);
void cali_end(uint64_t);
uint64_t cali_make_loop_iteration_attribute(const char *);

typedef struct Handle *SCOREP_User_RegionHandle;
void SCOREP_User_RegionBegin(SCOREP_User_RegionHandle *, const char **, unsigned *, const char *, unsigned,
                             const char *, uint32_t);
void SCOREP_User_RegionInit(SCOREP_User_RegionHandle *, const char **, unsigned *, const char *, unsigned,
                            const char *, uint32_t);
void SCOREP_User_RegionEnter(SCOREP_User_RegionHandle);
void SCOREP_User_RegionEnd(SCOREP_User_RegionHandle);
void SCOREP_User_RegionByNameBegin(const char *, unsigned, const char *, uint32_t);
void SCOREP_User_RegionByNameEnd(const char *);
}

namespace cali {
class Function {
public:
    Function(const char *);
    ~Function();
};
class Loop {
    int open;

public:
    class Iteration {
        int number;

    public:
        Iteration(int);
        ~Iteration();
    };
    Loop(const char *);
    ~Loop();
    Iteration iteration(int);
    void end();
};
}
