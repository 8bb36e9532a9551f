#pragma once

#include <cstddef>
#include <cstdint>

#if __has_include(<dlfcn.h>)
#include <dlfcn.h>
#endif

// TensorFlow's C API, declared by hand and looked up when it is needed: to build this takes no header of
// TensorFlow, to load it no TensorFlow, and one binary serves every version that has these functions.
namespace gradbag::tensorflow {

struct Buffer {  // TF_Buffer, whose fields are public
    const void* data;
    std::size_t length;
    void (*deallocate)(void* data, std::size_t length);
};
struct Construction;
struct Context;
struct Description;
struct Graph;
struct KernelBuilder;
struct OpBuilder;
struct Operation;
struct Session;
struct SessionOptions;
struct Shape;
struct ShapeContext;
struct Status;
struct Tensor;
struct Port {  // TF_Output
    Operation* operation;
    int index;
};

using DataType = int;
using Code = int;
inline constexpr Code kOk = 0;
inline constexpr Code kInternal = 13;
inline constexpr Code kUnimplemented = 12;

using Create = void* (*)(Construction*);
using Compute = void (*)(void*, Context*);
using Destroy = void (*)(void*);
using Deallocate = void (*)(void* data, std::size_t bytes, void* owner);
using InferShapes = void (*)(ShapeContext*, Status*);

// name, result, arguments
#define GRADBAG_TENSORFLOW_FUNCTIONS(F)                                                                    \
    F(NewStatus, Status*, ())                                                                              \
    F(DeleteStatus, void, (Status*))                                                                       \
    F(SetStatus, void, (Status*, Code, const char*))                                                       \
    F(GetCode, Code, (const Status*))                                                                      \
    F(Message, const char*, (const Status*))                                                               \
    F(DeleteBuffer, void, (Buffer*))                                                                       \
    F(AllocateTensor, Tensor*, (DataType, const std::int64_t*, int, std::size_t))                          \
    F(NewTensor, Tensor*, (DataType, const std::int64_t*, int, void*, std::size_t, Deallocate, void*))     \
    F(DeleteTensor, void, (Tensor*))                                                                       \
    F(TensorData, void*, (const Tensor*))                                                                  \
    F(TensorByteSize, std::size_t, (const Tensor*))                                                        \
    F(NumDims, int, (const Tensor*))                                                                       \
    F(Dim, std::int64_t, (const Tensor*, int))                                                             \
    F(GetRegisteredKernelsForOp, Buffer*, (const char*, Status*))                                          \
    F(NewKernelBuilder, KernelBuilder*, (const char*, const char*, Create, Compute, Destroy))              \
    F(KernelBuilder_TypeConstraint, void, (KernelBuilder*, const char*, DataType, Status*))                \
    F(KernelBuilder_Priority, void, (KernelBuilder*, std::int32_t))                                        \
    F(RegisterKernelBuilder, void, (const char*, KernelBuilder*, Status*))                                 \
    F(OpKernelConstruction_GetAttrType, void, (Construction*, const char*, DataType*, Status*))            \
    F(OpKernelConstruction_GetAttrBool, void, (Construction*, const char*, unsigned char*, Status*))       \
    F(OpKernelConstruction_GetAttrInt64, void, (Construction*, const char*, std::int64_t*, Status*))       \
    F(OpKernelConstruction_GetAttrSize, void,                                                              \
      (Construction*, const char*, std::int32_t*, std::int32_t*, Status*))                                 \
    F(OpKernelConstruction_GetAttrString, void, (Construction*, const char*, char*, std::size_t, Status*)) \
    F(OpKernelConstruction_Failure, void, (Construction*, Status*))                                        \
    F(GetInput, void, (Context*, int, Tensor**, Status*))                                                  \
    F(SetOutput, void, (Context*, int, const Tensor*, Status*))                                            \
    F(OpKernelContext_Failure, void, (Context*, Status*))                                                  \
    F(NewOpDefinitionBuilder, OpBuilder*, (const char*))                                                   \
    F(OpDefinitionBuilderAddAttr, void, (OpBuilder*, const char*))                                         \
    F(OpDefinitionBuilderAddInput, void, (OpBuilder*, const char*))                                        \
    F(OpDefinitionBuilderAddOutput, void, (OpBuilder*, const char*))                                       \
    F(OpDefinitionBuilderSetShapeInferenceFunction, void, (OpBuilder*, InferShapes))                       \
    F(RegisterOpDefinition, void, (OpBuilder*, Status*))                                                   \
    F(NewShapeHandle, Shape*, ())                                                                          \
    F(DeleteShapeHandle, void, (Shape*))                                                                   \
    F(ShapeInferenceContextGetInput, void, (ShapeContext*, int, Shape*, Status*))                          \
    F(ShapeInferenceContextSetOutput, void, (ShapeContext*, int, Shape*, Status*))                         \
    F(ShapeInferenceContextWithRank, void, (ShapeContext*, Shape*, std::int64_t, Shape*, Status*))         \
    F(ShapeInferenceContextWithRankAtLeast, void, (ShapeContext*, Shape*, std::int64_t, Shape*, Status*))  \
    F(ShapeInferenceContextSubshape, void,                                                                 \
      (ShapeContext*, Shape*, std::int64_t, std::int64_t, Shape*, Status*))                                \
    F(ShapeInferenceContextScalar, Shape*, (ShapeContext*))                                                \
    F(ShapeInferenceContextVectorFromSize, Shape*, (ShapeContext*, std::size_t))                           \
    F(ShapeInferenceContextConcatenateShapes, void, (ShapeContext*, Shape*, Shape*, Shape*, Status*))      \
    F(NewGraph, Graph*, ())                                                                                \
    F(NewOperation, Description*, (Graph*, const char*, const char*))                                      \
    F(SetAttrType, void, (Description*, const char*, DataType))                                            \
    F(AddInput, void, (Description*, Port))                                                                \
    F(FinishOperation, Operation*, (Description*, Status*))                                                \
    F(NewSessionOptions, SessionOptions*, ())                                                              \
    F(DeleteSessionOptions, void, (SessionOptions*))                                                       \
    F(SetConfig, void, (SessionOptions*, const void*, std::size_t, Status*))                               \
    F(NewSession, Session*, (Graph*, const SessionOptions*, Status*))                                      \
    F(CloseSession, void, (Session*, Status*))                                                             \
    F(DeleteSession, void, (Session*, Status*))                                                            \
    F(SessionRun, void,                                                                                    \
      (Session*, const Buffer*, const Port*, Tensor* const*, int, const Port*, Tensor**, int,              \
       const Operation* const*, int, Buffer*, Status*))

struct Api {
#define GRADBAG_TENSORFLOW_MEMBER(name, result, arguments) result(*name) arguments = nullptr;
    GRADBAG_TENSORFLOW_FUNCTIONS(GRADBAG_TENSORFLOW_MEMBER)
#undef GRADBAG_TENSORFLOW_MEMBER

    // Finds the functions in a TensorFlow that this process has loaded. Gives the name of one that is
    // missing, or null.
    const char* find() {
#if __has_include(<dlfcn.h>)
        // In some versions the symbols are local to these libraries. Nothing is loaded here, and what was
        // found is never given back: TensorFlow keeps pointers to us, and we to it.
        void* const framework = dlopen("libtensorflow_framework.so.2", RTLD_LAZY | RTLD_NOLOAD);
        void* const rest = dlopen("libtensorflow_cc.so.2", RTLD_LAZY | RTLD_NOLOAD);
        const auto found = [&](const char* name) {
            void* symbol = nullptr;
            for (void* const library : {framework, rest, RTLD_DEFAULT}) {
                if (symbol == nullptr && (library != nullptr || library == RTLD_DEFAULT)) {
                    symbol = dlsym(library, name);
                }
            }
            return symbol;
        };
#define GRADBAG_TENSORFLOW_FIND(name, result, arguments)              \
    name = reinterpret_cast<result(*) arguments>(found("TF_" #name)); \
    if (name == nullptr) return "TF_" #name;
        GRADBAG_TENSORFLOW_FUNCTIONS(GRADBAG_TENSORFLOW_FIND)
#undef GRADBAG_TENSORFLOW_FIND
        return nullptr;
#else
        return "dlopen";
#endif
    }
};

#undef GRADBAG_TENSORFLOW_FUNCTIONS

inline Api api;

// A status for the time of a call.
class OwnStatus {
  public:
    OwnStatus() : status_(api.NewStatus()) {}
    OwnStatus(const OwnStatus&) = delete;
    OwnStatus& operator=(const OwnStatus&) = delete;
    ~OwnStatus() { api.DeleteStatus(status_); }

    operator Status*() const { return status_; }
    bool ok() const { return api.GetCode(status_) == kOk; }
    const char* words() const { return api.Message(status_); }

  private:
    Status* status_;
};

}  // namespace gradbag::tensorflow
