#pragma once

// A variable of each thread that is there when the thread starts. Others of a library that is loaded at run
// time get their memory when they are used first, and where there is none the process is ended.
#if defined(__linux__)
#define GRADBAG_THREAD_LOCAL [[gnu::tls_model("initial-exec")]] constinit thread_local
#else
#define GRADBAG_THREAD_LOCAL constinit thread_local
#endif
