#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

// TensorFlow calls this once it has loaded the library. What gradbag's kernels are is written in Python, so Python is
// asked; in a process without Python, such as a server of models, TensorFlow keeps its own kernels.
void TF_InitKernel(void) {
    int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
    int (*run)(const char*, void*) = (int (*)(const char*, void*))dlsym(RTLD_DEFAULT, "PyRun_SimpleStringFlags");
    if (ensure == NULL || release == NULL || run == NULL) return;
    const int state = ensure();
    run("__import__('gradbag_tensorflow').prepare()", NULL);
    release(state);
}
