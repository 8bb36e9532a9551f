#include "bind/parts.hpp"
#ifdef GRADBAG_XLA
#include "xla/handler.hpp"
#endif

NB_MODULE(_kernels, m) {
    m.doc() = "Compiled kernels: they fill arrays that the caller has allocated and checked.";
    gradbag::bind_kernels(m);
    gradbag::bind_threads(m);
    gradbag::bind_memory(m);
    gradbag::bind_spans(m);
    gradbag::bind_shortcuts(m);
    gradbag::bind_strings(m);
    gradbag::bind_hashing(m);
    gradbag::bind_vocabulary(m);
    gradbag::bind_records(m);
    gradbag::bind_weighing(m);
    gradbag::bind_torch(m);
    gradbag::bind_tensorflow(m);
#ifdef GRADBAG_XLA
    gradbag::bind_xla(m);
#endif
}
